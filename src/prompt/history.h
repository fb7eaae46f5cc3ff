// The entries of this session and of earlier ones, in a file.
#pragma once

#include <string>
#include <vector>

namespace tsl::prompt {

/// Returns $TSL_HISTORY, else $XDG_STATE_HOME/tsl/history, else ~/.local/state/tsl/history; "" if none of these
/// variables is set. An empty $TSL_HISTORY means that no file is kept.
std::string default_history_file();

class History {
 public:
  /// The most entries that a file keeps between sessions.
  static constexpr size_t kMostEntries = 10'000;
  /// The most bytes of a file that are read, at its end.
  static constexpr size_t kMostBytes = 64'000'000;

  /// Reads the file's entries. `path`: "" for none. A file that cannot be read or written is none,
  /// too, and so is what is no regular file.
  explicit History(std::string path);

  /// Adds an entry, unless it equals the last one, and appends it to the file: sessions at the same time lose nothing.
  void add(const std::string& entry);
  /// All entries, the oldest first.
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  void shorten();

  std::string path_;
  std::vector<std::string> entries_;
};

}  // namespace tsl::prompt
