// Records op calls as nodes of a graph instead of computing them.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/source.h"
#include "graph/graph.h"
#include "tensor/op.h"
#include "tensor/symbol.h"
#include "value/value.h"

namespace tsl::jit {

/// What an effect has returned or thrown.
struct EffectOutcome {
  Value value;
  std::exception_ptr error;
};

/// An input of a run that code passes on without looking at it.
struct OpaqueInput {
  uint32_t symbol = 0;  // id of the symbol for a foreign value's identity, or the length of a list or map
  Value value;
};

/// The tensors, numbers and opaque values of one run of a region so far: its inputs and the outputs of its segments.
struct Run {
  std::vector<Tensor> values;   // by slot
  std::vector<char> donated;    // by slot: the references to an input that the caller donates; the rest has none
  std::vector<Scalar> symbols;  // by symbol id
  std::vector<OpaqueInput> opaque;
  std::vector<EffectOutcome> outcomes;  // of the effects, in order
  bool records_sums = false;            // traces of this run record sums over ranks as nodes

  /// Returns a view of the tensor in a slot. `layout` starts at the slot's element (0, 0, …); its sizes may be symbols.
  Tensor view(size_t slot, const Layout& layout) const;
  /// Counts what there is so far, and removes what was added after such a count.
  struct Sizes {
    size_t values, symbols, opaque;
  };
  Sizes sizes() const { return {values.size(), symbols.size(), opaque.size()}; }
  void resize(const Sizes& sizes);
  /// Returns the input that this symbol stands for; null if it is none of the inputs so far.
  const Value* find_opaque(uint32_t symbol) const;
  /// Adds an opaque input, if it is not there.
  void add_opaque(uint32_t symbol, const Value& value);
};

/// Records one trace path of a region, segment by segment. Deferred tensors point to the recorder; it must outlive
/// them, or release() them. The `node` of a deferred tensor is the index of its value in the recorder and not of a
/// graph node: every segment has a new graph, but values remain.
class Recorder : public Recording {
 public:
  explicit Recorder(std::shared_ptr<SymbolTable> symbols) : symbols_(std::move(symbols)) {}
  ~Recorder() override;

  SymbolTable& symbols() { return *symbols_; }

  /// Makes a deferred tensor for the tensor in `slot` of the run, with this layout (its sizes may be symbols).
  Tensor input(DType dtype, const Layout& layout, uint32_t slot, Device device = {});
  /// Adds an op, and fills `results`, which have these types, with its deferred results. All tensor operands must be
  /// deferred in this recorder; all ops since the last cut must be on the same device.
  void record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs, std::span<const TensorType> types,
              const Origin& origin, Device device, std::span<Tensor> results);
  /// Returns the position in the program of the op that is recorded next.
  uint32_t next_order() const { return order_; }
  /// Registers a view that was made elsewhere, so that its value counts as alive.
  void watch(const Tensor& view);
  uint32_t node_count() const { return graph_.size(); }
  bool is_empty() const { return graph_.size() == graph_.inputs().size(); }
  /// Returns the device of the ops since the last cut.
  Device device() const { return device_; }

  /// The graph recorded since the last cut. Its outputs are all values that are still referenced.
  struct Cut {
    graph::Graph graph;
    Device device;
    std::vector<uint32_t> input_slots;  // per graph input: the slot of the run
    std::vector<uint32_t> values;       // per graph output: the value that it computes
  };
  /// Ends the segment. Its values get slots first_slot, first_slot + 1, …
  Cut cut(uint32_t first_slot);

  /// Returns the node of the current graph that computes a deferred tensor; null if there is none.
  const graph::Node* producer(const Tensor& deferred) const;
  /// Returns the slot of the deferred tensor's value, or -1 if it is not computed yet.
  int32_t slot_of(const Tensor& deferred) const { return values_[deferred->node].slot; }
  /// Whether a deferred tensor is an entire value and not a view of one.
  bool is_whole(const Tensor& deferred) const { return same(values_[deferred->node].layout, deferred.layout()); }
  /// Returns a deferred tensor with its elements; the run must have computed its value.
  Tensor concrete(const Tensor& deferred, const Run& run) const;
  /// Gives all deferred tensors that are still referenced their elements. All must be computed.
  void release(const Run& run);

 private:
  struct Value {
    graph::NodeId node = graph::kNoNode;  // in the current graph
    int32_t slot = -1;
    DType dtype = DType::f32;
    Device device;
    Layout layout;  // of the whole value, relative to its element (0, 0, …)
  };

  graph::NodeId node_of(uint32_t value);
  /// Makes the deferred tensor of a node of this type.
  Tensor deferred(graph::NodeId node, const TensorType& type, Device device);
  Tensor deferred(Value value);

  std::shared_ptr<SymbolTable> symbols_;
  graph::Graph graph_;
  Device device_;
  std::vector<uint32_t> input_slots_;
  std::vector<Value> values_;
  std::vector<Tensor> watched_;
  GrowingBytes bytes_;  // of the nodes
  uint32_t order_ = 0;
};

}  // namespace tsl::jit
