// Random calls of builtins and operators, most of them invalid.
#pragma once

#include <string>
#include <vector>

#include "support/random_expressions.h"

namespace tsl {

/// Returns the builtins without side effects, whose results are the same each time.
std::vector<std::string> builtins_to_call();

class RandomCalls {
 public:
  RandomCalls(Random& random, const std::vector<std::string>& builtins) : random_(random), builtins_(builtins) {}

  /// Defines what the functions of next() need.
  static std::string prelude() { return "fn size(shape) = reduce(fn(a, b) = a * b, shape, 1)\n"; }
  /// Makes a function with one call in it, called twice with the same arguments and once with others.
  std::string next(int number);

 private:
  std::string names(const char* separator) const;
  std::string values();
  std::string expression();
  std::string call();
  std::string tensor();
  std::string value(int depth);

  Random& random_;
  const std::vector<std::string>& builtins_;
  int count_ = 0;
};

}  // namespace tsl
