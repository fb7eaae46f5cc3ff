// Records op calls for automatic differentiation.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/op.h"

namespace tsl {

class OpListener {
 public:
  virtual ~OpListener() = default;
  /// Records one op call. `results` are separate handles.
  virtual void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                      std::span<const Tensor> results, const Origin& origin) = 0;
  /// Keeps the symbol table alive that later calls may refer to.
  virtual void keep_alive(const std::shared_ptr<SymbolTable>& symbols) = 0;
};

/// The listeners of an engine, outermost first. Each records every call, so outer tapes record what the derivative
/// rules of an inner tape call.
class OpListeners {
 public:
  /// Whether op calls are recorded. If so, no tensor may be changed in place, and no operand's memory reused.
  bool listening() const { return !listeners_.empty(); }
  /// Passes a call to all listeners. Called after every op, views included.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, std::span<const Tensor> results,
              const Origin& origin) {
    if (pauses_ > 0) return;
    for (OpListener* listener : listeners_) listener->record(def, operands, attrs, results, origin);
  }
  /// Sets the symbol table of the trace that begins.
  void trace_begins(const std::shared_ptr<SymbolTable>& symbols) { symbols_ = symbols; }
  void trace_ends() { symbols_ = nullptr; }

  /// Adds a listener for the lifetime of this object.
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

  /// Suspends all listeners for the lifetime of this object.
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
  std::shared_ptr<SymbolTable> symbols_;  // of the current trace
};

}  // namespace tsl
