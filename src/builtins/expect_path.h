// Reads a path from an argument.
#pragma once

#include "io/file_system.h"
#include "vm/arguments.h"

namespace tsl {

/// Returns the path that an argument is. Throws Failure: type if it is no str, value if it has a NUL.
inline const std::string& expect_path(Context& context, const Value& value, std::string_view parameter = "path") {
  const std::string& path = expect_string(context, value, "a path");
  require_path(path, parameter);
  return path;
}

}  // namespace tsl
