#include "profile/timings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tsl::report {

using exec::ActivityKind;

void Timings::end(Phase phase, const std::string& specialisation) {
  const uint64_t now = exec::now_in_ticks();
  by_phase_[static_cast<size_t>(phase)] += now - begin_;
  by_specialisation_[specialisation] += now - begin_;
  if (events_.size() < keep_) events_.push_back({begin_, now, phase});
  begin_ = now;
}

void Timings::on_pass(const graph::PlanOptions& options, graph::Pass pass, const graph::Graph&) {
  switch (pass) {
    case graph::Pass::recording: begin_ = exec::now_in_ticks(); break;
    case graph::Pass::dead_code: end(Phase::dead_code, options.name); break;
    case graph::Pass::decompose: end(Phase::decompose, options.name); break;
    case graph::Pass::simplify: end(Phase::simplify, options.name); break;
    case graph::Pass::recompute: end(Phase::recompute, options.name); break;
    case graph::Pass::absorb_epilogues: end(Phase::absorb_epilogues, options.name); break;
    case graph::Pass::view_parts: end(Phase::view_parts, options.name); break;
    case graph::Pass::embed: end(Phase::embed, options.name); break;
  }
}

void Timings::on_fusion(const graph::PlanOptions& options, const graph::Graph&, const graph::Fusion&) {
  end(Phase::fuse, options.name);
}

void Timings::on_plan(const graph::Plan& plan) { end(Phase::lower, plan.options.name); }

void Timings::on_executable(const exec::Executable& executable) { end(Phase::prepare, executable.plan().options.name); }

const char* name_of(Timings::Phase phase) {
  switch (phase) {
    case Timings::Phase::dead_code: return "dead code";
    case Timings::Phase::decompose: return "decompose";
    case Timings::Phase::simplify: return "simplify";
    case Timings::Phase::recompute: return "recompute";
    case Timings::Phase::absorb_epilogues: return "absorb epilogues";
    case Timings::Phase::view_parts: return "view parts";
    case Timings::Phase::embed: return "embed";
    case Timings::Phase::fuse: return "fuse";
    case Timings::Phase::lower: return "lower, launches and buffers";
    case Timings::Phase::prepare: return "prepare for the device (generate, compile and load code)";
  }
  return "";
}

std::string timings_text(const ProfileView& view, const Timings& timings) {
  const auto seconds = [&](double ticks) { return duration_text(view.timeline.seconds(ticks)); };
  std::string text = fmt::format("timings of {}\n", view.title);
  for (const ActivityKind kind :
       {ActivityKind::start_up, ActivityKind::parse, ActivityKind::trace, ActivityKind::compile}) {
    double ticks = 0;
    uint64_t calls = 0;
    for (const ProfileRow& row : view.profile.rows()) {
      if (view.timeline[row.id].kind != kind) continue;
      ticks += static_cast<double>(row.ticks);
      calls += row.calls;
    }
    if (calls > 0) text += fmt::format("{:>9} {:>6} x  {}\n", seconds(ticks), calls, name_of(kind));
  }
  text += "of compiling graphs, by phase\n";
  for (size_t p = 0; p < Timings::kPhases; ++p) {
    const auto phase = static_cast<Timings::Phase>(p);
    if (timings.ticks(phase) > 0)
      text += fmt::format("{:>9}  {}\n", seconds(static_cast<double>(timings.ticks(phase))), name_of(phase));
  }
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto& [name, ticks] : timings.by_specialisation()) sorted.emplace_back(ticks, name);
  std::sort(sorted.rbegin(), sorted.rend());
  constexpr size_t kMost = 20;
  text += "by specialisation\n";
  for (size_t i = 0; i < sorted.size() && i < kMost; ++i) {
    text += fmt::format("{:>9}  {}\n", seconds(static_cast<double>(sorted[i].first)),
                        sorted[i].second.empty() ? "eager ops" : sorted[i].second);
  }
  if (sorted.size() > kMost) text += fmt::format("           and {} more\n", sorted.size() - kMost);
  return text;
}

}  // namespace tsl::report
