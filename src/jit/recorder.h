// Recording: op calls become nodes of a graph instead of being computed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/source.h"
#include "graph/graph.h"
#include "tensor/op.h"
#include "tensor/symbol.h"

namespace tsl::jit {

/// The tensors and numbers of one run of a region, as far as it has come: its inputs and what its segments computed.
struct Run {
  std::vector<Tensor> values;   // by slot
  std::vector<Scalar> symbols;  // by symbol id
};

/// Records one trace path of a region, segment by segment. Deferred tensors point to it; it must outlive them or
/// release() them. A deferred tensor's `node` is the index of its value here, not of a graph node: the graph is
/// new in every segment, values stay.
class Recorder : public Recording {
 public:
  explicit Recorder(std::shared_ptr<SymbolTable> symbols) : symbols_(std::move(symbols)) {}
  ~Recorder() override;

  SymbolTable& symbols() { return *symbols_; }
  const std::shared_ptr<SymbolTable>& shared_symbols() const { return symbols_; }

  /// A deferred tensor that stands for the one in `slot` of the run, which is laid out so (its sizes may be symbols).
  Tensor input(DType dtype, const Layout& layout, uint32_t slot, Device device = {});
  /// Adds an op and gives its deferred result. All tensor operands must be deferred here; they and the other ops since
  /// the last cut must be on the same device.
  Tensor record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, const TensorType& type,
                Span span, Device device = {});
  /// Tells the recorder of a view it did not make, so that it knows the view is alive.
  void watch(const Tensor& view);
  uint32_t node_count() const { return graph_.size(); }
  bool is_empty() const { return graph_.size() == graph_.inputs().size(); }
  /// Where the ops since the last cut run.
  Device device() const { return device_; }

  /// The graph recorded since the last cut. Its outputs are all values that somebody still holds.
  struct Cut {
    graph::Graph graph;
    Device device;
    std::vector<uint32_t> input_slots;  // of the run, per graph input
    std::vector<uint32_t> values;       // per graph output: the value it computes
  };
  /// Ends the segment. The values in the cut will be in slots first_slot, first_slot + 1, …
  Cut cut(uint32_t first_slot);

  /// The slot that holds this deferred tensor's value, or -1 if it is not computed yet.
  int32_t slot_of(const Tensor& deferred) const { return values_[deferred->node].slot; }
  /// Whether a deferred tensor is a value as it is, not a view of it.
  bool is_whole(const Tensor& deferred) const { return same(values_[deferred->node].layout, deferred.layout()); }
  /// A deferred tensor whose value the run holds, as a tensor with elements.
  Tensor concrete(const Tensor& deferred, const Run& run) const;
  /// Turns every deferred tensor that is still held into one with elements. All must be computed.
  void release(const Run& run);

 private:
  struct Value {
    graph::NodeId node = graph::kNoNode;  // in the present graph
    int32_t slot = -1;
    DType dtype = DType::f32;
    Device device;
    Layout layout;  // of the whole value, from its element (0, 0, …)
  };

  graph::NodeId node_of(uint32_t value);
  Tensor deferred(Value value);

  std::shared_ptr<SymbolTable> symbols_;
  graph::Graph graph_;
  Device device_;
  std::vector<uint32_t> input_slots_;
  std::vector<Value> values_;
  std::vector<Tensor> watched_;
  uint32_t order_ = 0;
};

}  // namespace tsl::jit
