// Defines builtins that make tensors from numbers.
#include <cmath>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "tensor/promotion.h"
#include "value/context.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/operators.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

/// Returns the device in the argument `device`; nil means the current default.
Device device_argument(Context& context, const Value& device) {
  return device.is_nil() ? context.ops().device() : expect_device(context, device, "the device");
}

/// Returns the dtype in the argument `dtype`; nil means the default.
DType dtype_argument(const Value& dtype, DType otherwise) { return dtype.is_nil() ? otherwise : dtype.dtype(); }

/// Does so for what is made of floats unless it is said otherwise.
DType float_argument(Context& context, const Value& dtype) { return dtype_argument(dtype, context.ops().reals()); }

Tensor new_tensor(Context& context, const Value& data, const Value& dtype) {
  if (dtype.is_nil()) return to_tensor(context, data, "tensor");
  const DType wanted = dtype.dtype();
  return is_host_number(data) ? fill(context.ops(), Shape(), wanted, operand_of(data))
                              : convert(context, wanted, data).tensor();
}

Value tensor_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[2]));
  const Tensor made = new_tensor(context, args[0], args[1]);
  return args[2].is_nil() ? made : to_device(context.ops(), made, context.ops().device());
}

Value to_builtin(Context& context, Args args) {
  if (args[1].is(Tag::dtype)) return convert(context, args[1].dtype(), args[0]);
  if (has_entries(args[0])) {
    fail_with(ErrorName::wrong_argument_type, fmt::format("to moves a tensor, not a {}", type_name(args[0])),
              {"tree_map(fn(x) = x.to(\"cuda\"), r) moves all that r holds"});
  }
  const Placement placement(context.ops(), expect_device(context, args[1], "the device"));
  return to_device(context.ops(), to_tensor(context, args[0], "to"), context.ops().device());
}

Value filled(Context& context, Args args, int64_t number) {
  const Placement placement(context.ops(), device_argument(context, args[2]));
  const Shape shape = expect_shape(context, args[0], "a shape");
  return fill(context.ops(), shape, float_argument(context, args[1]), Scalar::of(number));
}

Value zeros_builtin(Context& context, Args args) { return filled(context, args, 0); }
Value ones_builtin(Context& context, Args args) { return filled(context, args, 1); }

Value full_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[3]));
  const Shape shape = expect_shape(context, args[0], "a shape");
  if (args[1].is(Tag::tensor)) {
    const Tensor value = to_device(context.ops(), args[1].tensor(), context.ops().device());
    const Tensor typed = args[2].is_nil() ? value : cast(context.ops(), value, args[2].dtype());
    return expand(context.ops(), typed, shape);
  }
  const DType dtype = dtype_argument(args[2], default_dtype(scalar_of(args[1]).type, context.ops().reals()));
  return fill(context.ops(), shape, dtype, operand_of(args[1]));
}

// Converts start, stop or step to a host number.
Value number_argument(Context& context, const Value& v) {
  const Value number = v.is(Tag::tensor) ? read_item(context, v.tensor()) : v;
  if (!is_host_number(number) || scalar_of(number).type == ScalarType::boolean) {
    fail(ErrorName::wrong_argument_type, "arange takes numbers, not {}", type_name(v));
  }
  return number;
}

[[noreturn]] void fail_on_step() {
  fail_argument(ErrorName::zero_step, "step", "arange's step cannot be 0",
                {"`arange(0, 10, 2)` counts up by 2, `arange(10, 0, -1)` down by 1"});
}

bool is_real(const Value& number) { return scalar_of(number).type == ScalarType::real; }

Dim real_count(const Value& start, const Value& stop, const Value& step) {
  const double from = pinned(start, "arange").as_real(), to = pinned(stop, "arange").as_real();
  const double by = pinned(step, "arange").as_real();
  if (by == 0) fail_on_step();
  const double count = std::ceil((to - from) / by);
  if (!(count < 9e18)) fail(ErrorName::argument_out_of_range, "arange({}, {}, {}) has no end", from, to, by);
  return count < 0 ? Dim(0) : Dim(static_cast<int64_t>(count));
}

/// Counts steps of more than 1 in 128 bits: a span may exceed an int where its steps do not.
Dim wide_count(int64_t from, int64_t to, int64_t by) {
  const __int128 span = by > 0 ? __int128{to} - from : __int128{from} - to;
  const __int128 size = by > 0 ? __int128{by} : -__int128{by};
  const __int128 count = span <= 0 ? 0 : (span - 1) / size + 1;
  return static_cast<int64_t>(count);  // fits, since the size is at least 2
}

Dim integer_count(const Value& start, const Value& stop, const Value& step) {
  const Dim from = dim_of(start), to = dim_of(stop);
  const int64_t by = pinned(step, "arange").integer;
  if (by == 0) fail_on_step();
  if (by == 1) return count_between(from, to);
  if (by == -1) return count_between(to, from);
  int64_t span;
  const bool is_wide = __builtin_sub_overflow(to.hint(), from.hint(), &span);
  const bool is_known = !from.symbol() && !to.symbol();
  if (is_known || is_wide) return wide_count(from.pin(), to.pin(), by);
  const Dim length = by > 0 ? count_between(from, to) : count_between(to, from);
  if (!(Dim(0) < length)) return 0;
  return (length - 1) / Dim(by > 0 ? by : -by) + 1;
}

/// Checks the ends of steps that are floats; a trace knows all three numbers by now.
void expect_real_fits(DType dtype, const Value& start, const Value& step, Dim count) {
  if (count.pin() == 0) return;
  const double first = scalar_of(start).as_real();
  expect_fits(dtype, Scalar::of(first));
  expect_fits(dtype, Scalar::of(first + static_cast<double>(count.pin() - 1) * scalar_of(step).as_real()));
}

Value arange_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[4]));
  const bool has_stop = !args[1].is_nil();
  if (!has_stop && args.positional == 0) fail(ErrorName::missing_argument, "arange with a start by name needs a stop");
  const Value start = has_stop ? number_argument(context, args[0]) : Value(0);
  const Value stop = number_argument(context, has_stop ? args[1] : args[0]);
  const Value step = number_argument(context, args[2]);
  const bool real = is_real(start) || is_real(stop) || is_real(step);
  const Dim count = real ? real_count(start, stop, step) : integer_count(start, stop, step);
  const DType dtype = dtype_argument(args[3], real ? context.ops().reals() : DType::i64);
  // Steps between whole numbers must not be rounded before they are added.
  if (real && !is_float(dtype)) {
    expect_real_fits(dtype, start, step, count);
    return cast(context.ops(), iota(context.ops(), count, DType::f64, operand_of(start), operand_of(step)), dtype);
  }
  return iota(context.ops(), count, dtype, operand_of(start), operand_of(step));
}

// ---- Random numbers --------------------------------------------------------------------------------

/// Keys have numbers of their own: the stream that seed() sets begins at block 0.
constexpr int64_t kFirstBlockOfKey = int64_t{1} << 62;

RandomState state_of(Context& context, const Value& key, const Shape& shape) {
  if (key.is_nil()) return context.runtime().next_random(element_count(shape));
  return {operand_of(from_dim(expect_size(context, key, "the key"))), Scalar::of(kFirstBlockOfKey)};
}

Tensor random(Context& context, Op op, const Shape& shape, DType dtype, const Value& key) {
  const RandomState state = state_of(context, key, shape);
  Attrs attrs;
  attrs.shape = shape;
  attrs.dtype = dtype;
  return context.ops().call(op, {state.key, state.counter}, attrs);
}

/// Reads a shape; without one a single number is wanted, a tensor of rank 0.
Shape shape_or_number(Context& context, const Value& shape) {
  return shape.is_nil() ? Shape() : expect_shape(context, shape, "a shape");
}

Value rand_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[2]));
  return random(context, Op::random_uniform, shape_or_number(context, args[0]), float_argument(context, args[1]),
                args[3]);
}

Value randn_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[2]));
  return random(context, Op::random_normal, shape_or_number(context, args[0]), float_argument(context, args[1]),
                args[3]);
}

Value random_bits_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[1]));
  return random(context, Op::random_bits, expect_shape(context, args[0], "a shape"), DType::i64, args[2]);
}

// randint(high, shape) or randint(low, high, shape)
Value randint_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[4]));
  const bool has_low = !args[2].is_nil();
  if (!has_low && args.positional < 2)
    fail(ErrorName::missing_argument, "randint with low or high by name needs a shape");
  const int64_t low = has_low ? expect_int(context, args[0], "randint's low") : 0;
  const int64_t high = expect_int(context, args[has_low ? 1 : 0], "randint's high");
  const Shape shape = expect_shape(context, args[has_low ? 2 : 1], "randint's shape");
  const DType dtype = dtype_argument(args[3], DType::i64);
  if (high <= low) {
    std::vector<std::string> hints;
    if (args.positional == 2) hints = {"a range and a shape are written `randint(low, high, shape)`"};
    if (hints.empty() && high < low)
      hints = {fmt::format("the lower end comes first: `randint({}, {}, …)`", high, low)};
    fail_with(ErrorName::argument_out_of_range, fmt::format("randint: the range from {} to {} is empty", low, high),
              std::move(hints));
  }
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (range > uint64_t{1} << 32)
    fail(ErrorName::argument_out_of_range, "randint: the range from {} to {} is wider than 2**32", low, high);
  expect_fits(dtype, Scalar::of(low));
  expect_fits(dtype, Scalar::of(high - 1));
  Ops& ops = context.ops();
  const Tensor bits = random(context, Op::random_bits, shape, DType::i64, args[5]);
  const Tensor offset = ops.call(Op::mod, {bits, Scalar::of(static_cast<int64_t>(range))});
  return cast(ops, ops.call(Op::add, {offset, Scalar::of(low)}), dtype);
}

/// Whether a uniform f32, which has 24 bits, is below p with a probability that is p to within 2^-16 of it, and not
/// below with one that is 1 - p so. A trace depends on the answer.
bool is_fine_in_f32(Context& context, const Operand& p) {
  if (p.is_tensor()) return false;
  const Value number = p.symbol ? from_symbol(p.symbol) : Value(p.scalar);
  const auto holds = [&](ScalarOp comparison, double bound) {
    return truth(context, apply_scalar(comparison, number, Value(bound)));
  };
  constexpr double kLeast = 0x1p-8;
  if (holds(ScalarOp::ge, kLeast) && holds(ScalarOp::le, 1 - kLeast)) return true;
  return holds(ScalarOp::eq, 0.0) || holds(ScalarOp::eq, 1.0);
}

// bernoulli(p) has p's shape if p is a tensor. Small numbers, and tensors, which may hold some, take the 53 bits of
// f64.
Value bernoulli_builtin(Context& context, Args args) {
  const Placement placement(context.ops(), device_argument(context, args[2]));
  const bool is_tensor = args[0].is(Tag::tensor);
  if (!is_tensor && !is_host_number(args[0]))
    fail_argument(ErrorName::wrong_argument_type, "p", fmt::format("a probability is no {}", type_name(args[0])));
  if (!is_tensor && args[1].is_nil()) fail(ErrorName::missing_argument, "bernoulli with a number for p needs a shape");
  const Shape shape = args[1].is_nil() ? args[0].tensor().shape() : expect_shape(context, args[1], "bernoulli's shape");
  const Operand p = is_tensor ? Operand(args[0].tensor()) : operand_of(args[0]);
  const DType dtype = is_fine_in_f32(context, p) ? DType::f32 : DType::f64;
  return context.ops().call(Op::lt, {random(context, Op::random_uniform, shape, dtype, args[3]), p});
}

constexpr Builtin kCreateRows[] = {
    {"tensor", "tensor(data: array, dtype: dtype | nil = nil, device: str | nil = nil)",
     "a tensor from a number or nested lists: ints give i64, floats f32, bools bool", tensor_builtin, "create"},
    {"to", "to(x: array | record, target: str | dtype)",
     "x on another device (\"cpu\", \"cuda\", \"cuda:1\") or of another dtype; x itself if it is that already",
     to_builtin, "create"},
    {"zeros", "zeros(shape: integers, dtype: dtype | nil = f32, device: str | nil = nil)", "a tensor full of zeros",
     zeros_builtin, "create"},
    {"ones", "ones(shape: integers, dtype: dtype | nil = f32, device: str | nil = nil)", "a tensor full of ones",
     ones_builtin, "create"},
    {"full", "full(shape: integers, value: number | bool | [], dtype: dtype | nil = nil, device: str | nil = nil)",
     "a tensor with the same number everywhere", full_builtin, "create"},
    {"arange",
     "arange(start: number | tensor, stop: number | tensor | nil = nil, step: number | tensor = 1, dtype: dtype | nil "
     "= nil, device: str | nil = nil)",
     "start, start + step, … up to but without stop; arange(n) counts from 0", arange_builtin, "create"},
    {"rand",
     "rand(shape: integers | nil = nil, dtype: dtype | nil = f32, device: str | nil = nil, key: integer | nil = nil)",
     "numbers uniform over [0, 1); without a shape one, in a tensor of rank 0", rand_builtin, "create"},
    {"randn",
     "randn(shape: integers | nil = nil, dtype: dtype | nil = f32, device: str | nil = nil, key: integer | nil = nil)",
     "normally distributed numbers of mean 0 and variance 1; without a shape one, in a tensor of rank 0", randn_builtin,
     "create"},
    {"random_bits", "random_bits(shape: integers, device: str | nil = nil, key: integer | nil = nil)",
     "i64 numbers uniform over [0, 2**32)", random_bits_builtin, "create"},
    {"randint",
     "randint(low: integer, high: integers, shape: integers | nil = nil, dtype: dtype | nil = i64, device: str | nil = "
     "nil, key: integer | nil = nil)",
     "whole numbers uniform over low … high - 1; randint(high, shape) starts at 0", randint_builtin, "create"},
    {"bernoulli",
     "bernoulli(p: number | bool | tensor in 0..=1, shape: integers | nil = nil, device: str | nil = nil, key: integer "
     "| nil = nil)",
     "true with probability p, which may be a tensor", bernoulli_builtin, "create"},
};

}  // namespace

std::span<const Builtin> create_builtins() { return kCreateRows; }

}  // namespace tsl
