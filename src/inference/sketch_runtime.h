// Ops on types alone: `infer` of the op's row gives the results' types, and no element is computed or read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "value/runtime.h"
#include "vm/region_hooks.h"

namespace tsl {

class Interpreter;

namespace inference {

/// Throws a Failure that no program catches, where a value would have to be known.
[[noreturn]] void not_known();

/// Host numbers and sizes that are not known are symbols, as in a trace; what would guard one is not known.
class SketchRuntime final : public Runtime, public RegionHooks, public Ops {
 public:
  SketchRuntime(Context& context, Interpreter& interpreter);

  /// Forgets the symbols: values that hold some must be gone.
  void begin();
  SymbolTable& symbols() { return *symbols_; }
  /// Sets the dtype of floats that the running file uses.
  void use_reals(DType reals) { reals_ = reals; }
  DType used_reals() const { return reals_; }
  /// Makes a tensor of which the type alone is known.
  Tensor tensor_of(const TensorType& type, Device device = {});

  // Runtime
  Allocator& allocator() override;
  Device default_device() override { return {}; }
  Tensor to_device(Tensor host) override { return tensor_of({host.dtype(), host.shape()}); }
  Tensor read(const Tensor&) override { not_known(); }
  Value read_number(const Tensor& tensor) override;
  Tensor to_host(const Tensor&) override { not_known(); }
  bool may_write_in_place(const TensorData&) override { return false; }
  RandomState next_random(Dim count) override;
  void seed(uint64_t) override {}
  Value random_state() override { not_known(); }
  void set_random_state(const Value&) override {}
  void effect_print(Value) override {}
  Value effect(EffectFunction, std::vector<Value>) override { not_known(); }
  Tensor perform_collective(Op, const Tensor&, const Attrs&, Span) override { not_known(); }
  void wait() override { not_known(); }
  Counters counters(Device) override { not_known(); }
  TraceCounts trace_counts() const override { not_known(); }
  std::string explain(const Value&, bool) override { not_known(); }
  void recompile(const Value&) override {}
  void resume() override {}
  Value profile(const Value&, const ProfileRequest&) override { not_known(); }
  Value with_range(const std::string& name, const Value& function) override;
  void enter(Cell&) override {}
  void abort_trace(const std::string& reason) override;
  bool logs(std::string_view) const override { return false; }
  void log(std::string_view, const std::string&) override {}

  // RegionHooks
  CallMode call_mode(const Value&) override { return CallMode::interpreted; }
  Value call_region(const Value&, std::span<Value>) override { not_known(); }
  std::optional<uint32_t> run_loop_body(Frame&, const Loop&) override { return {}; }
  void error_caught(ErrorKind) override { not_known(); }
  void out_of_steps() override { not_known(); }
  void each_reference(const Proto&, const std::function<void(const Value&)>&) const override {}
  void forget_regions(const Proto&) override {}

 private:
  void run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
           std::span<Tensor> results) override;
  void after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
             std::span<const Tensor> results) override;
  DType file_reals() const override { return reals_; }
  DType code_reals() const override;

  Context& context_;
  Interpreter& interpreter_;
  Recording recording_;  // that all tensors belong to: nothing computes them
  std::shared_ptr<SymbolTable> symbols_;
  DType reals_ = DType::f32;
};

}  // namespace inference
}  // namespace tsl
