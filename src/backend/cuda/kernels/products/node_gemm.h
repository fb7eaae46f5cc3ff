// The matrix product of a node, as a problem for cuBLASLt.
#pragma once

#include <optional>

#include "backend/cuda/kernels/products/gemm.h"
#include "graph/plan.h"

namespace tsl::cuda {

class NodeGemm {
 public:
  /// `node` is a matmul of floats. `tf32`: f32 operands may be rounded to 11 bits.
  NodeGemm(const graph::Node& node, bool tf32);

  /// Whether one call of cuBLASLt computes it from the operands as they are in memory.
  bool is_call() const { return !is_empty() && !needs_copy(0) && !needs_copy(1); }
  /// Whether the result has no elements.
  bool is_empty() const { return gemm_.m * gemm_.n * gemm_.batch == 0; }
  /// Whether cuBLASLt does not support the layout of operand 0 or 1, or not like that of a dense copy, so that a copy
  /// without gaps is needed, in the same order of rows or columns. Depends on the layout alone, so eager and compiled
  /// runs agree.
  bool needs_copy(size_t operand) const { return needs_copy_[operand]; }
  const Gemm& gemm() const { return gemm_; }

 private:
  Gemm gemm_;
  bool needs_copy_[2] = {false, false};
};

/// Returns the extents with which cuBLASLt computes a product on tensor cores faster, copies of operands and result
/// included: those by which rows in memory begin at multiples of 16 bytes. Ignores strides.
std::optional<graph::PaddedProduct> padded_product(const Gemm& gemm);

}  // namespace tsl::cuda
