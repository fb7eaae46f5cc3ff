#include "backend/cuda/driver/library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tsl::cuda {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// Whether the library does not exist, which is expected while names are tried; any other problem is reported.
bool says_not_there(const std::string& problem, const std::string& path) {
  return problem.rfind(path + ": cannot open shared object file: No such file", 0) == 0;
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
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0) add(folder_of(std::string(path, static_cast<size_t>(length))));
  Dl_info info;  // if TSL is part of a shared library: the folder of that library
  if (dladdr(reinterpret_cast<const void*>(&program_folders), &info) && info.dli_fname && info.dli_fname[0] == '/')
    add(folder_of(info.dli_fname));
  return folders;
}

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const char* root) {
    if (!root || root[0] != '/') return;
    for (const char* below : {"/lib64", "/targets/x86_64-linux/lib", "/lib"})
      folders.push_back(root + std::string(below));
  };
  add(std::getenv("CUDA_HOME"));
  add(std::getenv("CUDA_PATH"));
  add("/usr/local/cuda");
  return folders;
}

std::string search_state() {
  std::string state;
  const auto add_file = [&](const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0)
      state += fmt::format("{} {} {}\n", path, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
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

Library::Library(std::initializer_list<const char*> names, std::string_view missing) {
  std::vector<std::string> problems;
  const std::vector<std::string> first = program_folders(), last = toolkit_folders();
  for (const std::string name : names) {
    for (const std::string& folder : first)
      if (open(folder + "/" + name, problems)) return;
    if (open(name, problems)) return;
    for (const std::string& folder : last)
      if (open(folder + "/" + name, problems)) return;
  }
  fail_with(ErrorKind::device, std::string(missing), std::move(problems));
}

bool Library::open(const std::string& path, std::vector<std::string>& problems) {
  // Lazy binding, because NVRTC and cuBLASLt have very many symbols. The libraries are never unloaded, because each
  // unloading leaks what they have allocated.
  handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle_) {
    const char* problem = dlerror();
    if (problem && !says_not_there(problem, path)) problems.emplace_back(problem);
    return false;
  }
  name_ = path;
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0]) name_ = map->l_name;
  return true;
}

Library::Library(Library&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

void* Library::find(const char* function) const { return handle_ ? dlsym(handle_, function) : nullptr; }

void* Library::function(const char* function) const {
  void* address = find(function);
  if (!address) {
    fail(ErrorKind::device, "{} has no function {}: it is too old; install a newer one, or run with --device cpu",
         name_, function);
  }
  return address;
}

}  // namespace tsl::cuda
