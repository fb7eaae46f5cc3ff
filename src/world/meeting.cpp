#include "world/meeting.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/error_names.h"
#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"
#include "base/platform/process.h"

namespace tsl::world {

namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Writes a file at once, in place of an older one.
void replace(const std::string& path, std::string_view text) {
  std::ofstream(path + ".part") << text << '\n';
  std::error_code ignored;
  fs::rename(path + ".part", path, ignored);
}

std::string path_in(const std::string& folder, const char* kind, int rank) {
  return folder + "/" + kind + "-" + std::to_string(rank);
}

/// Names a process and the moment at which it began, so that a later one of its number is another.
std::string process_text(int process) { return std::to_string(process) + " " + platform::start_of_process(process); }

bool is_running(const std::string& process) {
  std::istringstream text(process);
  int number = 0;
  return text >> number && process == process_text(number);
}

}  // namespace

Meeting::Meeting(const Membership& place) : place_(place), began_(fs::file_time_type::clock::now()) {}

std::string Meeting::path_of(const char* kind, int rank) const { return path_in(place_.folder, kind, rank); }

void Meeting::open() const {
  const std::string& folder = place_.folder;
  std::error_code ignored;
  fs::create_directories(fs::path(folder).parent_path(), ignored);
  platform::make_private_folder(folder);
  if (!platform::is_own_folder(folder))
    fail(ErrorName::ranks_unavailable, "the ranks cannot use the folder {}: it must be this user's own", folder);
}

void Meeting::enter() const {
  const std::string path = path_of("rank", place_.rank), own = process_text(platform::process_number());
  platform::FileDescriptor file = platform::make_file(path, {.is_private = true});
  if (!file && errno != EEXIST) fail(ErrorName::ranks_unavailable, "cannot write {}: {}", path, std::strerror(errno));
  if (file) file.close();
  else if (!place_.owns_folder || is_running(text_of(path)))
    fail_with(ErrorName::ranks_unavailable,
              fmt::format("{} is there already: another process is rank {}, or an earlier run has left it", path,
                          place_.rank),
              {fmt::format("remove {}, or set {} to a new folder", place_.folder, kFolderVariable)});
  std::error_code ignored;
  for (const char* const kind : {"ended", "alive"}) fs::remove(path_of(kind, place_.rank), ignored);
  replace(path, own);
}

bool Meeting::is_there(int rank) const {
  const std::string process = text_of(path_of("rank", rank));
  return !process.empty() && (!place_.owns_folder || is_running(process));
}

std::string Meeting::folder_of_run() const {
  std::string all;
  for (int rank = 0; rank < place_.size; ++rank) all += text_of(path_of("rank", rank)) + ";";
  std::string folder = fmt::format("{}/run-{:016x}", place_.folder, std::hash<std::string>()(all));
  if (!platform::make_private_folder(folder) && errno != EEXIST)
    fail(ErrorName::ranks_unavailable, "cannot make the folder {}: {}", folder, std::strerror(errno));
  return folder;
}

void Meeting::beat() { std::ofstream(path_of("alive", place_.rank)) << ++beats_ << '\n'; }

std::string Meeting::beat_of(int rank) const { return text_of(path_of("alive", rank)); }

void Meeting::leave(std::string_view why) const {
  store_end(place_.folder, place_.rank, why);
  if (!place_.owns_folder) return;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (end_of(rank).empty()) return;
  }
  std::error_code ignored;
  fs::remove_all(place_.folder, ignored);
}

std::string Meeting::end_of(int rank) const {
  const std::string path = path_of("ended", rank);
  std::error_code missing;
  const fs::file_time_type written = fs::last_write_time(path, missing);
  const bool is_of_earlier_run = place_.owns_folder && written < began_ && !is_there(rank);
  return missing || is_of_earlier_run ? "" : text_of(path);
}

void store_end(const std::string& folder, int rank, std::string_view why) {
  const std::string path = path_in(folder, "ended", rank);
  std::error_code missing;
  if (!fs::exists(path, missing)) replace(path, why.substr(0, why.find('\n')));
}

}  // namespace tsl::world
