#include "profile/timings.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tsl::report {

using exec::ActivityKind;

namespace {

constexpr const char* kPhasesBehindPasses[] = {"fuse", "lower, launches and buffers",
                                               "prepare for the device (generate, compile and load code)"};
enum BehindPasses : size_t { kFuse, kLower, kPrepare };

Timings::Phase behind_passes(BehindPasses phase) { return graph::passes().size() + phase; }

}  // namespace

size_t Timings::count_phases() { return graph::passes().size() + std::size(kPhasesBehindPasses); }

void Timings::end(Phase phase, const std::string& specialisation) {
  const uint64_t now = exec::now_in_ticks();
  by_phase_[phase] += now - begin_;
  by_specialisation_[specialisation] += now - begin_;
  if (events_.size() < keep_) events_.push_back({begin_, now, phase});
  begin_ = now;
}

void Timings::on_recording(const graph::PlanOptions&, const graph::Graph&) { begin_ = exec::now_in_ticks(); }

void Timings::on_pass(const graph::PlanOptions& options, const graph::Pass& pass, const graph::Graph&) {
  end(static_cast<size_t>(&pass - graph::passes().data()), options.name);
}

void Timings::on_fusion(const graph::PlanOptions& options, const graph::Graph&, const graph::Fusion&) {
  end(behind_passes(kFuse), options.name);
}

void Timings::on_plan(const graph::Plan& plan) { end(behind_passes(kLower), plan.options.name); }

void Timings::on_executable(const exec::Executable& executable) {
  end(behind_passes(kPrepare), executable.plan().options.name);
}

const char* phase_name(Timings::Phase phase) {
  const auto passes = graph::passes();
  return phase < passes.size() ? passes[phase].name : kPhasesBehindPasses[phase - passes.size()];
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
  for (Timings::Phase phase = 0; phase < Timings::count_phases(); ++phase) {
    if (timings.ticks(phase) > 0)
      text += fmt::format("{:>9}  {}\n", seconds(static_cast<double>(timings.ticks(phase))), phase_name(phase));
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
