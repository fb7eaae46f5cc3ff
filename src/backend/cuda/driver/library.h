// Opens libraries at run time, so that one program runs with and without them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tsl::cuda {

/// A shared library, open during the object's lifetime. Movable.
class Library {
 public:
  Library() = default;
  /// Opens the first of `names` that exists: in the program's folder and the lib folder beside it, then where the
  /// dynamic linker looks, then in the CUDA Toolkit's folders ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda). If none opens,
  /// fails (device) with `missing`, which says what is missing and what to do.
  Library(std::initializer_list<const char*> names, std::string_view missing);
  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  ~Library();

  /// Returns the function's address, or null if the library does not have it.
  void* find(const char* function) const;
  /// As find(), but fails (device) if there is no such function, since the library is too old.
  void* function(const char* function) const;
  /// Returns the path of the file, as reported by the dynamic linker.
  const std::string& name() const { return name_; }

 private:
  bool open(const std::string& path, std::vector<std::string>& problems);

  void* handle_ = nullptr;
  std::string name_;
};

/// Return the folders that are searched besides the linker's own, in order. For tests and messages.
std::vector<std::string> program_folders();
std::vector<std::string> toolkit_folders();
/// Returns a text that changes if libraries may have been installed or the search path has changed.
std::string search_state();

}  // namespace tsl::cuda
