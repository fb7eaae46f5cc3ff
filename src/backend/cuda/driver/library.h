// Opens libraries at run time, so that one program runs with and without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/platform/dynamic_library.h"

namespace tsl::cuda {

/// A shared library, open during the object's lifetime. Movable.
class Library {
 public:
  Library() = default;
  /// Opens the first of `names` that exists: in the program's folder and the lib folder beside it, then where the
  /// dynamic linker looks, then in toolkit_folders(). If none opens, fails (device) with `missing`, which says what is
  /// missing and what to do.
  Library(const std::vector<std::string>& names, std::string_view missing);

  /// Returns the function's address, or null if the library does not have it.
  void* find(const char* function) const { return opened_.find(function); }
  /// As find(), but fails (device) if there is no such function, since the library is too old.
  void* function(const char* function) const;
  /// Returns the path of the file, as reported by the dynamic linker.
  const std::string& name() const { return name_; }

 private:
  bool open(const std::string& path, std::vector<std::string>& problems);

  platform::DynamicLibrary opened_;
  std::string name_;
};

/// Return the folders that are searched besides the linker's own, in order. For tests and messages.
std::vector<std::string> program_folders();
/// Those of the CUDA Toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*, /opt/cuda), of conda, and of
/// pip's packages for the Python on the PATH. `root` is put in front of the fixed ones, for tests.
std::vector<std::string> toolkit_folders(const std::string& root = "");
/// Returns the file names of a library of the toolkit, newest first: of the major versions that a driver for CUDA
/// `driver_version` (12040: 12.4) supports, or of all known ones for 0. The last name is without a version.
/// `majors_behind`: how far the library's own versions are behind those of the toolkit.
std::vector<std::string> names_of(const std::string& library, int driver_version, int majors_behind = 0);
/// Says that a library of the toolkit is missing and how to install it: the names of its Debian and PyPI packages.
std::string missing_text(std::string_view what, const std::string& library, std::string_view debian,
                         std::string_view pypi, int driver_version, int majors_behind = 0);
/// Fails with what a library's call said: out of memory, or else (device). "cuFFT failed planning a transform: status
/// 5".
[[noreturn]] void fail_call(std::string_view library, bool is_out_of_memory, std::string_view doing,
                            std::string_view said);
/// Fails (device) if a library is of a newer major version than the driver.
void check_major(const Library& library, int major, int driver_version);
/// Returns a text that changes if libraries may have been installed or the search path has changed.
std::string search_state();

}  // namespace tsl::cuda
