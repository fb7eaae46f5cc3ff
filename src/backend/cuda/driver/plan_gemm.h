// Matrix products of plans: the problem for cuBLASLt, and the operands' addresses when the plan runs.
#pragma once

#include <array>
#include <span>

#include "backend/cuda/driver/matmul.h"
#include "graph/plan.h"

namespace tsl::cuda {

class PlanGemm {
 public:
  /// `kernel` is a matmul of floats. `tf32`: f32 operands may be rounded to 11 bits.
  PlanGemm(const graph::Plan& plan, const graph::Kernel& kernel, bool tf32);
  /// For a product without a plan, which has no addresses.
  PlanGemm(const graph::Node& node, bool tf32);

  /// Whether one call of cuBLASLt computes it from the operands as they are in memory.
  bool is_call() const { return !is_empty() && !needs_copy(0) && !needs_copy(1); }
  /// Whether the result has no elements.
  bool is_empty() const { return gemm_.m * gemm_.n * gemm_.batch == 0; }
  /// Whether cuBLASLt does not support the layout of operand 0 or 1, so that a row-major copy is needed. Depends on the
  /// layout alone, so eager and compiled runs agree.
  bool needs_copy(size_t operand) const { return needs_copy_[operand]; }
  const Gemm& gemm() const { return gemm_; }

  /// Returns the addresses of a and b (in the plan's buffers), of c, and of the bias, 0 if there is none.
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
