// An Ops that computes every op by its definition, element by element: slow, but easy to verify.
#pragma once

#include <functional>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// One recorded call.
struct TapeEntry {
  const OpDef* def;
  std::vector<Operand> operands;
  Attrs attrs;
  Results results;
};

class ReferenceOps : public Ops {
 public:
  std::vector<TapeEntry> tape;

  Tensor make(DType dtype, const Shape& shape, const std::vector<double>& elements);
  /// Returns the elements in row-major order, as doubles.
  static std::vector<double> elements(const Tensor& x);

  /// Returns the gradients of `inputs` for the gradient `grad` of `output`, by the derivative rules of the table; null
  /// where nothing flows.
  std::vector<Tensor> backward(const Tensor& output, const Tensor& grad, const std::vector<Tensor>& inputs);

 protected:
  void run(const OpDef&, std::span<const Operand>, const Attrs&, std::span<const TensorType> types,
           std::span<Tensor> results) override;
  void after(const OpDef&, std::span<const Operand>, const Attrs&, std::span<const Tensor> results) override;
  std::string_view no_kernel(const OpDef&, std::span<const Operand>, const Attrs&) override { return "a reference"; }
};

}  // namespace tsl
