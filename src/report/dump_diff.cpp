// Compares two dumps.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
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

/// Lists the lines that differ, with "-" and "+", by a longest common subsequence.
std::vector<std::string> changes(const std::vector<std::string>& a, const std::vector<std::string>& b) {
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
    else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) out.push_back("- " + a[i++]);
    else out.push_back("+ " + b[j++]);
  }
  return out;
}

std::string diff_files(const std::string& name, const fs::path& before, const fs::path& after) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  if (a == b) return "";
  if (a.size() > kMaxLines || b.size() > kMaxLines)
    return fmt::format("  {}: differs ({} lines, {} lines)\n", name, a.size(), b.size());
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
    if (was && is) text += diff_files(name, before / name, after / name);
    else text += fmt::format("  {} {}: only in {}\n", was ? "-" : "+", name, was ? "the first" : "the second");
  }
  return text;
}

}  // namespace

std::string diff_dumps(const std::string& before, const std::string& after) {
  for (const std::string& folder : {before, after}) {
    if (!is_dump(folder)) fail(ErrorKind::io, "{} is no dump of tsl: it has no {}", folder, kVersionFile);
  }
  try {
    const fs::path a(before), b(after);
    std::string text;
    const std::string key = diff_files(kVersionFile, a / kVersionFile, b / kVersionFile);
    if (!key.empty()) text += "cache key\n" + key;
    std::set<std::string> names = names_in(a, true);
    names.merge(names_in(b, true));
    for (const std::string& name : names) {
      const bool was = fs::exists(a / name), is = fs::exists(b / name);
      if (!was || !is) {
        text += fmt::format("{} {}: only in {}\n", was ? "-" : "+", name, was ? before : after);
        continue;
      }
      const std::string found = diff_specialisations(a / name, b / name);
      if (!found.empty()) text += name + "\n" + found;
    }
    return text;
  } catch (const fs::filesystem_error& failure) {
    fail(ErrorKind::io, "cannot compare {} and {}: {}", before, after, failure.code().message());
  }
}

}  // namespace tsl::report
