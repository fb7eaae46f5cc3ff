#include "backend/cuda/driver/library.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/error_names.h"
#include "base/platform/file_status.h"
#include "base/platform/process.h"

namespace tsl::cuda {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// The toolkit's folder for a machine of another architecture, which holds this machine's libraries, too.
#if defined(__aarch64__)
constexpr const char* kTargetFolder = "/targets/sbsa-linux/lib";
#else
constexpr const char* kTargetFolder = "/targets/x86_64-linux/lib";
#endif
// The major versions of the toolkit that TSL works with, newest first.
constexpr int kMajors[] = {13, 12};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Returns where Python's packages may be: of the virtual environment, of the python3 on the PATH, of the user.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> prefixes;
  const auto add = [&](const std::string& prefix) {
    if (!prefix.empty() && std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end())
      prefixes.push_back(prefix);
  };
  add(variable("VIRTUAL_ENV"));
  const std::string path = variable("PATH");
  for (size_t at = 0; at < path.size(); at = std::min(path.find(':', at), path.size()) + 1) {
    const std::string folder = path.substr(at, path.find(':', at) - at);
    if (!platform::can_execute(folder + "/python3")) continue;
    const std::string prefix = folder_of(folder);  // PREFIX of PREFIX/bin
    add(prefix);
    if (prefix == "/usr") add("/usr/local");  // where Debian's pip installs
    break;
  }
  if (const std::string home = variable("HOME"); !home.empty()) add(home + "/.local");
  return prefixes;
}

}  // namespace

std::vector<std::string> program_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (folder.empty()) return;
    for (const std::string& known : folders)
      if (known == folder) return;
    folders.push_back(folder);
    folders.push_back(folder + "/../lib");
  };
  add(folder_of(platform::program_path()));
  // If TSL is part of a shared library: the folder of that library.
  const std::string own = platform::file_of_code(reinterpret_cast<const void*>(&program_folders));
  if (own.starts_with('/')) add(folder_of(own));
  return folders;
}

std::vector<std::string> toolkit_folders(const std::string& root) {
  std::vector<std::string> folders;
  const auto add_toolkit = [&](const std::string& toolkit) {
    if (toolkit.empty() || toolkit[0] != '/') return;
    for (const char* below : {"/lib64", kTargetFolder, "/lib", "/extras/CUPTI/lib64"})
      folders.push_back(toolkit + below);
  };
  add_toolkit(variable("CUDA_HOME"));
  add_toolkit(variable("CUDA_PATH"));
  add_toolkit(root + "/usr/local/cuda");
  for (const std::string& toolkit : platform::paths_matching(root + "/usr/local/cuda-*")) add_toolkit(toolkit);
  add_toolkit(root + "/opt/cuda");
  if (const std::string conda = variable("CONDA_PREFIX"); !conda.empty()) {
    folders.push_back(conda + "/lib");
    folders.push_back(conda + kTargetFolder);
  }
  for (const std::string& prefix : python_prefixes()) {
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const std::string& folder : platform::paths_matching(prefix + "/lib/python3*/" + packages + "/nvidia/*/lib"))
        folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> names_of(const std::string& library, int driver_version, int majors_behind) {
  std::vector<std::string> names;
  for (const int major : kMajors) {
    if (driver_version == 0 || major <= driver_version / 1000)
      names.push_back(fmt::format("{}.{}", library, major - majors_behind));
  }
  names.push_back(library);
  return names;
}

std::string missing_text(std::string_view what, const std::string& library, std::string_view debian,
                         std::string_view pypi, int driver_version, int majors_behind) {
  std::string names;
  int newest = 0;
  for (const int major : kMajors) {
    if (driver_version != 0 && major > driver_version / 1000) continue;
    const int own = major - majors_behind;
    names += names.empty() ? fmt::format("{}.{}", library, own) : fmt::format(" or .{}", own);
    newest = std::max(newest, major);
  }
  const std::string package = newest >= 13 ? std::string(pypi) : fmt::format("{}-cu12", pypi);
  return fmt::format(
      "{} was not found ({}): install it (Debian package {}, PyPI package {}, or the CUDA Toolkit), set "
      "CUDA_HOME, or run with --device cpu",
      what, names, debian, package);
}

void fail_call(std::string_view library, bool is_out_of_memory, std::string_view doing, std::string_view said) {
  fail(is_out_of_memory ? ErrorName::out_of_memory : ErrorName::device_failed, "{} failed {}: {}", library, doing,
       said);
}

void check_major(const Library& library, int major, int driver_version) {
  if (driver_version == 0 || major <= driver_version / 1000) return;
  fail(ErrorName::library_unusable,
       "{} is of CUDA {}, and the NVIDIA driver is for CUDA {}: update the driver, install the library of CUDA {}, or "
       "run "
       "with --device cpu",
       library.name(), major, driver_version / 1000, driver_version / 1000);
}

std::string search_state() {
  std::string state;
  const auto add_file = [&](const std::string& path) {
    if (const std::optional<platform::FileStatus> found = platform::status_of(path))
      state += fmt::format("{} {} {}\n", path, found->seconds, found->nanoseconds);
  };
  const char* linker_path = std::getenv("LD_LIBRARY_PATH");
  state += fmt::format("{}\n", linker_path ? linker_path : "");
  for (std::string_view rest = linker_path ? linker_path : ""; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    add_file(std::string(folder));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  add_file("/etc/ld.so.cache");
  for (const std::string& folder : program_folders()) add_file(folder);
  for (const std::string& folder : toolkit_folders()) add_file(folder);
  return state;
}

Library::Library(const std::vector<std::string>& names, std::string_view missing) {
  std::vector<std::string> problems;
  const std::vector<std::string> first = program_folders(), last = toolkit_folders();
  for (const std::string& name : names) {
    for (const std::string& folder : first)
      if (open(folder + "/" + name, problems)) return;
    if (open(name, problems)) return;
    for (const std::string& folder : last)
      if (open(folder + "/" + name, problems)) return;
  }
  fail_with(ErrorName::library_unusable, std::string(missing), std::move(problems));
}

bool Library::open(const std::string& path, std::vector<std::string>& problems) {
  // Lazy binding, because NVRTC and cuBLASLt have very many symbols.
  opened_ = platform::DynamicLibrary(path, platform::DynamicLibrary::Binding::lazy);
  if (!opened_) {
    const std::string problem = platform::loading_problem();
    // That a name does not exist is expected while names are tried.
    if (!problem.empty() && !platform::says_no_such_library(problem, path)) problems.push_back(problem);
    return false;
  }
  name_ = opened_.path();
  if (name_.empty()) name_ = path;
  return true;
}

void* Library::function(const char* function) const {
  void* address = find(function);
  if (!address) {
    fail(ErrorName::library_unusable,
         "{} has no function {}: it is too old; install a newer one, or run with --device cpu", name_, function);
  }
  return address;
}

}  // namespace tsl::cuda
