#include "jit/definition.h"

#include <memory>

#include "jit/recorder.h"

namespace tsl::jit {

namespace {

/// Records the calls of a definition.
class DefinitionOps final : public Ops {
 public:
  DefinitionOps(Device device, graph::Target& target) : device_(device), target_(target) {}

  /// Returns a deferred tensor for an operand of a node of `graph`.
  Operand operand(const graph::Graph& graph, const graph::Arg& arg) {
    if (!arg.is_tensor()) return arg.scalar;
    const graph::Node& producer = graph[arg.node];
    const Layout layout = producer.is_input ? producer.input_layout : Layout::contiguous(producer.shape);
    return recorder_.input(producer.dtype, without_symbols(layout), arg.node, device_)
        .with_layout(without_symbols(arg.layout));
  }
  Recorder& recorder() { return recorder_; }

 private:
  void run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
           std::span<Tensor> results) override {
    recorder_.record(op, operands, attrs, types, {}, device_, results);
  }
  void after(const OpDef& op, std::span<const Operand>, const Attrs&, std::span<const Tensor> results) override {
    if (op.view) recorder_.watch(results[0]);
  }
  Device default_device() override { return device_; }
  int64_t tensor_limit(Device) override { return target_.tensor_limit(); }
  std::string_view no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) override {
    return target_.no_kernel(op, operands, attrs);
  }

  const Device device_;
  graph::Target& target_;
  Recorder recorder_{std::make_shared<SymbolTable>()};
};

}  // namespace

DefinedNode define(const graph::Graph& graph, const graph::Node& node, Device device, graph::Target& target) {
  DefinitionOps ops(device, target);
  std::vector<Operand> operands;
  for (const graph::Arg& arg : node.args) operands.push_back(ops.operand(graph, arg));
  Results results = node.def().compose(ops, operands, node.attrs);
  for (Tensor& result : results) {
    if (result && !result.layout().is_contiguous()) result = ops.call(Op::copy, {result});
  }
  Recorder::Cut cut = ops.recorder().cut(graph.size());  // behind the slots of operands
  DefinedNode out{std::move(cut.graph), std::move(cut.input_slots), std::vector<int>(cut.values.size(), -1)};
  for (int i = 0; i < node.def().results; ++i) {
    if (!results[i]) continue;
    const int64_t output = int64_t{ops.recorder().slot_of(results[i])} - graph.size();
    if (output < 0) continue;  // it is an operand
    out.results[static_cast<size_t>(output)] = i;
    out.graph.outputs[static_cast<size_t>(output)].layout = results[i].layout();
  }
  return out;
}

}  // namespace tsl::jit
