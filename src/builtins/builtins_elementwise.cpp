// Every elementwise op as a builtin, on tensors, host numbers, and lists of either.
#include "autodiff/tape.h"
#include "base/error.h"
#include "engine/engine.h"
#include "value/builtin.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/operators.h"

namespace tsl {

namespace {

/// The host arithmetic that an op does on numbers. (`where` has none: it chooses.)
ScalarOp scalar_op(Op op) {
  // clang-format off
  switch (op) {
#define TSL_SAME(name) case Op::name: return ScalarOp::name;
    TSL_SAME(abs) TSL_SAME(sign) TSL_SAME(square) TSL_SAME(relu) TSL_SAME(exp) TSL_SAME(expm1) TSL_SAME(log)
    TSL_SAME(log1p) TSL_SAME(sqrt) TSL_SAME(rsqrt) TSL_SAME(sin) TSL_SAME(cos) TSL_SAME(tan) TSL_SAME(asin)
    TSL_SAME(acos) TSL_SAME(atan) TSL_SAME(sinh) TSL_SAME(cosh) TSL_SAME(tanh) TSL_SAME(sigmoid) TSL_SAME(silu)
    TSL_SAME(softplus) TSL_SAME(erf) TSL_SAME(gelu) TSL_SAME(gelu_tanh) TSL_SAME(floor) TSL_SAME(ceil)
    TSL_SAME(round) TSL_SAME(trunc) TSL_SAME(isnan) TSL_SAME(isinf) TSL_SAME(isfinite) TSL_SAME(logical_not)
    TSL_SAME(bit_not) TSL_SAME(add) TSL_SAME(sub) TSL_SAME(mul) TSL_SAME(div) TSL_SAME(floordiv) TSL_SAME(mod)
    TSL_SAME(pow) TSL_SAME(minimum) TSL_SAME(maximum) TSL_SAME(atan2) TSL_SAME(eq) TSL_SAME(ne) TSL_SAME(lt)
    TSL_SAME(le) TSL_SAME(gt) TSL_SAME(ge) TSL_SAME(bit_and) TSL_SAME(bit_or) TSL_SAME(bit_xor)
#undef TSL_SAME
    default: return ScalarOp::negate;  // Op::neg
  }
  // clang-format on
}

bool is_list(const Value& v) { return v.is(Tag::list) || v.is(Tag::tuple); }
const std::vector<Value>& items_of(const Value& v) {
  return v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
}
Value same_kind(const Value& like, std::vector<Value> items) {
  return like.is(Tag::list) ? make_list(std::move(items)) : make_tuple(std::move(items));
}

[[noreturn]] void wrong_operand(Op op, const Value& x) {
  fail(ErrorKind::type, "{} takes tensors, numbers and lists of them, not {}", op_def(op).name, type_name(x));
}

// Deep enough for any data, and far from the end of the stack.
constexpr int kMaxNesting = 1000;

void check_depth(int depth) {
  if (depth > kMaxNesting) fail(ErrorKind::limit, "lists nested more than {} deep", kMaxNesting);
}

Value apply_unary(Engine& engine, Op op, const Value& x, int depth = 0) {
  check_depth(depth);
  if (x.is(Tag::tensor)) return engine.ops().call(op, {x.tensor()});
  if (is_host_number(x)) return apply_scalar(scalar_op(op), x);
  if (!is_list(x)) wrong_operand(op, x);
  std::vector<Value> results;
  for (const Value& item : items_of(x)) results.push_back(apply_unary(engine, op, item, depth + 1));
  return same_kind(x, std::move(results));
}

Operand as_operand(const Value& x) { return x.is(Tag::tensor) ? Operand(x.tensor()) : operand_of(x); }

Value apply_binary(Engine& engine, Op op, const Value& a, const Value& b, int depth = 0) {
  check_depth(depth);
  if (is_list(a) || is_list(b)) {
    if (is_list(a) && is_list(b) && items_of(a).size() != items_of(b).size()) {
      fail(ErrorKind::value, "{}: lists of different lengths, {} and {}", op_def(op).name, items_of(a).size(),
           items_of(b).size());
    }
    const Value& list = is_list(a) ? a : b;
    std::vector<Value> results;
    for (size_t i = 0; i < items_of(list).size(); ++i) {
      results.push_back(
          apply_binary(engine, op, is_list(a) ? items_of(a)[i] : a, is_list(b) ? items_of(b)[i] : b, depth + 1));
    }
    return same_kind(list, std::move(results));
  }
  for (const Value* x : {&a, &b})
    if (!x->is(Tag::tensor) && !is_host_number(*x)) wrong_operand(op, *x);
  if (op == Op::pow) return binary(engine, ast::BinaryOp::pow, a, b);  // knows which exponents are special
  if (a.is(Tag::tensor) || b.is(Tag::tensor)) return engine.ops().call(op, {as_operand(a), as_operand(b)});
  return apply_scalar(scalar_op(op), a, b);
}

template <Op kOp> Value unary_builtin(Engine& engine, Args args) { return apply_unary(engine, kOp, args[0]); }

template <Op kOp> Value binary_builtin(Engine& engine, Args args) {
  return apply_binary(engine, kOp, args[0], args[1]);
}

Value where_builtin(Engine& engine, Args args) {
  if (is_host_number(args[0])) return truth(engine, args[0]) ? args[1] : args[2];
  const Tensor condition = to_tensor(engine, args[0], "where's condition");
  auto branch = [&](const Value& v) {
    return is_host_number(v) ? operand_of(v) : Operand(to_tensor(engine, v, "where"));
  };
  return engine.ops().call(Op::where, {condition, branch(args[1]), branch(args[2])});
}

/// x, or the bound where it is beyond it. The gradient at the bound is that of x, while maximum and minimum share it.
Value bounded(Engine& engine, Op op, const Value& x, const Value& bound) {
  const Value result = apply_binary(engine, op, x, bound);
  if (!x.is(Tag::tensor) || is_list(bound) || !engine.runtime().tapes().listening()) return result;
  const Op within = op == Op::maximum ? Op::ge : Op::le;
  const Tensor is_within = engine.ops().call(within, {x.tensor(), as_operand(bound)});
  return engine.ops().call(Op::where, {is_within, x.tensor(), result.tensor()});
}

Value clamp_builtin(Engine& engine, Args args) {
  Value x = args[0];
  if (args[1].is_nil() && args[2].is_nil()) fail(ErrorKind::value, "clamp needs a min or a max");
  if (!args[1].is_nil()) x = bounded(engine, Op::maximum, x, args[1]);
  if (!args[2].is_nil()) x = bounded(engine, Op::minimum, x, args[2]);
  return x;
}

constexpr Builtin kRows[] = {
#define TSL_UNARY(name, rule, fallible, doc, dx) {#name, #name "(x)", doc, unary_builtin<Op::name>, "elementwise"},
#define TSL_BINARY(name, rule, fallible, doc, da, db) \
  {#name, #name "(a, b)", doc, binary_builtin<Op::name>, "elementwise"},
#define TSL_TERNARY(...)
#include "tensor/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
    {"where", "where(condition, a, b)", "a where the condition is true, b elsewhere", where_builtin, "elementwise"},
    {"clamp", "clamp(x, min = nil, max = nil)", "x, but min where it is less, and max where it is greater",
     clamp_builtin, "elementwise"},
};

}  // namespace

std::span<const Builtin> elementwise_builtins() { return kRows; }

}  // namespace tsl
