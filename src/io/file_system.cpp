#include "io/file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"
#include "io/bytes.h"
#include "value/utf8.h"

namespace tsl {

namespace fs = std::filesystem;

void require_path(std::string_view path, std::string_view parameter) {
  if (path.find('\0') == std::string_view::npos) return;
  fail_argument(ErrorName::argument_out_of_range, parameter, "a path has a character NUL, which no name of a file has");
}

bool path_exists(const std::string& path) {
  std::error_code status;
  return fs::exists(path, status);
}

void make_folder(const std::string& path) {
  std::error_code status;
  fs::create_directories(path, status);
  if (!status && fs::is_directory(path, status)) return;
  fail(ErrorName::cannot_write_file, "cannot make the folder {}: {}", path,
       status && status != std::errc::not_a_directory ? status.message() : "a file is in the way");
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  size_t at = 0, in_pattern = 0;
  size_t star = std::string_view::npos, from_star = 0;  // the last `*`, and where what it stands for ends so far
  while (at < name.size()) {
    count_work(2);
    const char wanted = in_pattern < pattern.size() ? pattern[in_pattern] : '\0';
    if (wanted == '*' && in_pattern < pattern.size()) {
      star = in_pattern++;
      from_star = at;
    } else if (wanted == '?') {
      ++in_pattern;
      at += utf8_width(name, at);
    } else if (in_pattern < pattern.size() && wanted == name[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++from_star;
    } else {
      return false;
    }
  }
  return pattern.substr(in_pattern).find_first_not_of('*') == std::string_view::npos;
}

Value list_files(const std::string& folder, const std::string& pattern) {
  constexpr int64_t kEntryWork = 1000;
  std::error_code status;
  std::vector<std::string> paths;
  HostBytes bytes;
  uint64_t size = 0;
  for (fs::directory_iterator entry(folder, status), end; !status && entry != end; entry.increment(status)) {
    count_work(kEntryWork);
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    if (name.starts_with('.') != pattern.starts_with('.') || !matches_pattern(name, pattern)) continue;
    if (!entry->is_regular_file(unknown)) continue;
    paths.push_back(folder == "." ? name : entry->path().string());
    bytes.set(size += sizeof(std::string) + paths.back().size());
  }
  if (status) {
    const bool is_missing = status == std::errc::no_such_file_or_directory;
    fail(is_missing ? ErrorName::file_not_found : ErrorName::cannot_read_file, "cannot list {}: {}", folder,
         status.message());
  }
  std::sort(paths.begin(), paths.end());
  Collector items;
  for (std::string& path : paths) items.add(make_string(std::move(path)));
  return make_list(items.take());
}

void append_text_file(const std::string& path, std::string_view text) {
  const auto refuse = [&](const char* why) { fail_to_save(ErrorName::cannot_write_file, path, why); };
  // A pipe without a reader would wait for one.
  platform::FileDescriptor opened = platform::open_to_append(path, {.waits = false});
  if (!opened) refuse(std::strerror(errno));
  const std::optional<platform::FileStatus> about = platform::status_of(opened.number());
  const FileHandle file(platform::stream_of(opened, "ab"));
  if (!file || !about) refuse("the system refuses");
  if (!about->is_regular) refuse("it is not a regular file");
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() || std::fflush(file.get()) != 0)
    refuse(std::strerror(errno));
}

}  // namespace tsl
