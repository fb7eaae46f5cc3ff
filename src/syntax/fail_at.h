// Raises errors at positions in the source.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"

namespace tsl {

[[noreturn]] inline void fail_at(ErrorName name, Span span, std::string message, std::vector<std::string> hints = {}) {
  throw Failure(Error{name, std::move(message), span, std::move(hints), {}});
}

/// Throws the first of several errors, which carries the others.
[[noreturn]] inline void fail_with_all(std::vector<Error> errors) {
  Error first = std::move(errors.front());
  first.others.assign(std::make_move_iterator(errors.begin() + 1), std::make_move_iterator(errors.end()));
  throw Failure(std::move(first));
}

}  // namespace tsl
