#include "tensor/promotion.h"

namespace tsl {

namespace {

ScalarType class_of(DType dtype) {
  if (is_float(dtype)) return ScalarType::real;
  return is_integer(dtype) ? ScalarType::integer : ScalarType::boolean;
}

// Whether an arithmetic op is defined on bools: add is `or`, mul is `and`, and minimum and maximum are defined.
bool is_defined_on_bool(Op op) { return op == Op::add || op == Op::mul || op == Op::minimum || op == Op::maximum; }

[[noreturn]] void fail_operands(const OpDef& op, std::span<const Operand> operands, std::string_view wanted) {
  std::string given;
  for (const Operand& operand : operands) given += (given.empty() ? "" : " and ") + describe(operand);
  fail(ErrorKind::type, "{}: expected {}, got {}", op.name, wanted, given);
}

}  // namespace

DType default_dtype(ScalarType type) {
  switch (type) {
    case ScalarType::boolean: return DType::boolean;
    case ScalarType::integer: return DType::i64;
    case ScalarType::real: return DType::f32;
  }
  __builtin_unreachable();
}

DType promote_operands(std::span<const Operand> operands) {
  bool any_tensor = false;
  DType dtype = DType::boolean;
  ScalarType weak = ScalarType::boolean;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor()) {
      weak = std::max(weak, operand.scalar.type);
    } else {
      dtype = any_tensor ? promote(dtype, operand.tensor.dtype()) : operand.tensor.dtype();
      any_tensor = true;
    }
  }
  return any_tensor && weak <= class_of(dtype) ? dtype : default_dtype(weak);
}

DType operand_dtype(const OpDef& op, std::span<const Operand> operands) {
  if (op.dtype_rule == DTypeRule::select) return promote_operands(operands.subspan(1));
  const DType dtype = promote_operands(operands);
  switch (op.dtype_rule) {
    case DTypeRule::floating:
    case DTypeRule::predicate: return to_float(dtype);
    case DTypeRule::same:
      if (dtype == DType::boolean) fail_operands(op, operands, "numbers");
      return dtype;
    case DTypeRule::arithmetic:
      if (dtype == DType::boolean && !is_defined_on_bool(op.op)) fail_operands(op, operands, "numbers");
      return dtype;
    case DTypeRule::bitwise:
      if (is_float(dtype)) fail_operands(op, operands, "bools or integers");
      return dtype;
    case DTypeRule::compare:
    case DTypeRule::select: break;
  }
  return dtype;
}

}  // namespace tsl
