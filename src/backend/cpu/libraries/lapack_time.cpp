// Predicts how long LAPACK takes for one matrix, so that a run whose deadline comes earlier ends before the call.
#include "backend/cpu/libraries/lapack.h"

namespace tsl::cpu::lapack {

namespace {

// Of one core at 2.8 GHz, for doubles. Measured on [900, 900]: cholesky 9.7e9, lu 9.9e9, solve 8.2e9, qr 12e9,
// solve_triangular 12e9, eigh 9.9e9, svd 10e9, eig 11e9.
constexpr double kFlopsPerSecond = 1e10;

/// Returns the operations on real numbers for one matrix: those of the textbooks for lu, cholesky, solve and qr, and
/// measured multiples for what iterates.
double real_flops(const graph::Node& node) {
  const Extents extents = extents_of(node);
  const auto m = static_cast<double>(extents.rows), n = static_cast<double>(extents.columns);
  const double least = std::min(m, n), most = std::max(m, n);
  const auto right_sides = static_cast<double>(node.shape[node.shape.rank() - 1].hint());  // of a system of equations
  const bool is_complete = node.attrs.complete;
  if (node.op == Op::cholesky) return n * n * n / 3;
  if (node.op == Op::lu) return m * n * least * 2 / 3;
  if (node.op == Op::solve) return n * n * n * 2 / 3 + 2 * n * n * right_sides;
  if (node.op == Op::solve_triangular) return n * n * right_sides;
  if (node.op == Op::qr) return (m * n + m * (is_complete ? m : least)) * least * 4 / 3;
  if (node.op == Op::eigh) return 4 * n * n * n;
  if (node.op == Op::svd)
    return 6 * (least + most) * least * least + (is_complete ? 4 * (most - least) * most * least : 0);
  return 25 * n * n * n;  // eig
}

}  // namespace

TimeModel::TimeModel(const graph::Node& node) {
  constexpr double kRealFlopsOfComplex = 4;
  seconds_ = real_flops(node) * (node.attrs.pairs ? kRealFlopsOfComplex : 1) / kFlopsPerSecond;
}

}  // namespace tsl::cpu::lapack
