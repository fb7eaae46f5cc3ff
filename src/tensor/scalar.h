// Host numbers beside tensors, and the arithmetic TSL does on them. The interpreter, and the evaluator of
// symbols in a compiled function, both use apply(), so they cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tsl {

enum class ScalarType : uint8_t { boolean, integer, real };

/// A host bool, int (64-bit, wraps around) or float (64-bit).
struct Scalar {
  ScalarType type = ScalarType::integer;
  union {
    bool boolean;
    int64_t integer = 0;
    double real;
  };

  static Scalar of(bool v) {
    Scalar s;
    s.type = ScalarType::boolean;
    s.integer = 0;
    s.boolean = v;
    return s;
  }
  static Scalar of(int64_t v) {
    Scalar s;
    s.type = ScalarType::integer;
    s.integer = v;
    return s;
  }
  static Scalar of(double v) {
    Scalar s;
    s.type = ScalarType::real;
    s.real = v;
    return s;
  }

  double as_real() const;
  int64_t as_integer() const;  // truncates a float; saturates at the ends; NaN is 0
  /// Same type and same bits (so 0.0 differs from -0.0 and a NaN equals itself): what guards compare.
  friend bool operator==(const Scalar& a, const Scalar& b) { return a.type == b.type && a.bits() == b.bits(); }
  uint64_t bits() const;
};

// Integer arithmetic that wraps around.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// Arithmetic on host scalars.
enum class ScalarOp : uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  pow,
  minimum,
  maximum,
  atan2,  // binary; div is always float
  eq,
  ne,
  lt,
  le,
  gt,
  ge,  // binary, to bool
  bit_and,
  bit_or,
  bit_xor,  // bool or int
  negate,
  logical_not,
  bit_not,
  abs,
  sign,
  square,
  to_real,
  to_integer,
  to_boolean,
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  rsqrt,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  sigmoid,
  relu,
  gelu,
  gelu_tanh,
  silu,
  softplus,
  erf,
  floor,
  ceil,
  round,
  trunc,
  isnan,
  isinf,
  isfinite,
};

/// Whether the op takes two operands.
bool is_binary(ScalarOp op);
std::string_view name_of(ScalarOp op);
std::optional<ScalarOp> scalar_op_named(std::string_view name);

/// The result's type for operands of these types (b is ignored for unary ops).
ScalarType result_type(ScalarOp op, ScalarType a, ScalarType b);

/// Evaluates. Integer `//` and `%` by zero throw Failure (ErrorKind::value). Int `**` with a negative exponent
/// gives a float, so its result type depends on the exponent's sign.
Scalar apply(ScalarOp op, Scalar a, Scalar b = Scalar());

}  // namespace tsl
