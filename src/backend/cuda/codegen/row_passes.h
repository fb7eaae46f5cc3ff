// Splits a row kernel into passes over a row; each pass ends with reductions that a later pass needs. Tells what the
// passes demand of a thread.
#pragma once

#include <vector>

#include "backend/cuda/codegen/reduce_shape.h"

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

inline bool has_16_bits(DType dtype) { return size_of(dtype) == 2; }

RowPasses plan_passes(const graph::Kernel& kernel);

/// Returns the row-level registers that can be computed once the reductions in `done` are.
std::vector<bool> known_rows(const graph::Kernel& kernel, const std::vector<bool>& done);

/// Whether rows are read once, for arg reductions alone.
bool are_arg_reductions(const graph::Kernel& kernel, const RowPasses& passes);
/// Returns how many neighbours a thread accesses at a time. Of short rows: 16 bytes, so that few threads compute a row.
/// Of others: two, if elements are short, or registers are left besides kept values. Short elements need not be aligned
/// for that: two are kept in a register also if they are read one by one.
int access_width(const graph::Kernel& kernel, const graph::Plan& plan, const RowPasses& passes, int row_threads,
                 bool vectorized);
/// Returns what a thread needs that accesses `width` neighbours at a time.
RowDemand demand_of(const graph::Kernel& kernel, const graph::Plan& plan, const RowPasses& passes, int width);

inline bool is_full(const graph::Instr& instr) { return instr.level == graph::Level::full; }

}  // namespace tsl::cuda
