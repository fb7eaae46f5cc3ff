#include "engine/nan_check.h"

#include <cmath>
#include <utility>

#include "base/error_names.h"
#include "base/number_text.h"

namespace tsl {

namespace {

bool is_float_tensor(const Operand& operand) { return operand.is_tensor() && is_float(operand.tensor.dtype()); }

Tensor all_elements(Ops& ops, const Tensor& x) { return reshape(ops, x, {element_count(x.shape())}); }

}  // namespace

bool NanCheck::any(const Tensor& flags) {
  return runtime_.read_number(ops_.call(Op::any, {all_elements(ops_, flags)}, {.axes = {0}})).boolean();
}

int64_t NanCheck::count(const Tensor& flags) {
  return runtime_.read_number(sum(ops_, cast(ops_, all_elements(ops_, flags), DType::i64), {0}, false)).integer();
}

double NanCheck::extreme(Op op, const Tensor& x) {
  const Tensor elements = cast(ops_, all_elements(ops_, x), DType::f64);
  return runtime_.read_number(ops_.call(op, {elements}, {.axes = {0}})).real();
}

NanCheck::Kinds NanCheck::kinds(const Operand& operand) {
  if (!operand.is_tensor()) {
    if (operand.scalar.type != ScalarType::real) return {};
    return {std::isnan(operand.scalar.real), std::isinf(operand.scalar.real)};
  }
  if (!is_float_tensor(operand)) return {};
  return {any(ops_.call(Op::isnan, {operand.tensor})), any(ops_.call(Op::isinf, {operand.tensor}))};
}

void NanCheck::check(const OpDef& op, std::span<const Operand> operands, const Tensor& result) {
  if (is_checking_ || !is_float(result.dtype()) || element_count(result.shape()) == Dim(0)) return;
  struct Checking {
    bool& flag;
    explicit Checking(bool& f) : flag(f) { flag = true; }
    ~Checking() { flag = false; }
  } const checking(is_checking_);
  const OpListeners::Pause pause(runtime_.listeners());
  Kinds made = kinds(result);
  if (!made.nan && !made.infinity) return;
  for (const Operand& operand : operands) {
    const Kinds given = kinds(operand);
    made.nan &= !given.nan;
    made.infinity &= !given.nan && !given.infinity;
  }
  if (made.nan || made.infinity) blame(op, operands, result, made);
}

std::string NanCheck::describe_input(size_t number, const Operand& operand) {
  std::string text = fmt::format("input {}: {}", number, describe(operand));
  if (!operand.is_tensor() || operand.tensor.dtype() == DType::boolean) return text;
  if (element_count(operand.tensor.shape()) == Dim(0)) return text;
  text += fmt::format(", from {} to {}", number_text(extreme(Op::min, operand.tensor)),
                      number_text(extreme(Op::max, operand.tensor)));
  if (!is_float_tensor(operand)) return text;
  return text + fmt::format(", {} NaN, {} infinite", count(ops_.call(Op::isnan, {operand.tensor})),
                            count(ops_.call(Op::isinf, {operand.tensor})));
}

/// The position of an op in a backward pass is that of the op which is differentiated.
void NanCheck::blame(const OpDef& op, std::span<const Operand> operands, const Tensor& result, Kinds made) {
  const int64_t bad = count(ops_.call(made.nan ? Op::isnan : Op::isinf, {result}));
  const int64_t all = element_count(result.shape()).hint();
  const Origin origin = ops_.origin();
  Error error;
  error.name = ErrorName::nan_produced;
  error.message = fmt::format("`{}`{} makes {} out of inputs that have none: {} of {} element{} of {}", op.name,
                              origin.is_backward ? ", in the backward pass of this," : "",
                              made.nan ? "NaN" : "an infinity", bad, all, all == 1 ? "" : "s", describe(result));
  for (size_t i = 0; i < operands.size(); ++i) error.notes.push_back(describe_input(i + 1, operands[i]));
  if (origin.is_backward) error.span = origin.span;
  error.is_final = true;
  throw Failure(std::move(error));
}

}  // namespace tsl
