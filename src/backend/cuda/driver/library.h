// Libraries opened at run time, so that one program runs with and without them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tsl::cuda {

/// A shared library, open as long as the object lives. Movable.
class Library {
 public:
  Library() = default;
  /// Tries the names in turn: each in the program's own folder and the lib folder beside that one, then where the
  /// dynamic linker looks, then in the CUDA Toolkit's folders ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda).
  /// When none opens, fails (device) with `missing`: what is missing, and what to do.
  Library(std::initializer_list<const char*> names, std::string_view missing);
  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  ~Library();

  /// The function's address, or null if the library has no such function.
  void* find(const char* function) const;
  /// As find(), but fails (device) if there is none: the library is too old.
  void* function(const char* function) const;
  /// The path of the file, as the dynamic linker tells it.
  const std::string& name() const { return name_; }

 private:
  bool open(const std::string& path, std::vector<std::string>& problems);

  void* handle_ = nullptr;
  std::string name_;
};

/// Where libraries are looked for besides the linker's own places, in order. For tests and messages.
std::vector<std::string> program_folders();
std::vector<std::string> toolkit_folders();
/// A text that changes when libraries may have been installed or the places where they are looked for have changed.
std::string search_state();

}  // namespace tsl::cuda
