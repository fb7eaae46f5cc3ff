// Removes a trace's symbols from values after the trace has ended.
#pragma once

#include "value/value.h"

namespace tsl {

class Context;

/// Replaces symbols everywhere in `value`, captured variables included, by their numbers. Containers without symbols
/// remain the same objects. Lazy strings whose pieces are known become strings.
void materialize(Context& context, Value& value);

}  // namespace tsl
