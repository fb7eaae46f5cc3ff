// What is left of a trace in values once it has ended.
#pragma once

#include "value/value.h"

namespace tsl {

class Context;

/// Replaces symbols by the numbers they stand for, wherever in `value` they are, captured variables included.
/// Containers without symbols stay the same objects. Texts whose pieces are known become strings.
void materialize(Context& context, Value& value);

}  // namespace tsl
