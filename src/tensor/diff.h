// The functions and operators of derivative rules, over tensors and host numbers; they call ops. Every elementwise op
// is a function here, so that a row of elementwise.def can contain `g * exp(x)`.
#pragma once

#include <initializer_list>

#include "tensor/op.h"

namespace tsl::diff {

/// The derivative of an operand through which no gradient flows.
struct None {};
inline constexpr None none{};

/// A tensor or a number in a derivative rule, with the Ops that computes. A plain double is a weak scalar.
class Var {
 public:
  Var(Ops& ops, Operand value) : ops_(&ops), value_(std::move(value)) {}
  Var(double value) : value_(Scalar::of(value)) {}
  Var(int value) : value_(Scalar::of(static_cast<int64_t>(value))) {}

  Ops* ops() const { return ops_; }
  const Operand& value() const { return value_; }
  const Tensor& tensor() const { return value_.tensor; }
  bool is_tensor() const { return value_.is_tensor(); }

 private:
  Ops* ops_ = nullptr;
  Operand value_;
};

/// Calls an op. Numbers alone are computed on the host, and a `where` with a known condition is one of its branches.
Var call(Op op, std::initializer_list<Var> operands);

/// Converts the value to the gradient of input `i` of a call: to its dtype and shape.
Tensor as_gradient(const VjpCall& call, size_t i, const Var& value);

#define TSL_UNARY(name, ...) \
  inline Var name(const Var& x) { return call(Op::name, {x}); }
#define TSL_BINARY(name, ...) \
  inline Var name(const Var& a, const Var& b) { return call(Op::name, {a, b}); }
#define TSL_TERNARY(name, ...) \
  inline Var name(const Var& a, const Var& b, const Var& c) { return call(Op::name, {a, b, c}); }
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY

inline Var operator-(const Var& x) { return neg(x); }
inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }

}  // namespace tsl::diff
