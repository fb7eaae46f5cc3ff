// Shows the value of an entry: all of what is small, and the outline of what is large.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Context;

/// Formats a value over several lines if it does not fit one of the context's screen. A tensor shows its shape, dtype
/// and device, and its corners if it is large; long lists, records and strings are cut.
std::string display(Context& context, const Value& value);

/// Describes what kind of value it is, with shapes, lengths and keys: "f32[2, 3] on cpu", "list of 3", "{w: f32[4]}".
std::string type_text(const Value& value);

}  // namespace tsl
