// Tries the choices that a device has for a launch, and keeps the fastest. All must give the same bits, so that the
// clock decides nothing else.
#pragma once

#include <string>
#include <vector>

#include "exec/launch_bench.h"

namespace tsl::exec {

struct SweptChoice {
  std::string choice;        // "": the usual one
  double seconds = 0;        // of all kernels of the launch, the medians
  bool is_equal = true;      // whether all bits of the results are those of the usual choice
  std::string problem = {};  // why it could not run
};

/// Measures the usual choice and then all others, each for `seconds`. Stops early after `budget` seconds. Empty if
/// there are no others.
std::vector<SweptChoice> sweep(LaunchBench& launch, double seconds, double budget);

/// Returns the fastest choice with equal bits: the usual one, unless another gains more than measurements differ.
const SweptChoice& best_of(const std::vector<SweptChoice>& choices);

/// How long autotune() may take for one plan, in seconds, and each measurement of it.
inline constexpr double kAutotuneSeconds = 10, kAutotuneRunSeconds = 0.02;

/// Sweeps the launches of a plan for which no choice is kept, those that move most data first, and keeps the best. What
/// exceeds the budget, or cannot run alone, keeps its usual choice.
void autotune(Devices& devices, Device device, const graph::Plan& plan);

}  // namespace tsl::exec
