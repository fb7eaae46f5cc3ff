// Formats values for print, str and f-strings.
#pragma once

#include <string>
#include <string_view>

#include "value/text_builder.h"
#include "value/value.h"

namespace tsl {

class Context;

/// Formats a value as str(v) and print(v) do: strings as they are; tensors as "f32[2, 3]" and NumPy-style rows
/// (threshold 1000, 3 edge items); floats as the shortest text that reads back, which always looks like a float
/// ("1.0"). During a trace, values that are not known yet must be formatted later: see is_known.
std::string to_string(Context&, const Value& value);
/// Adds what to_string() returns.
void add_string(TextBuilder&, Context&, const Value& value);
/// Formats a value as inside a container: strings are quoted.
std::string to_repr(Context&, const Value& value);
/// Returns a text in quotes, with escapes.
std::string quoted(const std::string& text);
/// Formats f"{v:spec}": std::format's specs for numbers and strings; one-element tensors format as their element.
std::string format_value(Context&, const Value& value, const std::string& spec);
/// Adds what format_value() returns.
void add_format(TextBuilder&, Context&, const Value& value, const std::string& spec);

/// Throws what format_value would throw, without knowing the value.
void check_format(Context&, const Value& value, const std::string& spec);

/// Specs of LazyString pieces for str(v) and repr(v). (f"{v}" differs from str(v): of a one-element tensor it shows
/// only the element.)
inline constexpr std::string_view kStrSpec = "!s";
inline constexpr std::string_view kReprSpec = "!r";
/// The spec of str(v, full: true): tensors are not cut.
inline constexpr std::string_view kFullSpec = "!f";
/// The spec of f"{x=}": a str is quoted, everything else is as in f"{x}".
inline constexpr std::string_view kNamedSpec = "!=";

/// Returns the string that a lazy string has been replaced by when it was read; null if it has not been read.
const Value* known_string(const Value& text);
/// Returns a lazy string as a string: that replacement, or one made of its pieces' present values.
Value joined(Context&, const Value& text);

/// Whether the text of the value is known: false for symbols, lazy strings, deferred tensors, and containers that show
/// one.
bool is_known(Context&, const Value& value);

}  // namespace tsl
