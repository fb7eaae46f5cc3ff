// Values as text: print, str, f-strings.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Context;

/// What str(v) gives and print(v) shows: strings as they are; tensors as "f32[2, 3]" and NumPy-style rows
/// (threshold 1000, 3 edge items). Floats print shortest round-trip and always look like floats ("1.0").
/// While tracing, values that are only known later must be formatted later: see is_known.
std::string to_string(Context&, const Value& value);
/// As inside a container: strings are quoted.
std::string to_repr(Context&, const Value& value);
/// f"{v:spec}": std::format's specs for numbers and strings; one-element tensors format as their element.
std::string format_value(Context&, const Value& value, const std::string& spec);

/// Throws what format_value would throw, for a value that is not known yet.
void check_format(Context&, const Value& value, const std::string& spec);

/// Specs of LazyString pieces that stand for str(v) and repr(v). (f"{v}" differs from str(v): it shows the one element
/// of a tensor alone.)
inline constexpr const char* kStrSpec = "!s";
inline constexpr const char* kReprSpec = "!r";

/// The string that a text has become by being read, which stays; null if it has not been.
const Value* known_string(const Value& text);
/// A text as a string: the one it has become, or one of what its pieces are now.
Value joined(Context&, const Value& text);

/// False for symbols, texts, deferred tensors and containers with one inside, as far as they are shown.
bool is_known(Context&, const Value& value);

}  // namespace tsl
