// Output templates: a region's results, effects and variables, as each run rebuilds them from its own tensors and
// numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/recorder.h"
#include "value/value.h"

namespace tsl {
class Context;
}

namespace tsl::jit {

/// A value with slots of the run in place of its deferred tensors and foreign values.
class OutputTemplate {
 public:
  OutputTemplate() = default;
  /// Captures a value. The slots of its tensors, which must be computed or cut, are appended to `slots`.
  static OutputTemplate capture(const Value& value, const Recorder& recorder, std::vector<uint32_t>& slots);
  /// Rebuilds the value with the tensors, numbers and opaque values of this run.
  Value rebuild(Context& context, const Run& run) const { return rebuilt(value_, context, run); }
  /// Whether the value is the list that a variable holds, with more items, or the map, with changes.
  bool extends(const Value& variable, const Run& run) const;
  /// Makes these changes to the variable's list or map: in place, if the run has the only other reference to it.
  void extend(Value& variable, Context& context, const Run& run) const;
  /// Returns what is captured: functions and variables in it are those of the value.
  const Value& captured() const { return value_; }

 private:
  /// A leaf that is not the whole tensor of a slot: a view of one, a foreign value, or an int of the program.
  struct Leaf {
    int64_t slot = -1;  // of the view; -1: no view
    bool is_foreign = false;
    Layout layout;       // of the view, from the slot's element (0, 0, …)
    int64_t number = 0;  // the int, or the symbol of the foreign value
  };

  Value reference_to(Leaf leaf);
  Value rebuilt(Value value, Context& context, const Run& run) const;
  Value rebuild_leaf(const Leaf& leaf, const Run& run) const;
  /// Rebuilds a leaf that is not the tensor of a slot. Returns whether a run makes it.
  bool rebuild_other(const Value& leaf, Value& with, Context& context, const Run& run) const;

  // Every int in here is a reference: n to the tensor in slot n, -1 - n to leaf n.
  Value value_;
  std::vector<Leaf> leaves_;
};

}  // namespace tsl::jit
