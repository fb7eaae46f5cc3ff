// Compares the results of a launch with those of its edited code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/plan.h"
#include "report/bench_table.h"

namespace tsl {

/// Compares the bytes of all outputs of a plan, as LaunchBench::results() returns them.
report::ResultComparison compare_results(const graph::Plan& plan, std::span<const std::byte> expected,
                                         std::span<const std::byte> found);

}  // namespace tsl
