// Logs what is traced and compiled: all topics of --log but bytecode and device.
#pragma once

#include "engine/log_topics.h"
#include "exec/instruments.h"
#include "jit/trace_observer.h"
#include "value/context.h"

namespace tsl {

/// Logs plans being made: graph, fusion, plan, code, graphs and, of perf, what kernels cost. Those of eager ops are not
/// logged: there would be one for each op and shape.
class CompileLog final : public exec::PlanObserver {
 public:
  CompileLog(Context& context, const LogLevels& levels) : context_(context), levels_(levels) {}
  bool logs_any() const;

  void on_recording(const graph::PlanOptions& options, const graph::Graph& graph) override;
  void on_eliminated(const graph::PlanOptions& options, const graph::Node& node) override;
  void on_recompute(const graph::PlanOptions& options, const graph::Node& node, const char* decision) override;
  bool wants_reasons() const override { return levels_.logs_text("fusion"); }
  void on_fusion(const graph::PlanOptions& options, const graph::Graph& graph, const graph::Fusion& fusion) override;
  void on_plan(const graph::Plan& plan) override;
  void on_executable(const exec::Executable& executable) override;
  void on_device_graph(const graph::PlanOptions& options, const exec::GraphNote& note) override;

 private:
  void write(std::string_view topic, const std::string& about, const std::string& text);
  void write_first_line(std::string_view topic, const std::string& about, const std::string& text);
  void log_candidates(const exec::Executable& executable);
  void log_code(const exec::Executable& executable);
  void log_costs(const exec::Executable& executable);

  Context& context_;
  const LogLevels& levels_;
};

/// Logs traces: recompiles, guards and, of perf, what interrupts compiled code.
class TraceLog final : public jit::TraceObserver {
 public:
  TraceLog(Context& context, const LogLevels& levels) : context_(context), levels_(levels) {}
  bool logs_any() const { return levels_.logs("recompiles") || levels_.logs("guards") || levels_.logs("perf"); }

  void on_trace(const jit::RegionNote& region, const jit::TraceReason& reason) override;
  void on_segment(const jit::RegionNote& region, const jit::SegmentNote& segment) override;
  void on_abort(const jit::RegionNote& region, const std::string& reason, Span at, uint32_t calls) override;
  void on_specialisation(const jit::RegionNote& region, const jit::SpecialisationNote& note) override;

 private:
  void log_guards(const jit::RegionNote& region, const jit::SegmentNote& segment);
  void log_end(const jit::RegionNote& region, const jit::SegmentNote& segment);

  Context& context_;
  const LogLevels& levels_;
};

}  // namespace tsl
