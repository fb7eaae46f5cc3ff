// Reductions that read every element once (logsumexp over columns: twice), in one launch. Few long rows: threads share
// each block of the reduction order. Columns: each thread owns some columns. Partial results are stored in scratch
// memory, and the block of threads that arrives last combines them. The result is in the reduction order of
// templates.cuh, whatever the form and the order of arrival.
#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/codegen/reduce_writer.h"

namespace tsl::cuda {

GeneratedKernels generate_reduce(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                 const LaunchParameters& parameters) {
  switch (reduce_form(shape_of(kernel))) {
    case ReduceForm::rows: return generate_rows(kernel, plan, vectorized, parameters);
    case ReduceForm::blocks: return generate_blocks(kernel, plan, vectorized);
    case ReduceForm::columns: return generate_columns(kernel, plan, vectorized, parameters);
  }
  return {};
}

}  // namespace tsl::cuda
