#include "io/bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"
#include "base/run_watch.h"
#include "tensor/limits.h"

namespace tsl {

namespace fs = std::filesystem;

void fail_to_load(ErrorName name, const std::string& path, const std::string& why) {
  fail(name, "cannot load {}: {}", path, why);
}
void fail_to_save(ErrorName name, const std::string& path, const std::string& why) {
  fail(name, "cannot save {}: {}", path, why);
}

namespace {

std::string system_error() { return std::strerror(errno); }

/// Suggests the file of the same folder whose name is nearest to one that does not exist.
std::vector<std::string> near_files(const std::string& path) {
  constexpr size_t kMost = 1000;  // more files are not worth the time
  const fs::path file = path, folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code status;
  if (fs::exists(file, status)) return {};
  std::vector<std::string> names;
  // bounded: by kMost
  for (fs::directory_iterator entry(folder, status), end; !status && entry != end && names.size() < kMost;
       entry.increment(status)) {
    names.push_back(entry->path().filename().string());
  }
  const std::string near = nearest_name(file.filename().string(), names);
  if (near.empty()) {
    if (!fs::exists(folder, status)) return {fmt::format("there is no folder '{}'", folder.string())};
    if (file.is_absolute()) return {};
    return {"a path that does not begin with '/' starts at the folder from which the program is run"};
  }
  return {fmt::format("did you mean '{}'?", file.has_parent_path() ? (file.parent_path() / near).string() : near)};
}

/// Opens a regular file: a pipe would wait for a writer, and a device may act on being opened.
std::pair<FileHandle, uint64_t> open_to_read(const std::string& path) {
  std::optional<platform::FileStatus> status = platform::status_of(path);
  const auto refuse = [&](const std::string& why) { fail_to_load(ErrorName::cannot_read_file, path, why); };
  const auto check_kind = [&] {
    if (status->is_folder) refuse("it is a folder");
    if (!status->is_regular) refuse("it is not a regular file");
  };
  if (status) check_kind();
  platform::FileDescriptor opened = platform::open_to_read(path, {.waits = false});
  if (!opened) {
    const ErrorName name = errno == ENOENT ? ErrorName::file_not_found : ErrorName::cannot_read_file;
    const std::string why = system_error();
    fail_with(name, fmt::format("cannot load {}: {}", path, why), near_files(path));
  }
  status = platform::status_of(opened.number());
  FileHandle file(status ? platform::stream_of(opened, "rb") : nullptr);
  if (!file) refuse(system_error());
  check_kind();  // the path may lead to another file since
  return {std::move(file), status->size};
}

}  // namespace

ReadProgress::~ReadProgress() {
  if (is_shown_) RunWatch::current()->show_reading(path_, size_, size_);
}

void ReadProgress::show() {
  constexpr uint64_t kLarge = 100'000'000, kBetween = 1 << 18;
  constexpr std::chrono::milliseconds kInterval(100);
  next_looked_ = done_ + kBetween;
  const RunWatch* const watch = RunWatch::current();
  if (size_ < kLarge || !watch || !watch->show_reading) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_shown_) return;
  next_shown_ = now + kInterval;
  is_shown_ = true;
  watch->show_reading(path_, std::min(done_ / passes_, size_), size_);
}

FileReader::FileReader(const std::string& path) : FileReader(path, open_to_read(path)) {}

FileReader::FileReader(const std::string& path, std::pair<FileHandle, uint64_t> opened)
    : ByteReader(path, opened.second), file_(std::move(opened.first)), progress_(path) {
  progress_.set_size(opened.second);
}

void FileReader::read(void* to, uint64_t count) {
  const auto truncated = [&] { fail_to_load(ErrorName::malformed_file, name(), "the file is truncated"); };
  if (count > left_) truncated();
  read_in_pieces(to, count, [&](char* at, uint64_t now) {
    if (std::fread(at, 1, now, file_.get()) != now) truncated();
    progress_.count(now);
  });
  left_ -= count;
}

std::string read_text_file(const std::string& path) {
  ReadProgress progress(path);
  return read_text_file(path, progress);
}

std::string read_text_file(const std::string& path, ReadProgress& progress) {
  const auto [file, size] = open_to_read(path);
  const auto check_size = [&path = path](uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(memory_limit()))
      fail_with(ErrorName::file_too_large,
                fmt::format("cannot load {}: it takes {}, more than the memory that there is", path,
                            format_bytes(static_cast<double>(bytes))));
    if (const RunWatch* watch = RunWatch::current()) watch->require_host_bytes(bytes);
  };
  check_size(size);
  // Files of the system, such as those in /proc, have a size of 0 and contents all the same.
  constexpr size_t kPiece = 1 << 20, kBeyondSize = 1 << 16;
  std::string text;
  text.reserve(size + kBeyondSize);
  progress.set_size(size);
  for (size_t wanted = 0, count = 0; count == wanted;) {
    const size_t before = text.size();
    wanted = before < size ? std::min<size_t>(kPiece, size - before) : kBeyondSize;
    text.resize(before + wanted);
    count = std::fread(text.data() + before, 1, wanted, file.get());
    text.resize(before + count);
    progress.count(count);
    if (text.size() > size) check_size(text.size());
    poll_stop();
  }
  if (std::ferror(file.get())) fail_to_load(ErrorName::cannot_read_file, path, system_error());
  return text;
}

}  // namespace tsl
