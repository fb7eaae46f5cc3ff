// What is left of a trace in values once it has ended.
#pragma once

#include "value/value.h"

namespace tsl {

class Context;

/// A captured variable that was made while a region was traced: its value may hold symbols until it is materialized.
struct TracedCell final : Cell {
  uint32_t trace;  // 0 once it is materialized
  explicit TracedCell(uint32_t trace) : trace(trace) {}
};

/// Replaces symbols by the numbers they stand for, wherever in `value` they are, captured variables included.
/// Containers without symbols stay the same objects. Texts whose pieces are known become strings.
void materialize(Context& context, Value& value);

}  // namespace tsl
