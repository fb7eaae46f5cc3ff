#include "tensor/element_error.h"

#include <utility>

#include "tensor/op.h"

namespace tsl {

std::string ElementError::key() const {
  std::string text = std::to_string(static_cast<int>(error.name));
  const auto add = [&text](const std::string& part) {
    text += '\0';
    text += part;
  };
  add(error.own_kind);
  add(error.parameter);
  add(error.message);
  for (const std::string& hint : error.hints) add(hint);
  return text;
}

void refuse(Ops& ops, const Tensor& is_wrong, Error error) {
  const Placement placement(ops, is_wrong.device());
  const Tensor table = fill(ops, {Dim(1)}, DType::boolean, Scalar::of(false));
  Attrs attrs;
  attrs.from_start = true;
  attrs.error = Ref<const ElementError>(new ElementError(std::move(error)));
  ops.call(Op::take, {table, cast(ops, is_wrong, DType::i64)}, attrs);  // true is beyond the table
}

}  // namespace tsl
