// The standard library, embedded in the program as text by cmake/Embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace tsl {

struct EmbeddedSource {
  std::string_view name;  // as imported: "nn"; parts of the prelude are "prelude" or "prelude/…"
  std::string_view text;
};

std::span<const EmbeddedSource> embedded_sources();
/// Returns the source of that name; null if there is none.
const EmbeddedSource* embedded_source(std::string_view name);
inline bool is_prelude(const EmbeddedSource& source) { return source.name.substr(0, 7) == "prelude"; }

}  // namespace tsl
