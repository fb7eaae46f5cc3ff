#include "engine/broadcast_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error_names.h"
#include "vm/interpreter.h"

namespace tsl {

/// Remembers operands that are broadcast to a square matrix. The calls that broadcast them have the op's position.
void BroadcastCheck::note_expansion(const Tensor& from, const Tensor& to) {
  const Shape &narrow = from.shape(), &wide = to.shape();
  if (wide.rank() != 2 || !wide[0].same(wide[1]) || wide[0].same(1)) return;
  const bool is_vector = narrow.rank() == 1 && narrow[0].same(wide[0]);
  const bool is_column = narrow.rank() == 2 && narrow[0].same(wide[0]) && narrow[1].same(1);
  if (!is_vector && !is_column) return;
  if (count_ == expansions_.size()) count_ = 0;
  expansions_[count_++] = {to.get(), is_column, ops_.origin().span};
}

bool BroadcastCheck::makes_pairs(std::span<const Operand> operands) const {
  if (count_ != 2 || operands.size() != 2 || expansions_[0].is_column == expansions_[1].is_column) return false;
  const Span span = ops_.origin().span;
  for (size_t i = 0; i < 2; ++i) {
    if (operands[i].tensor.get() != expansions_[i].to || !(expansions_[i].span == span)) return false;
  }
  return true;
}

std::optional<Error> BroadcastCheck::follow(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                                            const Tensor& result) {
  const auto is_of_pairs = [this](const Operand& operand) {
    return operand.is_tensor() && operand.tensor.get() == pairs_;
  };
  const bool goes_on = pairs_ && std::any_of(operands.begin(), operands.end(), is_of_pairs);
  if (result.get() == pairs_) pairs_ = nullptr;  // other elements in the memory of the last one
  if (is_elementwise(op)) {
    const bool begins = makes_pairs(operands) && !interpreter_.is_in_library();
    if (op.op != Op::cast) count_ = 0;  // an operand's dtype may change before it is broadcast
    if (begins) {
      span_ = ops_.origin().span;
      name_ = op.name;
    }
    if (begins || (goes_on && result.rank() == 2)) pairs_ = result.get();
    return std::nullopt;
  }
  if (!is_reduction(op) || !goes_on || attrs.axes.size() != 2 || ops_.origin().is_backward) return std::nullopt;
  pairs_ = nullptr;
  return make_warning(
      ErrorName::broadcast_difference,
      fmt::format("`{}` of a column [n, 1] and a vector [n] is a matrix [n, n], which is then reduced to one number",
                  name_),
      span_,
      {fmt::format("n is {} here. If numbers are to meet one by one, give both operands one shape: reshape(x, [-1])",
                   operands[0].tensor.shape()[0].hint()),
       "if all pairs are meant, write the vector as a row: y[nil]"});
}

}  // namespace tsl
