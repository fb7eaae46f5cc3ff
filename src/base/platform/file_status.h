// What the system knows of files and folders beyond std::filesystem. Functions that fail set errno.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tsl::platform {

struct FileStatus {
  bool is_regular = false, is_folder = false;
  uint64_t size = 0;
  uint64_t names = 0;                    // 0: it was removed while it is open
  int64_t seconds = 0, nanoseconds = 0;  // of the last write, since 1970
};

/// Describes the file to which a path leads. Returns nothing if there is none.
std::optional<FileStatus> status_of(const std::string& path);
/// Describes an open file.
std::optional<FileStatus> status_of(int file);

/// Whether a path leads to a file that is open.
bool is_same_file(const std::string& path, int file);
bool can_write(const std::string& path);
bool can_execute(const std::string& path);
/// Whether a path is a folder of this user, and no link, in which this process may write.
bool is_own_folder(const std::string& path);
/// Whether a path leads to a folder in which nobody but this user and the administrator can write.
bool is_safe_folder(const std::string& path);

/// Makes a folder for this user only. Fails with EEXIST if there is one.
bool make_private_folder(const std::string& path);
/// Makes a private folder whose name begins with `prefix`. Returns its path; "" if that fails.
std::string make_folder_beginning_with(const std::string& prefix);

/// Returns the paths that match a pattern with `*` and `?`, those of higher versions first.
std::vector<std::string> paths_matching(const std::string& pattern);

}  // namespace tsl::platform
