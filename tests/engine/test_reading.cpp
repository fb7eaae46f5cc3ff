// Tests what a host hears while a large file is loaded.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

#include "support/session.h"

using tsl::Session;

namespace {

/// A temporary file of a text.
class File {
 public:
  File(const std::string& end, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("tsl_reading_" + std::to_string(getpid()) + end)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a host hears how far the parsing of a large file is") {
  constexpr size_t kRows = 100, kBytesOfRow = 1'000'000;
  std::string text, end;
  SECTION("a table") {
    end = ".csv";
    text = "a\n";
    const std::string row(50, '7');  // short rows, which take longer to parse than the pause between two reports
    while (text.size() < kRows * kBytesOfRow) text += row + '\n';
  }
  SECTION("JSON") {
    end = ".json";
    text = '[' + std::string(kRows * kBytesOfRow, ' ') + ']';
  }
  const File file(end, text);
  Session s;
  std::vector<uint64_t> shown;
  s.engine.watch.show_reading = [&](std::string_view path, uint64_t done, uint64_t total) {
    CHECK(path == file.path());
    CHECK(total == text.size());
    shown.push_back(done);
  };
  s.eval("load(\"" + file.path() + "\")\n1");
  CHECK(std::is_sorted(shown.begin(), shown.end()));
  REQUIRE_FALSE(shown.empty());
  CHECK(shown.back() == text.size());
  const auto is_parsed = [&](uint64_t done) { return done > text.size() / 2 && done < text.size(); };
  CHECK(std::any_of(shown.begin(), shown.end(), is_parsed));
}
