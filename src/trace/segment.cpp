#include "trace/segment.h"

#include "base/error.h"
#include "tensor/elements.h"

namespace tsl::trace {

bool guards_hold(const Segment& segment, Run& run) {
  run.symbols.resize(segment.end_symbol);
  try {
    segment.symbols->evaluate({run.symbols.data(), segment.end_symbol}, segment.first_symbol);
  } catch (const Failure&) {
    return false;  // an expression that has no value now, such as x // 0: the way that was traced is not this one
  }
  for (const SymbolGuard& guard : segment.guards) {
    if (!(run.symbols[guard.condition->id] == guard.condition->hint)) return false;
  }
  return true;
}

graph::RunError run_plan(Segment& segment, Run& run, std::span<const bool> donated) {
  if (!segment.plan) return {};
  run.inputs.clear();
  for (uint32_t slot : segment.input_slots) run.inputs.push_back(run.values[slot]);
  const size_t first = run.values.size();
  run.values.resize(first + segment.plan->plan().outputs.size());
  const graph::RunError error =
      segment.plan->run(run.inputs, donated, run.symbols, {run.values.data() + first, run.values.size() - first});
  run.inputs.clear();
  if (error) run.values.resize(first);
  return error;
}

Scalar element(const Tensor& tensor) { return load_element(tensor.dtype(), tensor.data()); }

}  // namespace tsl::trace
