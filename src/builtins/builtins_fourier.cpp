// Defines Fourier transforms of pairs of numbers; stdlib/prelude/fourier.tsl makes those of complex tensors of them.
#include "builtins/builtins.h"
#include "tensor/op.h"
#include "value/context.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value fft_builtin(Context& context, Args args) {
  const Attrs attrs{.inverse = expect_bool(context, args[1], "inverse")};
  return context.ops().call(Op::fft, {to_tensor(context, args[0], "fft_pairs")}, attrs);
}

Value rfft_builtin(Context& context, Args args) {
  return context.ops().call(Op::rfft, {to_tensor(context, args[0], "rfft_pairs")});
}

Value irfft_builtin(Context& context, Args args) {
  const Attrs attrs{.count = expect_size(context, args[1], "n")};
  return context.ops().call(Op::irfft, {to_tensor(context, args[0], "irfft_pairs")}, attrs);
}

constexpr Builtin kFourierRows[] = {
    {"fft_pairs", "fft_pairs(x: tensor, inverse: bool = false)",
     "the Fourier transform of complex numbers [..., n, 2] of f32 or f64, pairs of a real and an imaginary part along "
     "the last axis: element k is the sum over j of x[j] * exp(-2i * pi * j * k / n). inverse: with 2i, and without a "
     "factor of 1 / n. fft() and ifft() take complex tensors",
     fft_builtin, "fourier"},
    {"rfft_pairs", "rfft_pairs(x: tensor)",
     "the elements 0 to n // 2 of the Fourier transform of real numbers [..., n], as pairs [..., n // 2 + 1, 2]; "
     "rfft() gives a complex tensor",
     rfft_builtin, "fourier"},
    {"irfft_pairs", "irfft_pairs(x: tensor, n: integer)",
     "the n real numbers [..., n] whose transform begins with the pairs x [..., n // 2 + 1, 2], times n; irfft() "
     "takes a complex tensor, and divides by n",
     irfft_builtin, "fourier"},
};

}  // namespace

std::span<const Builtin> fourier_builtins() { return kFourierRows; }

}  // namespace tsl
