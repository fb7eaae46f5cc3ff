// How the operands of matrix products lie in memory, for the libraries that multiply them.
#pragma once

#include <cstdint>

#include "tensor/layout.h"

namespace tsl::exec {

/// The matrices of an operand, which are its last two axes.
struct MatrixLayout {
  bool in_columns;  // columns are closer in memory than rows: the library is told of a transposed matrix
  bool needs_copy;  // neither rows nor columns are without gaps
  int64_t stride;   // from one row to the next, or one column; as in a copy if it is needed
  Layout ordered;   // the operand with its last two axes in order of memory: a copy is made in this order
};

/// Returns the number of matrices in a batch: the product of all extents but the last two.
int64_t batch_count(const Shape& shape);

/// The order is a property of the layout that a dense copy in the same order shares, so that both give the same bits.
/// A single row or column is in order of rows.
MatrixLayout matrix_layout(const Layout& layout);

}  // namespace tsl::exec
