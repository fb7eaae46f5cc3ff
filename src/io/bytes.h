// Reads files of known length, and writes files either completely or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tsl {

/// Raise all errors about files: "cannot load x.npy: the header is truncated".
[[noreturn]] void fail_to_load(ErrorName name, const std::string& path, const std::string& why);
[[noreturn]] void fail_to_save(ErrorName name, const std::string& path, const std::string& why);

/// Reads bytes in order, with a total length that is known (or claimed) before.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Reads `count` bytes; throws Failure (io) if fewer remain.
  virtual void read(void* to, uint64_t count) = 0;
  /// Returns the number of bytes that remain; no more are ever read.
  uint64_t left() const { return left_; }
  const std::string& name() const { return name_; }  // for messages

 protected:
  ByteReader(std::string name, uint64_t size) : left_(size), name_(std::move(name)) {}
  uint64_t left_;

 private:
  std::string name_;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FileHandle = std::unique_ptr<std::FILE, CloseFile>;

class FileReader : public ByteReader {
 public:
  /// Opens a file. Throws Failure (io) unless the path is a regular file that can be read.
  explicit FileReader(const std::string& path);
  void read(void* to, uint64_t count) override;

 private:
  FileReader(const std::string& path, std::pair<FileHandle, uint64_t> opened);
  FileHandle file_;
};

/// Writes a temporary file beside the target and renames it at commit(), so that a crash or a full disk cannot leave
/// half a file. A link is followed. Targets that are no regular files (a pipe, /dev/stdout) are written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, uint64_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::string path_;
  std::string target_;     // the end of all links
  std::string temporary_;  // empty if the target is written directly
  FileHandle file_;
};

/// Resolves links to the file that is to be written. Links in /proc, which /dev/stdout leads to, refer to open files
/// that cannot be replaced: there the link itself is returned.
std::string target_of(const std::string& path);
/// Returns an unused name beside `target`.
std::string temporary_name(const std::string& target);
/// Renames the finished file `from` to `target`.
void replace_file(const std::string& from, const std::string& target);

std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, std::string_view text);

}  // namespace tsl
