#include "base/platform/file_status.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tsl::platform {

namespace {

FileStatus status_from(const struct stat& found) {
  return {.is_regular = S_ISREG(found.st_mode),
          .is_folder = S_ISDIR(found.st_mode),
          .size = static_cast<uint64_t>(std::max<off_t>(found.st_size, 0)),
          .names = found.st_nlink,
          .seconds = found.st_mtim.tv_sec,
          .nanoseconds = found.st_mtim.tv_nsec};
}

}  // namespace

std::optional<FileStatus> status_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return status_from(found);
}

std::optional<FileStatus> status_of(int file) {
  struct stat found = {};
  if (::fstat(file, &found) != 0) return {};
  return status_from(found);
}

bool is_same_file(const std::string& path, int file) {
  struct stat one = {}, other = {};
  return ::stat(path.c_str(), &one) == 0 && ::fstat(file, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

bool can_write(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }

bool can_execute(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

bool is_own_folder(const std::string& path) {
  struct stat found = {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::getuid() && can_write(path);
}

bool is_safe_folder(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return false;
  return (found.st_uid == ::geteuid() || found.st_uid == 0) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool make_private_folder(const std::string& path) { return ::mkdir(path.c_str(), S_IRWXU) == 0; }

std::string make_folder_beginning_with(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  return ::mkdtemp(path.data()) ? path : "";
}

std::vector<std::string> paths_matching(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found = {};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(paths.begin(), paths.end(),
            [](const std::string& a, const std::string& b) { return ::strverscmp(a.c_str(), b.c_str()) > 0; });
  return paths;
}

}  // namespace tsl::platform
