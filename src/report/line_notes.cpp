#include "report/line_notes.h"

#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/error.h"
#include "report/dump.h"
#include "report/explain.h"

namespace tsl::report {

namespace {

constexpr double kLeastShare = 0.01;  // of the time of all kernels

using Line = std::pair<std::string, uint32_t>;

/// Collects the notes of a line, each once.
class Notes {
 public:
  void add(const Location& at, const std::string& text) {
    if (!at.valid() || text.empty()) return;
    std::string& all = lines_[{at.file, at.line}];
    if (all.find(text) == std::string::npos) all += (all.empty() ? "" : "; ") + text;
  }
  std::vector<LineNote> take() {
    std::vector<LineNote> notes;
    for (auto& [line, text] : lines_) notes.push_back({line.first, line.second, std::move(text)});
    return notes;
  }

 private:
  std::map<Line, std::string> lines_;
};

std::string split_text(const SegmentRecord& segment) {
  if (segment.end == "end" || segment.end == "abort") return "";
  if (segment.end == "host read") return fmt::format("split here: `{}` is read", segment.location.source);
  return fmt::format("split here: {}", segment.end);
}

void add_times(std::map<Line, double>& seconds, const KernelRecord& kernel) {
  for (const OpRecord& op : kernel.ops) {
    if (op.location.valid()) seconds[{op.location.file, op.location.line}] += kernel.times.seconds * op.part;
  }
}

std::map<Line, double> seconds_of_lines(const Recording& recording) {
  std::map<Line, double> seconds;
  for (const KernelRecord& kernel : recording.eager_kernels) add_times(seconds, kernel);
  for (const RegionRecord& region : recording.regions) {
    for (const SpecialisationRecord& each : region.specialisations) {
      for (const KernelRecord& kernel : each.kernels) add_times(seconds, kernel);
    }
  }
  return seconds;
}

}  // namespace

std::vector<LineNote> line_notes(const Recording& recording) {
  Notes notes;
  for (const RegionRecord& region : recording.regions) {
    notes.add(region.location, tier_of(region));
    for (const SegmentRecord& segment : region.segments) notes.add(segment.location, split_text(segment));
  }
  const std::map<Line, double> seconds = seconds_of_lines(recording);
  double all = 0;
  for (const auto& [line, each] : seconds) all += each;
  constexpr double kMilliseconds = 1e3;
  for (const auto& [line, each] : seconds) {
    if (each > 0 && each >= kLeastShare * all)
      notes.add({line.first, line.second, ""}, fmt::format("{:.3g} ms", each * kMilliseconds));
  }
  return notes.take();
}

void keep_line_notes(const Recording& recording) {
  const std::vector<LineNote> notes = line_notes(recording);
  for (const SourceRecord& source : recording.sources) {
    const std::string path = editor_notes_path(source.file);
    if (path.empty()) continue;
    nlohmann::json kept = nlohmann::json::array();
    std::istringstream text(source.text);
    uint32_t number = 0;
    auto note = notes.begin();
    for (std::string line; std::getline(text, line);) {
      ++number;
      while (note != notes.end() && std::pair(note->file, note->line) < std::pair(source.file, number)) ++note;
      if (note != notes.end() && note->file == source.file && note->line == number)
        kept.push_back({{"line", number}, {"source", line}, {"text", note->text}});
    }
    try {
      std::error_code ignored;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
      write_file(path, kept.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } catch (const Failure&) {}  // the notes are no part of what was asked for
  }
}

}  // namespace tsl::report
