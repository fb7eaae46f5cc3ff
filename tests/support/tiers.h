// One program on every tier: interpreted, with @compile functions compiled, and with everything compiled.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace tsl {

enum class Tier : uint8_t { eager, annotated, everything };

/// What the program prints, then the error it ends in, if any, as "error[kind] line N: message".
std::string outcome(const std::string& program, Tier tier, int threads = 1);
/// The same with an engine of these options, such as the device.
std::string outcome(const std::string& program, Tier tier, EngineOptions options);
std::string outcome_of_script(const std::string& path, Tier tier, EngineOptions options);

/// The first line in which two outcomes differ.
std::string first_difference(const std::string& a, const std::string& b);

/// Says how the tiers differ; "" if they agree.
std::string disagreement(const std::string& program, int threads = 1);

}  // namespace tsl
