// Checks the rules of memory on a finished plan: what its steps load and store, in the order in which a tile does it.
#pragma once

#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

/// Returns the sentence of the first rule that a plan breaks, or null.
const char* find_broken_rule(const TilePlan& tiles, const graph::Plan& plan);

/// Throws graph::BrokenRule if a plan breaks a rule. Debug builds and tests check each plan (graph/spec.h).
void check_tiles(const TilePlan& tiles, const graph::Kernel& kernel, const graph::Plan& plan);

}  // namespace tsl::cpu
