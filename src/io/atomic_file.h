// Writes files either completely or not at all.
#pragma once

#include <string>
#include <string_view>

#include "io/bytes.h"

namespace tsl {

/// Writes a temporary file beside the target and renames it at commit(). A crash, a full disk or a loss of power leaves
/// the old file or the new one: the file reaches the disk before its new name does. Files that ended processes have
/// left behind are removed by the next one for the same target. A link is followed. Targets that are no regular files
/// (a pipe, /dev/stdout) are written directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, uint64_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Returns the open file, for libraries that write by themselves.
  std::FILE* stream() { return file_.get(); }
  void commit();

 private:
  std::string path_;
  std::string target_;     // the end of all links
  std::string temporary_;  // empty if the target is written directly
  FileHandle file_;
};

/// Returns an unused name beside `target`.
std::string temporary_name(const std::string& target);

void write_text_file(const std::string& path, std::string_view text);

}  // namespace tsl
