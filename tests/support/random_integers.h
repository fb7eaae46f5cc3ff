// Random calls of ops and builtins with ints of which sums and products do not fit 64 bits.
#pragma once

#include <string>
#include <vector>

#include "support/random_expressions.h"

namespace tsl {

/// A call, and the same call with smaller ints.
struct IntegerCall {
  std::string text;
  std::string smaller;  // has the same result unless `text` fails; "": none does
};

/// Returns how many forms of calls there are.
size_t count_of_integer_forms();
/// Makes a call of a form with drawn ints. It reads the variables of integers_prelude().
IntegerCall integer_call(Random& random, size_t form);
/// Makes variables for calls, and a function show() that prints a result, in short if it is large.
std::string integers_prelude();
/// Makes a program that compiles each call, makes it, and prints a line with its number, and then the result or the
/// error.
std::string integers_program(const std::vector<std::string>& calls);

}  // namespace tsl
