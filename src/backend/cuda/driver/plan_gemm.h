// Matrix products of plans: the problem for cuBLASLt, and the addresses of its operands when the plan runs.
#pragma once

#include <array>
#include <span>

#include "backend/cuda/driver/matmul.h"
#include "graph/plan.h"

namespace tsl::cuda {

class PlanGemm {
 public:
  /// `kernel` is of a matmul of floats. `tf32`: f32 operands may be rounded to 11 bits.
  PlanGemm(const graph::Plan& plan, const graph::Kernel& kernel, bool tf32);
  /// Without a plan, and so without addresses.
  PlanGemm(const graph::Node& node, bool tf32);

  /// cuBLASLt can compute it as its operands lie.
  bool is_call() const { return !is_empty() && !needs_copy(0) && !needs_copy(1); }
  /// There is nothing to compute.
  bool is_empty() const { return gemm_.m * gemm_.n * gemm_.batch == 0; }
  /// Operand 0 or 1 lies in no way that cuBLASLt can take, or not as it would take a dense copy: a copy without gaps
  /// must be made, in the same order of rows or columns. This depends on the layout alone, so that eager and compiled
  /// agree.
  bool needs_copy(size_t operand) const { return needs_copy_[operand]; }
  const Gemm& gemm() const { return gemm_; }

  /// The addresses of a, b (where they lie in the plan's buffers), c and the bias, 0 if there is none.
  std::array<uint64_t, 4> addresses(std::byte* const* buffers, std::span<const Scalar> symbols) const;

 private:
  struct BufferOffset {
    uint32_t buffer = 0;
    Dim offset = 0;
  };

  Gemm gemm_;
  bool needs_copy_[2] = {false, false};
  BufferOffset operands_[4];
};

}  // namespace tsl::cuda
