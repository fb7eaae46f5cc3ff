// Products of float matrices by OpenBLAS. A build without it (TSL_OPENBLAS=OFF) has none of this.
#pragma once

#include <cblas.h>

#include "backend/cpu/products/product.h"
#include "backend/cpu/threads.h"

namespace tsl::cpu {

/// Computes c = a @ b + beta * c for matrices in rows.
inline void gemm(CBLAS_TRANSPOSE a_as, CBLAS_TRANSPOSE b_as, int m, int n, int k, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, a_as, b_as, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(CBLAS_TRANSPOSE a_as, CBLAS_TRANSPOSE b_as, int m, int n, int k, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, a_as, b_as, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

/// Computes a product of T, float or double, on the threads of the pool. No call has an extent or a stride beyond
/// `max_extent`.
template <class T> void multiply_by_blas(const Product& product, ThreadPool& pool, int64_t max_extent = kMaxBlasExtent);

}  // namespace tsl::cpu
