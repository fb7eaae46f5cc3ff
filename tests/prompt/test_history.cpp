// Tests the file of entries.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "catch.h"
#include "prompt/history.h"

namespace fs = std::filesystem;

using tsl::prompt::History;
using Entries = std::vector<std::string>;

namespace {

/// A path in a folder that does not exist yet, and is removed afterwards.
struct HistoryFile {
  const fs::path folder = fs::temp_directory_path() / ("tsl_history_" + std::to_string(getpid()));
  const std::string path = (folder / "state" / "history").string();
  HistoryFile() { fs::remove_all(folder); }
  ~HistoryFile() { fs::remove_all(folder); }
};

}  // namespace

TEST_CASE("entries of several lines are the same in the next session") {
  const HistoryFile file;
  History(file.path).add("let a = \"\\n\"");
  History(file.path).add("fn f() {\n  1\n}");
  CHECK(History(file.path).entries() == Entries{"let a = \"\\n\"", "fn f() {\n  1\n}"});
}

TEST_CASE("two sessions at the same time lose nothing") {
  const HistoryFile file;
  History one(file.path), other(file.path);
  one.add("1");
  other.add("2");
  one.add("3");
  CHECK(History(file.path).entries() == Entries{"1", "2", "3"});
}

TEST_CASE("an entry that repeats the last one is stored once") {
  const HistoryFile file;
  History history(file.path);
  history.add("1");
  history.add("1");
  history.add("");
  CHECK(history.entries() == Entries{"1"});
}

TEST_CASE("a long history keeps its newest entries") {
  const HistoryFile file;
  fs::create_directories(fs::path(file.path).parent_path());
  {
    std::ofstream old(file.path);
    for (size_t i = 0; i <= 2 * History::kMostEntries; ++i) old << i << '\n';
  }
  const Entries first = History(file.path).entries();
  CHECK(first.size() == History::kMostEntries);
  CHECK(first.back() == std::to_string(2 * History::kMostEntries));
  CHECK(History(file.path).entries() == first);
  CHECK((fs::status(file.path).permissions() & fs::perms::group_read) == fs::perms::none);
}

TEST_CASE("a history without a file, or with one that cannot be written, lasts for the session") {
  History none("");
  none.add("1");
  CHECK(none.entries() == Entries{"1"});
  History refused("/proc/no such folder/history");
  refused.add("1");
  CHECK(refused.entries() == Entries{"1"});
}

TEST_CASE("of a file of gigabytes the end is read, and kept") {
  const HistoryFile file;
  fs::create_directories(fs::path(file.path).parent_path());
  std::ofstream(file.path) << "first\n";
  fs::resize_file(file.path, 3'000'000'000);  // takes no room on the disk
  std::ofstream(file.path, std::ios::app) << "\none\ntwo\n";
  CHECK(History(file.path).entries() == Entries{"one", "two"});
  CHECK(fs::file_size(file.path) == 8);
  CHECK(History(file.path).entries() == Entries{"one", "two"});
}
