// How a row kernel goes over its rows: in passes, each of which ends with reductions that a later one needs.
#pragma once

#include <vector>

#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

/// One pass over a row's elements.
struct Pass {
  std::vector<graph::Reg> reduces;  // row-level reductions it computes
  std::vector<graph::Reg> targets;  // full-level instructions it is for: their operands, and stores
  std::vector<bool> computes;       // per instruction
};

struct RowPasses {
  std::vector<Pass> again;  // each pass computes what it needs, from memory
  std::vector<Pass> once;   // every value is computed in one pass and kept for the later ones
  std::vector<bool> kept;   // per instruction
  int64_t kept_words = 0;   // 32-bit registers that the kept values of an element take, at most at a time
};

RowPasses plan_passes(const graph::Kernel& kernel);

/// Row-level registers known when the reductions in `done` are.
std::vector<bool> known_rows(const graph::Kernel& kernel, const std::vector<bool>& done);

inline bool is_full(const graph::Instr& instr) { return instr.level == graph::Level::full; }

}  // namespace tsl::cuda
