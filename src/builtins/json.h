// .json files as values.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {

class Engine;

/// Objects become records, arrays lists, whole numbers ints. Throws Failure (io) for text that is not JSON,
/// or is nested too deeply.
Value load_json(Engine&, const std::string& path);
/// Tuples become arrays and tensors nested arrays. Throws Failure (io) for what JSON cannot say (functions,
/// NaN).
void save_json(Engine&, const std::string& path, const Value& value);

}  // namespace tsl
