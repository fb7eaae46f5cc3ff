#include "report/profile_lines.h"

namespace tsl::report {

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

}  // namespace tsl::report
