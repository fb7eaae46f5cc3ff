// Random inputs for a plan that runs alone, such that it can: indices exist, and masks have the right counts.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/plan.h"

namespace tsl::exec {

/// The numbers in inputs of ints that no index depends on, and of floats.
enum class BenchNumbers : uint8_t { random, zeros, ones };

/// What must hold of an input's elements.
struct BenchInput {
  graph::NodeId node = graph::kNoNode;
  uint64_t elements = 0;  // of its memory
  int64_t first = 0;      // element (0, 0, …) in it
  int64_t extent = 0;     // ints are below it, since they are indices; 0: any
  int64_t trues = -1;     // so many are true, since a nonzero counts on it; -1: any
};

/// Describes the inputs of a plan. Throws Failure (value) if none that are made up would do.
std::vector<BenchInput> bench_inputs(const graph::Plan& plan);

/// Makes the elements of an input, all different for each `seed`. Floats are from 0.5 to 1.5, where all functions are
/// ordinary; ints from 1 to 100, as far as `extent` allows.
std::vector<std::byte> bench_elements(const BenchInput& input, DType dtype, BenchNumbers numbers, uint64_t seed);

}  // namespace tsl::exec
