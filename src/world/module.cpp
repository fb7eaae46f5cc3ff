#include "world/module.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "base/error_names.h"

namespace tsl::world {

namespace {

constexpr const char* kModule = "tsl-gloo.so";

/// Returns the folder of the program or the library that has this code.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&connect), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
  if (!file.empty()) return file.parent_path();
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();  // found through $PATH
}

Connect find_connect() {
  const std::filesystem::path here = own_folder();
  std::string problem = "it is not beside the program";
  for (const std::filesystem::path& folder : {here, here / "tsl", here / "../lib/tsl"}) {
    const std::filesystem::path file = folder / kModule;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    if (void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<Connect>(dlsym(module, kConnectFunction));
    problem = dlerror();
  }
  fail_with(ErrorName::ranks_unavailable,
            fmt::format("several ranks need {}, which cannot be loaded: {}", kModule, problem),
            {"Debian's package libgloo0 has the library Gloo; with libgloo-dev, a build makes the module"});
}

}  // namespace

std::unique_ptr<Transport> connect(const TransportOptions& options) {
  const Connect function = find_connect();
  std::string error;
  Transport* const transport = function(options, error);
  if (!transport) {
    fail(ErrorName::rank_lost, "rank {} of {} has not found the others within {:.0f} seconds: {}", options.rank,
         options.size, options.join_seconds, error);
  }
  return std::unique_ptr<Transport>(transport);
}

}  // namespace tsl::world
