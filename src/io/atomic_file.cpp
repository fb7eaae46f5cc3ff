#include "io/atomic_file.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kRandomDigits = 8;

[[noreturn]] void fail_by_system(const std::string& path) {
  fail_to_save(ErrorName::cannot_write_file, path, std::strerror(errno));
}

/// Resolves links to the file that is to be written. Links in /proc, which /dev/stdout leads to, refer to open files
/// that cannot be replaced: there the link itself is returned.
std::string target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // Linux's limit
  std::error_code status;
  fs::path target = path;
  // bounded: by kMostLinks
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

std::string folder_of(const std::string& target) {
  const fs::path folder = fs::path(target).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Opens a file for direct writing. Standard output is written through its own buffer, so that the order of prints and
/// saves is kept.
std::FILE* open_directly(const std::string& path) {
  if (!platform::is_same_file(path, platform::kStandardOutput)) return std::fopen(path.c_str(), "wb");
  std::fflush(stdout);
  platform::FileDescriptor output = platform::duplicate_of(platform::kStandardOutput);
  return platform::stream_of(output, "wb");
}

/// Whether `name` is one that temporary_name() gives for a file `target`.
bool is_temporary_of(std::string_view name, std::string_view target) {
  if (name.size() != target.size() + 1 + kRandomDigits + kSuffix.size() || !name.starts_with(target) ||
      name[target.size()] != '.' || !name.ends_with(kSuffix))
    return false;
  const std::string_view digits = name.substr(target.size() + 1, kRandomDigits);
  return std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c); });
}

/// Removes the temporary files of ended processes: a living one holds the lock of its file.
void remove_left_behind(const std::string& target) {
  const std::string name = fs::path(target).filename().string();
  std::error_code status;
  // bounded: the entries of a folder
  for (fs::directory_iterator entry(folder_of(target), status), end; !status && entry != end; entry.increment(status)) {
    if (!is_temporary_of(entry->path().filename().string(), name)) continue;
    const platform::FileDescriptor left =
        platform::open_to_read(entry->path().string(), {.waits = false, .follows_links = false});
    if (!left || !platform::try_lock(left)) continue;
    const std::optional<platform::FileStatus> about = platform::status_of(left.number());
    std::error_code ignored;
    if (about && !about->is_folder) fs::remove(entry->path(), ignored);
  }
}

/// Makes a temporary file, and locks it where the file system can.
std::FILE* make_temporary(const std::string& target, std::string& name) {
  // bounded: another process would have to take each name first
  for (;;) {
    name = temporary_name(target);
    platform::FileDescriptor made = platform::make_file(name);
    if (!made && errno == EEXIST) continue;
    if (!made) return nullptr;
    platform::lock(made);
    const std::optional<platform::FileStatus> about = platform::status_of(made.number());
    if (about && about->names > 0) return platform::stream_of(made, "wb");
    // Another process found it before it was locked, and has removed it.
  }
}

}  // namespace

std::string temporary_name(const std::string& target) {
  return fmt::format("{}.{:0{}x}{}", target, std::random_device()(), kRandomDigits, kSuffix);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  std::error_code status;
  if (fs::is_directory(path_, status)) fail_to_save(ErrorName::cannot_write_file, path_, "it is a folder");
  target_ = target_of(path_);
  const fs::file_status found = fs::symlink_status(target_, status);
  const bool direct = fs::exists(found) && !fs::is_regular_file(found);
  if (!direct) remove_left_behind(target_);
  file_.reset(direct ? open_directly(path_) : make_temporary(target_, temporary_));
  if (!file_) {
    temporary_.clear();
    fail_by_system(path_);
  }
  // Of the file that is replaced, such as a script that can be executed.
  if (!direct && fs::exists(found)) fs::permissions(temporary_, found.permissions(), status);
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);  // while it is locked
}

void AtomicFile::write(const void* data, uint64_t count) {
  constexpr uint64_t kPiece = 1 << 22;
  for (const auto* at = static_cast<const char*>(data); count > 0; poll_stop()) {
    const uint64_t bytes = std::min(count, kPiece);
    if (std::fwrite(at, 1, bytes, file_.get()) != bytes) fail_by_system(path_);
    at += bytes;
    count -= bytes;
  }
}

void AtomicFile::commit() {
  // A full disk may be reported only now.
  if (std::fflush(file_.get()) != 0) fail_by_system(path_);
  if (temporary_.empty()) {
    if (std::fclose(file_.release()) != 0) fail_by_system(path_);
    return;
  }
  if (!platform::sync(file_.get())) fail_by_system(path_);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_by_system(path_);
  temporary_.clear();
  platform::sync_folder(folder_of(target_));
  if (std::fclose(file_.release()) != 0) fail_by_system(path_);
}

void write_text_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tsl
