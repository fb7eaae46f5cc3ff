#include "profile/profile_table.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/display_width.h"
#include "base/words.h"
#include "profile/host_time.h"
#include "profile/profile_ranges.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;
using exec::Timeline;

namespace {

/// Formats a count: "1 call", "2 calls".
std::string counted(uint64_t count, const char* what, const char* many = nullptr) {
  if (many && count != 1) return fmt::format("{} {}", count, many);
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Breaks an indented line between words where it would exceed `width` columns (0: nowhere).
std::string wrapped(std::string_view line, size_t width) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string text(line.substr(0, indent));
  size_t columns = indent;
  for (const std::string_view word : split_words(line)) {
    const size_t needed = display_width(word) + 1;
    const bool is_first = columns <= indent;
    if (width > 0 && !is_first && columns + needed > width) {
      text += "\n" + std::string(2 * indent, ' ');
      columns = 2 * indent;
    } else if (!is_first) {
      text += ' ';
    }
    text += word;
    columns += needed;
  }
  return text;
}

/// The columns to the left of a row's name.
enum class Column : uint8_t { share, time, calls, median, least, most, bytes, flops, roof, if_free };

struct ColumnFormat {
  Column column;
  const char* heading;
  int width;
  int rank;  // those of the highest rank are left out first where a line has too little room
};
constexpr ColumnFormat kColumns[] = {
    {Column::share, "share", 9, 0},     {Column::time, "time", 9, 0},     {Column::calls, "calls", 8, 1},
    {Column::median, "median", 8, 2},   {Column::least, "least", 8, 6},   {Column::most, "most", 8, 6},
    {Column::bytes, "GB/s", 7, 4},      {Column::flops, "GFLOP/s", 8, 5}, {Column::roof, "roof", 6, 4},
    {Column::if_free, "if free", 7, 3},
};

/// Returns the columns for lines of `width`, which leave room for names.
std::vector<ColumnFormat> columns_for(size_t width) {
  constexpr int kName = 32;
  std::vector<ColumnFormat> columns(std::begin(kColumns), std::end(kColumns));
  const auto total = [&] {
    int sum = kName;
    for (const ColumnFormat& column : columns) sum += column.width + 1;
    return static_cast<size_t>(sum);
  };
  for (int rank = 6; rank > 0 && width > 0 && total() > width; --rank)
    std::erase_if(columns, [&](const ColumnFormat& column) { return column.rank == rank; });
  return columns;
}

class Table {
 public:
  explicit Table(const ProfileView& view)
      : view_(view), timeline_(view.timeline), options_(view.table), columns_(columns_for(view.table.width)) {
    whole_ = static_cast<double>(view.profile.end_ticks() - view.profile.begin_ticks());
    for (const ProfileRow& row : view.profile.rows()) {
      if (timeline_[row.id].kind == ActivityKind::kernel) kernel_ticks_ += row.share_ticks;
    }
  }

  std::string text() {
    line(fmt::format("profile of {}: {}", view_.title, duration(whole_)));
    line("");
    add_rows();
    add_categories();
    add_lines();
    add_ranges();
    add_functions();
    add_scopes();
    if (view_.memory) add_lines_of(memory_text(*view_.memory, view_.sources, options_.rows), cut_to_width);
    line("");
    line("in words");
    add_lines_of(verdicts_text(view_, is_above_roof_), wrapped);
    return std::move(text_);
  }

 private:
  double percent(double ticks) const { return kPercent * ticks / std::max(whole_, 1.0); }
  std::string duration(double ticks) const { return duration_text(timeline_.seconds(ticks)); }
  std::string duration(uint64_t ticks) const { return duration(static_cast<double>(ticks)); }
  void line(const std::string& text) { text_ += cut_to_width(text, options_.width) + '\n'; }

  /// Adds each line of a text, as `fit` makes it fit into the width.
  void add_lines_of(std::string_view text, std::string (*fit)(std::string_view, size_t)) {
    for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      text_ += fit(text.substr(at, end - at), options_.width) + '\n';
    }
  }

  /// Formats how close kernels come to what their device can do; a figure above that says why.
  std::string roof_text(const RowGroup& row) {
    if (!view_.roofline || !row.kernel || row.is_part || row.calls == 0) return "";
    const double seconds = timeline_.seconds(static_cast<double>(row.sample.median()));
    const RoofShare share = roof_share(view_.roofline(row.kernel->device), row.kernel->facts, seconds);
    is_above_roof_ |= share.kind == RoofShare::Kind::above;
    return to_string(share);
  }

  /// Returns the time that all calls of a row would take if each took the median of one kernel's; the sum of all times
  /// where a row shows several kernels, or parts of them.
  double seconds_for_rates(const RowGroup& row) const {
    const bool is_one = row.kernel && !row.is_part && row.calls > 0;
    const auto median = static_cast<double>(is_one ? row.sample.median() : 0);
    return timeline_.seconds(is_one ? static_cast<double>(row.calls) * median : row.ticks);
  }

  std::string cell(const RowGroup& row, Column column) {
    const double share = row.share_ticks / std::max(whole_, 1.0), seconds = seconds_for_rates(row);
    const bool has_calls = row.calls > 0 && !row.is_part, has_rates = row.is_kernels && seconds > 0;
    constexpr double kGiga = 1e9;
    switch (column) {
      case Column::share: return fmt::format("{:.2f} %", kPercent * share);
      case Column::time: return duration(row.share_ticks);
      case Column::calls: return row.calls > 0 ? std::to_string(row.calls) : "";
      case Column::median: return has_calls ? duration(row.sample.median()) : "";
      case Column::least: return has_calls ? duration(row.least_ticks) : "";
      case Column::most: return has_calls ? duration(row.most_ticks) : "";
      case Column::bytes: return has_rates ? digits(row.bytes / seconds / kGiga) : "";
      case Column::flops: return has_rates ? digits(row.flops / seconds / kGiga) : "";
      case Column::roof: return roof_text(row);
      case Column::if_free: return share < 1 ? fmt::format("{:.2f}x", 1 / (1 - share)) : "";
    }
    return "";
  }

  /// Adds a line of the table. `text`: of a column.
  template <class Text> void add_row(Text&& text, const std::string& label) {
    std::string row;
    for (const ColumnFormat& column : columns_) row += fmt::format("{:>{}} ", text(column), column.width);
    if (label.empty()) row.erase(row.find_last_not_of(' ') + 1);
    line(label.empty() ? row : row + ' ' + label);
  }

  /// Adds a line of the table with a share and a time only.
  void add_sum(double ticks, const std::string& label) {
    const auto text = [&](const ColumnFormat& column) {
      return column.column == Column::share  ? fmt::format("{:.2f} %", percent(ticks))
             : column.column == Column::time ? duration(ticks)
                                             : "";
    };
    add_row(text, label);
  }

  /// Adds the rows. Those beyond the limit are added up, so that the rows still sum to the whole.
  void add_rows() {
    add_row([](const ColumnFormat& column) { return column.heading; }, "kernel or activity");
    const std::vector<RowGroup> rows = row_groups(view_);
    double sum = 0, rest = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += rows[i].share_ticks;
      if (i >= options_.rows) rest += rows[i].share_ticks;
      else add_row([&](const ColumnFormat& column) { return cell(rows[i], column.column); }, rows[i].label);
    }
    if (rows.size() > options_.rows) add_sum(rest, fmt::format("{} more rows", rows.size() - options_.rows));
    add_sum(sum, "");
  }

  void add_categories() {
    std::map<std::string, double> forward, backward;
    for (const ProfileRow& row : view_.profile.rows()) {
      if (timeline_[row.id].kind != ActivityKind::kernel) continue;
      double back = 0;
      for (const auto& [each, part] : line_parts(view_, row)) back += each.is_backward ? part : 0;
      for (const auto& [category, part] : category_parts(view_, row)) {
        backward[std::string(name_of(category))] += part * back * row.share_ticks;
        forward[std::string(name_of(category))] += part * (1 - back) * row.share_ticks;
      }
    }
    if (forward.empty()) return;
    line("");
    line("by category; parts of fused kernels are estimates");
    std::vector<std::pair<double, std::string>> sorted;
    sorted.reserve(forward.size());
    for (const auto& [name, ticks] : forward) sorted.emplace_back(ticks + backward[name], name);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const auto& [ticks, name] : sorted) {
      const std::string part =
          backward[name] > 0 ? fmt::format(" ({:.2f} % in backward passes)", percent(backward[name])) : "";
      line(fmt::format("{:>7.2f} % {:>9}  {}{}", percent(ticks), duration(ticks), name, part));
    }
    const double rest = whole_ - kernel_ticks_;
    line(fmt::format("{:>7.2f} % {:>9}  outside of kernels", percent(rest), duration(rest)));
  }

  /// Adds the lines of the program. A kernel's time is shared by its ops.
  void add_lines() {
    std::map<ProfileLine, double> by_line;
    double unknown = 0;
    for (const ProfileRow& row : view_.profile.rows()) {
      if (timeline_[row.id].kind != ActivityKind::kernel) continue;
      const std::map<ProfileLine, double> parts = line_parts(view_, row);
      if (parts.empty()) unknown += row.share_ticks;
      for (const auto& [each, part] : parts) by_line[each] += part * row.share_ticks;
    }
    if (by_line.empty()) return;
    line("");
    line("by line; parts of fused kernels are estimates");
    std::vector<std::pair<double, ProfileLine>> sorted;
    sorted.reserve(by_line.size());
    for (const auto& [each, ticks] : by_line) sorted.emplace_back(ticks, each);
    std::sort(sorted.rbegin(), sorted.rend());
    for (size_t i = 0; i < sorted.size() && i < options_.rows; ++i) {
      const auto& [ticks, at] = sorted[i];
      line(fmt::format("{:>7.2f} % {:>9}  {:<20} {:<8} {}", percent(ticks), duration(ticks), location_text(view_, at),
                       at.is_backward ? "backward" : "", code_of(view_, at)));
    }
    if (sorted.size() > options_.rows) line(fmt::format("{:>21}… {} more", "", sorted.size() - options_.rows));
    if (unknown > 0) line(fmt::format("{:>7.2f} % of kernels without a line", percent(unknown)));
  }

  /// Adds the ranges.
  void add_ranges() {
    const std::vector<RangeShare> shares = range_shares(view_);
    if (shares.empty()) return;
    line("");
    line(
        "by call path and named range; each has the time of those within it, and parts of fused kernels are estimates");
    for (size_t i = 0; i < shares.size() && i < options_.rows; ++i) {
      const RangeShare& share = shares[i];
      line(fmt::format("{:>7.2f} % {:>9}  {:<30} {:>9}, {}", percent(share.ticks), duration(share.ticks), share.path,
                       counted(share.runs, "run"), counted(share.launches, "launch", "launches")));
    }
    if (shares.size() > options_.rows) line(fmt::format("{:>21}… {} more", "", shares.size() - options_.rows));
  }

  /// Adds the functions that the interpreter runs.
  void add_functions() {
    const std::vector<HostFunction> functions = host_functions(view_);
    if (functions.empty()) return;
    line("");
    line("interpreting by function, from samples: its own time, and with what it calls");
    for (size_t i = 0; i < functions.size() && i < options_.rows; ++i) {
      const HostFunction& each = functions[i];
      line(fmt::format("{:>7.2f} % {:>9} {:>9.2f} % {:>9}  {}", percent(each.own), duration(each.own),
                       percent(each.whole), duration(each.whole), each.name));
    }
    if (functions.size() > options_.rows) line(fmt::format("{:>21}… {} more", "", functions.size() - options_.rows));
  }

  void add_scopes() {
    std::vector<ProfileScope> scopes = view_.profile.scopes();
    std::erase_if(scopes, [](const ProfileScope& scope) { return scope.calls == 0; });
    if (scopes.empty()) return;
    line("");
    line("regions and ranges: the first call, which may trace and compile, and later calls");
    const size_t shown = std::min(scopes.size(), std::max(options_.rows, size_t{1}));
    for (size_t i = 0; i < shown; ++i) {
      const ProfileScope& scope = scopes[i];
      std::string text = fmt::format("  {:<20} {:>14}: first {}", timeline_[scope.id].name,
                                     counted(scope.calls, "call"), duration(scope.first_ticks));
      if (!scope.sample.empty()) text += fmt::format(", then {} each (median)", duration(scope.sample.median()));
      line(text + fmt::format("; {}, {}", counted(scope.traces, "trace"), counted(scope.compilations, "compilation")));
    }
    if (scopes.size() > shown) line(fmt::format("  … {} more", scopes.size() - shown));
  }

  const ProfileView& view_;
  const Timeline& timeline_;
  const TableOptions& options_;
  const std::vector<ColumnFormat> columns_;
  double whole_ = 0, kernel_ticks_ = 0;
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

std::string duration_text(double seconds) {
  if (seconds >= 1) return digits(seconds) + " s";
  if (seconds >= 1e-3) return digits(seconds * 1e3) + " ms";
  return digits(seconds * 1e6) + " us";
}

std::string profile_text(const ProfileView& view) { return Table(view).text(); }

}  // namespace tsl::report
