// Finds the first op that makes a NaN or an infinity (--check-nan).
#pragma once

#include <span>

#include "value/runtime.h"

namespace tsl {

/// Checks results of ops on their devices. An op is blamed for a NaN if no input has one, and for an infinity if all
/// inputs are finite. So constants of the program, such as full([n], -inf), and what follows from them, are not blamed.
class NanCheck {
 public:
  NanCheck(Ops& ops, Runtime& runtime) : ops_(ops), runtime_(runtime) {}

  /// Throws a final Failure if the op is to blame.
  void check(const OpDef& op, std::span<const Operand> operands, const Tensor& result);

 private:
  struct Kinds {
    bool nan = false, infinity = false;
  };

  Kinds kinds(const Operand& operand);
  bool any(const Tensor& flags);
  int64_t count(const Tensor& flags);
  double extreme(Op op, const Tensor& x);
  std::string describe_input(size_t number, const Operand& operand);
  [[noreturn]] void blame(const OpDef& op, std::span<const Operand> operands, const Tensor& result, Kinds made);

  Ops& ops_;
  Runtime& runtime_;
  bool is_checking_ = false;  // the ops that check are not checked
};

}  // namespace tsl
