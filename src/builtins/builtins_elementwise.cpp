// Defines every elementwise op as a builtin, on tensors, host numbers, and lists of either.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/complex.h"
#include "vm/operators.h"

namespace tsl {

namespace {

const std::vector<Value>& items_of(const Value& v) {
  return v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
}
Value same_kind(const Value& like, std::vector<Value> items) {
  return like.is(Tag::list) ? make_list(std::move(items)) : make_tuple(std::move(items));
}

[[noreturn]] void wrong_operand(Op op, const Value& x) {
  fail(ErrorName::wrong_argument_type, "{} takes tensors, numbers and lists of them, not {}", op_def(op).name,
       type_name(x));
}

[[noreturn]] void list_beside_tensor(std::string_view function, const char* parameter) {
  fail_argument(ErrorName::wrong_argument_type, parameter,
                fmt::format("{} takes no list or tuple beside a tensor", function),
                {"tensor(…) makes a tensor of a list"});
}

// More than any data needs, and far from exhausting the stack.
constexpr int kMaxNesting = 1000;

void check_depth(int depth) {
  if (depth > kMaxNesting) fail(ErrorName::value_too_deep, "lists nested more than {} deep", kMaxNesting);
}

/// Applies one op throughout nested lists. Lists that are shared are computed once, and so are their results.
class Elementwise {
 public:
  Elementwise(Context& context, Op op, ScalarOp scalar) : context_(context), op_(op), scalar_(scalar) {}

  // At depth 0, operands are arguments of a builtin, which nothing reads afterwards.

  Value unary(const Value& x, int depth = 0) {
    check_depth(depth);
    if (x.is(Tag::tensor)) return context_.ops().call(op_, {op_operand(x, depth == 0)});
    if (is_host_number(x)) return apply_scalar(scalar_, x);
    if (is_complex(x)) return complex({x});
    if (!is_items(x)) wrong_operand(op_, x);
    return shared({identity_of(x), nullptr}, [&] {
      std::vector<Value> results;
      for (const Value& item : items_of(x)) results.push_back(unary(item, depth + 1));
      return same_kind(x, std::move(results));
    });
  }

  Value binary(const Value& a, const Value& b, int depth = 0) {
    check_depth(depth);
    if (is_items(a) || is_items(b)) {
      return shared({identity_of(a), identity_of(b)}, [&] { return lists(a, b, depth); });
    }
    for (const Value* x : {&a, &b})
      if (!x->is(Tag::tensor) && !is_host_number(*x) && !is_complex(*x)) wrong_operand(op_, *x);
    if (is_complex(a) || is_complex(b)) return complex({a, b});
    // The operators know which exponents and counts are special.
    if (op_ == Op::pow) return tsl::binary(context_, ast::BinaryOp::pow, a, b);
    if (op_ == Op::left_shift) return tsl::binary(context_, ast::BinaryOp::left_shift, a, b);
    if (op_ == Op::right_shift) return tsl::binary(context_, ast::BinaryOp::right_shift, a, b);
    const bool are_dying = depth == 0;
    if (a.is(Tag::tensor) || b.is(Tag::tensor))
      return context_.ops().call(op_, {op_operand(a, are_dying), op_operand(b, are_dying)});
    return apply_scalar(scalar_, a, b);
  }

 private:
  using Key = std::pair<const void*, const void*>;

  /// Which operand it is: a list is itself wherever it occurs, all else only in its place.
  static const void* identity_of(const Value& x) {
    if (is_items(x)) return &x.as<Object>();
    return &x;
  }

  template <class Compute> Value shared(Key key, Compute compute) {
    const auto known = results_.find(key);
    if (known != results_.end()) return known->second;
    return results_[key] = compute();
  }

  /// Computes with items of lists that are complex numbers, or stand beside some.
  Value complex(std::vector<Value> operands) {
    if (std::optional<Value> result = call_complex_form(context_, op_def(op_).name, operands)) return *result;
    wrong_operand(op_, *std::find_if(operands.begin(), operands.end(), is_complex));
  }

  Value lists(const Value& a, const Value& b, int depth) {
    const auto is_tensor = [](const Value& v) { return v.is(Tag::tensor) || is_complex_tensor(v); };
    if (is_tensor(a) || is_tensor(b)) list_beside_tensor(op_def(op_).name, is_items(a) ? "a" : "b");
    if (is_items(a) && is_items(b) && items_of(a).size() != items_of(b).size()) {
      fail(ErrorName::length_mismatch, "{}: lists of different lengths, {} and {}", op_def(op_).name,
           items_of(a).size(), items_of(b).size());
    }
    const Value& list = is_items(a) ? a : b;
    std::vector<Value> results;
    for (size_t i = 0; i < items_of(list).size(); ++i)
      results.push_back(binary(is_items(a) ? items_of(a)[i] : a, is_items(b) ? items_of(b)[i] : b, depth + 1));
    return same_kind(list, std::move(results));
  }

  Context& context_;
  const Op op_;
  const ScalarOp scalar_;
  std::map<Key, Value> results_;
};

template <Op kOp, ScalarOp kScalar> Value unary_builtin(Context& context, Args args) {
  return Elementwise(context, kOp, kScalar).unary(args[0]);
}

/// Rounds as the op does, or, as the prelude does, to a number of decimals.
Value round_builtin(Context& context, Args args) {
  if (args[1].is(Tag::integer) && args[1].integer() == 0)
    return Elementwise(context, Op::round, ScalarOp::round).unary(args[0]);
  const Value to_decimals = *context.builtins().find(context.names().intern(kRoundToDecimals));
  return context.call(to_decimals, args.values);
}

template <Op kOp, ScalarOp kScalar> Value binary_builtin(Context& context, Args args) {
  return Elementwise(context, kOp, kScalar).binary(args[0], args[1]);
}

Value where_builtin(Context& context, Args args) {
  if (is_host_number(args[0])) return truth(context, args[0]) ? args[1] : args[2];
  const Tensor condition = to_tensor(context, args[0], "where's condition");
  const std::span<Value> branches = args.values.subspan(1, 2);
  const auto is_operand = [](const Value& v) { return is_host_number(v) || v.is(Tag::tensor); };
  if (!std::all_of(branches.begin(), branches.end(), is_operand)) {
    const std::vector<Tensor> tensors = to_tensors(context, branches, "where");
    for (size_t i = 0; i < branches.size(); ++i) {
      if (!is_operand(branches[i])) branches[i] = Value(tensors[i]);
    }
  }
  return context.ops().call(Op::where, {condition, op_operand(args[1], true), op_operand(args[2], true)});
}

/// Limits x to a bound: op of both where x is not `within`. The gradient at the bound is that of x, while maximum and
/// minimum would share it.
Value bounded(Context& context, Op op, Op within, const Value& x, const Value& bound) {
  const Value result = Elementwise(context, op, op_def(op).scalar.value()).binary(x, bound);
  if (!x.is(Tag::tensor) || is_items(bound) || !context.runtime().listeners().listening()) return result;
  const Tensor is_within = context.ops().call(within, {x.tensor(), op_operand(bound)});
  return context.ops().call(Op::where, {is_within, x.tensor(), result.tensor()});
}

Value clamp_builtin(Context& context, Args args) {
  Value x = std::move(args[0]);
  for (size_t i : {1, 2}) {
    const bool is_mixed = x.is(Tag::tensor) ? is_items(args[i]) : is_items(x) && args[i].is(Tag::tensor);
    if (is_mixed) list_beside_tensor("clamp", i == 1 ? "min" : "max");
  }
  if (args[1].is_nil() && args[2].is_nil()) fail(ErrorName::missing_bound, "clamp needs a min or a max");
  if (!args[1].is_nil()) x = bounded(context, Op::maximum, Op::ge, x, args[1]);
  if (!args[2].is_nil()) x = bounded(context, Op::minimum, Op::le, x, args[2]);
  return x;
}

// What elementwise ops take.
#define TSL_OPERAND "tensor | number | bool | list | tuple"

// The only elementwise op whose function takes an option, too.
constexpr Builtin kRoundRow{
    "round", "round(x: " TSL_OPERAND ", decimals: int = 0)",
    "the nearest whole number; halves go to the even one. decimals: how many digits stay behind "
    "the point, or, negative, become 0 before it; as in NumPy, x times a power of ten is rounded",
    round_builtin, "elementwise"};

constexpr Builtin kElementwiseRows[] = {
#define TSL_UNARY(name, rule, fallible, cost, doc, dx) \
  Op::name == Op::round                                \
      ? kRoundRow                                      \
      : Builtin{#name, #name "(x: " TSL_OPERAND ")", doc, unary_builtin<Op::name, ScalarOp::name>, "elementwise"},
#define TSL_BINARY(name, rule, fallible, cost, doc, da, db)                                                \
  {#name, #name "(a: " TSL_OPERAND ", b: " TSL_OPERAND ")", doc, binary_builtin<Op::name, ScalarOp::name>, \
   "elementwise"},
#define TSL_TERNARY(...)
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
    {"where", "where(condition: array, a: array, b: array)", "a where the condition is true, b elsewhere",
     where_builtin, "elementwise"},
    {"clamp", "clamp(x: " TSL_OPERAND ", min: " TSL_OPERAND " | nil = nil, max: " TSL_OPERAND " | nil = nil)",
     "x, but min where it is less, and max where it is greater", clamp_builtin, "elementwise"},
};
#undef TSL_OPERAND

}  // namespace

std::span<const Builtin> elementwise_builtins() { return kElementwiseRows; }

}  // namespace tsl
