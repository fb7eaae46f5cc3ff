// Reductions that read every element once (logsumexp over columns: twice), in one launch. Few long rows: threads share
// each block of the reduction order. Columns: each thread owns some columns. Partial results are stored in scratch
// memory, and the block of threads that arrives last combines them. The result is in the reduction order of
// templates.cuh, whatever the form and the order of arrival.
#include "backend/cuda/codegen/reduce_writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;

namespace {

/// With so many rows, a warp per row keeps the GPU busy.
constexpr int64_t kManyRows = 4096;

/// Whether neighbouring threads should read neighbouring columns: true if most operands are contiguous along columns.
bool prefers_columns(const Kernel& kernel) {
  const int kept = kernel.kept.rank(), all = kept + kernel.reduced.rank();
  if (kept == 0 || all == kept) return false;
  int for_columns = 0;
  for (const Instr& instr : kernel.program) {
    if (instr.kind != Instr::Kind::load || instr.level != Level::full) continue;
    for_columns += instr.map.strides[kept - 1].hint() == 1 && instr.map.strides[all - 1].hint() != 1;
    for_columns -= instr.map.strides[all - 1].hint() == 1;
  }
  return for_columns > 0;
}

}  // namespace

GeneratedKernels generate_reduce(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                 const LaunchParameters& parameters) {
  const int64_t rows = count_of(kernel.kept), length = count_of(kernel.reduced);
  if (rows == 0 || length == 0) return generate_rows(kernel, plan, vectorized, parameters);
  if (prefers_columns(kernel)) return generate_columns(kernel, plan, vectorized, parameters);
  if (length <= kReduceBlock || rows >= kManyRows) return generate_rows(kernel, plan, vectorized, parameters);
  return generate_blocks(kernel, plan, vectorized);
}

}  // namespace tsl::cuda
