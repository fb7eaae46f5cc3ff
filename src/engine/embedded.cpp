#include "engine/embedded.h"

namespace tsl {

const EmbeddedSource* embedded_source(std::string_view name) {
  for (const EmbeddedSource& source : embedded_sources()) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

}  // namespace tsl
