// Gradients of a matrix that many products have on their right, as the weights of a recurrent network: the products
// share one derivative, of all their rows, in place of one each and their sum.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/op.h"

namespace tsl {

/// Products with one matrix whose derivatives by it wait to become one.
class SharedProducts {
 public:
  static constexpr uint32_t kFewest = 4;  // products that share a derivative

  /// Counts a product that is to be differentiated.
  void count() { ++left_; }
  /// Takes the gradient of a product's result; false: its derivative is to be computed by itself.
  bool add(std::span<const Operand> operands, const Tensor& gradient);
  /// Says that a product has been differentiated. Whether none is left, or so many wait that they take much memory.
  bool is_due();
  /// Returns the derivative by the matrix of what waits; null if nothing does.
  Tensor take(Ops& ops);

 private:
  uint32_t left_ = 0;
  bool are_many_ = false;
  Tensor matrix_;
  std::vector<Operand> lefts_;
  std::vector<Operand> gradients_;
};

/// Whether a call is a product of matrices.
bool is_product(const OpDef& op, std::span<const Operand> operands);

}  // namespace tsl
