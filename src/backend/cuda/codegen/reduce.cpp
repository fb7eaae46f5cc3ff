// Reductions that read every element once (logsumexp over columns: twice), in one launch. Few long rows: threads share
// each block of the reduction order. Columns: each thread owns some columns. Partial results are stored in scratch
// memory, and the block of threads that arrives last combines them. The result is in the reduction order of
// templates.cuh, whatever the form and the order of arrival.
#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/codegen/reduce_writer.h"

namespace tsl::cuda {

GeneratedKernels generate_reduce(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                 const LaunchParameters& parameters) {
  const ReduceShape shape = shape_of(kernel);
  const bool is_one_row = shape.rows == 1 && shape.length > 0 && !shape.across;
  if (parameters.is_joined && is_one_row) return generate_blocks(kernel, plan, vectorized, true);
  switch (reduce_form(shape)) {
    case ReduceForm::rows: return generate_rows(kernel, plan, vectorized, parameters);
    case ReduceForm::blocks: return generate_blocks(kernel, plan, vectorized, false);
    case ReduceForm::columns: return generate_columns(kernel, plan, vectorized, parameters);
  }
  return {};
}

}  // namespace tsl::cuda
