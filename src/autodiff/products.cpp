#include "autodiff/products.h"

#include <utility>

namespace tsl {

namespace {

constexpr size_t kMost = 64;  // products that wait

/// Whether copies of a product's rows are fewer elements than a gradient of the matrix, which would be added.
bool is_narrow(const Shape& left, const Shape& matrix) {
  return !(matrix[0] * matrix[1] < left[0] * (matrix[0] + matrix[1]));
}

/// Stacks the rows of matrices.
Tensor stack_rows(Ops& ops, std::vector<Operand>& matrices) {
  const std::vector<Operand> taken = std::exchange(matrices, {});
  return taken.size() == 1 ? taken[0].tensor : ops.call(Op::concat, taken, {.axis = 0});
}

}  // namespace

bool is_product(const OpDef& op, std::span<const Operand> operands) {
  return op.op == Op::matmul && operands[0].tensor.rank() == 2 && operands[1].tensor.rank() == 2;
}

bool SharedProducts::add(std::span<const Operand> operands, const Tensor& gradient) {
  are_many_ = are_many_ || left_ >= kFewest;
  const Tensor& matrix = operands[1].tensor;
  if (!are_many_ || !is_narrow(operands[0].tensor.shape(), matrix.shape())) return false;
  matrix_ = matrix;
  lefts_.push_back(operands[0]);
  gradients_.push_back(gradient);
  return true;
}

bool SharedProducts::is_due() {
  --left_;
  return !lefts_.empty() && (left_ == 0 || lefts_.size() >= kMost);
}

Tensor SharedProducts::take(Ops& ops) {
  if (lefts_.empty()) return {};
  const Operand operands[] = {stack_rows(ops, lefts_), std::exchange(matrix_, {})};
  const Tensor gradient = stack_rows(ops, gradients_);
  const bool needed[] = {false, true};
  Tensor found[2];
  VjpCall rule{ops, op_def(Op::matmul), operands, Attrs{}, gradient, gradient, needed, found};
  rule.op.vjp(rule);
  return std::move(found[1]);
}

}  // namespace tsl
