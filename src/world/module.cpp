#include "world/module.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error_names.h"
#include "base/platform/dynamic_library.h"
#include "base/platform/process.h"

namespace tsl::world {

namespace {

constexpr const char* kModule = "tsl-gloo.so";

/// Returns the folder of the program or the library that has this code.
std::filesystem::path own_folder() {
  const std::string code = platform::file_of_code(reinterpret_cast<const void*>(&connect));
  if (code.empty()) return {};
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(code, ignored);
  if (!file.empty()) return file.parent_path();
  return std::filesystem::path(platform::program_path()).parent_path();  // found through $PATH
}

Connect find_connect() {
  const std::filesystem::path here = own_folder();
  std::string problem = "it is not beside the program";
  for (const std::filesystem::path& folder : {here, here / "tsl", here / "../lib/tsl"}) {
    const std::filesystem::path file = folder / kModule;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    const platform::DynamicLibrary module(file.string(), platform::DynamicLibrary::Binding::eager);
    if (module) return reinterpret_cast<Connect>(module.find(kConnectFunction));
    problem = platform::loading_problem();
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
