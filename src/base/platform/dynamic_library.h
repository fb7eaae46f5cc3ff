// Shared libraries that a process loads while it runs.
#pragma once

#include <string>

namespace tsl::platform {

/// A shared library whose functions no other library sees. It stays loaded until the process ends: libraries leak what
/// they have allocated when they are unloaded. Movable.
class DynamicLibrary {
 public:
  /// When the functions that a library calls are looked up: at their first calls, or all when it is loaded.
  enum class Binding { lazy, eager };

  DynamicLibrary() = default;
  /// Loads a library by its path, or by a name that the system's linker looks for. If that fails, the object is false.
  explicit DynamicLibrary(const std::string& path, Binding binding = Binding::lazy);
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  explicit operator bool() const { return handle_ != nullptr; }
  /// Returns a function's address, or null if the library does not have it.
  void* find(const char* function) const;
  /// Returns the path of the file; "" if the linker does not say it.
  std::string path() const;

 private:
  void* handle_ = nullptr;
};

/// Says why this thread's last library could not be loaded; "" if nothing is known.
std::string loading_problem();

/// Whether a problem is that there is no such file.
bool says_no_such_library(const std::string& problem, const std::string& path);

/// Returns the file of the program or the library that has some code, as it was named when it was loaded; "" if there
/// is none.
std::string file_of_code(const void* code);

}  // namespace tsl::platform
