// Reads files of known length. Reading ends where the run ends: at an interrupt and at a deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/run_watch.h"

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

/// Calls read(at, count) for pieces of [to, to + count), and polls between them.
template <class Read> void read_in_pieces(void* to, uint64_t count, Read&& read) {
  constexpr uint64_t kPiece = 1 << 22;
  auto* at = static_cast<char*>(to);
  for (uint64_t done = 0; done < count; done += kPiece) {
    read(at + done, std::min(kPiece, count - done));
    if (count > kPiece) poll_stop();
  }
}

/// Tells the run's watch how much of a large file is loaded, as often as a person reads it.
class ReadProgress {
 public:
  /// `passes`: how often the bytes are gone over at most, to read and to parse them.
  explicit ReadProgress(std::string path, uint64_t passes = 1) : path_(std::move(path)), passes_(passes) {}
  ~ReadProgress();
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;
  void set_size(uint64_t size) { size_ = size; }
  /// Counts bytes that one of the passes has gone over.
  void count(uint64_t bytes) {
    done_ += bytes;
    if (done_ >= next_looked_) show();
  }

 private:
  void show();

  const std::string path_;
  const uint64_t passes_;
  uint64_t size_ = 0;
  uint64_t done_ = 0;         // in all passes
  uint64_t next_looked_ = 0;  // when the time is looked at again
  std::chrono::steady_clock::time_point next_shown_;
  bool is_shown_ = false;
};

class FileReader : public ByteReader {
 public:
  /// Opens a file. Throws Failure (io) unless the path is a regular file that can be read.
  explicit FileReader(const std::string& path);
  void read(void* to, uint64_t count) override;

 private:
  FileReader(const std::string& path, std::pair<FileHandle, uint64_t> opened);
  FileHandle file_;
  ReadProgress progress_;
};

/// Reads a text. Throws Failure (io; memory: the file is larger than the memory; limit: than the host's values may be).
std::string read_text_file(const std::string& path);
/// As above, as one of the passes that `progress` counts.
std::string read_text_file(const std::string& path, ReadProgress& progress);

}  // namespace tsl
