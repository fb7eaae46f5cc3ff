// A matrix product, as cuBLASLt and kernels of TSL's own compute it.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace tsl::cuda {

/// A matrix or a batch of them in memory: rows of elements, `leading` elements from one row to the next. `transposed`:
/// memory holds the transpose of the operand.
struct MatrixOperand {
  int64_t leading = 0;
  bool transposed = false;
  int64_t batch_stride = 0;  // elements from one matrix to the next; 0 repeats one matrix
  friend bool operator==(const MatrixOperand&, const MatrixOperand&) = default;
};

/// c = a @ b with a: m×k, b: k×n, c: m×n, `batch` times. c is neither transposed nor repeated. The epilogue is applied
/// to the sums before they are rounded; its bias of n elements is the same for all batches.
struct Gemm {
  DType dtype = DType::f32;  // f16, bf16, f32 or f64, for a, b and c
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  MatrixOperand a, b, c;
  bool tf32 = false;  // f32 operands may be rounded to 11 bits
  graph::Epilogue epilogue;
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

}  // namespace tsl::cuda
