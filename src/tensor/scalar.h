// Host numbers and the ops on them. The interpreter and the evaluation of a trace's symbols both call apply(), so their
// results are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace tsl {

enum class ScalarType : uint8_t { boolean, integer, real };

/// A host bool, int (64-bit) or float (64-bit).
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
  /// Compares type and bits, as guards do: 0.0 differs from -0.0, and a NaN equals itself.
  friend bool operator==(const Scalar& a, const Scalar& b) { return a.type == b.type && a.bits() == b.bits(); }
  uint64_t bits() const;
};

// Integer arithmetic that wraps around, for sizes and counters: a program's ints fail instead.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// The ops on host numbers: elementwise ops of one and two operands, and conversions.
enum class ScalarOp : uint8_t {
#define TSL_UNARY(name, ...) name,
#define TSL_BINARY(name, ...) name,
#define TSL_TERNARY(...)
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
  to_boolean,
  to_integer,
  to_real,
  count_
};
inline constexpr int kScalarOpCount = static_cast<int>(ScalarOp::count_);

bool is_binary(ScalarOp op);
constexpr bool is_shift(ScalarOp op) { return op == ScalarOp::left_shift || op == ScalarOp::right_shift; }
/// Returns the dtype rule of the op's row. to_boolean has `compare`, to_integer `same`, to_real `floating`.
DTypeRule dtype_rule(ScalarOp op);
std::string_view name_of(ScalarOp op);
std::optional<ScalarOp> scalar_op_named(std::string_view name);

/// Returns the result's type for operands of these types (b is ignored for unary ops).
ScalarType result_type(ScalarOp op, ScalarType a, ScalarType b);

/// Evaluates the scalar body that the CPU's kernels run: a float's result is that of an f64 tensor, bit for bit.
/// Int `//` and `%` by zero, ints that do not fit 64 bits, and shifts by other counts than 0 to 63 throw Failure
/// (value). Int `**` with a negative exponent gives a float.
Scalar apply(ScalarOp op, Scalar a, Scalar b = Scalar());

/// Whether apply() fails for a result that fits no int or for the count of a shift.
bool fails_on_ints(ScalarOp op, Scalar a, Scalar b = Scalar());

}  // namespace tsl
