// One program on every tier: interpreted, with @compile functions compiled, and with everything compiled.
#pragma once

#include <cstdint>
#include <string>

namespace tsl {

enum class Tier : uint8_t { eager, annotated, everything };

/// What the program prints, then the error it ends in, if any, as "error[kind] line N: message".
std::string outcome(const std::string& program, Tier tier, int threads = 1);

/// Says how the tiers differ; "" if they agree.
std::string disagreement(const std::string& program, int threads = 1);

}  // namespace tsl
