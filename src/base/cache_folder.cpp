#include "base/cache_folder.h"

#include <cstdlib>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

namespace tsl {

std::string default_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string folder = variable("TSL_CACHE_DIR"); !folder.empty()) return folder;
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty() && folder[0] == '/')
    return folder + "/tsl";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tsl";
  return {};
}

std::string editor_notes_path(const std::string& source) {
  const std::string folder = default_cache_folder();
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(source, error);
  if (folder.empty() || error) return {};
  return fmt::format("{}/lines/{:016x}.json", folder, std::hash<std::string>()(path.string()));
}

}  // namespace tsl
