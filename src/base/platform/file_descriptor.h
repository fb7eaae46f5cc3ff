// Open files of the system, by number: what the streams of C and C++ cannot do. Functions that fail set errno.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tsl::platform {

inline constexpr int kStandardInput = 0, kStandardOutput = 1, kStandardError = 2;

/// Names the file that has no contents and takes everything.
extern const char* const kNullFile;

/// An open file, closed at the end of a scope. Movable.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Gives up the file without closing it.
  int release() { return std::exchange(number_, -1); }
  /// Closes the file. Returns whether this succeeded: some file systems report a failed write only now.
  bool close();

 private:
  int number_ = -1;
};

struct OpenOptions {
  bool waits = true;          // for the other end of a pipe
  bool follows_links = true;  // at the end of the path
  bool is_private = false;    // a file that is made is for this user only
};

// Child processes do not inherit files that these functions open.
FileDescriptor open_to_read(const std::string& path, const OpenOptions& options = {});
/// Opens a file to write at its end, and makes it if there is none.
FileDescriptor open_to_append(const std::string& path, const OpenOptions& options = {});
/// Makes a file to read and write. Fails with EEXIST if there is one.
FileDescriptor make_file(const std::string& path, const OpenOptions& options = {});
/// Makes a private file whose name begins with `prefix`, and sets `path` to its path.
FileDescriptor make_file_beginning_with(const std::string& prefix, std::string& path);
/// Opens once more what is open.
FileDescriptor duplicate_of(int file);

/// Makes a stream, which closes the file from then on. Returns null, and leaves the file as it is, if that fails.
std::FILE* stream_of(FileDescriptor& file, const char* mode);

/// Reads at most `count` bytes. Returns 0 at the end, and a negative number if that fails.
ptrdiff_t read_some(int file, void* to, size_t count);
/// As read_some(), at an offset of a regular file.
ptrdiff_t read_some_at(int file, void* to, size_t count, uint64_t offset);
/// Writes at most `count` bytes. Returns a negative number if that fails.
ptrdiff_t write_some(int file, const void* data, size_t count);
/// Writes all bytes, also where signals interrupt. Returns whether this succeeded.
bool write_all(int file, const void* data, size_t count);

/// Waits until there is input, or its end. Returns false when the time is over, and when a signal interrupts.
bool has_input(int file, int milliseconds);
/// As has_input() of several files: returns the indices of those that have some.
std::vector<size_t> files_with_input(std::span<const int> files, int milliseconds);

/// Sets the moment of the last write to now.
void touch(const FileDescriptor& file);

/// Waits for the only lock of a file, which ends with its descriptors. A file system may have none.
void lock(const FileDescriptor& file);
/// Takes the lock if no process has it. Returns whether this succeeded.
bool try_lock(const FileDescriptor& file);

/// Writes what the system keeps of a file to the disk. Returns false if that failed.
bool sync(std::FILE* file);
/// As sync(), of a folder's names, as far as this user may.
void sync_folder(const std::string& path);

}  // namespace tsl::platform
