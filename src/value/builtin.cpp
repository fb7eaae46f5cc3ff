// bounded loops: the sources of the library.
#include "value/builtin.h"

namespace tsl {

const LibrarySource* Library::module(std::string_view name) const {
  for (const LibrarySource& source : sources) {
    if (source.name == name && !source.is_prelude()) return &source;
  }
  return nullptr;
}

std::vector<std::string> Library::module_names() const {
  std::vector<std::string> names;
  for (const LibrarySource& source : sources) {
    const bool is_part = source.name.find('/') != source.name.npos;  // which only the library imports
    if (!source.is_prelude() && !is_part) names.emplace_back(source.name);
  }
  return names;
}

}  // namespace tsl
