// Launch parameters as text, as they are kept on disk, and those that are worth trying.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/codegen/launch_parameters.h"
#include "graph/plan.h"

namespace tsl::cuda {

/// Formats what differs from the defaults: "pointwise_threads=256 pointwise_bytes=8"; "" if nothing does.
std::string to_string(const LaunchParameters& parameters);
/// Parses such a text; returns nothing for any other text, and for numbers that no kernel can have.
std::optional<LaunchParameters> parse_launch_parameters(std::string_view text);

/// Returns the parameters that are worth trying for a launch and give different code, without the defaults. None for
/// launches that write a part of a tensor only, and for library calls.
std::vector<LaunchParameters> launch_candidates(const graph::Plan& plan, const std::vector<uint32_t>& launch);

}  // namespace tsl::cuda
