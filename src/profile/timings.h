// Where the time for compiling goes, by phase and by specialisation: --timings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profile/profile_table.h"

namespace tsl::report {

/// Measures the passes on graphs.
class Timings final : public exec::PlanObserver {
 public:
  /// `keep`: the most phases to keep for a trace.
  explicit Timings(size_t keep = 0) : keep_(keep) {}

  /// A part of a compilation: a pass, by its place in graph::passes(), or one of the phases behind them.
  using Phase = size_t;
  static size_t count_phases();

  void on_recording(const graph::PlanOptions& options, const graph::Graph& graph) override;
  void on_pass(const graph::PlanOptions& options, const graph::Pass& pass, const graph::Graph& graph) override;
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override;
  void on_plan(const graph::Plan& plan) override;
  void on_executable(const exec::Executable& executable) override;

  /// A phase of one compilation.
  struct Event {
    uint64_t begin, end;
    Phase phase;
  };
  const std::vector<Event>& events() const { return events_; }

  uint64_t ticks(Phase phase) const { return by_phase_[phase]; }
  /// By name; "" for all eager ops.
  const std::map<std::string, uint64_t>& by_specialisation() const { return by_specialisation_; }

 private:
  void end(Phase phase, const std::string& specialisation);

  const size_t keep_;
  std::vector<Event> events_;
  uint64_t begin_ = 0;  // of the running phase
  std::vector<uint64_t> by_phase_ = std::vector<uint64_t>(count_phases());
  std::map<std::string, uint64_t> by_specialisation_;
};

const char* phase_name(Timings::Phase phase);

/// Formats what the program took before it could run: by phase, and by specialisation.
std::string timings_text(const ProfileView& view, const Timings& timings);

}  // namespace tsl::report
