// JSON as values: .json files and texts.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Context;

/// Reads a file: objects become records, arrays lists, whole numbers ints. Throws Failure (io) for text that is not
/// JSON, or is nested too deeply.
Value load_json(Context&, const std::string& path);
/// As load_json(), for a text that `path` stands for in messages. Without a path the errors are of the kind value,
/// about the parameter `text`.
Value parse_json(Context&, const std::string& text, const std::string& path = "");
/// Writes a file: tuples become arrays, and tensors nested arrays. Throws Failure (io) for what JSON cannot express
/// (functions, NaN).
void save_json(Context&, const std::string& path, const Value& value);
/// Returns a value as text, in one line or with so many blanks for a level (indent from 0 on). Errors are of the kinds
/// type and value, about the parameter `value`.
std::string to_json(Context&, const Value& value, int indent = -1);

}  // namespace tsl
