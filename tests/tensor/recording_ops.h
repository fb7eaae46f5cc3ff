// An Ops that computes nothing: it records the calls of `run`, and makes tensors without elements.
#pragma once

#include <string>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// Returns the kind and message of what a call throws; "" if it does not throw.
template <class Call> std::string failure_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    return fmt::format("{}: {}", name_of(failure.error().kind()), failure.error().message);
  }
  return "";
}

class RecordingOps : public Ops {
 public:
  /// The calls, in order: "cast(f16[2]) -> f32[2]"; views, which only reach `after`, start with "view ".
  std::vector<std::string> calls;

  /// Makes a tensor without elements.
  Tensor make(DType dtype, const Shape& shape) { return Tensor(dtype, Layout::contiguous(shape), nullptr); }

 protected:
  void run(const OpDef&, std::span<const Operand>, const Attrs&, std::span<const TensorType> types,
           std::span<Tensor> results) override {
    for (size_t i = 0; i < types.size(); ++i) results[i] = make(types[i].dtype, types[i].shape);
  }
  void after(const OpDef& def, std::span<const Operand> operands, const Attrs&,
             std::span<const Tensor> results) override {
    std::string text = def.view ? "view " : "";
    text += def.name;
    for (size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? "(" : ", ") + describe(operands[i]);
    text += ") -> ";
    for (const Tensor& result : results) text += (&result == results.data() ? "" : ", ") + describe(result);
    calls.push_back(std::move(text));
  }
};

}  // namespace tsl
