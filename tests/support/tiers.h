// Runs a program on every tier: interpreted, with @compile functions compiled, and with everything compiled.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace tsl {

enum class Tier : uint8_t { eager, annotated, everything };

/// Returns the program's output, then its error, if any, as "error[kind] line N: message".
std::string outcome(const std::string& program, Tier tier, int threads = 1);
/// As above, for an engine with these options, such as the device.
std::string outcome(const std::string& program, Tier tier, EngineOptions options);
std::string outcome_of_script(const std::string& path, Tier tier, EngineOptions options);

/// Returns what an outcome says of a defect of TSL, which all tiers may have alike; "" if there is none: an exception
/// that is no error of the program, such as a broken rule, or memory that is shared wrongly.
std::string defect_of(const std::string& outcome);

/// Returns the first line in which two outcomes differ.
std::string first_difference(const std::string& a, const std::string& b);

/// $TSL_TEST_THREADS, or one.
int threads_of_tests();

/// Describes how tiers on so many threads differ from the interpreter on one; "" if they agree.
std::string disagreement(const std::string& program, int threads = threads_of_tests());

}  // namespace tsl
