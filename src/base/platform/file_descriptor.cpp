#include "base/platform/file_descriptor.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tsl::platform {

namespace {

FileDescriptor open_with(const std::string& path, int flags, const OpenOptions& options) {
  constexpr mode_t kForAll = 0666, kForUser = 0600;
  flags |= O_CLOEXEC | (options.waits ? 0 : O_NONBLOCK) | (options.follows_links ? 0 : O_NOFOLLOW);
  return FileDescriptor(::open(path.c_str(), flags, options.is_private ? kForUser : kForAll));
}

bool sync_number(int file) { return ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP; }

}  // namespace

const char* const kNullFile = "/dev/null";

bool FileDescriptor::close() {
  if (number_ < 0) return true;
  return ::close(release()) == 0;
}

FileDescriptor open_to_read(const std::string& path, const OpenOptions& options) {
  return open_with(path, O_RDONLY, options);
}

FileDescriptor open_to_append(const std::string& path, const OpenOptions& options) {
  return open_with(path, O_WRONLY | O_APPEND | O_CREAT, options);
}

FileDescriptor make_file(const std::string& path, const OpenOptions& options) {
  return open_with(path, O_RDWR | O_CREAT | O_EXCL, options);
}

FileDescriptor make_file_beginning_with(const std::string& prefix, std::string& path) {
  path = prefix + "XXXXXX";
  return FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
}

FileDescriptor duplicate_of(int file) { return FileDescriptor(::dup(file)); }

std::FILE* stream_of(FileDescriptor& file, const char* mode) {
  std::FILE* const stream = ::fdopen(file.number(), mode);
  if (stream) file.release();
  return stream;
}

ptrdiff_t read_some(int file, void* to, size_t count) { return ::read(file, to, count); }

ptrdiff_t read_some_at(int file, void* to, size_t count, uint64_t offset) {
  return ::pread(file, to, count, static_cast<off_t>(offset));
}

ptrdiff_t write_some(int file, const void* data, size_t count) { return ::write(file, data, count); }

bool write_all(int file, const void* data, size_t count) {
  const auto* at = static_cast<const char*>(data);
  while (count > 0) {
    const ptrdiff_t written = write_some(file, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

bool has_input(int file, int milliseconds) {
  pollfd waited = {file, POLLIN, 0};
  return ::poll(&waited, 1, milliseconds) > 0;
}

std::vector<size_t> files_with_input(std::span<const int> files, int milliseconds) {
  std::vector<pollfd> waited;
  for (const int file : files) waited.push_back({file, POLLIN, 0});
  std::vector<size_t> ready;
  if (::poll(waited.data(), waited.size(), milliseconds) <= 0) return ready;
  for (size_t i = 0; i < waited.size(); ++i) {
    if (waited[i].revents != 0) ready.push_back(i);
  }
  return ready;
}

void touch(const FileDescriptor& file) { ::futimens(file.number(), nullptr); }

void lock(const FileDescriptor& file) { ::flock(file.number(), LOCK_EX); }

bool try_lock(const FileDescriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0; }

bool sync(std::FILE* file) { return sync_number(::fileno(file)); }

void sync_folder(const std::string& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) sync_number(folder.number());  // one may write in a folder that one may not read
}

}  // namespace tsl::platform
