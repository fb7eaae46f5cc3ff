// What the prompt tells about compiled functions, memory and time.
#pragma once

#include <string>

#include "value/value.h"

namespace tsl {
class Engine;
}

namespace tsl::prompt {

/// Format the graphs, kernels and guards that were recorded for a function and the loops in it.
std::string graphs_text(Engine& engine, const Value& function);
std::string kernels_text(Engine& engine, const Value& function);
std::string guards_text(Engine& engine, const Value& function);

/// Formats the variables of the session, each with its type and shape.
std::string variables_text(Engine& engine);

/// Formats the memory of the device that tensors are made on, then the variables that hold most of it.
std::string memory_text(Engine& engine);

}  // namespace tsl::prompt
