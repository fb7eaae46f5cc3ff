// Products of BLAS by one name for both dtypes.
#pragma once

#include <cblas.h>

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

}  // namespace tsl::cpu
