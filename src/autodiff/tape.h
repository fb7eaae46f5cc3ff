// Differentiation in reverse: a tape notes the op calls that depend on its inputs, and later plays their
// derivative rules backwards. The rules call ops like anything else, so what they compute can be recorded,
// compiled and, by tapes further out, differentiated again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// Numbers given to tensors by identity. Whoever adds a tensor keeps it alive, so that its address stays its
/// own.
class TensorNumbers {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find(const TensorData* tensor) const {
    if (places_.empty()) return kNone;
    for (size_t at = place_of(tensor);; at = (at + 1) & (places_.size() - 1)) {
      if (places_[at].tensor == tensor) return places_[at].number;
      if (!places_[at].tensor) return kNone;
    }
  }
  /// The tensor must be new here.
  void add(const TensorData* tensor, uint32_t number);

 private:
  struct Place {
    const TensorData* tensor = nullptr;
    uint32_t number = kNone;
  };

  size_t place_of(const TensorData* tensor) const {
    // The multiplication mixes the address into the upper bits, from where the place is taken.
    return (reinterpret_cast<uintptr_t>(tensor) * 0x9e3779b97f4a7c15ull) >> shift_;
  }
  void insert(const TensorData* tensor, uint32_t number);
  void grow();

  std::vector<Place> places_;  // a power of two, at most half of it taken; collisions go to the next place
  size_t count_ = 0;
  int shift_ = 64;
};

/// The calls that depend on some inputs, in order. Tensors are known by identity, deferred ones too.
class Tape {
 public:
  /// Adds a tensor to differentiate by. It must be a handle that nothing else is computed from: the same
  /// handle elsewhere would be differentiated too.
  void add_input(const Tensor& input);
  /// Notes a call, if the gradient of its result would reach an input.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result);
  /// Calls recorded from now on may hold symbols of this table.
  void keep_alive(const std::shared_ptr<SymbolTable>& symbols) { symbols_ = symbols; }

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
  void settle();

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

/// The tapes of an engine that are listening to its ops. Each is told of every call, so that an inner tape's
/// rules are on the outer tapes.
class TapeStack {
 public:
  /// Whether ops are being recorded: then no tensor may be changed in place, and no operand's memory reused.
  bool listening() const { return !tapes_.empty(); }
  /// Tells the tapes of a call. Called after every op, views included; `result` must be a handle of its own.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result) {
    if (pauses_ > 0) return;
    for (Tape* tape : tapes_) tape->record(def, operands, attrs, result);
  }
  /// The symbols of the trace that is beginning.
  void trace_begins(const std::shared_ptr<SymbolTable>& symbols) { symbols_ = symbols; }
  void trace_ends() { symbols_ = nullptr; }

  /// A tape listens while this lives.
  class Listening {
   public:
    Listening(TapeStack& stack, Tape& tape) : stack_(stack) {
      if (stack_.symbols_) tape.keep_alive(stack_.symbols_);
      stack_.tapes_.push_back(&tape);
    }
    ~Listening() { stack_.tapes_.pop_back(); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    TapeStack& stack_;
  };

  /// No tape hears anything while this lives.
  class Pause {
   public:
    explicit Pause(TapeStack& stack) : stack_(stack) { ++stack_.pauses_; }
    ~Pause() { --stack_.pauses_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    TapeStack& stack_;
  };

 private:
  std::vector<Tape*> tapes_;  // outermost first
  int pauses_ = 0;
  std::shared_ptr<SymbolTable> symbols_;  // of the trace being recorded
};

}  // namespace tsl
