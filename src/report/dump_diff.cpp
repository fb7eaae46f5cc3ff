// Compares two dumps.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error_names.h"
#include "report/dump.h"
#include "report/dump_format.h"

namespace tsl::report {

namespace fs = std::filesystem;

namespace {

// Longer files are compared by their length only: the comparison takes memory for the product of both.
constexpr size_t kMaxLines = 3'000;
constexpr size_t kMaxShown = 60;  // lines of one file

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

/// A file's lines, and what is compared of them.
struct Lines {
  Lines(const fs::path& path, bool ignores_lines) : text(lines_of(path)), compared(text) {
    if (!ignores_lines) return;
    for (std::string& line : compared) line = without_lines(line);
  }
  std::vector<std::string> text, compared;
};

/// Lists the lines that differ, with "-" and "+", by a longest common subsequence.
std::vector<std::string> changes(const Lines& before, const Lines& after) {
  const std::vector<std::string>&a = before.compared, &b = after.compared;
  std::vector<std::vector<uint16_t>> common(a.size() + 1, std::vector<uint16_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] =
          a[i] == b[j] ? static_cast<uint16_t>(common[i + 1][j + 1] + 1) : std::max(common[i + 1][j], common[i][j + 1]);
  }
  std::vector<std::string> out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) ++i, ++j;
    else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1]))
      out.push_back("- " + before.text[i++]);
    else out.push_back("+ " + after.text[j++]);
  }
  return out;
}

/// Compares two files; line numbers of the program only if `ignores_lines` is false.
std::string diff_files(const std::string& name, const fs::path& before, const fs::path& after, bool ignores_lines) {
  const Lines a(before, ignores_lines), b(after, ignores_lines);
  if (a.compared == b.compared) return "";
  if (a.text.size() > kMaxLines || b.text.size() > kMaxLines)
    return fmt::format("  {}: differs ({} lines, {} lines)\n", name, a.text.size(), b.text.size());
  const std::vector<std::string> lines = changes(a, b);
  std::string text = fmt::format("  {}\n", name);
  for (size_t i = 0; i < std::min(lines.size(), kMaxShown); ++i) text += "    " + lines[i] + "\n";
  if (lines.size() > kMaxShown) text += fmt::format("    … {} more lines\n", lines.size() - kMaxShown);
  return text;
}

/// Returns the files below a folder, by their relative paths; only the folders of the first level if `folders`.
std::set<std::string> names_in(const fs::path& folder, bool folders) {
  std::set<std::string> out;
  if (folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory()) out.insert(entry.path().filename().string());
    }
    return out;
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) out.insert(fs::relative(entry.path(), folder).string());
  }
  return out;
}

std::string diff_specialisations(const fs::path& before, const fs::path& after) {
  std::string text;
  std::set<std::string> names = names_in(before, false);
  names.merge(names_in(after, false));
  for (const std::string& name : names) {
    const bool was = fs::exists(before / name), is = fs::exists(after / name);
    if (was && is) text += diff_files(name, before / name, after / name, true);
    else text += fmt::format("  {} {}: only in {}\n", was ? "-" : "+", name, was ? "the first" : "the second");
  }
  return text;
}

/// A specialisation's folder, and its position in the program.
struct FolderPosition {
  std::string function, folder;
  uint64_t line = 0, number = 0;
  auto key() const { return std::tie(function, line, number, folder); }
};

/// Reads the position from the title of a stage: "# step:12#0: 02-graph".
FolderPosition position_in(const fs::path& dump, const std::string& folder) {
  FolderPosition position{folder.substr(0, folder.find('.')), folder};
  std::ifstream file(dump / folder / (std::string(kGraphStage) + ".txt"));
  std::string title;
  std::getline(file, title);
  const size_t colon = title.find(':'), hash = title.find('#', 1);
  if (colon == std::string::npos || hash == std::string::npos || hash < colon) return position;
  position.line = std::strtoull(title.c_str() + colon + 1, nullptr, 10);
  position.number = std::strtoull(title.c_str() + hash + 1, nullptr, 10);
  return position;
}

using Pair = std::pair<std::string, std::string>;  // of folders; "": there is none

/// Finds the folders to compare: those of one name, then those of one function in the order of the program.
std::vector<Pair> pairs_of(const fs::path& a, const fs::path& b) {
  std::vector<Pair> pairs;
  std::map<std::string, std::array<std::vector<FolderPosition>, 2>> others;  // by function
  std::set<std::string> in_a = names_in(a, true), in_b = names_in(b, true);
  for (const std::string& name : in_a) {
    if (in_b.erase(name)) pairs.emplace_back(name, name);
    else others[name.substr(0, name.find('.'))][0].push_back(position_in(a, name));
  }
  for (const std::string& name : in_b) others[name.substr(0, name.find('.'))][1].push_back(position_in(b, name));
  for (auto& [function, sides] : others) {
    for (std::vector<FolderPosition>& side : sides)
      std::sort(side.begin(), side.end(),
                [](const FolderPosition& x, const FolderPosition& y) { return x.key() < y.key(); });
    for (size_t i = 0; i < std::max(sides[0].size(), sides[1].size()); ++i) {
      const auto folder_in = [i](const std::vector<FolderPosition>& side) {
        return i < side.size() ? side[i].folder : "";
      };
      pairs.emplace_back(folder_in(sides[0]), folder_in(sides[1]));
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace

std::string diff_dumps(const std::string& before, const std::string& after) {
  for (const std::string& folder : {before, after}) {
    if (!is_dump(folder)) fail(ErrorName::no_dump, "{} is no dump of tsl: it has no {}", folder, kVersionFile);
  }
  try {
    const fs::path a(before), b(after);
    std::string text;
    const std::string key = diff_files(kVersionFile, a / kVersionFile, b / kVersionFile, false);
    if (!key.empty()) text += "cache key\n" + key;
    for (const auto& [was, is] : pairs_of(a, b)) {
      if (was.empty()) text += fmt::format("+ {}: only in {}\n", is, after);
      else if (is.empty()) text += fmt::format("- {}: only in {}\n", was, before);
      else if (const std::string found = diff_specialisations(a / was, b / is); !found.empty())
        text += (was == is ? was : was + ", now " + is) + "\n" + found;
    }
    return text;
  } catch (const fs::filesystem_error& failure) {
    fail(ErrorName::cannot_read_file, "cannot compare {} and {}: {}", before, after, failure.code().message());
  }
}

}  // namespace tsl::report
