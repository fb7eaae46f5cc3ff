// Defines reductions and running sums, over axes of tensors and over host numbers.
#include <algorithm>
#include <limits>
#include <optional>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "vm/arguments.h"
#include "vm/operators.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

constexpr int64_t kItemWork = 32;  // to combine two numbers

bool is_sequence(const Value& v) { return is_items(v) || v.is(Tag::range); }

bool is_operand(const Value& v) { return is_host_number(v) || v.is(Tag::tensor); }

/// Whether max or min has several operands, given by position: numbers, or tensors, as in max(1, x).
bool has_several_operands(Args args) {
  if (args.positional < 2) return false;
  return is_host_number(args[0]) || (args[0].is(Tag::tensor) && (args.positional > 3 || args[1].is(Tag::tensor)));
}

/// Refuses keepdims for a reduction of items, which have no axes.
void expect_no_keepdims(Context& context, Op op, Args args) {
  if (!expect_bool(context, args[2], "keepdims")) return;
  fail(ErrorName::unsuitable_argument, "{}: keepdims needs a tensor or an axis", op_def(op).name);
}

std::vector<Value> several_operands(Context& context, Op op, Args args) {
  const std::string_view name = op_def(op).name;
  if (args.positional == 2) expect_no_keepdims(context, op, args);
  std::vector<Value> operands(args.values.begin(), args.values.begin() + static_cast<ptrdiff_t>(args.positional));
  for (const Value& operand : operands) {  // bounded: written out in a call
    if (!is_operand(operand))
      fail(ErrorName::wrong_argument_type, "{} of several operands takes no {}", name, type_name(operand));
  }
  return operands;
}

/// Returns the items that a reduction folds one by one: those of a flat list of numbers or tensors, or a number.
/// Returns nothing if the argument must be a tensor.
std::optional<std::vector<Value>> items_to_fold(Context& context, Args args) {
  if (!args[1].is_nil()) return std::nullopt;
  if (is_host_number(args[0])) return std::vector<Value>{args[0]};
  if (!is_sequence(args[0])) return std::nullopt;
  std::vector<Value> items = items_of(context, args[0]);
  if (!std::all_of(items.begin(), items.end(), is_operand)) return std::nullopt;
  return items;
}

/// Applies the elementwise op that a reduction or a scan repeats.
Value combine(Context& context, Op step, const Value& a, const Value& b) {
  if (is_host_number(a) && is_host_number(b)) return apply_scalar(op_def(step).scalar.value(), a, b);
  return context.ops().call(step, {a.is(Tag::tensor) ? Operand(a.tensor()) : operand_of(a),
                                   b.is(Tag::tensor) ? Operand(b.tensor()) : operand_of(b)});
}

[[noreturn]] void fail_on_empty(const OpDef& reduction) {
  fail_argument(ErrorName::empty_input, "x", fmt::format("{} of an empty list", reduction.name),
                {"`if len(xs) > 0 { … }` tests whether a list has items"});
}

Value fold(Context& context, Op op, const std::vector<Value>& items) {
  const OpDef& reduction = op_def(op);
  if (items.empty()) {
    if (!reduction.of_nothing) fail_on_empty(reduction);
    return Value(static_cast<int64_t>(*reduction.of_nothing));
  }
  Value result = items[0];
  // A sum of bools counts them, also if there is only one.
  if (is_host_bool(result) && reduction.reduce_rule == ReduceRule::total) {
    result = apply_scalar(ScalarOp::to_integer, result);
  }
  polled_each(items.size() - 1, kItemWork,
              [&](size_t i) { result = combine(context, reduction.step.value(), result, items[i + 1]); });
  return result;
}

Value reduce_tensor(Context& context, Op op, Args args) {
  const Tensor x = to_tensor(context, args[0], op_def(op).name.data());
  if ((op == Op::max || op == Op::min) && args[1].is(Tag::real)) {
    fail_argument(ErrorName::wrong_argument_type, "axis", "axis must be an int, not float",
                  {fmt::format("`{}imum(a, b)` compares two values element by element", op_def(op).name)});
  }
  Attrs attrs;
  attrs.axes = expect_axes(context, args[1], x.rank(), op_def(op).name.data());
  attrs.keepdims = expect_bool(context, args[2], "keepdims");
  return context.ops().call(op, {x}, attrs);
}

template <Op kOp> Value items_builtin(Context& context, Args args) {
  if ((kOp == Op::max || kOp == Op::min) && has_several_operands(args)) {
    return fold(context, kOp, several_operands(context, kOp, args));
  }
  if (auto items = items_to_fold(context, args)) {
    expect_no_keepdims(context, kOp, args);
    return fold(context, kOp, *items);
  }
  return reduce_tensor(context, kOp, args);
}

template <Op kOp> Value logic_builtin(Context& context, Args args) {
  if (args[0].is(Tag::tensor) || !args[1].is_nil()) return reduce_tensor(context, kOp, args);
  if (!is_host_number(args[0]) && !is_sequence(args[0])) return reduce_tensor(context, kOp, args);
  const std::vector<Value> items = is_sequence(args[0]) ? items_of(context, args[0]) : std::vector<Value>{args[0]};
  const bool is_nested = std::any_of(items.begin(), items.end(), is_items);
  if (is_nested) return reduce_tensor(context, kOp, args);
  expect_no_keepdims(context, kOp, args);
  const auto step = [](bool result, bool item) {
    return apply_scalar(op_def(op_def(kOp).step.value()).scalar.value(), Value(result), Value(item)).boolean();
  };
  bool result = op_def(kOp).of_nothing.value() != 0;
  for (const Value& item : items) {
    if (step(result, false) == result && step(result, true) == result) break;  // as `or` and `and` do
    result = step(result, truth(context, item));
  }
  return result;
}

// Without an axis, the index counts all elements.
Value arg_tensor(Context& context, Op op, Args args) {
  Tensor x = to_tensor(context, args[0], op_def(op).name.data());
  const bool keep = expect_bool(context, args[2], "keepdims");
  Attrs attrs;
  if (!args[1].is_nil()) {
    attrs.axes = {expect_axis(context, args[1], x.rank(), op_def(op).name.data())};
    attrs.keepdims = keep;
    return context.ops().call(op, {x}, attrs);
  }
  attrs.axes = {0};
  Tensor index = context.ops().call(op, {reshape(context.ops(), x, {Dim(-1)})}, attrs);
  if (!keep) return index;
  Shape ones;
  for (int i = 0; i < x.rank(); ++i) ones.push_back(1);
  return reshape(context.ops(), index, ones);
}

template <Op kOp> Value place_builtin(Context& context, Args args) {
  if (!is_sequence(args[0]) || !args[1].is_nil()) return arg_tensor(context, kOp, args);
  const std::vector<Value> items = items_of(context, args[0]);
  if (!std::all_of(items.begin(), items.end(), is_host_number)) return arg_tensor(context, kOp, args);
  expect_no_keepdims(context, kOp, args);
  if (items.empty()) fail_on_empty(op_def(kOp));
  static_assert(kOp == Op::argmax || kOp == Op::argmin, "says which item the new op finds");
  const auto better = kOp == Op::argmax ? ast::BinaryOp::gt : ast::BinaryOp::lt;
  size_t best = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && truth(context, binary(context, better, items[i], items[best]))) best = i;
  }
  return static_cast<int64_t>(best);
}

template <Op kOp> Value cumulative_builtin(Context& context, Args args) {
  static_assert(kOp == Op::cumsum || kOp == Op::cumprod, "says what the new op repeats");
  constexpr Op kStep = kOp == Op::cumsum ? Op::add : Op::mul;
  if (is_sequence(args[0]) && args[1].is_nil()) {
    std::vector<Value> items = items_of(context, args[0]);
    bool flat = true;
    for (const Value& item : items) flat = flat && is_host_number(item);
    if (flat) {
      for (size_t i = 1; i < items.size(); ++i) items[i] = combine(context, kStep, items[i - 1], items[i]);
      return make_list(std::move(items));
    }
  }
  Tensor x = to_tensor(context, args[0], op_def(kOp).name.data());
  if (args[1].is_nil()) x = reshape(context.ops(), x, {Dim(-1)});  // as in NumPy: over all elements in order
  const int axis = args[1].is_nil() ? 0 : expect_axis(context, args[1], x.rank(), op_def(kOp).name.data());
  return context.ops().call(kOp, {x}, {.axis = axis});
}

/// Computes the logsumexp of host numbers in f64. Subtracts the greatest first if it is finite, so that exp does not
/// overflow.
Value logsumexp_of_numbers(Context& context, const std::vector<Value>& items) {
  Value total = Value(0.0), greatest = Value(-std::numeric_limits<double>::infinity());
  polled_each(items.size(), kItemWork,
              [&](size_t i) { greatest = apply_scalar(ScalarOp::maximum, greatest, items[i]); });
  const Value shift = truth(context, apply_scalar(ScalarOp::isfinite, greatest)) ? greatest : Value(0.0);
  polled_each(items.size(), kItemWork, [&](size_t i) {
    const Value term = apply_scalar(ScalarOp::exp, apply_scalar(ScalarOp::sub, items[i], shift));
    total = apply_scalar(ScalarOp::add, total, term);
  });
  return apply_scalar(ScalarOp::add, apply_scalar(ScalarOp::log, total), shift);
}

/// Reduces a tensor, or host numbers.
template <Op kOp> Value tensor_builtin(Context& context, Args args) {
  const bool may_be_flat = args[1].is_nil() && (is_sequence(args[0]) || is_host_number(args[0]));
  if (!may_be_flat) return reduce_tensor(context, kOp, args);
  const std::vector<Value> items = is_host_number(args[0]) ? std::vector<Value>{args[0]} : items_of(context, args[0]);
  const bool is_flat = std::all_of(items.begin(), items.end(), [](const Value& v) { return is_host_number(v); });
  if (!is_flat) return reduce_tensor(context, kOp, args);
  static_assert(kOp == Op::logsumexp, "computes the new op of host numbers");
  expect_no_keepdims(context, kOp, args);
  return logsumexp_of_numbers(context, items);
}

constexpr Builtin kReduceRows[] = {
#define TSL_REDUCTION(name, combiner, rule, cost, step, of_nothing, builtin, signature, doc, vjp) \
  {#name, signature, doc, builtin##_builtin<Op::name>, "reduce"},
#define TSL_ARG_REDUCTION(name, combiner, cost, builtin, signature, doc) \
  {#name, signature, doc, builtin##_builtin<Op::name>, "reduce"},
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
    {"cumsum", "cumsum(x: array, axis: integer | nil = nil)",
     "the running sum along an axis; nil: over all elements in order", cumulative_builtin<Op::cumsum>, "reduce"},
    {"cumprod", "cumprod(x: array, axis: integer | nil = nil)",
     "the running product along an axis; nil: over all elements in order", cumulative_builtin<Op::cumprod>, "reduce"},
};

}  // namespace

std::span<const Builtin> reduce_builtins() { return kReduceRows; }

}  // namespace tsl
