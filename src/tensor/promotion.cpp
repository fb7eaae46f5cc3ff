#include "tensor/promotion.h"

#include <cmath>
#include <limits>

#include "base/error_names.h"

namespace tsl {

namespace {

ScalarType class_of(DType dtype) {
  if (is_float(dtype)) return ScalarType::real;
  return is_integer(dtype) ? ScalarType::integer : ScalarType::boolean;
}

/// Names the elements on which ops of a rule are defined.
std::string_view elements_of(DTypeRule rule) {
  if (rule == DTypeRule::bitwise) return "bools or integers";
  return rule == DTypeRule::shift ? "integers" : "numbers";
}

[[noreturn]] void fail_operands(const OpDef& op, std::span<const Operand> operands, std::string_view wanted) {
  std::string given;
  for (const Operand& operand : operands) given += (given.empty() ? "" : " and ") + describe(operand);
  std::vector<std::string> hints;
  if (wanted == "numbers") hints = {"`i64(x)` makes 0 and 1 of bools"};
  if (wanted == "integers") hints = {"`i64(x)` makes integers"};
  if (wanted == "bools or integers") hints = {"comparisons make bools: `(x > 0) & (y > 0)`"};
  fail_with(ErrorName::wrong_dtype, fmt::format("{}: expected {}, got {}", op.name, wanted, given), std::move(hints));
}

}  // namespace

DType default_dtype(ScalarType type, DType reals) {
  switch (type) {
    case ScalarType::boolean: return DType::boolean;
    case ScalarType::integer: return DType::i64;
    case ScalarType::real: return reals;
  }
  __builtin_unreachable();
}

DType promote_operands(std::span<const Operand> operands, const Ops* ops) {
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
  if (any_tensor && weak <= class_of(dtype)) return dtype;
  return weak == ScalarType::real && ops ? ops->promoted_reals() : default_dtype(weak);
}

DType operand_dtype(const OpDef& op, std::span<const Operand> operands, const Ops& ops) {
  const DTypeRule rule = op.dtype_rule;
  if (rule == DTypeRule::select) return promote_operands(operands.subspan(1), &ops);
  const bool of_floats = rule == DTypeRule::floating || rule == DTypeRule::predicate;
  const DType promoted = promote_operands(operands, &ops);
  const DType dtype = of_floats && !is_float(promoted) ? ops.promoted_reals() : promoted;
  if (!is_defined(op.op, rule, dtype)) fail_operands(op, operands, elements_of(rule));
  return dtype;
}

namespace {

constexpr uint64_t kGreatestInt = std::numeric_limits<int64_t>::max();  // of host numbers

/// Compares a number with a bound; a trace depends on the answer.
bool holds(ScalarOp comparison, const Operand& number, Scalar bound) {
  if (!number.symbol || number.symbol->table->is_closed()) return apply(comparison, number.scalar, bound).boolean;
  SymbolTable& table = *number.symbol->table;
  return table.pin(table.apply(comparison, number.symbol, table.constant(bound)), "range").boolean;
}

RangeSide integer_side(const IntegerRange& range, const Operand& number) {
  if (!holds(ScalarOp::ge, number, Scalar::of(range.least))) return RangeSide::below;
  if (range.greatest >= kGreatestInt) return RangeSide::inside;
  const auto greatest = static_cast<int64_t>(range.greatest);
  return holds(ScalarOp::le, number, Scalar::of(greatest)) ? RangeSide::inside : RangeSide::above;
}

/// Of a float only the whole part is stored, so the bounds are the next whole numbers outside; an i64's least value has
/// no such neighbour among floats.
RangeSide real_side(const IntegerRange& range, const Operand& number) {
  const double least = static_cast<double>(range.least);
  const double below = least - 1 < least ? least - 1 : std::nextafter(least, -HUGE_VAL);
  if (!holds(ScalarOp::gt, number, Scalar::of(below))) return RangeSide::below;
  const double above = static_cast<double>(range.greatest / 2 + 1) * 2;
  return holds(ScalarOp::lt, number, Scalar::of(above)) ? RangeSide::inside : RangeSide::above;
}

}  // namespace

IntegerRange range_of(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const uint64_t greatest = kGreatestInt >> (64 - bits);  // of the signed dtype of this size
  if (!is_signed(dtype)) return {0, greatest * 2 + 1};
  return {-static_cast<int64_t>(greatest) - 1, greatest};
}

RangeSide range_side(DType dtype, const Operand& number) {
  if (!is_integer(dtype)) return RangeSide::inside;
  const IntegerRange range = range_of(dtype);
  switch (number.scalar.type) {
    case ScalarType::boolean: return RangeSide::inside;
    case ScalarType::integer: break;
    case ScalarType::real: return real_side(range, number);
  }
  const bool holds_extents = range.least <= kMinSymbolicExtent && range.greatest >= uint64_t{kMaxSymbolicExtent};
  if (dtype == DType::i64 || (holds_extents && number.symbol && number.symbol->is_extent)) return RangeSide::inside;
  return integer_side(range, number);
}

void expect_fits(DType dtype, const Operand& number) {
  if (range_side(dtype, number) == RangeSide::inside) return;
  const IntegerRange range = range_of(dtype);
  fail_with(ErrorName::number_out_of_range,
            fmt::format("{} does not fit {}, which holds {} to {}", describe(number), name_of(dtype), range.least,
                        range.greatest),
            range.greatest >= kGreatestInt ? std::vector<std::string>{}
                                           : std::vector<std::string>{"i64 holds greater numbers: `i64(x)`"});
}

}  // namespace tsl
