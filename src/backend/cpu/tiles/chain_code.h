// Writes the code of chains.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

/// Whether the accumulator of a chain can hold elements of the dtype.
inline bool fits_accumulator(DType dtype) { return accumulator_of(dtype) == DType::f32; }

/// Whether a step is an op on the accumulator; other ops are calls.
bool is_arithmetic(const Step& step);
/// Whether a step is a cast that leaves the value in the accumulator.
bool is_conversion(const Step& step);
/// Whether a step reduces the accumulator; other reductions are no part of chains.
bool reduces_accumulator(const Step& step);
/// Whether an instruction combines the accumulator into lanes.
bool combines_lanes(ChainCode code);

/// The values that chains read from outside.
struct ChainInputs {
  const Loops& loops;
  std::vector<const Step*> definition;  // by register
  std::map<uint32_t, Elements> rows;    // by register: loads that are read in place, row by row
};

/// Writes the code that runs the steps. `kept`: the registers whose values are used later.
Chain write_chain(const std::vector<Step>& steps, const ChainInputs& inputs, const std::set<uint32_t>& kept);

}  // namespace tsl::cpu
