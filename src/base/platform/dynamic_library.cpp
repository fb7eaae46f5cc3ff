#include "base/platform/dynamic_library.h"

#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace tsl::platform {

DynamicLibrary::DynamicLibrary(const std::string& path, Binding binding)
    : handle_(::dlopen(path.c_str(), (binding == Binding::lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL | RTLD_NODELETE)) {}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_) ::dlclose(handle_);
}

void* DynamicLibrary::find(const char* function) const { return handle_ ? ::dlsym(handle_, function) : nullptr; }

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  const bool is_known = handle_ && ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name;
  return is_known ? map->l_name : "";
}

std::string loading_problem() {
  const char* const problem = ::dlerror();
  return problem ? problem : "";
}

bool says_no_such_library(const std::string& problem, const std::string& path) {
  return problem.starts_with(path + ": cannot open shared object file: No such file");
}

std::string file_of_code(const void* code) {
  Dl_info info = {};
  return ::dladdr(code, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

}  // namespace tsl::platform
