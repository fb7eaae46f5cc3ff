// Directs the ops, host reads, random numbers and effects of one engine to the eager executor, the current trace, or
// the listeners to op calls.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cpu/backend.h"
#include "engine/broadcast_check.h"
#include "engine/call_paths.h"
#include "engine/collectives.h"
#include "engine/compile_log.h"
#include "engine/nan_check.h"
#include "engine/profiling.h"
#include "exec/backend_registry.h"
#include "exec/devices.h"
#include "exec/eager.h"
#include "jit/region.h"
#include "report/run_recorder.h"
#include "value/runtime.h"
#include "vm/region_hooks.h"

namespace tsl {

struct EngineOptions;

class EngineRuntime final : public Runtime, public RegionHooks, public Ops {
 public:
  /// Everything must outlive this, except the interpreter, which is not used any more when the engine is destroyed.
  EngineRuntime(Context& context, Interpreter& interpreter, const EngineOptions& options);

  exec::Devices& devices() { return devices_; }
  /// Returns the profile of the whole run (EngineOptions::profile), or null.
  Profiling* profiling() { return profiling_.get(); }
  /// Begins a profile of what runs from now on, or ends it.
  void start_profile();
  void stop_profile() { profiling_.reset(); }
  /// Begins or ends a pause, in which all code is interpreted (RegionPause).
  void pause_regions(int change) { region_pauses_ += change; }
  /// Receives an error that nothing catches, while the program is where it failed.
  std::function<void(const Error&)> on_failure;
  /// Sets the default device. Throws Failure (device).
  void choose_device(Device device);
  /// Called when the first program begins.
  void end_start_up();

  // Runtime
  Allocator& allocator() override { return host_.allocator(); }
  Device default_device() override;
  Tensor to_device(Tensor host) override { return devices_.to_device(host, device()); }
  Tensor read(const Tensor& tensor) override;
  Value read_number(const Tensor& tensor) override;
  Tensor to_host(const Tensor& tensor) override;
  bool may_write_in_place(const TensorData& tensor) override;
  RandomState next_random(Dim count) override;
  Value random_state() override;
  void set_random_state(const Value& state) override;
  void seed(uint64_t seed) override;
  void effect_print(Value value) override;
  Value effect(EffectFunction run, std::vector<Value> args) override;
  Tensor perform_collective(Op op, const Tensor& x, const Attrs& attrs, Span call) override;
  void wait() override { devices_.wait(); }
  Counters counters(Device device) override { return devices_.counters(device); }
  TraceCounts trace_counts() const override { return regions_.counts(); }
  std::string explain(const Value& function, bool all) override;
  void recompile(const Value& function) override;
  Value profile(const Value& function, const ProfileRequest& request) override;
  Value with_range(const std::string& name, const Value& function) override;
  void resume() override { devices_.forget_active(); }
  void enter(Cell& cell) override;
  void abort_trace(const std::string& reason) override;
  bool logs(std::string_view topic) const override;
  void log(std::string_view topic, const std::string& text) override;

  // RegionHooks
  CallMode call_mode(const Value& function) override;
  Value call_region(const Value& function, std::span<Value> args) override {
    look_at_memory();
    begin_region();
    return regions_.call(function, args);
  }
  std::optional<uint32_t> run_loop_body(Frame& frame, const Loop& loop) override;
  void error_caught(ErrorKind kind) override;
  void failed(Failure& failure) override;
  void out_of_steps() override { abort_trace("it runs too long to be traced"); }
  void each_reference(const Proto& function, const std::function<void(const Value&)>& visit) const override {
    regions_.each_reference(function, visit);
  }
  void forget_regions(const Proto& function) override;

  /// Records all that is compiled from now on; without effect if it is recorded already.
  void start_recording();
  const report::RunRecorder* recorder() const { return recorder_.get(); }

 private:
  /// Begins a region: its ops are in the ranges that it names itself, and its kernels are in those around the call,
  /// too.
  void begin_region() {
    region_calls_.begin();
    if (exec::Timeline* timeline = devices_.timeline())
      timeline->set_origin({{}, false, ComposedWork::none, calls_.current()});
  }
  /// Returns the range of the running call, if anybody may ask for it.
  uint32_t range() override {
    if (trace()) return region_calls_.current();
    return devices_.timeline() ? calls_.current() : 0;
  }

  /// Why no function may become a region now, and what serves.
  struct RegionObstacle {
    const char *why, *hint;
  };
  std::optional<RegionObstacle> region_obstacle();
  std::unique_ptr<exec::Backend> open_device(Device device);
  Device find_device();
  void announce_sums(std::span<const jit::RecordedSum> sums, const jit::Run& run, bool has_failed);
  Tensor record_sum(const Tensor& x, const Attrs& attrs);
  jit::TraceSession* trace() const { return is_tracing() ? regions_.trace() : nullptr; }
  jit::Tracing tracing();
  /// Lets runs be deferred while no `try` could catch their errors.
  void defer_errors();

  void run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
           std::span<Tensor> results) override;
  void after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
             std::span<const Tensor> results) override;
  Tensor move(const Tensor& tensor, const Attrs& attrs);
  /// Calls an op between ranks: at once, or whenever the compiled region runs, once.
  Tensor call_ranks(Op op, const Tensor& x, const Attrs& attrs);
  /// Gives a host read its line in the profile.
  void locate_read();
  std::string_view no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) override;
  int64_t tensor_limit(Device device) override;
  Origin location() const override;
  DType file_reals() const override;
  DType code_reals() const override;
  void begin_profile();
  Value as_data(const std::string& json, Value result);
  void show_ranges(exec::RangeSink& ranges);
  report::MemoryLedger& memory();
  void add_memory_notes(Error& error, Device device);
  void look_at_memory() {
    if (memory_) memory_->look_if_grown();
  }

  Context& context_;
  Interpreter& interpreter_;
  const EngineOptions& options_;
  const exec::BackendRegistry& backends_;
  std::unique_ptr<report::MemoryLedger> memory_;  // once there was a profile; outlives all memory
  cpu::CpuBackend host_;
  exec::Devices devices_;
  Collectives collectives_{devices_, host_.allocator(), [this](const std::string& line) { context_.write_log(line); }};
  std::optional<Device> default_;  // set by the first call of default_device()
  exec::EagerExecutor eager_;
  NanCheck nan_check_;
  BroadcastCheck broadcast_check_;
  const LogLevels log_levels_;
  CompileLog compile_log_;
  TraceLog trace_log_;
  jit::TraceObservers trace_observers_;
  std::unique_ptr<report::RunRecorder> recorder_;
  jit::RegionCache regions_;
  Ref<Cell> random_;
  std::unique_ptr<Profiling> profiling_;
  std::unique_ptr<exec::Timeline> shown_;  // for a profiler that is attached, if there is no profiling_
  bool has_started_ = false;
  int region_pauses_ = 0;
  CallPaths calls_;         // of the program
  CallPaths region_calls_;  // of the region that runs: recorded code may be called from any other
};

/// Interprets all code during a scope: code that a function of the host calls while a region may be running.
class RegionPause {
 public:
  RegionPause(EngineRuntime& runtime, bool is_needed) : runtime_(runtime), change_(is_needed ? 1 : 0) {
    runtime_.pause_regions(change_);
  }
  ~RegionPause() { runtime_.pause_regions(-change_); }
  RegionPause(const RegionPause&) = delete;
  RegionPause& operator=(const RegionPause&) = delete;

 private:
  EngineRuntime& runtime_;
  const int change_;
};

}  // namespace tsl
