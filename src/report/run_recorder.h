// Fills a Recording while a program runs.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "exec/instruments.h"
#include "jit/trace_observer.h"
#include "report/recording.h"

namespace tsl {
class SourceMap;
}

namespace tsl::report {

/// Watches traces and compilations. Belongs to one engine, whose sources must outlive it.
class RunRecorder final : public exec::PlanObserver, public jit::TraceObserver {
 public:
  /// `compiles`, `why_not`: as in Recording.
  RunRecorder(const SourceMap& sources, std::string compiles, std::string why_not) : sources_(sources) {
    recording_.compiles = std::move(compiles);
    recording_.why_not = std::move(why_not);
  }
  /// Adds a region that was traced before.
  void add_earlier(const jit::RegionNote& region, size_t paths);
  const Recording& recording() const { return recording_; }

  // jit::TraceObserver
  void on_run(const void* declaration, jit::RunKind kind) override;
  void on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) override;
  void on_segment(const jit::RegionNote& region, const jit::SegmentNote& segment) override;
  void on_abort(const jit::RegionNote& region, const std::string& reason, Span at, uint32_t calls) override;
  void on_limit(const jit::RegionNote& region, const std::string& reason, Span at) override;
  void on_composition(const jit::RegionNote* region, const jit::CompositionNote& note) override;
  void on_specialisation(const jit::RegionNote& region, const jit::SpecialisationNote& note) override;
  void on_forgotten(const void* declaration) override;

  // exec::PlanObserver
  void on_recording(const graph::PlanOptions& options, const graph::Graph& graph) override;
  void on_pass(const graph::PlanOptions& options, const graph::Pass& pass, const graph::Graph& graph) override;
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override;
  void on_recompute(const graph::PlanOptions& options, const graph::Node& node, const char* decision) override;
  bool wants_reasons() const override { return true; }
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override;
  void on_plan(const graph::Plan& plan) override;
  void on_executable(const exec::Executable& executable) override;
  void on_device_graph(const graph::PlanOptions& options, const exec::GraphNote& note) override;

 private:
  RegionRecord& region_of(const jit::RegionNote& note);
  /// Returns the specialisation that is being compiled; null for an eager op.
  SpecialisationRecord* current(const graph::PlanOptions& options);
  Location location_of(Span span);
  OpRecord op_of(const graph::Node& node);

  const SourceMap& sources_;
  Recording recording_;
  std::unordered_map<const void*, size_t> index_;  // of a declaration in the recording
  size_t current_region_ = 0;                      // of the specialisation that is being compiled
  std::string last_graph_;                         // its graph as last recorded
};

}  // namespace tsl::report
