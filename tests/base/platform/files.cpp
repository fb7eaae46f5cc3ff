// Tests files by their descriptors, and what the system knows of files and folders.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/platform/file_descriptor.h"
#include "base/platform/file_status.h"
#include "catch.h"

using namespace tsl::platform;

namespace {

namespace fs = std::filesystem;

/// A folder of this user, removed at the end of the test.
class TestFolder {
 public:
  TestFolder() : path_(make_folder_beginning_with((fs::temp_directory_path() / "tsl_files_").string())) {
    if (path_.empty()) throw std::runtime_error("no temporary folder");
  }
  ~TestFolder() { fs::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_in(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

fs::perms rights_of(const std::string& path) { return fs::status(path).permissions() & fs::perms::all; }

}  // namespace

TEST_CASE("files are made once, appended to, and read from any offset") {
  const TestFolder folder;
  const std::string path = folder / "a";
  CHECK(!open_to_read(path));
  CHECK(errno == ENOENT);
  FileDescriptor made = make_file(path, {.is_private = true});
  REQUIRE(made);
  CHECK(write_all(made.number(), "abc", 3));
  CHECK(made.close());
  CHECK(!made);
  CHECK(rights_of(path) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(!make_file(path));
  CHECK(errno == EEXIST);
  {
    const FileDescriptor end = open_to_append(path);
    CHECK(write_some(end.number(), "defg", 4) == 4);
  }
  CHECK(text_in(path) == "abcdefg");

  FileDescriptor file = open_to_read(path);
  char text[8] = {};
  CHECK(read_some_at(file.number(), text, 2, 3) == 2);
  CHECK(std::string(text) == "de");
  CHECK(read_some(file.number(), text, sizeof text) == 7);
  CHECK(read_some(file.number(), text, sizeof text) == 0);
  CHECK(write_some(file.number(), "x", 1) < 0);
  CHECK(!write_all(file.number(), "x", 1));
  const int number = file.number();
  const FileDescriptor moved = std::move(file);
  CHECK(moved.number() == number);
  CHECK(!file);
}

TEST_CASE("a stream owns its file, and a name at random is new") {
  const TestFolder folder;
  std::string path, other;
  FileDescriptor file = make_file_beginning_with(folder / "b-", path);
  REQUIRE(file);
  CHECK(make_file_beginning_with(folder / "b-", other));
  CHECK(path != other);
  CHECK(path.starts_with(folder / "b-"));
  CHECK(!stream_of(file, "no mode"));
  CHECK(file);
  std::FILE* const stream = stream_of(file, "wb");
  REQUIRE(stream);
  CHECK(!file);
  CHECK(std::fputs("text", stream) >= 0);
  CHECK(std::fflush(stream) == 0);
  CHECK(sync(stream));
  sync_folder(folder.path());
  CHECK(std::fclose(stream) == 0);
  CHECK(text_in(path) == "text");
}

TEST_CASE("a lock is taken once, and links are followed unless not wanted") {
  const TestFolder folder;
  const std::string path = folder / "c";
  FileDescriptor first = make_file(path);
  const FileDescriptor second = open_to_read(path);
  lock(first);
  CHECK(!try_lock(second));
  first.close();
  CHECK(try_lock(second));
  fs::create_symlink(path, folder / "link");
  CHECK(open_to_read(folder / "link"));
  CHECK(!open_to_read(folder / "link", {.follows_links = false}));
}

TEST_CASE("input is waited for, of one file and of several") {
  const TestFolder folder;
  const FileDescriptor nowhere = open_to_read(kNullFile);
  CHECK(has_input(nowhere.number(), 0));  // its end
  const std::vector<int> files = {nowhere.number(), nowhere.number()};
  CHECK(files_with_input(files, 0) == std::vector<size_t>{0, 1});
  CHECK(files_with_input({}, 0).empty());
}

TEST_CASE("the status of a file is its kind, its size, its names and its last write") {
  const TestFolder folder;
  const std::string path = folder / "d";
  CHECK(!status_of(path));
  FileDescriptor file = make_file(path);
  CHECK(write_all(file.number(), "12345", 5));
  std::optional<FileStatus> status = status_of(path);
  REQUIRE(status);
  CHECK(status->is_regular);
  CHECK(!status->is_folder);
  CHECK(status->size == 5);
  CHECK(status->names == 1);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  const std::optional<FileStatus> earlier = status_of(file.number());
  REQUIRE(earlier);
  CHECK(earlier->seconds + 3600 == status->seconds);
  CHECK(earlier->nanoseconds == status->nanoseconds);
  touch(file);
  CHECK(status_of(path)->seconds >= status->seconds);
  CHECK(is_same_file(path, file.number()));
  fs::remove(path);
  CHECK(status_of(file.number())->names == 0);
  CHECK(!is_same_file(path, file.number()));
  CHECK(status_of(folder.path())->is_folder);
  CHECK(!status_of(-1));
}

TEST_CASE("folders are this user's own, or safe, or neither") {
  const TestFolder folder;
  const std::string path = folder / "e";
  CHECK(make_private_folder(path));
  CHECK(!make_private_folder(path));
  CHECK(errno == EEXIST);
  CHECK(rights_of(path) == fs::perms::owner_all);
  CHECK(is_own_folder(path));
  CHECK(is_safe_folder(path));
  CHECK(can_write(path));
  fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
  CHECK(is_own_folder(path));
  CHECK(!is_safe_folder(path));
  fs::create_directory_symlink(folder.path(), folder / "link");
  CHECK(!is_own_folder(folder / "link"));
  CHECK(is_safe_folder(folder / "link"));
  CHECK(!is_own_folder(folder / "missing"));
  CHECK(!is_safe_folder(folder / "missing"));
  CHECK(make_folder_beginning_with(folder / "missing/x").empty());
}

TEST_CASE("paths that match a pattern come with the highest version first") {
  const TestFolder folder;
  for (const char* const name : {"lib-9", "lib-10", "lib-9.2", "other"}) std::ofstream(folder / name) << name;
  CHECK(paths_matching(folder / "lib-*") ==
        std::vector<std::string>{folder / "lib-10", folder / "lib-9.2", folder / "lib-9"});
  CHECK(paths_matching(folder / "none-*").empty());
  CHECK(!can_execute(folder / "other"));
  fs::permissions(folder / "other", fs::perms::owner_exec, fs::perm_options::add);
  CHECK(can_execute(folder / "other"));
}
