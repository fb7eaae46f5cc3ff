#include "value/materialize.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "base/count_work.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

/// Replaces the symbols, stand-ins and inputs in the elements of a value, and appends the closures and cells in it to
/// `closures`.
void materialize_elements(Context& context, Value& value, std::vector<Value>& closures) {
  replace_leaves(value, [&](const Value& leaf, Value& now) {
    if (leaf.is(Tag::lazy_string)) {
      now = joined(context, leaf);
      return true;
    }
    if (leaf.is(Tag::function) || leaf.is(Tag::builtin) || leaf.is(Tag::cell)) closures.push_back(leaf);
    if (leaf.is(Tag::foreign) && !identical(original_of(leaf), leaf)) {
      now = original_of(leaf);
      return true;
    }
    if (leaf.is(Tag::list)) {
      now = with_items(unopened(leaf).prefix->list, unopened(leaf).items);
      return true;
    }
    if (leaf.is(Tag::map)) {
      now = with_changes(unopened_map(leaf).input->map, unopened_map(leaf));
      return true;
    }
    if (!leaf.is(Tag::symbol)) return false;
    now = Value(leaf.symbol()->hint);
    return true;
  });
}

}  // namespace

void materialize(Context& context, Value& value) {
  constexpr int64_t kClosureWork = 64;
  std::vector<Value> closures;
  std::unordered_set<const Object*> seen;
  materialize_elements(context, value, closures);
  while (!closures.empty()) {
    count_work(kClosureWork);
    // Captured variables outlive the trace, so they are materialized as well.
    const Value closure = std::move(closures.back());
    closures.pop_back();
    if (!closure.unique() && !seen.insert(&closure.as<Object>()).second) continue;
    if (closure.is(Tag::builtin)) {
      for (Value& bound : closure.as<BuiltinFunction>().bound) materialize_elements(context, bound, closures);
      continue;
    }
    const auto materialize_cell = [&](Cell& cell) {
      TracedCell* traced = dynamic_cast<TracedCell*>(&cell);
      if (traced && std::exchange(traced->trace, 0) != 0) materialize_elements(context, cell.value, closures);
    };
    if (closure.is(Tag::cell)) {
      materialize_cell(closure.as<Cell>());
      continue;
    }
    for (const Ref<Cell>& cell : closure.as<Function>().captures) materialize_cell(*cell);
  }
}

void materialize_pending(Context& context, std::span<Value> values) {
  if (!context.runtime().has_pending_symbols()) return;
  for (Value& value : values) materialize(context, value);  // bounded: the operands of an instruction
}

}  // namespace tsl
