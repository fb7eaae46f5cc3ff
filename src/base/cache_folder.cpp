#include "base/cache_folder.h"

#include <cstdlib>

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

}  // namespace tsl
