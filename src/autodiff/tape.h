// Reverse differentiation: a tape records the op calls that depend on its inputs, and applies their derivative rules in
// reverse order. The rules call ops, so what they compute can be recorded, compiled and, by outer tapes, differentiated
// again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "autodiff/products.h"
#include "tensor/op_listeners.h"

namespace tsl {

/// Maps tensors to numbers by identity. Whoever adds a tensor keeps it alive, so that no other gets its address.
class TensorNumbers {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find(const TensorData* tensor) const {
    if (slots_.empty()) return kNone;
    for (size_t at = slot_of(tensor);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tensor == tensor) return slots_[at].number;
      if (!slots_[at].tensor) return kNone;
    }
  }
  /// Adds a tensor, which must not be in the map.
  void add(const TensorData* tensor, uint32_t number);

 private:
  struct Slot {
    const TensorData* tensor = nullptr;
    uint32_t number = kNone;
  };

  size_t slot_of(const TensorData* tensor) const {
    // The multiplication mixes the address into the upper bits, which select the slot.
    return (reinterpret_cast<uintptr_t>(tensor) * 0x9e3779b97f4a7c15ull) >> shift_;
  }
  void insert(const TensorData* tensor, uint32_t number);
  void grow();

  std::vector<Slot> slots_;  // the size is a power of two, and at most half is used; linear probing
  size_t count_ = 0;
  int shift_ = 64;
};

/// Records the calls that depend on some inputs, in order. Tensors, deferred ones too, are known by identity.
class Tape final : public OpListener {
 public:
  /// Adds an input to differentiate by. It must be a new handle: other uses of a shared handle would be differentiated
  /// as well.
  void add_input(const Tensor& input);
  /// Records a call, if the gradient of a result would reach an input.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, std::span<const Tensor> results,
              const Origin& origin) override;
  void record_custom(const std::shared_ptr<const CustomCall>& call, const Origin& origin) override;
  bool follows(const Tensor& tensor) const override { return nodes_.find(tensor.get()) != TensorNumbers::kNone; }
  /// Keeps the symbol table alive that later calls may refer to.
  void keep_alive(const std::shared_ptr<SymbolTable>& symbols) override { symbols_ = symbols; }

  /// Whether calls are kept after their derivatives are computed.
  enum class After : uint8_t { empty, keep };

  /// Returns the gradients of the inputs, given those of some results (of their types): zeros where nothing flows. Sums
  /// have a fixed order. With After::empty, each call and its memory is released after use, so this can be called only
  /// once.
  std::vector<Tensor> gradients(Ops& ops, std::span<const Tensor> results, std::span<const Tensor> result_gradients,
                                After after);

 private:
  struct Call {
    const OpDef* def = nullptr;
    uint32_t first_operand = 0;
    uint32_t operand_count = 0;
    uint32_t first_result = 0;
    uint32_t result_count = 0;
    std::unique_ptr<const Attrs> attrs;        // null if all have their defaults
    std::shared_ptr<const CustomCall> custom;  // of a call without an op
    Origin origin;                             // of what the derivative rule calls
  };
  /// The gradient of a node so far.
  struct Sum {
    Tensor total;  // null: nothing
    std::vector<EmbeddedGradient> embedded;
    bool is_empty() const { return !total && embedded.empty(); }
  };
  using Products = std::vector<SharedProducts>;  // of each node, or none at all
  /// Memory for one rule's flags and results, reused by all rules.
  struct Scratch {
    std::unique_ptr<bool[]> needed;
    std::vector<Tensor> gradients;
    std::vector<Tensor> result_gradients{};
  };

  /// Adds a call with its operands and results.
  void add_call(Call call, std::span<const Operand> operands, std::span<const Tensor> results);
  /// Numbers a result like the operand, or like an earlier result of the same call, whose gradient it shares. Whether
  /// it did.
  bool shares_node(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result);
  /// Counts the products with each node on their right.
  Products count_products() const;
  /// Applies the rule of a call to the gradients of its results, which are in `scratch`.
  void differentiate(Ops& ops, const Call& call, Scratch& scratch, std::vector<Sum>& sums, Products& products);
  /// Adds the derivatives that wait to the sums of the nodes from `first` on.
  static void add_waiting(Ops& ops, Products& products, size_t first, std::span<Sum> sums);
  void differentiate_custom(const Call& call, std::span<const Tensor> gradients, std::span<Tensor> found);
  /// Returns the gradient of a node, to which nothing is added any more; null where nothing flows.
  static Tensor take(Ops& ops, Sum& sum, const Tensor& node);
  void drop_last_call();
  void materialize();

  // Nodes are numbered: first the inputs, then the results of the calls.
  std::vector<Tensor> inputs_;
  std::vector<Call> calls_;
  std::vector<Operand> operands_;        // of all calls, one after another
  std::vector<uint32_t> operand_nodes_;  // kNone: no gradient is needed
  std::vector<Tensor> results_;          // of all calls, one after another
  std::vector<Tensor> same_;  // other handles of numbered tensors, kept alive so that their addresses stay in use
  std::unordered_map<uint32_t, uint32_t> permuted_;  // the last Op::permute of a node
  GrowingBytes bytes_;                               // of the calls
  uint32_t most_operands_ = 0;                       // the most of any call
  uint32_t product_count_ = 0;                       // calls that are products of matrices
  std::shared_ptr<SymbolTable> symbols_;  // of the trace in which calls were recorded; calls may outlive that trace
  TensorNumbers nodes_;
};

}  // namespace tsl
