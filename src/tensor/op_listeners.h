// Records op calls for automatic differentiation.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// A call whose derivative is a function, instead of following from the ops that it calls.
struct CustomCall {
  std::vector<Tensor> inputs, results;  // results are separate handles
  /// Returns the gradients of the inputs, given those of the results; null where none flows.
  std::function<std::vector<Tensor>(std::span<const Tensor>)> pullback;
};

class OpListener {
 public:
  virtual ~OpListener() = default;
  /// Records one op call. `results` are separate handles.
  virtual void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs,
                      std::span<const Tensor> results, const Origin& origin) = 0;
  /// Records a call with a derivative of its own, whose ops are not recorded.
  virtual void record_custom(const std::shared_ptr<const CustomCall>&, const Origin&) {}
  /// Whether the gradient of a tensor is wanted.
  virtual bool follows(const Tensor&) const { return false; }
  /// Keeps the symbol table alive that later calls may refer to.
  virtual void keep_alive(const std::shared_ptr<SymbolTable>& symbols) = 0;
};

/// The levels of the batches over which a call is mapped: that of its operands, and that of the function that makes it.
struct BatchLevels {
  int operands = 0, function = 0;
};

/// The listeners of an engine, outermost first. Each records every call, so outer tapes record what the derivative
/// rules of an inner tape call. Of calls that are mapped over a batch, a listener in the mapped function records those
/// on single examples, and one around it those on all examples.
class OpListeners {
 public:
  /// Whether op calls are recorded. If so, no tensor may be changed in place, and no operand's memory reused.
  bool listening() const { return !listeners_.empty(); }
  /// Whether a listener outside the batches from this level on is listening.
  bool listens_below(int level) const {
    return std::any_of(listeners_.begin() + static_cast<ptrdiff_t>(paused_), listeners_.end(),
                       [level](const Entry& entry) { return entry.level < level; });
  }
  /// Whether a listener wants the gradient of a tensor, or of the examples that it stands for.
  bool follow(Tensor tensor) const {
    for (; tensor; tensor = Tensor(tensor->examples)) {
      if (std::any_of(listeners_.begin(), listeners_.end(),
                      [&](const Entry& entry) { return entry.listener->follows(tensor); }))
        return true;
    }
    return false;
  }
  /// Passes a call to all listeners. Called after every op, views included.
  void record(const OpDef& def, std::span<const Operand> operands, const Attrs& attrs, std::span<const Tensor> results,
              const Origin& origin, BatchLevels levels = {}) {
    each(levels, [&](OpListener& listener) { listener.record(def, operands, attrs, results, origin); });
  }
  void record_custom(const std::shared_ptr<const CustomCall>& call, const Origin& origin, BatchLevels levels) {
    each(levels, [&](OpListener& listener) { listener.record_custom(call, origin); });
  }
  /// Sets the symbol table of the trace that begins.
  void trace_begins(const std::shared_ptr<SymbolTable>& symbols) { symbols_ = symbols; }
  void trace_ends() { symbols_ = nullptr; }

  /// Adds a listener for the lifetime of this object, in a function that is mapped over batches up to a level.
  class Listening {
   public:
    Listening(OpListeners& listeners, OpListener& listener, int level = 0) : listeners_(listeners) {
      if (listeners_.symbols_) listener.keep_alive(listeners_.symbols_);
      listeners_.listeners_.push_back({&listener, level});
    }
    ~Listening() { listeners_.listeners_.pop_back(); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    OpListeners& listeners_;
  };

  /// Suspends the listeners that there are for the lifetime of this object.
  class Pause {
   public:
    explicit Pause(OpListeners& listeners)
        : listeners_(listeners), before_(std::exchange(listeners.paused_, listeners.listeners_.size())) {}
    ~Pause() { listeners_.paused_ = before_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    OpListeners& listeners_;
    const size_t before_;
  };

 private:
  struct Entry {
    OpListener* listener;
    int level;
  };

  template <class Visit> void each(BatchLevels levels, Visit&& visit) {
    for (size_t i = paused_; i < listeners_.size(); ++i) {
      const Entry entry = listeners_[i];
      if (levels.operands <= entry.level && entry.level <= levels.function) visit(*entry.listener);
    }
  }

  std::vector<Entry> listeners_;
  size_t paused_ = 0;                     // as many of the first
  std::shared_ptr<SymbolTable> symbols_;  // of the current trace
};

}  // namespace tsl
