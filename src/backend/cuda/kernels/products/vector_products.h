// Products of a matrix and a vector by kernels of our own, which read the matrix as fast as memory gives it.
#pragma once

#include <optional>
#include <string_view>

#include "backend/cuda/kernels/products/gemm.h"
#include "backend/cuda/kernels/products/vector_product_arguments.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "backend/cuda/source/device_facts.h"

namespace tsl::cuda {

/// A kernel whose only argument is vector_product::Arguments.
struct VectorProduct {
  CudaKernel kernel;
  vector_product::Arguments arguments;  // without addresses and what depends on them
  bool is_vector_first = true;
  bool can_matrix_be_wide = false, can_vector_be_wide = false;  // by the strides
};

/// Returns the kernel of a product by its dtype, extents and orders; none: cuBLASLt is to compute it.
std::optional<VectorProduct> vector_product_of(const Gemm& gemm, const DeviceFacts& facts);
/// Says why there is none, whatever the product's epilogue is; "": there is one.
std::string_view vector_product_refusal(const Gemm& gemm, const DeviceFacts& facts);

/// The text in front of these kernels.
std::string_view vector_product_templates();

}  // namespace tsl::cuda
