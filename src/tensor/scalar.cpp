#include "tensor/scalar.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace tsl {

namespace {

constexpr size_t kScalarOpCount = static_cast<size_t>(ScalarOp::isfinite) + 1;

// The names of the same ops on tensors, where there are some.
constexpr std::array<std::string_view, kScalarOpCount> kNames = {
    "add",        "sub",       "mul",         "div",      "floordiv", "mod",   "pow",    "minimum", "maximum",
    "atan2",      "eq",        "ne",          "lt",       "le",       "gt",    "ge",     "bit_and", "bit_or",
    "bit_xor",    "neg",       "logical_not", "bit_not",  "abs",      "sign",  "square", "to_real", "to_integer",
    "to_boolean", "exp",       "log",         "log1p",    "expm1",    "sqrt",  "rsqrt",  "sin",     "cos",
    "tan",        "asin",      "acos",        "atan",     "sinh",     "cosh",  "tanh",   "sigmoid", "relu",
    "gelu",       "gelu_tanh", "silu",        "softplus", "erf",      "floor", "ceil",   "round",   "trunc",
    "isnan",      "isinf",     "isfinite"};
static_assert(kNames.back() == "isfinite");

bool is_real(Scalar s) { return s.type == ScalarType::real; }
bool is_boolean(Scalar s) { return s.type == ScalarType::boolean; }

int64_t integer_of(Scalar s) { return is_boolean(s) ? s.boolean : s.integer; }
bool truth_of(Scalar s) { return is_real(s) ? s.real != 0 : integer_of(s) != 0; }

// Ops that keep whole numbers whole: the others are computed, and answer, in floats.
bool keeps_integers(ScalarOp op) {
  switch (op) {
    case ScalarOp::negate:
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::square:
    case ScalarOp::relu:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
    case ScalarOp::trunc: return true;
    default: return is_binary(op) && op != ScalarOp::div && op != ScalarOp::atan2;
  }
}

bool answers_boolean(ScalarOp op) {
  return (op >= ScalarOp::eq && op <= ScalarOp::ge) || op == ScalarOp::logical_not || op == ScalarOp::to_boolean ||
         op >= ScalarOp::isnan;
}

bool keeps_booleans(ScalarOp op) {
  return (op >= ScalarOp::bit_and && op <= ScalarOp::bit_xor) || op == ScalarOp::bit_not || op == ScalarOp::minimum ||
         op == ScalarOp::maximum;
}

int64_t divide_down(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::value, "integer division by zero");
  if (b == -1) return wrapping_sub(0, a);  // INT64_MIN / -1 would trap
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == 0) fail(ErrorKind::value, "integer modulo by zero");
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}

double modulo(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// Through the exact remainder, so that a == (a // b) * b + a % b as nearly as floats can.
double divide_down(double a, double b) {
  if (b == 0) return a / b;
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Scalar binary_integer(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::add: return Scalar::of(wrapping_add(a, b));
    case ScalarOp::sub: return Scalar::of(wrapping_sub(a, b));
    case ScalarOp::mul: return Scalar::of(wrapping_mul(a, b));
    case ScalarOp::floordiv: return Scalar::of(divide_down(a, b));
    case ScalarOp::mod: return Scalar::of(modulo(a, b));
    case ScalarOp::pow:
      return b < 0 ? Scalar::of(std::pow(static_cast<double>(a), static_cast<double>(b))) : Scalar::of(power(a, b));
    case ScalarOp::minimum: return Scalar::of(a < b ? a : b);
    case ScalarOp::maximum: return Scalar::of(a < b ? b : a);
    case ScalarOp::eq: return Scalar::of(a == b);
    case ScalarOp::ne: return Scalar::of(a != b);
    case ScalarOp::lt: return Scalar::of(a < b);
    case ScalarOp::le: return Scalar::of(a <= b);
    case ScalarOp::gt: return Scalar::of(a > b);
    case ScalarOp::ge: return Scalar::of(a >= b);
    case ScalarOp::bit_and: return Scalar::of(a & b);
    case ScalarOp::bit_or: return Scalar::of(a | b);
    default: return Scalar::of(a ^ b);
  }
}

Scalar binary_real(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add: return Scalar::of(a + b);
    case ScalarOp::sub: return Scalar::of(a - b);
    case ScalarOp::mul: return Scalar::of(a * b);
    case ScalarOp::div: return Scalar::of(a / b);
    case ScalarOp::floordiv: return Scalar::of(divide_down(a, b));
    case ScalarOp::mod: return Scalar::of(modulo(a, b));
    case ScalarOp::pow: return Scalar::of(std::pow(a, b));
    case ScalarOp::minimum: return Scalar::of(std::isnan(a) || a < b ? a : b);
    case ScalarOp::maximum: return Scalar::of(std::isnan(a) || a > b ? a : b);
    case ScalarOp::atan2: return Scalar::of(std::atan2(a, b));
    case ScalarOp::eq: return Scalar::of(a == b);
    case ScalarOp::ne: return Scalar::of(a != b);
    case ScalarOp::lt: return Scalar::of(a < b);
    case ScalarOp::le: return Scalar::of(a <= b);
    case ScalarOp::gt: return Scalar::of(a > b);
    case ScalarOp::ge: return Scalar::of(a >= b);
    default: fail(ErrorKind::type, "{} needs bools or ints, not floats", name_of(op));
  }
}

Scalar unary_integer(ScalarOp op, int64_t x) {
  switch (op) {
    case ScalarOp::negate: return Scalar::of(wrapping_sub(0, x));
    case ScalarOp::abs: return Scalar::of(x < 0 ? wrapping_sub(0, x) : x);
    case ScalarOp::sign: return Scalar::of(static_cast<int64_t>((x > 0) - (x < 0)));
    case ScalarOp::square: return Scalar::of(wrapping_mul(x, x));
    case ScalarOp::relu: return Scalar::of(x > 0 ? x : 0);
    default: return Scalar::of(x);  // floor, ceil, round, trunc
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double exponential_or_angle(ScalarOp op, double x) {
  // clang-format off
  switch (op) {
    case ScalarOp::exp: return std::exp(x);
    case ScalarOp::log: return std::log(x);
    case ScalarOp::log1p: return std::log1p(x);
    case ScalarOp::expm1: return std::expm1(x);
    case ScalarOp::sqrt: return std::sqrt(x);
    case ScalarOp::rsqrt: return 1 / std::sqrt(x);
    case ScalarOp::sin: return std::sin(x);
    case ScalarOp::cos: return std::cos(x);
    case ScalarOp::tan: return std::tan(x);
    case ScalarOp::asin: return std::asin(x);
    case ScalarOp::acos: return std::acos(x);
    case ScalarOp::atan: return std::atan(x);
    case ScalarOp::sinh: return std::sinh(x);
    case ScalarOp::cosh: return std::cosh(x);
    default: return std::tanh(x);
  }
  // clang-format on
}

double unary_real(ScalarOp op, double x) {
  if (op >= ScalarOp::exp && op <= ScalarOp::tanh) return exponential_or_angle(op, x);
  // clang-format off
  switch (op) {
    case ScalarOp::negate: return -x;
    case ScalarOp::abs: return std::fabs(x);
    case ScalarOp::sign: return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
    case ScalarOp::square: return x * x;
    case ScalarOp::sigmoid: return sigmoid(x);
    case ScalarOp::relu: return x <= 0 ? 0 : x;  // NaN stays
    case ScalarOp::gelu: return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
    case ScalarOp::gelu_tanh: return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))));
    case ScalarOp::silu: return x * sigmoid(x);
    case ScalarOp::softplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case ScalarOp::erf: return std::erf(x);
    case ScalarOp::floor: return std::floor(x);
    case ScalarOp::ceil: return std::ceil(x);
    case ScalarOp::round: return std::nearbyint(x);
    case ScalarOp::trunc: return std::trunc(x);
    default: return x;  // to_real
  }
  // clang-format on
}

// Unary ops whose answer has another type than float whatever the operand.
Scalar unary(ScalarOp op, Scalar x) {
  switch (op) {
    case ScalarOp::to_integer: return Scalar::of(x.as_integer());
    case ScalarOp::to_boolean: return Scalar::of(truth_of(x));
    case ScalarOp::logical_not: return Scalar::of(!truth_of(x));
    case ScalarOp::bit_not:
      if (is_real(x)) fail(ErrorKind::type, "bit_not needs a bool or an int, not a float");
      return is_boolean(x) ? Scalar::of(!x.boolean) : Scalar::of(~x.integer);
    case ScalarOp::isnan: return Scalar::of(std::isnan(x.as_real()));
    case ScalarOp::isinf: return Scalar::of(std::isinf(x.as_real()));
    case ScalarOp::isfinite: return Scalar::of(std::isfinite(x.as_real()));
    default: break;
  }
  if (!is_real(x) && keeps_integers(op)) return unary_integer(op, integer_of(x));
  return Scalar::of(unary_real(op, x.as_real()));
}

}  // namespace

double Scalar::as_real() const { return is_real(*this) ? real : static_cast<double>(integer_of(*this)); }

int64_t Scalar::as_integer() const {
  if (!is_real(*this)) return integer_of(*this);
  if (std::isnan(real)) return 0;
  if (real >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (real < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(real);
}

uint64_t Scalar::bits() const {
  if (!is_real(*this)) return static_cast<uint64_t>(integer_of(*this));
  uint64_t bits;
  std::memcpy(&bits, &real, sizeof bits);
  return bits;
}

bool is_binary(ScalarOp op) { return op <= ScalarOp::bit_xor; }

std::string_view name_of(ScalarOp op) { return kNames[static_cast<size_t>(op)]; }

std::optional<ScalarOp> scalar_op_named(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ScalarOp>(i);
  }
  return std::nullopt;
}

ScalarType result_type(ScalarOp op, ScalarType a, ScalarType b) {
  if (!is_binary(op)) b = a;
  if (answers_boolean(op)) return ScalarType::boolean;
  if (op == ScalarOp::to_integer) return ScalarType::integer;
  if (keeps_booleans(op) && a == ScalarType::boolean && b == ScalarType::boolean) return ScalarType::boolean;
  if (op == ScalarOp::bit_not) return ScalarType::integer;
  if (a == ScalarType::real || b == ScalarType::real || !keeps_integers(op)) return ScalarType::real;
  return ScalarType::integer;
}

Scalar apply(ScalarOp op, Scalar a, Scalar b) {
  if (!is_binary(op)) return unary(op, a);
  if (is_real(a) || is_real(b) || !keeps_integers(op)) return binary_real(op, a.as_real(), b.as_real());
  const Scalar result = binary_integer(op, integer_of(a), integer_of(b));
  if (keeps_booleans(op) && is_boolean(a) && is_boolean(b)) return Scalar::of(result.integer != 0);
  return result;
}

}  // namespace tsl
