// Defines the rows of elementwise.def, and the elementwise ops with attributes.
#include <type_traits>

#include "base/error_names.h"
#include "tensor/promotion.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

template <DTypeRule kRule> TensorType infer_elementwise(Operands operands, const Attrs&) {
  const Tensor* first = nullptr;
  for (const Operand& operand : operands) {
    if (operand.is_tensor() && !first) first = &operand.tensor;
  }
  if (kRule == DTypeRule::compare || kRule == DTypeRule::predicate) return {DType::boolean, first->shape()};
  if (kRule == DTypeRule::select) return {promote_operands(operands.subspan(1)), first->shape()};
  return {first->dtype(), first->shape()};
}

}  // namespace

namespace derivatives {

using namespace diff;

// Defines a struct for each row, whose static functions d0, d1, ... are the derivatives in the row.
#define TSL_D [[maybe_unused]] const Var&
#define TSL_UNARY(name, rule, fallible, cost, doc, dx)       \
  struct D_##name {                                          \
    static auto d0(TSL_D g, TSL_D x, TSL_D y) { return dx; } \
  };
#define TSL_BINARY(name, rule, fallible, cost, doc, da, db)           \
  struct D_##name {                                                   \
    static auto d0(TSL_D g, TSL_D a, TSL_D b, TSL_D y) { return da; } \
    static auto d1(TSL_D g, TSL_D a, TSL_D b, TSL_D y) { return db; } \
  };
#define TSL_TERNARY(name, rule, fallible, cost, doc, da, db, dc)               \
  struct D_##name {                                                            \
    static auto d0(TSL_D g, TSL_D a, TSL_D b, TSL_D c, TSL_D y) { return da; } \
    static auto d1(TSL_D g, TSL_D a, TSL_D b, TSL_D c, TSL_D y) { return db; } \
    static auto d2(TSL_D g, TSL_D a, TSL_D b, TSL_D c, TSL_D y) { return dc; } \
  };
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
#undef TSL_D

/// Sets the gradient of input `i` to the result of `derivative`, if it has one and it is needed.
template <class Derivative, class... Vars>
void set_gradient(VjpCall& call, size_t i, Derivative derivative, const Vars&... vars) {
  if constexpr (!std::is_same_v<decltype(derivative(vars...)), None>) {
    if (call.needed[i]) call.grads[i] = as_gradient(call, i, derivative(vars...));
  }
}

template <class D> void vjp_unary(VjpCall& call) {
  const Var g(call.ops, call.grad), x(call.ops, call.inputs[0]), y(call.ops, call.output);
  set_gradient(call, 0, D::d0, g, x, y);
}

template <class D> void vjp_binary(VjpCall& call) {
  const Var g(call.ops, call.grad), y(call.ops, call.output);
  const Var a(call.ops, call.inputs[0]), b(call.ops, call.inputs[1]);
  set_gradient(call, 0, D::d0, g, a, b, y);
  set_gradient(call, 1, D::d1, g, a, b, y);
}

template <class D> void vjp_ternary(VjpCall& call) {
  const Var g(call.ops, call.grad), y(call.ops, call.output);
  const Var a(call.ops, call.inputs[0]), b(call.ops, call.inputs[1]), c(call.ops, call.inputs[2]);
  set_gradient(call, 0, D::d0, g, a, b, c, y);
  set_gradient(call, 1, D::d1, g, a, b, c, y);
  set_gradient(call, 2, D::d2, g, a, b, c, y);
}

template <class Result, class... Vars> constexpr bool is_none(Result (*)(Vars...)) {
  return std::is_same_v<Result, None>;
}

using Vjp = void (*)(VjpCall&);

template <class D> constexpr Vjp unary() { return is_none(D::d0) ? nullptr : vjp_unary<D>; }

template <class D> constexpr Vjp binary() { return is_none(D::d0) && is_none(D::d1) ? nullptr : vjp_binary<D>; }

template <class D> constexpr Vjp ternary() {
  return is_none(D::d0) && is_none(D::d1) && is_none(D::d2) ? nullptr : vjp_ternary<D>;
}

}  // namespace derivatives

namespace {

TensorType infer_cast(Operands operands, const Attrs& attrs) { return {attrs.dtype, operands[0].tensor.shape()}; }

Tensor prepare_cast(Ops&, Op, Operands operands, const Attrs& attrs) {
  return operands[0].tensor.dtype() == attrs.dtype ? operands[0].tensor : Tensor();
}

void vjp_cast(VjpCall& call) {
  const DType from = call.inputs[0].tensor.dtype();
  if (is_float(from) && is_float(call.output.dtype())) call.grads[0] = cast(call.ops, call.grad, from);
}

void vjp_copy(VjpCall& call) { call.grads[0] = call.grad; }

Error describe_division(int64_t, const Layout&, const Attrs&) {
  Error error{ErrorName::division_by_zero, "integer division by zero", {}, {}, {}};
  error.hints = {"`where(b == 0, 1, b)` keeps zeros out of a divisor"};
  return error;
}
constexpr OpFailure kDivisionByZero = {.integers_only = true, .describe = describe_division};

constexpr OpTraits elementwise_traits(OperandRule operands, double cost, const OpFailure* failure = nullptr) {
  return {.fuses_as = FusesAs::elementwise,
          .writes_into = WritesInto::fresh,
          .operands = operands,
          .axis = AxisUse::none,
          .needs = InputNeed::nothing,
          .category = Category::pointwise,
          .operations = cost,
          .failure = failure,
          .ordering = Ordering::free};
}

void add_attributed(Table& table) {
  table.add({.op = Op::cast,
             .name = "cast",
             .signature = "",
             .doc = "x converted to another dtype",
             .traits = elementwise_traits(OperandRule::tensors, 1),
             .prepare = prepare_cast,
             .infer = infer_cast,
             .vjp = vjp_cast});
  table.add({.op = Op::copy,
             .name = "copy",
             .signature = "",
             .doc = "the elements of x, laid out contiguously",
             .traits = elementwise_traits(OperandRule::tensors, 0),
             .infer = infer_like_first,
             .vjp = vjp_copy});
}

constexpr OpDef row(Op op, std::optional<ScalarOp> scalar, std::string_view name, std::string_view signature,
                    std::string_view doc, DTypeRule rule, int arity, bool fallible, double cost,
                    TensorType (*infer)(Operands, const Attrs&), void (*vjp)(VjpCall&)) {
  return {.op = op,
          .name = name,
          .signature = signature,
          .doc = doc,
          .traits = elementwise_traits(OperandRule::promoted, cost, fallible ? &kDivisionByZero : nullptr),
          .dtype_rule = rule,
          .scalar = scalar,
          .arity = arity,
          .infer = infer,
          .vjp = vjp};
}

}  // namespace

void add_elementwise(Table& table) {
#define TSL_UNARY(name, rule, fallible, cost, doc, dx)                                                 \
  table.add(row(Op::name, ScalarOp::name, #name, #name "(x)", doc, DTypeRule::rule, 1, fallible, cost, \
                infer_elementwise<DTypeRule::rule>, derivatives::unary<derivatives::D_##name>()));
#define TSL_BINARY(name, rule, fallible, cost, doc, da, db)                                               \
  table.add(row(Op::name, ScalarOp::name, #name, #name "(a, b)", doc, DTypeRule::rule, 2, fallible, cost, \
                infer_elementwise<DTypeRule::rule>, derivatives::binary<derivatives::D_##name>()));
#define TSL_TERNARY(name, rule, fallible, cost, doc, da, db, dc)                                           \
  table.add(row(Op::name, std::nullopt, #name, #name "(a, b, c)", doc, DTypeRule::rule, 3, fallible, cost, \
                infer_elementwise<DTypeRule::rule>, derivatives::ternary<derivatives::D_##name>()));
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
  add_attributed(table);
}

}  // namespace tsl::rows
