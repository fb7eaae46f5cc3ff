#include "prompt/history.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/platform/file_descriptor.h"

namespace tsl::prompt {

namespace fs = std::filesystem;

namespace {

/// Puts an entry on one line of the file.
std::string escaped(const std::string& entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\n') line += "\\n";
    else if (c == '\\') line += "\\\\";
    else line += c;
  }
  return line;
}

std::string unescaped(const std::string& line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) entry += line[i];
    else if (const char c = line[++i]; c == 'n') entry += '\n';
    else entry += c;
  }
  return entry;
}

}  // namespace

std::string default_history_file() {
  if (const char* file = std::getenv("TSL_HISTORY")) return file;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state) return std::string(state) + "/tsl/history";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.local/state/tsl/history" : "";
}

History::History(std::string path) : path_(std::move(path)) {
  std::error_code status;
  if (fs::exists(path_, status) && !fs::is_regular_file(path_, status)) path_.clear();  // a device would never end
  const uintmax_t bytes = fs::file_size(path_, status);
  const bool is_long = !status && bytes > kMostBytes;
  std::ifstream file(path_);
  if (is_long) {
    file.seekg(static_cast<std::streamoff>(bytes - kMostBytes));
    file.ignore(kMostBytes, '\n');  // the rest of an entry
  }
  size_t size = 0;
  for (std::string line; size < kMostBytes && std::getline(file, line); size += line.size())
    entries_.push_back(unescaped(line));
  if (is_long || entries_.size() > 2 * kMostEntries) shorten();
}

void History::add(const std::string& entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
  entries_.push_back(entry);
  if (path_.empty()) return;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  const platform::FileDescriptor file = platform::open_to_append(path_, {.is_private = true});  // it may hold secrets
  if (!file) return;
  const std::string line = escaped(entry) + "\n";
  platform::write_all(file.number(), line.data(), line.size());  // a full disk ends no session
}

/// Replaces the file by one with the newest entries.
void History::shorten() {
  if (entries_.size() > kMostEntries)
    entries_.erase(entries_.begin(), entries_.end() - static_cast<ptrdiff_t>(kMostEntries));
  const std::string made = path_ + ".new";
  std::ofstream file(made);
  for (const std::string& entry : entries_) file << escaped(entry) << '\n';
  file.close();
  std::error_code failed;
  fs::permissions(made, fs::perms::owner_read | fs::perms::owner_write, failed);
  if (file && !failed) fs::rename(made, path_, failed);
}

}  // namespace tsl::prompt
