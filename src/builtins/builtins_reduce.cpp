// Reductions and running sums, over axes of tensors and over host numbers.
#include <optional>

#include "base/error.h"
#include "builtins/builtin_families.h"
#include "engine/engine.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "vm/operators.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

bool is_sequence(const Value& v) { return v.is(Tag::list) || v.is(Tag::tuple) || v.is(Tag::range); }

std::vector<Value> items_of(Engine& engine, const Value& sequence) {
  std::vector<Value> items;
  Value item;
  for (int64_t state = 0; iterate(engine, sequence, state, item);) items.push_back(item);
  return items;
}

/// The items to fold one by one, if that is what a reduction of these arguments means: those of a flat list
/// of numbers or tensors, or for max and min the arguments themselves. Else the argument is taken as a
/// tensor.
std::optional<std::vector<Value>> items_to_fold(Engine& engine, Args args) {
  const auto is_item = [](const Value& v) { return is_host_number(v) || v.is(Tag::tensor); };
  if (is_sequence(args[0]) && args[1].is_nil()) {
    std::vector<Value> items = items_of(engine, args[0]);
    for (const Value& item : items)
      if (!is_item(item)) return std::nullopt;
    return items;
  }
  const bool several = is_host_number(args[0]) || (is_item(args[0]) && (args.size() > 3 || args[1].is(Tag::tensor)));
  if (!several) return std::nullopt;
  std::vector<Value> items = {args[0]};
  if (is_item(args[1])) items.push_back(args[1]);
  for (size_t i = 2; i < args.size(); ++i) {
    if (i == 2 && is_host_bool(args[2])) continue;  // keepdims
    if (!is_item(args[i])) fail(ErrorKind::type, "cannot reduce {} together with numbers", type_name(args[i]));
    items.push_back(args[i]);
  }
  return items;
}

Value combine(Engine& engine, Op reduction, const Value& a, const Value& b) {
  const bool host = is_host_number(a) && is_host_number(b);
  auto both = [&](Op op, ScalarOp scalar) -> Value {
    if (host) return apply_scalar(scalar, a, b);
    return engine.ops().call(op, {a.is(Tag::tensor) ? Operand(a.tensor()) : operand_of(a),
                                  b.is(Tag::tensor) ? Operand(b.tensor()) : operand_of(b)});
  };
  switch (reduction) {
    case Op::sum: return both(Op::add, ScalarOp::add);
    case Op::prod: return both(Op::mul, ScalarOp::mul);
    case Op::max: return both(Op::maximum, ScalarOp::maximum);
    default: return both(Op::minimum, ScalarOp::minimum);
  }
}

Value fold(Engine& engine, Op op, const std::vector<Value>& items) {
  if (items.empty()) {
    if (op == Op::sum) return Value(0);
    if (op == Op::prod) return Value(1);
    fail(ErrorKind::value, "{} of an empty list", op_def(op).name);
  }
  Value result = items[0];
  // A sum of bools counts them, also when there is one.
  if (is_host_number(result) && scalar_of(result).type == ScalarType::boolean && (op == Op::sum || op == Op::prod)) {
    result = apply_scalar(ScalarOp::to_integer, result);
  }
  for (size_t i = 1; i < items.size(); ++i) result = combine(engine, op, result, items[i]);
  return result;
}

Value reduce_tensor(Engine& engine, Op op, Args args) {
  const Tensor x = to_tensor(engine, args[0], op_def(op).name.data());
  Attrs attrs;
  attrs.ints = expect_axes(engine, args[1], x.rank(), op_def(op).name.data());
  attrs.flag = expect_bool(engine, args[2], "keepdims");
  return engine.ops().call(op, {x}, attrs);
}

template <Op kOp> Value reduce_builtin(Engine& engine, Args args) {
  if (auto items = items_to_fold(engine, args)) return fold(engine, kOp, *items);
  return reduce_tensor(engine, kOp, args);
}

template <Op kOp> Value logic_builtin(Engine& engine, Args args) {
  if (args[0].is(Tag::tensor) || !args[1].is_nil()) return reduce_tensor(engine, kOp, args);
  if (is_host_number(args[0])) return truth(engine, args[0]);
  if (!is_sequence(args[0])) return reduce_tensor(engine, kOp, args);
  for (const Value& item : items_of(engine, args[0])) {
    if (item.is(Tag::list) || item.is(Tag::tuple)) return reduce_tensor(engine, kOp, args);
    if (truth(engine, item) == (kOp == Op::any)) return kOp == Op::any;
  }
  return kOp == Op::all;
}

// Without an axis the index counts through all elements.
Value arg_tensor(Engine& engine, Op op, Args args) {
  Tensor x = to_tensor(engine, args[0], op_def(op).name.data());
  const bool keep = expect_bool(engine, args[2], "keepdims");
  Attrs attrs;
  if (!args[1].is_nil()) {
    attrs.ints = {normalize_axis(expect_int(engine, args[1], "axis"), x.rank(), op_def(op).name.data())};
    attrs.flag = keep;
    return engine.ops().call(op, {x}, attrs);
  }
  attrs.ints = {0};
  Tensor index = engine.ops().call(op, {reshape(engine.ops(), x, {Dim(-1)})}, attrs);
  if (!keep) return index;
  Shape ones;
  for (int i = 0; i < x.rank(); ++i) ones.push_back(1);
  return reshape(engine.ops(), index, ones);
}

template <Op kOp> Value arg_builtin(Engine& engine, Args args) {
  if (!is_sequence(args[0]) || !args[1].is_nil()) return arg_tensor(engine, kOp, args);
  const std::vector<Value> items = items_of(engine, args[0]);
  if (items.empty()) fail(ErrorKind::value, "{} of an empty list", op_def(kOp).name);
  const auto better = kOp == Op::argmax ? ast::BinaryOp::gt : ast::BinaryOp::lt;
  size_t best = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!is_host_number(items[i])) return arg_tensor(engine, kOp, args);
    if (i > 0 && truth(engine, binary(engine, better, items[i], items[best]))) best = i;
  }
  return static_cast<int64_t>(best);
}

template <Op kOp> Value cumulative_builtin(Engine& engine, Args args) {
  constexpr Op kStep = kOp == Op::cumsum ? Op::sum : Op::prod;
  if (is_sequence(args[0]) && args[1].is_nil()) {
    std::vector<Value> items = items_of(engine, args[0]);
    bool flat = true;
    for (const Value& item : items) flat = flat && is_host_number(item);
    if (flat) {
      for (size_t i = 1; i < items.size(); ++i) items[i] = combine(engine, kStep, items[i - 1], items[i]);
      return make_list(std::move(items));
    }
  }
  Tensor x = to_tensor(engine, args[0], op_def(kOp).name.data());
  if (args[1].is_nil()) x = reshape(engine.ops(), x, {Dim(-1)});  // NumPy: over all elements in order
  const int axis =
      args[1].is_nil() ? 0 : normalize_axis(expect_int(engine, args[1], "axis"), x.rank(), op_def(kOp).name.data());
  return engine.ops().call(kOp, {x}, with_ints({axis}));
}

Value logsumexp_builtin(Engine& engine, Args args) { return reduce_tensor(engine, Op::logsumexp, args); }

constexpr Builtin kRows[] = {
    {"sum", "sum(x, axis = nil, keepdims = false)", "the sum over axes (all of them: nil), or of a list",
     reduce_builtin<Op::sum>, "reduce"},
    {"prod", "prod(x, axis = nil, keepdims = false)", "the product over axes, or of a list", reduce_builtin<Op::prod>,
     "reduce"},
    {"max", "max(x, axis = nil, keepdims = false, ...others)",
     "the greatest over axes, of a list, or of several numbers; NaN wins", reduce_builtin<Op::max>, "reduce"},
    {"min", "min(x, axis = nil, keepdims = false, ...others)",
     "the least over axes, of a list, or of several numbers; NaN wins", reduce_builtin<Op::min>, "reduce"},
    {"logsumexp", "logsumexp(x, axis = nil, keepdims = false)", "log(sum(exp(x))) over axes, without overflow",
     logsumexp_builtin, "reduce"},
    {"argmax", "argmax(x, axis = nil, keepdims = false)", "the index of the greatest element: the first of them",
     arg_builtin<Op::argmax>, "reduce"},
    {"argmin", "argmin(x, axis = nil, keepdims = false)", "the index of the least element: the first of them",
     arg_builtin<Op::argmin>, "reduce"},
    {"any", "any(x, axis = nil, keepdims = false)", "whether any element is true", logic_builtin<Op::any>, "reduce"},
    {"all", "all(x, axis = nil, keepdims = false)", "whether all elements are true", logic_builtin<Op::all>, "reduce"},
    {"cumsum", "cumsum(x, axis = nil)", "the running sum along an axis; nil: over all elements in order",
     cumulative_builtin<Op::cumsum>, "reduce"},
    {"cumprod", "cumprod(x, axis = nil)", "the running product along an axis; nil: over all elements in order",
     cumulative_builtin<Op::cumprod>, "reduce"},
};

}  // namespace

std::span<const Builtin> reduce_builtins() { return kRows; }

}  // namespace tsl
