// Matrix products by cuBLASLt, opened at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/driver/device.h"
#include "backend/cuda/kernels/products/gemm.h"
#include "tensor/tensor.h"

namespace tsl::cuda {

/// Copies of operands that are not aligned to 16 bytes. A recorded product uses them as long as its graph exists.
using GemmCopies = std::vector<Ref<Storage>>;

/// Multiplies matrices on the device's stream, with sums in f32 (f64 for f64). The algorithm, and so each bit of the
/// result, depends on dtype, extents, which operands are transposed, and the epilogue. It does not depend on addresses
/// and strides: operands that are not aligned are copied, and the algorithm is that of matrices without gaps.
/// Everything that a problem needs is kept after its first run: run each problem once before capturing it.
class Matmul {
 public:
  /// Opens cuBLASLt. Fails (device) if it is not installed. Copies of operands are allocated from `allocator`.
  Matmul(Device& device, Allocator& allocator);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// Runs a product. Products that may run at the same time need different workspaces of workspace_bytes().
  /// has_epilogue() must hold for a product with an epilogue; its bias may have any alignment.
  void run(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr workspace, CUdeviceptr bias = 0,
           GemmCopies* copies = nullptr);
  static uint64_t workspace_bytes(const Gemm& gemm);
  /// Whether cuBLASLt can compute the product with its epilogue in one call.
  bool has_epilogue(const Gemm& gemm);
  /// Whether this problem has run before, so that recording it loads nothing. (Loading during a recording fails in
  /// cuBLASLt.) Allocates the copies that the recorded product makes.
  bool can_record(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, GemmCopies& copies);

  /// Returns the version of cuBLASLt: "13.0.0".
  const std::string& version() const;

 private:
  struct State;

  template <class Visit> void for_each_part(const Gemm& gemm, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c,
                                            GemmCopies& copies, bool is_now, Visit&& visit);

  std::unique_ptr<State> state_;
};

}  // namespace tsl::cuda
