// Differentiation in reverse: a tape notes the op calls that depend on its inputs, and later plays their
// derivative rules backwards. The rules call ops like anything else, so what they compute can be recorded,
// compiled and, by tapes further out, differentiated again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/op_listeners.h"

namespace tsl {

/// Numbers given to tensors by identity. Whoever adds a tensor keeps it alive, so that its address stays its
/// own.
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
  /// The tensor must be new here.
  void add(const TensorData* tensor, uint32_t number);

 private:
  struct Slot {
    const TensorData* tensor = nullptr;
    uint32_t number = kNone;
  };

  size_t slot_of(const TensorData* tensor) const {
    // The multiplication mixes the address into the upper bits, from where the place is taken.
    return (reinterpret_cast<uintptr_t>(tensor) * 0x9e3779b97f4a7c15ull) >> shift_;
  }
  void insert(const TensorData* tensor, uint32_t number);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half of it taken; collisions go to the next place
  size_t count_ = 0;
  int shift_ = 64;
};

/// The calls that depend on some inputs, in order. Tensors are known by identity, deferred ones too.
class Tape final : public OpListener {
 public:
  /// Adds a tensor to differentiate by. It must be a handle that nothing else is computed from: the same
  /// handle elsewhere would be differentiated too.
  void add_input(const Tensor& input);
  /// Notes a call, if the gradient of its result would reach an input.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result) override;
  /// Calls recorded from now on may hold symbols of this table.
  void keep_alive(const std::shared_ptr<SymbolTable>& symbols) override { symbols_ = symbols; }

  /// What is left of the calls after their derivatives are known.
  enum class After : uint8_t { empty, keep };

  /// The gradients of the inputs, given those of some results (of their types): zeros where nothing flows.
  /// Sums are made in a fixed order. With After::empty, calls are forgotten on the way, and with them the
  /// memory that they held; then this may be asked only once.
  std::vector<Tensor> gradients(Ops& ops, std::span<const Tensor> results, std::span<const Tensor> result_gradients,
                                After after);

 private:
  struct Call {
    const OpDef* def = nullptr;
    uint32_t first_operand = 0;
    uint32_t operand_count = 0;
    std::unique_ptr<const Attrs> attrs;  // null if all are at their defaults
    Tensor result;
  };
  /// Space for one rule's flags and results, kept from rule to rule.
  struct Scratch {
    std::unique_ptr<bool[]> needed;
    std::vector<Tensor> gradients;
  };

  void differentiate(Ops& ops, const Call& call, const Tensor& gradient, Scratch& scratch, std::vector<Tensor>& sums);
  void drop_last_call();
  void materialize();

  // Nodes are numbered: first the inputs, then the results of the calls.
  std::vector<Tensor> inputs_;
  std::vector<Call> calls_;
  std::vector<Operand> operands_;        // of all calls, one after another
  std::vector<uint32_t> operand_nodes_;  // kNone: no gradient is needed
  std::vector<Tensor> same_;    // other handles of what has a number, alive so that no other tensor gets their place
  uint32_t most_operands_ = 0;  // of one call
  std::shared_ptr<SymbolTable> symbols_;  // of the trace in which calls were recorded, which they may outlive
  TensorNumbers nodes_;
};

}  // namespace tsl
