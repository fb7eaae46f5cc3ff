// Files as bytes: reading with a known length, and writing that either succeeds as a whole or leaves no
// trace.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tsl {

/// "cannot load x.npy: the header is truncated". Every error about a file comes through here.
[[noreturn]] void fail_to_load(const std::string& path, const std::string& why);
[[noreturn]] void fail_to_save(const std::string& path, const std::string& why);

/// Bytes from the start on, with a length known (or claimed) before any is read.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Throws Failure (io) unless `count` bytes follow.
  virtual void read(void* to, uint64_t count) = 0;
  /// How many bytes are left. Not a byte beyond it is ever read.
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
  /// Throws Failure (io) unless the path names a regular file that can be read.
  explicit FileReader(const std::string& path);
  void read(void* to, uint64_t count) override;

 private:
  FileReader(const std::string& path, std::pair<FileHandle, uint64_t> opened);
  FileHandle file_;
};

/// Writes beside the target and takes its place at commit(), so that a crash or a full disk cannot leave half
/// a file. The target is what a link names. What is not a regular file (a pipe, /dev/stdout) is written directly.
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
  std::string target_;     // where links that it names end
  std::string temporary_;  // empty when writing directly
  FileHandle file_;
};

/// Where a file is written that goes by this path: where its links end. Links in /proc, which /dev/stdout leads to,
/// name open files, in whose place no other may be put: there it is the link.
std::string target_of(const std::string& path);
/// A name beside `target` that no file has.
std::string temporary_name(const std::string& target);
/// Puts the finished file `from` in the place of `target`.
void replace_file(const std::string& from, const std::string& target);

std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, std::string_view text);

}  // namespace tsl
