// Splits a row kernel into passes over a row; each pass ends with reductions that a later pass needs.
#pragma once

#include <vector>

#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

/// One pass over a row's elements.
struct Pass {
  std::vector<graph::Reg> reduces;  // row-level reductions it computes
  std::vector<graph::Reg> targets;  // full-level instructions to compute: operands of these reductions, and stores
  std::vector<bool> computes;       // per instruction: whether the pass computes it
};

struct RowPasses {
  std::vector<Pass> again;  // each pass loads and computes what it needs again
  std::vector<Pass> once;   // values are computed in one pass and kept in registers for later ones
  std::vector<bool> kept;   // per instruction: whether its value is kept
  int64_t kept_words = 0;   // the most 32-bit registers per element that kept values take at one time
  int64_t kept_halves = 0;  // how many of these hold 16 bits: two neighbours may share one
};

inline bool is_half(DType dtype) { return size_of(dtype) == 2; }

RowPasses plan_passes(const graph::Kernel& kernel);

/// Returns the row-level registers that can be computed once the reductions in `done` are.
std::vector<bool> known_rows(const graph::Kernel& kernel, const std::vector<bool>& done);

inline bool is_full(const graph::Instr& instr) { return instr.level == graph::Level::full; }

}  // namespace tsl::cuda
