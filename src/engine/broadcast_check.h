// Warns of a broadcast that was hardly meant: a loss or a score over all pairs of n numbers.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "tensor/op.h"

namespace tsl {

class Interpreter;

/// Finds elementwise ops of a column [n, 1] and a vector [n] whose result [n, n] is reduced to one number. A column
/// that meets a row [1, n] is meant, and so are pairs that stay pairs. Pairs that the standard library makes are its
/// own affair; those that the program makes count wherever they are reduced.
class BroadcastCheck {
 public:
  BroadcastCheck(Ops& ops, Interpreter& interpreter) : ops_(ops), interpreter_(interpreter) {}

  /// Looks at a call of the program after it. Returns the warning, if it completes such a reduction.
  std::optional<Error> after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                             const Tensor& result) {
    if (op.op == Op::expand) note_expansion(operands[0].tensor, result);
    else if (count_ > 0 || pairs_) return follow(op, operands, attrs, result);
    return std::nullopt;
  }

 private:
  struct Expansion {
    const TensorData* to = nullptr;
    bool is_column = false;
    Span span;
  };

  void note_expansion(const Tensor& from, const Tensor& to);
  std::optional<Error> follow(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                              const Tensor& result);
  bool makes_pairs(std::span<const Operand> operands) const;

  Ops& ops_;
  Interpreter& interpreter_;
  std::array<Expansion, 2> expansions_;  // of the operands of the op that follows
  size_t count_ = 0;
  const TensorData* pairs_ = nullptr;  // the last result over all pairs; it may be freed, so it is only compared
  Span span_;                          // of the op that made it
  std::string_view name_;
};

}  // namespace tsl
