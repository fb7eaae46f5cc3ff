#include "report/profile_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "report/profile_ranges.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;

namespace {

constexpr double kPercent = 100.0;

/// Whether an activity happens once for each program, region or size, and not in its later runs.
bool is_once(ActivityKind kind) {
  return kind == ActivityKind::start_up || kind == ActivityKind::parse || kind == ActivityKind::trace ||
         kind == ActivityKind::compile || kind == ActivityKind::generate || kind == ActivityKind::load;
}

using Line = ProfileLine;

/// Formats a count: "1 call", "2 calls".
std::string counted(uint64_t count, const char* what, const char* many = nullptr) {
  if (many && count != 1) return fmt::format("{} {}", count, many);
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Returns what a table has room for, without a part of a character.
std::string_view start_of(std::string_view code) {
  size_t size = std::min<size_t>(code.size(), 80);
  while (size < code.size() && size > 0 && (static_cast<unsigned char>(code[size]) & 0xC0) == 0x80) --size;
  return code.substr(0, size);
}

class Table {
 public:
  explicit Table(const ProfileView& view) : view_(view), timeline_(view.timeline) {
    whole_ = static_cast<double>(view.profile.end_ticks() - view.profile.begin_ticks());
    for (const ProfileRow& row : view.profile.rows())
      by_kind_[static_cast<size_t>(activity(row).kind)] += row.share_ticks;
  }

  std::string text() {
    text_ = fmt::format("profile of {}: {}\n\n", view_.title, duration_text(timeline_.seconds(whole_)));
    add_rows();
    add_categories();
    add_lines();
    add_ranges();
    add_scopes();
    if (view_.memory) text_ += memory_text(*view_.memory, view_.sources);
    add_verdicts();
    return std::move(text_);
  }

 private:
  const Activity& activity(const ProfileRow& row) const { return timeline_[row.id]; }
  double percent(double ticks) const { return kPercent * ticks / std::max(whole_, 1.0); }
  double kernel_ticks() const { return by_kind_[static_cast<size_t>(ActivityKind::kernel)]; }
  double ticks_of(ActivityKind kind) const { return by_kind_[static_cast<size_t>(kind)]; }

  std::vector<Line> lines_of(const ProfileRow& row) const { return report::lines_of(view_, row); }

  std::string location(const Line& line) const {
    const std::string& name = view_.sources.get(line.source).name();
    return fmt::format("{}:{}", name.substr(name.rfind('/') + 1), line.line);
  }

  /// Formats the lines of a kernel: "train.tsl:8, 9, 12 (backward)".
  std::string locations(const ProfileRow& row) const {
    std::vector<Line> lines = lines_of(row);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    constexpr size_t kMost = 6;
    std::string text;
    for (size_t i = 0; i < lines.size() && i < kMost; ++i) {
      const bool same_file = i > 0 && lines[i].source == lines[i - 1].source;
      text += (i > 0 ? ", " : "") + (same_file ? std::to_string(lines[i].line) : location(lines[i]));
      if (lines[i].is_backward) text += " (backward)";
    }
    if (lines.size() > kMost) text += fmt::format(" and {} more", lines.size() - kMost);
    return text;
  }

  /// Formats how close a kernel comes to what its device can do; a figure above that says why.
  std::string roof_text(const Activity& activity, double seconds) {
    if (!view_.roofline) return "";
    const RoofShare share = roof_share(view_.roofline(activity.device), activity.facts, seconds);
    is_above_roof_ |= share.kind == RoofShare::Kind::above;
    return to_string(share);
  }

  /// Describes what a row is for, and where the program has it. Launches of which both are equal are one row.
  std::string label(const ProfileRow& row) const {
    const Activity& of = activity(row);
    const std::string where = locations(row);
    const std::string what =
        of.kind == ActivityKind::kernel
            ? fmt::format("{}  {}  {}  {}", of.name, to_string(of.device), name_of(of.facts.category), of.facts.types)
            : text_of(of);
    const std::string ranges = of.kind == ActivityKind::kernel ? named_ranges_text(view_, row) : "";
    return what + (where.empty() ? "" : "  " + where) + (ranges.empty() ? "" : "  in " + ranges);
  }

  void add_row(const ProfileRow& row, const std::string& label) {
    const Activity& of = activity(row);
    const double share = row.share_ticks / std::max(whole_, 1.0);
    const double each =
        row.calls ? timeline_.seconds(static_cast<double>(row.ticks)) / static_cast<double>(row.calls) : 0;
    std::string rates = fmt::format("{:>8} {:>8} {:>6}", "", "", "");
    if (of.kind == ActivityKind::kernel) {
      rates = fmt::format("{:>8} {:>8} {:>6}", digits(static_cast<double>(of.facts.bytes) / each / 1e9),
                          digits(static_cast<double>(of.facts.flops) / each / 1e9), roof_text(of, each));
    }
    text_ += fmt::format("{:>7.2f} % {:>9} {:>8} {:>9} {} {:>7}  {}\n", kPercent * share,
                         duration_text(timeline_.seconds(row.share_ticks)), row.calls ? std::to_string(row.calls) : "",
                         row.calls ? duration_text(each) : "", rates,
                         share < 1 ? fmt::format("{:.2f}x", 1 / (1 - share)) : "", label);
  }

  /// Adds the rows by their share. Small ones are added up, so that the rows still sum to the whole.
  void add_rows() {
    text_ += fmt::format("{:>9} {:>9} {:>8} {:>9} {:>8} {:>8} {:>6} {:>7}  {}\n", "share", "time", "calls", "each",
                         "GB/s", "GFLOP/s", "roof", "if free", "kernel or activity");
    std::map<std::string, ProfileRow> by_label;
    for (const ProfileRow& row : view_.profile.rows()) {
      if (row.share_ticks == 0 && row.calls == 0) continue;
      const auto [at, is_new] = by_label.try_emplace(label(row), row);
      if (is_new) continue;
      at->second.share_ticks += row.share_ticks;
      at->second.ticks += row.ticks;
      at->second.calls += row.calls;
    }
    std::vector<std::pair<std::string, ProfileRow>> rows(by_label.begin(), by_label.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second.share_ticks > b.second.share_ticks; });
    constexpr size_t kMost = 40;
    for (size_t i = 0; i < rows.size() && i < kMost; ++i) add_row(rows[i].second, rows[i].first);
    double rest = 0;
    for (size_t i = kMost; i < rows.size(); ++i) rest += rows[i].second.share_ticks;
    if (rows.size() > kMost) {
      text_ += fmt::format("{:>7.2f} % {:>9} {:>62}{} more rows\n", percent(rest),
                           duration_text(timeline_.seconds(rest)), "", rows.size() - kMost);
    }
    double sum = 0;
    for (const auto& [_, row] : rows) sum += row.share_ticks;
    text_ += fmt::format("{:>7.2f} % {:>9}\n", percent(sum), duration_text(timeline_.seconds(sum)));
  }

  void add_categories() {
    std::map<std::string, double> forward, backward;
    for (const ProfileRow& row : view_.profile.rows()) {
      if (activity(row).kind != ActivityKind::kernel) continue;
      const std::vector<Line> lines = lines_of(row);
      const auto back = std::count_if(lines.begin(), lines.end(), [](const Line& line) { return line.is_backward; });
      const double part = lines.empty() ? 0 : static_cast<double>(back) / static_cast<double>(lines.size());
      const std::string name(name_of(activity(row).facts.category));
      backward[name] += part * row.share_ticks;
      forward[name] += (1 - part) * row.share_ticks;
    }
    if (forward.empty()) return;
    text_ += "\nby category\n";
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, ticks] : forward) sorted.emplace_back(ticks + backward[name], name);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const auto& [ticks, name] : sorted) {
      text_ += fmt::format("{:>7.2f} % {:>9}  {}", percent(ticks), duration_text(timeline_.seconds(ticks)), name);
      if (backward[name] > 0) text_ += fmt::format(" ({:.2f} % in backward passes)", percent(backward[name]));
      text_ += '\n';
    }
    text_ += fmt::format("{:>7.2f} % {:>9}  outside of kernels\n", percent(whole_ - kernel_ticks()),
                         duration_text(timeline_.seconds(whole_ - kernel_ticks())));
  }

  /// Adds the lines of the program. A kernel's time is shared by its ops.
  void add_lines() {
    std::map<Line, double> by_line;
    double unknown = 0;
    for (const ProfileRow& row : view_.profile.rows()) {
      if (activity(row).kind != ActivityKind::kernel) continue;
      const std::vector<Line> lines = lines_of(row);
      if (lines.empty()) unknown += row.share_ticks;
      for (const Line& line : lines) by_line[line] += row.share_ticks / static_cast<double>(lines.size());
    }
    if (by_line.empty()) return;
    text_ += "\nby line\n";
    std::vector<std::pair<double, Line>> sorted;
    for (const auto& [line, ticks] : by_line) sorted.emplace_back(ticks, line);
    std::sort(sorted.rbegin(), sorted.rend());
    constexpr size_t kMost = 30;
    for (size_t i = 0; i < sorted.size() && i < kMost; ++i) {
      const auto& [ticks, line] = sorted[i];
      std::string_view code = view_.sources.get(line.source).line(line.line);
      code.remove_prefix(std::min(code.find_first_not_of(" \t"), code.size()));
      text_ +=
          fmt::format("{:>7.2f} % {:>9}  {:<20} {:<8} {}\n", percent(ticks), duration_text(timeline_.seconds(ticks)),
                      location(line), line.is_backward ? "backward" : "", start_of(code));
    }
    if (unknown > 0) text_ += fmt::format("{:>7.2f} % of kernels without a line\n", percent(unknown));
  }

  /// Adds the ranges.
  void add_ranges() {
    const std::vector<RangeShare> shares = range_shares(view_);
    if (shares.empty()) return;
    text_ += "\nby call path and named range; each has the time of those within it\n";
    constexpr size_t kMost = 30;
    for (size_t i = 0; i < shares.size() && i < kMost; ++i) {
      const RangeShare& share = shares[i];
      text_ += fmt::format("{:>7.2f} % {:>9}  {:<30} {:>9}, {}\n", percent(share.ticks),
                           duration_text(timeline_.seconds(share.ticks)), share.path, counted(share.runs, "run"),
                           counted(share.launches, "launch", "launches"));
    }
    if (shares.size() > kMost) text_ += fmt::format("{:>21}… {} more\n", "", shares.size() - kMost);
  }

  void add_scopes() {
    std::vector<ProfileScope> scopes = view_.profile.scopes();
    std::erase_if(scopes, [](const ProfileScope& scope) { return scope.calls == 0; });
    if (scopes.empty()) return;
    text_ += "\nregions and ranges: the first call, which may trace and compile, and later calls\n";
    for (const ProfileScope& scope : scopes) {
      const auto seconds = [this](uint64_t ticks) { return timeline_.seconds(static_cast<double>(ticks)); };
      text_ += fmt::format("  {:<20} {:>14}: first {}", timeline_[scope.id].name, counted(scope.calls, "call"),
                           duration_text(seconds(scope.first_ticks)));
      if (!scope.sample.empty()) {
        std::vector<uint64_t> sample = scope.sample;
        const auto middle = sample.begin() + static_cast<ptrdiff_t>(sample.size() / 2);
        std::nth_element(sample.begin(), middle, sample.end());
        text_ += fmt::format(", then {} each (median)", duration_text(seconds(*middle)));
      }
      text_ += fmt::format("; {}, {}\n", counted(scope.traces, "trace"), counted(scope.compilations, "compilation"));
    }
  }

  void say(const std::string& verdict) { text_ += "  " + verdict + "\n"; }

  void add_verdicts() {
    text_ += "\nin words\n";
    double once = 0;
    uint64_t kernels = 0, of_eager_ops = 0, of_interpreted = 0;
    for (int kind = 0; kind < exec::kActivityKinds; ++kind) {
      if (is_once(static_cast<ActivityKind>(kind))) once += by_kind_[static_cast<size_t>(kind)];
    }
    for (const ProfileRow& row : view_.profile.rows()) {
      if (activity(row).kind != ActivityKind::kernel) continue;
      kernels += row.calls;
      if (!activity(row).plan.empty()) continue;
      (timeline_.is_interpreted(timeline_.origin(row.origin).span) ? of_interpreted : of_eager_ops) += row.calls;
    }
    say(fmt::format("{} kernel launch{}; kernels run for {:.1f} % of the time", kernels, kernels == 1 ? "" : "es",
                    percent(kernel_ticks())));
    for (const std::string& note : timeline_.notes()) say(note);
    if (view_.profile.is_cut()) say("the trace lacks the end of the run: it has reached its limit of events");
    add_unused();
    const double copies = ticks_of(ActivityKind::to_device) + ticks_of(ActivityKind::to_host);
    const double host =
        ticks_of(ActivityKind::interpret) + ticks_of(ActivityKind::replay) + ticks_of(ActivityKind::launch);
    constexpr double kMost = 50;
    if (percent(once) > kMost) {
      say(
          fmt::format("dominated by what happens once: starting, parsing, tracing and compiling take {:.1f} %; "
                      "steady state takes {}",
                      percent(once), duration_text(timeline_.seconds(whole_ - once))));
    }
    const double steady = std::max(whole_ - once, 1.0);
    if (copies > 0.5 * steady)
      say(fmt::format("dominated by copies: {:.1f} % of steady state", kPercent * copies / steady));
    if (host > 0.5 * steady && kernels > 0) {
      say(fmt::format(
          "launch-bound: in steady state {:.1f} % of the time no kernel runs, while the host prepares them; {}",
          kPercent * (1 - kernel_ticks() / steady),
          2 * of_eager_ops > kernels ? "most are of single ops, which @compile or --compile would fuse"
          : 2 * (of_eager_ops + of_interpreted) > kernels
              ? "most are of single ops in functions with @compile that are interpreted"
              : "larger tensors, or more work between two host reads, would help"));
    }
    if (is_above_roof_) {
      say("roof \"above\": faster than the measured peak of the device. The data stayed in a cache, fewer bytes moved "
          "than the shapes say, or the peak was measured on a busy machine (rooflines.json in the folder of `tsl "
          "cache`)");
    }
    add_waits();
  }

  /// Names the lines whose results are unused.
  void add_unused() {
    std::map<std::pair<std::string, std::string>, std::string> by_line;  // by specialisation and line: the ops
    for (const UnusedOp& op : view_.profile.unused()) {
      if (!op.span.valid()) continue;
      std::string& ops = by_line[{op.plan, view_.sources.location(op.span)}];
      ops += (ops.empty() ? "" : ", ") + op.name;
    }
    for (const auto& [at, ops] : by_line) {
      const auto& [plan, where] = at;
      const char* const kernels = view_.profile.is_empty(plan) ? " launches 0 kernels" : "";
      say(fmt::format("{}{}: the result of {} ({}) is unused, so it is not computed", plan, kernels, where, ops));
    }
  }

  /// Names the line at which the host waits longest for the device.
  void add_waits() {
    const ProfileRow* longest = nullptr;
    for (const ProfileRow& row : view_.profile.rows()) {
      const ActivityKind kind = activity(row).kind;
      if (kind != ActivityKind::wait && kind != ActivityKind::to_host) continue;
      if (!longest || row.ticks > longest->ticks) longest = &row;
    }
    if (!longest) return;
    const double seconds = timeline_.seconds(static_cast<double>(longest->ticks));
    if (percent(static_cast<double>(longest->ticks)) < 10) return;
    const std::string where = locations(*longest);
    say(fmt::format("the host waits {} for {} reads{}", duration_text(seconds), longest->calls,
                    where.empty() ? "" : " at " + where));
  }

  const ProfileView& view_;
  const Timeline& timeline_;
  double whole_ = 0;
  std::array<double, exec::kActivityKinds> by_kind_{};
  bool is_above_roof_ = false;
  std::string text_;
};

}  // namespace

std::string digits(double value) {
  if (value == 0) return "0";
  return value >= 100  ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.2f}", value);
}

std::vector<ProfileLine> lines_of(const ProfileView& view, const ProfileRow& row) {
  std::vector<ProfileLine> lines;
  const auto add = [&](const Origin& origin) {
    if (!origin.span.valid()) return;
    lines.push_back(
        {origin.span.source, view.sources.get(origin.span.source).line_of(origin.span.begin), origin.is_backward});
  };
  for (const graph::KernelFacts::SourceOp& op : view.timeline[row.id].facts.ops) add(op.origin);
  if (lines.empty()) add(view.timeline.origin(row.origin));
  return lines;
}

std::string duration_text(double seconds) {
  if (seconds >= 1) return digits(seconds) + " s";
  if (seconds >= 1e-3) return digits(seconds * 1e3) + " ms";
  return digits(seconds * 1e6) + " us";
}

std::string profile_text(const ProfileView& view) { return Table(view).text(); }

}  // namespace tsl::report
