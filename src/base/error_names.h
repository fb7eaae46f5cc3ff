// The catalogue of errors: a stable name for each cause that a program may tell from others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"

namespace tsl {

enum class ErrorName : uint16_t {
#define ERROR(name, kind, when) name,
#define ERROR_UNSHOWN(name, kind, when, why) name,
#include "base/errors.def"
#undef ERROR_UNSHOWN
#undef ERROR
};

/// What is known of all errors of one name.
struct ErrorRow {
  std::string_view name;  // "shape-mismatch"
  ErrorKind kind;
  std::string_view when;     // it happens
  std::string_view unshown;  // why docs/errors.md shows no example; "" if it has one
};

/// Returns the rows of src/base/errors.def, in their order.
std::span<const ErrorRow> error_catalogue();

/// Returns the name of an error of which a program or a host gives only the kind.
ErrorName raised_error(ErrorKind kind);

}  // namespace tsl
