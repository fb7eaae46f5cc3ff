// Removes a trace's symbols from values after the trace has ended.
#pragma once

#include <span>

#include "value/value.h"

namespace tsl {

class Context;

/// A captured variable that was made while a region was traced: its value may hold symbols until it is materialized.
struct TracedCell final : Cell {
  uint32_t trace;  // 0 once it is materialized
  explicit TracedCell(uint32_t trace) : trace(trace) {}
};

/// Replaces symbols everywhere in `value`, captured variables included, by their numbers, and stand-ins by the foreign
/// values. Containers without them remain the same objects. Lazy strings whose pieces are known become strings.
void materialize(Context& context, Value& value);

/// Materializes values that C++ code has held, if a trace has ended meanwhile.
void materialize_pending(Context& context, std::span<Value> values);

}  // namespace tsl
