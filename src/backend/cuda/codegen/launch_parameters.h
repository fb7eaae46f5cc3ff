// The choices of generated code that cannot change a result's bits: how many threads share the work, and what each
// takes at a time. The reduction order depends on none of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/plan.h"

namespace tsl::cuda {

/// The usual choices are the defaults.
struct LaunchParameters {
  int pointwise_threads = 128;  // of a block
  int pointwise_bytes = 16;     // that a thread reads or writes of a tensor at a time, at most
  int transpose_tile = 64;      // the largest side of a square that passes through shared memory
  int row_threads = 0;  // for each row that is one block of the reduction order; 0: by length and number of rows
  int resident_threads = 1024;  // that share a multiprocessor in reductions that hold many loads: limits registers
  bool is_joined = false;       // with equal kernels in a launch: a text for rows of any length saves launches

  friend bool operator==(const LaunchParameters&, const LaunchParameters&) = default;
};

/// Formats what differs from the defaults: "pointwise_threads=256 pointwise_bytes=8"; "" if nothing does.
std::string to_string(const LaunchParameters& parameters);
/// Parses such a text; returns nothing for any other text, and for numbers that no kernel can have.
std::optional<LaunchParameters> parse_launch_parameters(std::string_view text);

/// Returns the parameters that are worth trying for a launch and give different code, without the defaults. None for
/// launches that write a part of a tensor only, and for library calls.
std::vector<LaunchParameters> launch_candidates(const graph::Plan& plan, const std::vector<uint32_t>& launch);

}  // namespace tsl::cuda
