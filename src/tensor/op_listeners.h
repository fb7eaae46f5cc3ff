// Listeners to op calls: the tapes of automatic differentiation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/op.h"

namespace tsl {

class OpListener {
 public:
  virtual ~OpListener() = default;
  /// Notes one op call. `result` is a handle of its own.
  virtual void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                      const Tensor& result) = 0;
  /// Keeps the table of symbols that calls recorded from now on may hold.
  virtual void keep_alive(const std::shared_ptr<SymbolTable>& symbols) = 0;
};

/// The listeners of an engine, outermost first. Each is told of every call, so that an inner tape's derivative rules
/// are on the outer tapes.
class OpListeners {
 public:
  /// Whether op calls are being recorded: then no tensor may be changed in place, and no operand's memory reused.
  bool listening() const { return !listeners_.empty(); }
  /// Passes a call on. Called after every op, views included.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, const Tensor& result) {
    if (pauses_ > 0) return;
    for (OpListener* listener : listeners_) listener->record(def, operands, attrs, result);
  }
  /// Names the symbols of the trace that is beginning.
  void trace_begins(const std::shared_ptr<SymbolTable>& symbols) { symbols_ = symbols; }
  void trace_ends() { symbols_ = nullptr; }

  /// A listener hears the calls made while this lives.
  class Listening {
   public:
    Listening(OpListeners& listeners, OpListener& listener) : listeners_(listeners) {
      if (listeners_.symbols_) listener.keep_alive(listeners_.symbols_);
      listeners_.listeners_.push_back(&listener);
    }
    ~Listening() { listeners_.listeners_.pop_back(); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    OpListeners& listeners_;
  };

  /// No listener hears anything while this lives.
  class Pause {
   public:
    explicit Pause(OpListeners& listeners) : listeners_(listeners) { ++listeners_.pauses_; }
    ~Pause() { --listeners_.pauses_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    OpListeners& listeners_;
  };

 private:
  std::vector<OpListener*> listeners_;
  int pauses_ = 0;
  std::shared_ptr<SymbolTable> symbols_;  // of the trace being recorded
};

}  // namespace tsl
