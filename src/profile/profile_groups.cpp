// Groups the rows of a profile, and puts them in order.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "profile/host_time.h"
#include "profile/profile_ranges.h"
#include "profile/profile_table.h"

namespace tsl::report {

using exec::Activity;
using exec::ActivityKind;

namespace {

class Grouping {
 public:
  explicit Grouping(const ProfileView& view) : view_(view), host_(host_shares(view)) {}

  void add(const ProfileRow& row) {
    const Activity& of = view_.timeline[row.id];
    if (of.kind != ActivityKind::kernel) return add_activity(row);
    const std::string category(name_of(category_of(view_.timeline, row.id, row.origin)));
    switch (view_.table.groups) {
      case RowGroups::launch: {
        const std::string where = locations_text(view_, row), ranges = named_ranges_text(view_, row);
        return add(row,
                   fmt::format("{}  {}  {}  {}{}{}{}{}", of.name, to_string(of.device), category, of.facts.types,
                               where.empty() ? "" : "  ", where, ranges.empty() ? "" : "  in ", ranges),
                   1);
      }
      case RowGroups::kernel: return add(row, fmt::format("{}  {}  {}", of.name, to_string(of.device), category), 1);
      case RowGroups::shape:
        return add(row, fmt::format("{}  {}  {}  {}", of.name, to_string(of.device), category, of.facts.types), 1);
      case RowGroups::category:
        for (const auto& [each, part] : category_parts(view_, row)) add(row, std::string(name_of(each)), part);
        return;
      case RowGroups::line: return add_to_lines(row);
      case RowGroups::range: return add_to_ranges(row);
    }
  }

  std::vector<RowGroup> take() {
    std::vector<RowGroup> groups;
    for (auto& [label, group] : groups_) groups.push_back(std::move(group));
    std::stable_sort(groups.begin(), groups.end(), [this](const RowGroup& a, const RowGroup& b) {
      return key_of(a) > key_of(b);  // those of equal keys stay in alphabetical order
    });
    return groups;
  }

 private:
  std::string label_of_activity(const ProfileRow& row) const {
    const std::string where = locations_text(view_, row);
    const std::string what = text_of(view_.timeline[row.id]);
    return where.empty() ? what : what + "  " + where;
  }

  /// Divides the interpreter's time by what it runs, if samples say that.
  void add_activity(const ProfileRow& row) {
    bool is_divided = false;
    for (const HostShare& share : host_) {
      if (share.activity != row.id) continue;
      is_divided = true;
      add(row, host_label(view_, share), share.ticks / std::max(row.share_ticks, 1.0));
    }
    if (!is_divided) add(row, label_of_activity(row), 1);
  }

  /// Divides a kernel's time by its ops.
  void add_to_lines(const ProfileRow& row) {
    const std::map<ProfileLine, double> parts = line_parts(view_, row);
    if (parts.empty()) return add(row, "kernels without a line", 1);
    for (const auto& [line, part] : parts) {
      const std::string label = fmt::format("{}{}  {}", location_text(view_, line),
                                            line.is_backward ? " (backward)" : "", code_of(view_, line));
      add(row, label, part);
    }
  }

  /// Divides a kernel's time by its ops.
  void add_to_ranges(const ProfileRow& row) {
    for (const auto& [path, part] : range_parts(view_, row))
      add(row, path.empty() ? "kernels of no range" : path, part);
  }

  void add(const ProfileRow& row, const std::string& label, double part) {
    const Activity& of = view_.timeline[row.id];
    const auto [at, is_new] = groups_.try_emplace(label);
    RowGroup& group = at->second;
    const bool is_kernel = of.kind == ActivityKind::kernel;
    const auto is_alike = [&](const Activity& other) {
      return other.name == of.name && other.facts.bytes == of.facts.bytes && other.facts.flops == of.facts.flops;
    };
    group.label = label;
    group.is_kernels |= is_kernel;
    constexpr double kWhole = 1 - 1e-9;  // parts are rounded
    group.is_part |= part < kWhole;
    if (is_new && is_kernel) group.kernel = &of;
    else if (group.kernel && !is_alike(*group.kernel)) group.kernel = nullptr;
    group.share_ticks += part * row.share_ticks;
    group.ticks += part * static_cast<double>(row.ticks);
    group.bytes += part * static_cast<double>(row.calls) * static_cast<double>(of.facts.bytes);
    group.flops += part * static_cast<double>(row.calls) * static_cast<double>(of.facts.flops);
    group.least_ticks = group.calls == 0 ? row.least_ticks
                        : row.calls == 0 ? group.least_ticks
                                         : std::min(group.least_ticks, row.least_ticks);
    group.most_ticks = std::max(group.most_ticks, row.most_ticks);
    group.calls += row.calls;
    group.sample.add(row.sample);
  }

  double key_of(const RowGroup& group) const {
    switch (view_.table.order) {
      case RowOrder::time: return group.share_ticks;
      case RowOrder::calls: return static_cast<double>(group.calls);
      case RowOrder::median: return static_cast<double>(group.sample.median());
      case RowOrder::least: return static_cast<double>(group.least_ticks);
      case RowOrder::most: return static_cast<double>(group.most_ticks);
      case RowOrder::name: return 0;
    }
    return 0;
  }

  const ProfileView& view_;
  const std::vector<HostShare> host_;
  std::map<std::string, RowGroup> groups_;  // by label
};

/// Returns the line of an op; nothing if it has no position.
std::optional<ProfileLine> line_of(const ProfileView& view, const Origin& origin) {
  if (!origin.span.valid()) return std::nullopt;
  const Source& source = view.sources.get(origin.span.source);
  return ProfileLine{origin.span.source, source.line_of(origin.span.begin), origin.is_backward};
}

}  // namespace

Category category_of(const exec::Timeline& timeline, exec::Timeline::Id kernel, uint32_t origin) {
  return graph::category_of(timeline.origin(origin).work, timeline[kernel].facts.category);
}

std::vector<RowGroup> row_groups(const ProfileView& view) {
  Grouping grouping(view);
  for (const ProfileRow& row : view.profile.rows()) {
    if (row.share_ticks > 0 || row.calls > 0) grouping.add(row);
  }
  return grouping.take();
}

std::vector<ProfileLine> lines_of(const ProfileView& view, const ProfileRow& row) {
  std::vector<ProfileLine> lines;
  const auto add = [&](const Origin& origin) {
    if (const std::optional<ProfileLine> line = line_of(view, origin)) lines.push_back(*line);
  };
  for (const graph::KernelFacts::SourceOp& op : view.timeline[row.id].facts.ops) add(op.origin);
  if (lines.empty()) add(view.timeline.origin(row.origin));
  return lines;
}

std::map<ProfileLine, double> line_parts(const ProfileView& view, const ProfileRow& row) {
  std::map<ProfileLine, double> parts;
  double sum = 0;
  for (const graph::KernelFacts::SourceOp& op : view.timeline[row.id].facts.ops) {
    if (const std::optional<ProfileLine> line = line_of(view, op.origin)) {
      parts[*line] += op.part;
      sum += op.part;
    }
  }
  for (auto& [line, part] : parts) part = sum > 0 ? part / sum : 1 / static_cast<double>(parts.size());
  if (!parts.empty()) return parts;
  if (const std::optional<ProfileLine> line = line_of(view, view.timeline.origin(row.origin))) parts[*line] = 1;
  return parts;
}

std::map<Category, double> category_parts(const ProfileView& view, const ProfileRow& row) {
  const graph::KernelFacts& facts = view.timeline[row.id].facts;
  const ComposedWork of_call = view.timeline.origin(row.origin).work;
  std::map<Category, double> parts;
  for (const graph::KernelFacts::SourceOp& op : facts.ops) {
    const ComposedWork work = op.origin.work == ComposedWork::none ? of_call : op.origin.work;
    parts[graph::category_of(work, facts.own_category)] += op.part;
  }
  if (parts.empty()) parts[category_of(view.timeline, row.id, row.origin)] = 1;
  return parts;
}

std::string location_text(const ProfileView& view, const ProfileLine& line) {
  const std::string& name = view.sources.get(line.source).name();
  return fmt::format("{}:{}", name.substr(name.rfind('/') + 1), line.line);
}

std::string locations_text(const ProfileView& view, const ProfileRow& row) {
  std::vector<ProfileLine> lines = lines_of(view, row);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  constexpr size_t kMost = 6;
  std::string text;
  for (size_t i = 0; i < lines.size() && i < kMost; ++i) {
    const bool same_file = i > 0 && lines[i].source == lines[i - 1].source;
    text += (i > 0 ? ", " : "") + (same_file ? std::to_string(lines[i].line) : location_text(view, lines[i]));
    if (lines[i].is_backward) text += " (backward)";
  }
  if (lines.size() > kMost) text += fmt::format(" and {} more", lines.size() - kMost);
  return text;
}

std::string_view code_of(const ProfileView& view, const ProfileLine& line) {
  std::string_view code = view.sources.get(line.source).line(line.line);
  code.remove_prefix(std::min(code.find_first_not_of(" \t"), code.size()));
  size_t size = std::min<size_t>(code.size(), 80);
  while (size < code.size() && size > 0 && (static_cast<unsigned char>(code[size]) & 0xC0) == 0x80) --size;
  return code.substr(0, size);
}

}  // namespace tsl::report
