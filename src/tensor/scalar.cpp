#include "tensor/scalar.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error_names.h"
#include "tensor/bodies/scalar_bodies.h"

namespace tsl {

namespace {

struct Row {
  std::string_view name;
  int arity;
  DTypeRule rule;
};

constexpr std::array<Row, kScalarOpCount> kRows = {{
#define TSL_UNARY(name, rule, ...) {#name, 1, DTypeRule::rule},
#define TSL_BINARY(name, rule, ...) {#name, 2, DTypeRule::rule},
#define TSL_TERNARY(...)
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
    {"to_boolean", 1, DTypeRule::compare},
    {"to_integer", 1, DTypeRule::same},
    {"to_real", 1, DTypeRule::floating},
}};
static_assert(kRows.back().name == "to_real");

constexpr const Row& row_of(ScalarOp op) { return kRows[static_cast<size_t>(op)]; }

bool is_real(Scalar s) { return s.type == ScalarType::real; }
bool is_boolean(Scalar s) { return s.type == ScalarType::boolean; }
int64_t integer_of(Scalar s) { return is_boolean(s) ? s.boolean : s.integer; }

/// Whether the op of two bools gives a bool. For other arithmetic, bools are the ints 0 and 1.
constexpr bool keeps_booleans(ScalarOp op) {
  return row_of(op).rule == DTypeRule::bitwise || op == ScalarOp::minimum || op == ScalarOp::maximum;
}

/// Whether the op is one of floats, too.
constexpr bool takes_floats(ScalarOp op) { return row_of(op).rule != DTypeRule::bitwise && !is_shift(op); }

/// Whether the scalar body accepts bools.
constexpr bool takes_booleans(ScalarOp op) { return row_of(op).rule == DTypeRule::compare || keeps_booleans(op); }

constexpr bool computes_in_floats(ScalarOp op) {
  return row_of(op).rule == DTypeRule::floating || row_of(op).rule == DTypeRule::predicate;
}

/// An op of ints whose result may fit no int, and its sign; "" if it is written as a function.
struct OverflowingOp {
  ScalarOp op;
  std::string_view sign;
};
constexpr OverflowingOp kOverflowingOps[] = {
    {ScalarOp::neg, "-"},  {ScalarOp::abs, ""},        {ScalarOp::square, ""},
    {ScalarOp::add, "+"},  {ScalarOp::sub, "-"},       {ScalarOp::mul, "*"},
    {ScalarOp::pow, "**"}, {ScalarOp::floordiv, "//"}, {ScalarOp::left_shift, "<<"}};

constexpr const OverflowingOp* overflowing(ScalarOp op) {
  for (const OverflowingOp& row : kOverflowingOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}
constexpr bool can_overflow(ScalarOp op) { return overflowing(op) != nullptr; }

/// Multiplies x by itself; the exponent is not negative. Squares only as far as bits of the exponent remain.
bool power_overflows(int64_t x, int64_t exponent, int64_t* result) {
  *result = 1;
  for (;;) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(*result, x, result)) return true;
    exponent >>= 1;
    if (exponent == 0) return false;
    if (__builtin_mul_overflow(x, x, &x)) return true;
  }
}

/// Shifts to the left by 0 to 63 bits.
bool shift_overflows(int64_t x, int64_t count, int64_t* result) {
  *result = static_cast<int64_t>(static_cast<uint64_t>(x) << count);
  return *result >> count != x;
}

/// Computes an op of two ints, or of one; returns whether the result fits no int. Powers, divisors and counts are
/// valid.
bool overflows(ScalarOp op, int64_t x, int64_t y, int64_t* result) {
  if (op == ScalarOp::add) return __builtin_add_overflow(x, y, result);
  if (op == ScalarOp::sub) return __builtin_sub_overflow(x, y, result);
  if (op == ScalarOp::mul) return __builtin_mul_overflow(x, y, result);
  if (op == ScalarOp::neg) return __builtin_sub_overflow(int64_t{0}, x, result);
  if (op == ScalarOp::abs) return __builtin_sub_overflow(int64_t{0}, x < 0 ? x : -x, result);
  if (op == ScalarOp::square) return __builtin_mul_overflow(x, x, result);
  if (op == ScalarOp::pow) return power_overflows(x, y, result);
  if (op == ScalarOp::left_shift) return shift_overflows(x, y, result);
  if (y == -1) return __builtin_sub_overflow(int64_t{0}, x, result);  // `//`
  *result = math::s_floordiv(x, y);
  return false;
}

/// Fails with the operation and its operands, as a program writes them.
[[noreturn]] void fail_overflow(ScalarOp op, int64_t x, int64_t y) {
  const std::string_view sign = overflowing(op)->sign;
  const std::string first = x < 0 && !sign.empty() ? fmt::format("({})", x) : fmt::format("{}", x);
  std::string operation = is_binary(op) ? fmt::format("{} {} {}", first, sign, y) : fmt::format("{}{}", sign, first);
  if (sign.empty()) operation = fmt::format("{}({})", name_of(op), x);
  fail_with(ErrorName::integer_overflow, fmt::format("{} does not fit an int, which has 64 bits", operation),
            {"`float(n)` has a wider range, with 53 bits of precision"});
}

constexpr bool is_shift_count(int64_t count) { return count >= 0 && count < 64; }

void check_shift_count(int64_t count) {
  if (is_shift_count(count)) return;
  fail(ErrorName::argument_out_of_range, "an int is shifted by 0 to 63 bits, not by {}", count);
}

template <ScalarOp kOp> Scalar exact(int64_t x, int64_t y = 0) {
  int64_t result;
  if (overflows(kOp, x, y, &result)) [[unlikely]]
    fail_overflow(kOp, x, y);
  return Scalar::of(result);
}

Scalar shifted(ScalarOp op, Scalar a, Scalar b) {
  if (is_real(a) || is_real(b)) fail(ErrorName::wrong_dtype, "{} needs ints, not floats", name_of(op));
  const int64_t x = integer_of(a), count = integer_of(b);
  check_shift_count(count);
  return op == ScalarOp::left_shift ? exact<ScalarOp::left_shift>(x, count) : Scalar::of(x >> count);
}

#if defined(__x86_64__) && !defined(__FMA__)
/// Calls the body with the processor's own fused multiplication, without which a function of f64 takes five times as
/// long. The bits are the same.
template <class Body, class... Real> [[gnu::target("fma")]] auto call_with_fma(Body body, Real... x) {
  return body(x...);
}
template <class Body, class... Real> auto call_in_floats(Body body, Real... x) {
  return __builtin_cpu_supports("fma") ? call_with_fma(body, x...) : body(x...);
}
#else
template <class Body, class... Real> auto call_in_floats(Body body, Real... x) { return body(x...); }
#endif

/// Calls the scalar body for the operand's type.
template <ScalarOp kOp, class Body> Scalar unary(Scalar x, Body body) {
  if constexpr (computes_in_floats(kOp)) {
    return Scalar::of(call_in_floats(body, x.as_real()));
  } else {
    if (is_real(x)) {
      if constexpr (takes_floats(kOp)) return Scalar::of(body(x.real));
      fail(ErrorName::wrong_dtype, "{} needs a bool or an int, not a float", name_of(kOp));
    }
    if constexpr (takes_booleans(kOp)) {
      if (is_boolean(x)) return Scalar::of(body(x.boolean));
    }
    if constexpr (can_overflow(kOp)) return exact<kOp>(integer_of(x));
    else return Scalar::of(body(integer_of(x)));
  }
}

/// Fails if int `//` or `%` has no result for this divisor.
template <ScalarOp kOp> void check_divisor(int64_t divisor) {
  static_assert(kOp == ScalarOp::floordiv || kOp == ScalarOp::mod, "says when the new fallible op fails");
  if (divisor != 0) return;
  fail_with(ErrorName::division_by_zero,
            fmt::format("integer {} by zero", kOp == ScalarOp::floordiv ? "division" : "modulo"),
            {"`if b != 0 { … }` tests the divisor first; `a / b` divides as floats do"});
}

/// Returns where an int lies beside a float, exactly: -1 below, 0 at, 1 above. The float is no NaN.
int side_of(int64_t integer, double real) {
  constexpr double kBeyond = 0x1p63;  // the least float that no int reaches
  if (real >= kBeyond) return -1;
  if (real < -kBeyond) return 1;
  const double whole = std::floor(real);
  const auto near = static_cast<int64_t>(whole);
  if (integer != near) return integer < near ? -1 : 1;
  return whole == real ? 0 : -1;
}

/// Compares an int with a float by their values, as Python does: 2**53 + 1 is greater than 2.0**53, the nearest float.
template <class Body> Scalar compare_exactly(Scalar a, Scalar b, Body body) {
  const double real = is_real(a) ? a.real : b.real;
  if (std::isnan(real)) return Scalar::of(body(real, real));  // unequal, and without an order
  const int side = is_real(a) ? -side_of(integer_of(b), real) : side_of(integer_of(a), real);
  return Scalar::of(body(int64_t{side}, int64_t{0}));
}

template <ScalarOp kOp, bool kFallible, class Body> Scalar binary(Scalar a, Scalar b, Body body) {
  if constexpr (is_shift(kOp)) {
    return shifted(kOp, a, b);
  } else if constexpr (computes_in_floats(kOp)) {
    return Scalar::of(call_in_floats(body, a.as_real(), b.as_real()));
  } else {
    if (is_real(a) || is_real(b)) {
      if constexpr (row_of(kOp).rule == DTypeRule::compare) {
        if (is_real(a) != is_real(b)) return compare_exactly(a, b, body);
      }
      if constexpr (kOp == ScalarOp::pow) return Scalar::of(call_in_floats(body, a.as_real(), b.as_real()));
      else if constexpr (takes_floats(kOp)) return Scalar::of(body(a.as_real(), b.as_real()));
      fail(ErrorName::wrong_dtype, "{} needs bools or ints, not floats", name_of(kOp));
    }
    if constexpr (takes_booleans(kOp)) {
      if (is_boolean(a) && is_boolean(b)) return Scalar::of(body(a.boolean, b.boolean));
    }
    const int64_t x = integer_of(a), y = integer_of(b);
    if constexpr (kFallible) check_divisor<kOp>(y);
    if constexpr (kOp == ScalarOp::pow) {
      if (y < 0) return Scalar::of(call_in_floats(body, static_cast<double>(x), static_cast<double>(y)));
    }
    if constexpr (can_overflow(kOp)) return exact<kOp>(x, y);
    else return Scalar::of(body(x, y));
  }
}

}  // namespace

double Scalar::as_real() const { return is_real(*this) ? real : static_cast<double>(integer_of(*this)); }

int64_t Scalar::as_integer() const { return is_real(*this) ? math::s_cast<int64_t>(real) : integer_of(*this); }

uint64_t Scalar::bits() const {
  if (!is_real(*this)) return static_cast<uint64_t>(integer_of(*this));
  uint64_t bits;
  std::memcpy(&bits, &real, sizeof bits);
  return bits;
}

bool is_binary(ScalarOp op) { return row_of(op).arity == 2; }

DTypeRule dtype_rule(ScalarOp op) { return row_of(op).rule; }

std::string_view name_of(ScalarOp op) { return row_of(op).name; }

std::optional<ScalarOp> scalar_op_named(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<ScalarOp>(i);
  }
  return std::nullopt;
}

ScalarType result_type(ScalarOp op, ScalarType a, ScalarType b) {
  if (op == ScalarOp::to_integer) return ScalarType::integer;
  if (!is_binary(op)) b = a;
  switch (dtype_rule(op)) {
    case DTypeRule::compare:
    case DTypeRule::predicate: return ScalarType::boolean;
    case DTypeRule::floating: return ScalarType::real;
    case DTypeRule::same:
    case DTypeRule::arithmetic:
    case DTypeRule::bitwise:
    case DTypeRule::shift:
    case DTypeRule::select: break;
  }
  if (keeps_booleans(op) && a == ScalarType::boolean && b == ScalarType::boolean) return ScalarType::boolean;
  const bool any_real = a == ScalarType::real || b == ScalarType::real;
  return any_real && takes_floats(op) ? ScalarType::real : ScalarType::integer;
}

bool fails_on_ints(ScalarOp op, Scalar a, Scalar b) {
  if (is_real(a) || (is_binary(op) && is_real(b))) return false;
  const int64_t x = integer_of(a), y = is_binary(op) ? integer_of(b) : 0;
  if (is_shift(op) && !is_shift_count(y)) return true;
  if (!can_overflow(op) || (op == ScalarOp::pow && y < 0) || (op == ScalarOp::floordiv && y == 0)) return false;
  int64_t result;
  return overflows(op, x, y, &result);
}

Scalar apply(ScalarOp op, Scalar a, Scalar b) {
  switch (op) {
#define TSL_UNARY(name, ...)      \
  case ScalarOp::name:            \
    return unary<ScalarOp::name>( \
        a, [](auto x) __attribute__((always_inline)) { return math::s_##name(x); });
#define TSL_BINARY(name, rule, fallible, ...) \
  case ScalarOp::name:                        \
    return binary<ScalarOp::name, fallible>(  \
        a, b, [](auto x, auto y) __attribute__((always_inline)) { return math::s_##name(x, y); });
#define TSL_TERNARY(...)
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
    case ScalarOp::to_boolean: return Scalar::of(is_real(a) ? a.real != 0 : integer_of(a) != 0);
    case ScalarOp::to_integer: return Scalar::of(a.as_integer());
    case ScalarOp::to_real: return Scalar::of(a.as_real());
    case ScalarOp::count_: break;
  }
  __builtin_unreachable();
}

}  // namespace tsl
