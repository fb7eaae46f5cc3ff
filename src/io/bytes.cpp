#include "io/bytes.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/error_names.h"

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

std::pair<FileHandle, uint64_t> open_to_read(const std::string& path) {
  std::error_code status;
  if (fs::is_directory(path, status)) fail_to_load(ErrorName::cannot_read_file, path, "it is a folder");
  FileHandle file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    const ErrorName name = errno == ENOENT ? ErrorName::file_not_found : ErrorName::cannot_read_file;
    const std::string why = system_error();
    fail_with(name, fmt::format("cannot load {}: {}", path, why), near_files(path));
  }
  if (!fs::is_regular_file(path, status)) fail_to_load(ErrorName::cannot_read_file, path, "it is not a regular file");
  const uint64_t size = fs::file_size(path, status);
  if (status) fail_to_load(ErrorName::cannot_read_file, path, status.message());
  return {std::move(file), size};
}

}  // namespace

FileReader::FileReader(const std::string& path) : FileReader(path, open_to_read(path)) {}

FileReader::FileReader(const std::string& path, std::pair<FileHandle, uint64_t> opened)
    : ByteReader(path, opened.second), file_(std::move(opened.first)) {}

void FileReader::read(void* to, uint64_t count) {
  if (count > left_ || std::fread(to, 1, count, file_.get()) != count)
    fail_to_load(ErrorName::malformed_file, name(), "the file is truncated");
  left_ -= count;
}

std::string target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // Linux's limit
  std::error_code status;
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, status); ++links) {
    if (links == kMostLinks)
      fail_to_save(ErrorName::cannot_write_file, path,
                   std::make_error_code(std::errc::too_many_symbolic_link_levels).message());
    const fs::path folder = fs::canonical(target.has_parent_path() ? target.parent_path() : ".", status);
    if (folder.string().rfind("/proc/", 0) == 0) break;
    target = target.parent_path() / fs::read_symlink(target, status);
  }
  return target.string();
}

namespace {

/// Opens a file for direct writing. Standard output is written through its own buffer, so that the order of prints and
/// saves is kept.
std::FILE* open_directly(const char* path) {
  struct stat target = {}, output = {};
  const bool is_output = ::stat(path, &target) == 0 && ::fstat(STDOUT_FILENO, &output) == 0 &&
                         target.st_dev == output.st_dev && target.st_ino == output.st_ino;
  if (!is_output) return std::fopen(path, "wb");
  std::fflush(stdout);
  return ::fdopen(::dup(STDOUT_FILENO), "wb");
}

}  // namespace

std::string temporary_name(const std::string& target) {
  std::random_device random;
  std::error_code status;
  for (;;) {
    std::string name = fmt::format("{}.{:08x}.tmp", target, random());
    if (!fs::exists(name, status)) return name;
  }
}

void replace_file(const std::string& from, const std::string& target) {
  std::error_code status;
  fs::rename(from, target, status);
  if (!status) return;
  std::error_code ignored;
  fs::remove(from, ignored);
  fail_to_save(ErrorName::cannot_write_file, target, status.message());
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  std::error_code status;
  if (fs::is_directory(path_, status)) fail_to_save(ErrorName::cannot_write_file, path_, "it is a folder");
  target_ = target_of(path_);
  const fs::file_status found = fs::symlink_status(target_, status);
  const bool direct = fs::exists(found) && !fs::is_regular_file(found);
  if (!direct) temporary_ = temporary_name(target_);
  file_.reset(direct ? open_directly(path_.c_str()) : std::fopen(temporary_.c_str(), "wbx"));
  if (!file_) {
    temporary_.clear();
    fail_to_save(ErrorName::cannot_write_file, path_, system_error());
  }
  // Of the file that is replaced, such as a script that can be executed.
  if (!direct && fs::exists(found)) fs::permissions(temporary_, found.permissions(), status);
}

AtomicFile::~AtomicFile() {
  file_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::write(const void* data, uint64_t count) {
  if (count != 0 && std::fwrite(data, 1, count, file_.get()) != count)
    fail_to_save(ErrorName::cannot_write_file, path_, system_error());
}

void AtomicFile::commit() {
  // A full disk may be reported only now.
  if (std::fflush(file_.get()) != 0) fail_to_save(ErrorName::cannot_write_file, path_, system_error());
  if (std::fclose(file_.release()) != 0) fail_to_save(ErrorName::cannot_write_file, path_, system_error());
  if (!temporary_.empty()) replace_file(std::exchange(temporary_, ""), target_);
}

std::string read_text_file(const std::string& path) {
  const auto [file, size] = open_to_read(path);
  std::string text;
  text.reserve(size);
  // Files of the system, such as those in /proc, have a size of 0 and contents all the same.
  constexpr size_t kPiece = 1 << 16;
  for (size_t count = kPiece; count == kPiece;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    count = std::fread(text.data() + before, 1, kPiece, file.get());
    text.resize(before + count);
  }
  if (std::ferror(file.get())) fail_to_load(ErrorName::cannot_read_file, path, system_error());
  return text;
}

void write_text_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tsl
