// The arguments of products of a matrix and a vector, as host and device read them.
#pragma once

namespace tsl::cuda::vector_product {

/// out = matrix @ vector, or vector @ matrix: each by its distances between elements.
struct Arguments {
  const void* vector;
  long long vector_step, vector_batch;
  const void* matrix;
  long long matrix_step, matrix_batch;  // step: between its rows in memory, whose elements lie side by side
  void* out;                            // without gaps
  int count, depth;                     // results; summands of each
  int is_matrix_wide, is_vector_wide;   // whether 16 bytes can be read at once
};

}  // namespace tsl::cuda::vector_product
