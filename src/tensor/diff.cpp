#include "tensor/diff.h"

#include <array>
#include <optional>

#include "base/error_names.h"
#include "tensor/promotion.h"

namespace tsl::diff {

namespace {

Var as_tensor(Ops& ops, const Var& x) {
  if (x.is_tensor()) return x;
  Attrs attrs;
  attrs.dtype = default_dtype(x.value().scalar.type);
  return Var(ops, ops.call(Op::fill, {x.value()}, attrs));
}

const Symbol* symbol_of(SymbolTable& table, const Operand& x) { return x.symbol ? x.symbol : table.constant(x.scalar); }

Operand apply_to_numbers(ScalarOp op, const Operand& a, const Operand& b) {
  if (!a.symbol && !b.symbol) return Operand(tsl::apply(op, a.scalar, b.scalar));
  SymbolTable& table = *(a.symbol ? a.symbol : b.symbol)->table;
  const Symbol* result = table.apply(op, symbol_of(table, a), symbol_of(table, b));
  return Operand(result->hint, result->kind == Symbol::Kind::constant ? nullptr : result);
}

}  // namespace

Var call(Op op, std::initializer_list<Var> operands) {
  const Var* x = operands.begin();
  const size_t count = operands.size();
  if (op == Op::where && !x[0].is_tensor() && !x[0].value().symbol) return x[0].value().scalar.boolean ? x[1] : x[2];

  Ops* ops = nullptr;
  bool any_tensor = false;
  for (const Var& operand : operands) {
    if (operand.ops()) ops = operand.ops();
    any_tensor |= operand.is_tensor();
  }
  if (!ops) fail(ErrorName::no_tensor_operand, "a derivative rule calls {} with constants alone", op_def(op).name);
  if (any_tensor) {
    std::array<Operand, 3> values;
    for (size_t i = 0; i < count; ++i) values[i] = x[i].value();
    return Var(*ops, ops->call(op, std::span<const Operand>(values.data(), count)));
  }
  const std::optional<ScalarOp> host = op_def(op).scalar;
  if (host) return Var(*ops, apply_to_numbers(*host, x[0].value(), count > 1 ? x[1].value() : Operand()));
  return count == 3 ? call(op, {as_tensor(*ops, x[0]), x[1], x[2]}) : call(op, {as_tensor(*ops, x[0])});
}

Tensor as_gradient(const VjpCall& call, size_t i, const Var& value) {
  const Tensor& input = call.inputs[i].tensor;
  if (value.is_tensor()) return expand(call.ops, cast(call.ops, value.tensor(), input.dtype()), input.shape());
  Attrs attrs;
  attrs.shape = input.shape();
  attrs.dtype = input.dtype();
  return call.ops.call(Op::fill, {value.value()}, attrs);
}

}  // namespace tsl::diff
