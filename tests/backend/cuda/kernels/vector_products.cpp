// Tests which products are those of a vector, and that NVRTC compiles their kernels.
#include "backend/cuda/kernels/products/vector_products.h"

#include "backend/cuda/driver/kernel_cache.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;

namespace {

const DeviceFacts kTarget;

Gemm product(DType dtype, int64_t m, int64_t k, int64_t n, bool is_a_turned = false, bool is_b_turned = false) {
  Gemm gemm;
  gemm.dtype = dtype;
  gemm.m = m, gemm.k = k, gemm.n = n;
  gemm.a = {is_a_turned ? m : k, is_a_turned, 0};
  gemm.b = {is_b_turned ? k : n, is_b_turned, 0};
  gemm.c = {n, false, m * n};
  return gemm;
}

bool is_own(const Gemm& gemm) { return vector_product_refusal(gemm, kTarget).empty(); }
VectorProduct own(const Gemm& gemm) { return *vector_product_of(gemm, kTarget); }

}  // namespace

TEST_CASE("products of a vector have kernels of their own where these are faster") {
  CHECK(is_own(product(DType::bf16, 1, 768, 2304, false, true)));
  CHECK(is_own(product(DType::f16, 5000, 64, 1)));
  CHECK(is_own(product(DType::f32, 768, 4096, 1, false, true)));
  CHECK(is_own(product(DType::bf16, 1, 3072, 768)));
  CHECK(is_own(product(DType::f32, 768, 1024, 1, true)));
  CHECK_FALSE(is_own(product(DType::bf16, 1, 768, 3072)));
  CHECK_FALSE(is_own(product(DType::bf16, 1, 768, 764)));
  CHECK_FALSE(is_own(product(DType::f16, 64, 8192, 1, true)));
  CHECK_FALSE(vector_product_refusal(product(DType::bf16, 1, 3072, 768), {.has_clusters = false}).empty());
  CHECK_FALSE(is_own(product(DType::bf16, 2, 768, 2304, false, true)));
  CHECK_FALSE(is_own(product(DType::f64, 1, 768, 2304, false, true)));
  CHECK_FALSE(is_own(product(DType::bf16, 1, 767, 2304, false, true)));
  CHECK_FALSE(is_own(product(DType::bf16, 1, 8, 2304, false, true)));
}

TEST_CASE("a vector is read by its step, and its matrix as it lies") {
  const VectorProduct dense = own(product(DType::bf16, 512, 64, 1));
  CHECK((!dense.is_vector_first && dense.can_matrix_be_wide));
  CHECK((dense.arguments.vector_step == 1 && dense.can_vector_be_wide && dense.arguments.matrix_step == 64));
  Gemm gapped = product(DType::f32, 1, 64, 512, false, true);
  gapped.a = {2, true, 0};
  gapped.b.leading = 67;
  const VectorProduct with_gaps = own(gapped);
  CHECK((with_gaps.is_vector_first && !with_gaps.can_matrix_be_wide && !with_gaps.can_vector_be_wide));
  CHECK((with_gaps.arguments.vector_step == 2 && with_gaps.arguments.matrix_step == 67));
}

TEST_CASE("more threads compute a result where there are fewer results") {
  const auto lanes = [](int64_t count, int64_t depth) {
    const VectorProduct product_ = own(product(DType::bf16, 1, depth, count, false, true));
    return 256 * product_.kernel.blocks / count;
  };
  CHECK(lanes(1024, 4096) == 128);
  CHECK(lanes(4096, 4096) == 32);
  CHECK(lanes(65536, 4096) == 8);
  CHECK(lanes(1024, 64) == 8);
}

TEST_CASE("blocks of a cluster share the rows of a matrix whose results lie side by side") {
  const auto blocks = [](int64_t depth, int64_t count) {
    const CudaKernel kernel = own(product(DType::bf16, 1, depth, count)).kernel;
    return std::pair(kernel.blocks, kernel.text.bounds);
  };
  CHECK(blocks(256, 64) == std::pair(int64_t{2}, std::string("__launch_bounds__(256)")));
  CHECK(blocks(768, 768) == std::pair(int64_t{96}, std::string("__launch_bounds__(256) __cluster_dims__(4)")));
  CHECK(blocks(3072, 768) == std::pair(int64_t{192}, std::string("__launch_bounds__(256) __cluster_dims__(8)")));
}

TEST_CASE("products of a vector compile") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc(why);
  if (!nvrtc) TSL_SKIP(why);
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const Gemm& gemm : {product(dtype, 1, 4096, 512, false, true), product(dtype, 1, 64, 50000, false, true)}) {
      const VectorProduct of_vector = own(gemm);
      CAPTURE(of_vector.kernel.text.body);
      for (const char* const arch : {"sm_75", "sm_90"})
        CHECK_FALSE(compile_only(*nvrtc, {of_vector.kernel.name(), of_vector.kernel.source()}, arch).empty());
    }
    for (const int64_t depth : {100, 768, 3072}) {
      const VectorProduct of_vector = own(product(dtype, 1, depth, 768));
      CHECK_FALSE(compile_only(*nvrtc, {of_vector.kernel.name(), of_vector.kernel.source()}, "sm_90").empty());
    }
  }
}
