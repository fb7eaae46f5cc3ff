// Raises an error at a position in the source.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tsl {

[[noreturn]] inline void fail_at(ErrorKind kind, Span span, std::string message, std::vector<std::string> notes = {}) {
  throw Failure(Error{kind, std::move(message), span, std::move(notes), {}});
}

}  // namespace tsl
