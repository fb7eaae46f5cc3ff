#include "base/error_names.h"

#include <algorithm>
#include <array>
#include <string>

namespace tsl {

namespace {

/// A row of the catalogue as it is written: the name is a C++ identifier.
constexpr ErrorRow kWritten[] = {
#define ERROR(name, kind, when) {#name, ErrorKind::kind, when, ""},
#define ERROR_UNSHOWN(name, kind, when, why) {#name, ErrorKind::kind, when, why},
#include "base/errors.def"
#undef ERROR_UNSHOWN
#undef ERROR
};
constexpr size_t kCount = std::size(kWritten);

/// The rows under their names with hyphens.
struct Catalogue {
  std::array<std::string, kCount> names;
  std::array<ErrorRow, kCount> rows;

  Catalogue() {
    for (size_t i = 0; i < kCount; ++i) {
      names[i] = kWritten[i].name;
      std::replace(names[i].begin(), names[i].end(), '_', '-');
      rows[i] = kWritten[i];
      rows[i].name = names[i];
    }
  }
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;
};

}  // namespace

std::span<const ErrorRow> error_catalogue() {
  static const auto& catalogue = *new Catalogue;
  return catalogue.rows;
}

std::string_view name_of(ErrorName name) { return error_catalogue()[static_cast<size_t>(name)].name; }

ErrorKind kind_of(ErrorName name) { return kWritten[static_cast<size_t>(name)].kind; }

ErrorName raised_error(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::syntax: return ErrorName::raised_syntax;
    case ErrorKind::name: return ErrorName::raised_name;
    case ErrorKind::type: return ErrorName::raised_type;
    case ErrorKind::shape: return ErrorName::raised_shape;
    case ErrorKind::index: return ErrorName::raised_index;
    case ErrorKind::value: return ErrorName::raised_value;
    case ErrorKind::io: return ErrorName::raised_io;
    case ErrorKind::memory: return ErrorName::raised_memory;
    case ErrorKind::device: return ErrorName::raised_device;
    case ErrorKind::limit: return ErrorName::raised_limit;
    case ErrorKind::interrupt: return ErrorName::raised_interrupt;
    case ErrorKind::exit: return ErrorName::program_exit;
    case ErrorKind::user:
    case ErrorKind::warning: return ErrorName::user_error;
  }
  return ErrorName::user_error;
}

}  // namespace tsl
