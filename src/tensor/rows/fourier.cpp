// Defines Fourier transforms along the last axis. A complex number is a pair of floats: its real and its imaginary part
// lie along a last axis of extent 2. No transform divides by the length, so that each one's derivative is another.
#include "tensor/rows/matrices.h"

namespace tsl::rows {

namespace {

constexpr int64_t kMostLength = int64_t{1} << 30;

OpTraits transform_traits() {
  return unfused_traits(Category::fourier, AxisUse::none, std::nullopt, FlopsOf::nothing, Allocates::always);
}

const Tensor& expect_floats(const char* op, Operands operands) {
  check_dtype(op, operands[0].tensor);
  return operands[0].tensor;
}

void check_length(const char* op, const Tensor& x, const Dim& n) {
  if (n.hint() > kMostLength)
    fail(ErrorName::tensor_too_large, "{}: {} has more than 2^30 elements in a row", op, describe(x));
}

void check_pairs(const char* op, const Tensor& x) {
  if (x.rank() < 2 || !(x.shape()[x.rank() - 1] == Dim(2)))
    fail(ErrorName::shape_mismatch, "{}: expected pairs along the last axis, got {}", op, describe(x));
  check_length(op, x, x.shape()[x.rank() - 2]);
}

Shape with_last(const Tensor& x, int dropped, std::initializer_list<Dim> added) {
  Shape shape = x.shape();
  for (int i = 0; i < dropped; ++i) shape.erase(shape.rank() - 1);
  for (const Dim& extent : added) shape.push_back(extent);
  return shape;
}

TensorType infer_fft(Operands operands, const Attrs&) {
  const Tensor& x = expect_floats("fft", operands);
  check_pairs("fft", x);
  return {x.dtype(), x.shape()};
}

TensorType infer_rfft(Operands operands, const Attrs&) {
  const Tensor& x = expect_floats("rfft", operands);
  if (x.rank() == 0) fail(ErrorName::rank_too_low, "rfft: expected rows, got {}", describe(x));
  const Dim n = x.shape()[x.rank() - 1];
  check_length("rfft", x, n);
  return {x.dtype(), with_last(x, 1, {n / 2 + 1, 2})};
}

TensorType infer_irfft(Operands operands, const Attrs& attrs) {
  const Tensor& x = expect_floats("irfft", operands);
  check_pairs("irfft", x);
  check_length("irfft", x, attrs.count);
  if (!(x.shape()[x.rank() - 2] == attrs.count / 2 + 1)) {
    fail(ErrorName::shape_mismatch, "irfft: {} real numbers have {} complex ones, not {}", attrs.count.hint(),
         attrs.count.hint() / 2 + 1, describe(x));
  }
  return {x.dtype(), with_last(x, 2, {attrs.count})};
}

// ---- Derivatives --------------------------------------------------------------------------------------------------

/// Returns weights of the elements of a half spectrum of n real numbers, [n / 2 + 1, 1]: `inner` for those that have a
/// conjugate in the other half, 1 for the others.
Tensor weights(VjpCall& call, const Dim& n, double inner) {
  const Dim m = n / 2 + 1;
  const auto part = [&](const Dim& count, double value) -> Operand {
    return call.ops.call(Op::fill, {Scalar::of(value)}, {.dtype = call.grad.dtype(), .shape = {count, 1}});
  };
  return call.ops.call(Op::concat, {part(1, 1), part(n - m, inner), part(m + m - n - 1, 1)}, {.axis = 0});
}

/// The adjoint of a transform that is not divided by its length is the inverse one.
void vjp_fft(VjpCall& call) { call.grads[0] = call.ops.call(Op::fft, {call.grad}, {.inverse = !call.attrs.inverse}); }

void vjp_rfft(VjpCall& call) {
  const Shape& shape = call.inputs[0].tensor.shape();
  const Dim n = shape[shape.rank() - 1];
  const Tensor grad = (var(call, call.grad) * var(call, weights(call, n, 0.5))).tensor();
  call.grads[0] = call.ops.call(Op::irfft, {grad}, {.count = n});
}

void vjp_irfft(VjpCall& call) {
  const Tensor spectrum = call.ops.call(Op::rfft, {call.grad});
  call.grads[0] = (var(call, spectrum) * var(call, weights(call, call.attrs.count, 2))).tensor();
}

}  // namespace

void add_fourier(Table& table) {
  table.add({.op = Op::fft,
             .name = "fft",
             .signature = "fft_pairs(x, inverse: false)",
             .doc = "the Fourier transform of pairs, real and imaginary parts along the last axis, not divided",
             .traits = transform_traits(),
             .arity = 1,
             .infer = infer_fft,
             .vjp = vjp_fft,
             .batch = batch_leading});
  table.add({.op = Op::rfft,
             .name = "rfft",
             .signature = "rfft_pairs(x)",
             .doc = "the first half of the Fourier transform of real numbers along the last axis, as pairs",
             .traits = transform_traits(),
             .arity = 1,
             .infer = infer_rfft,
             .vjp = vjp_rfft,
             .batch = batch_leading});
  table.add({.op = Op::irfft,
             .name = "irfft",
             .signature = "irfft_pairs(x, n)",
             .doc = "the n real numbers of a half spectrum of pairs, not divided",
             .traits = transform_traits(),
             .arity = 1,
             .infer = infer_irfft,
             .vjp = vjp_irfft,
             .batch = batch_leading});
}

}  // namespace tsl::rows
