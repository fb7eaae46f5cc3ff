// The row of LAPACK in a build without OpenBLAS: it runs nothing, and says why.
#include "backend/cpu/kernels/kernel_rows.h"

namespace tsl::cpu {

std::vector<exec::KernelRow> lapack_rows(const RowContext&) {
  const auto refusal = [](const graph::Node&) -> std::string_view { return "TSL was built without OpenBLAS"; };
  return {{.name = "LAPACK",
           .ops = {Op::cholesky, Op::eigh, Op::solve_triangular, Op::solve, Op::eig, Op::qr, Op::svd, Op::lu},
           .refusal = refusal,
           .make = nullptr}};
}

}  // namespace tsl::cpu
