#include "tensor/scalar.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "tensor/recording_ops.h"

using namespace tsl;

namespace {

Scalar i(int64_t v) { return Scalar::of(v); }
Scalar r(double v) { return Scalar::of(v); }
Scalar b(bool v) { return Scalar::of(v); }
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
const double kNan = std::nan("");

}  // namespace

TEST_CASE("int arithmetic that does not fit 64 bits fails") {
  const auto message = [](ScalarOp op, Scalar x, Scalar y = Scalar()) { return failure_of([&] { apply(op, x, y); }); };
  const std::string end = " does not fit an int, which has 64 bits";
  REQUIRE(message(ScalarOp::add, i(kMax), i(1)) == "value: 9223372036854775807 + 1" + end);
  REQUIRE(message(ScalarOp::sub, i(kMin), b(true)) == "value: (-9223372036854775808) - 1" + end);
  REQUIRE(message(ScalarOp::mul, i(kMax), i(-2)) == "value: 9223372036854775807 * -2" + end);
  REQUIRE(message(ScalarOp::pow, i(2), i(64)) == "value: 2 ** 64" + end);
  REQUIRE(message(ScalarOp::pow, i(-3), i(41)) == "value: (-3) ** 41" + end);
  REQUIRE(message(ScalarOp::neg, i(kMin)) == "value: -(-9223372036854775808)" + end);
  REQUIRE(message(ScalarOp::abs, i(kMin)) == "value: abs(-9223372036854775808)" + end);
  REQUIRE(message(ScalarOp::square, i(kMax)) == "value: square(9223372036854775807)" + end);
  REQUIRE(message(ScalarOp::floordiv, i(kMin), i(-1)) == "value: (-9223372036854775808) // -1" + end);
}

TEST_CASE("int arithmetic reaches both ends, and // and % round down") {
  REQUIRE(apply(ScalarOp::pow, i(-2), i(63)) == i(kMin));
  REQUIRE(apply(ScalarOp::pow, i(-1), i(kMax)) == i(-1));
  REQUIRE(apply(ScalarOp::pow, i(3), i(39)) == i(4052555153018976267));
  REQUIRE(apply(ScalarOp::sub, i(-1), i(kMax)) == i(kMin));
  REQUIRE(apply(ScalarOp::abs, i(-kMax)) == i(kMax));
  REQUIRE(apply(ScalarOp::mod, i(kMin), i(-1)) == i(0));
  for (int64_t x : {-7, -6, 0, 6, 7}) {
    for (int64_t y : {-3, 3}) {
      const int64_t quotient = static_cast<int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
      REQUIRE(apply(ScalarOp::floordiv, i(x), i(y)) == i(quotient));
      REQUIRE(apply(ScalarOp::mod, i(x), i(y)) == i(x - quotient * y));
    }
  }
  REQUIRE(failure_of([] { apply(ScalarOp::floordiv, i(1), i(0)); }) == "value: integer division by zero");
  REQUIRE(failure_of([] { apply(ScalarOp::mod, i(1), b(false)); }) == "value: integer modulo by zero");
}

TEST_CASE("division is always float; powers of ints stay ints unless the exponent is negative") {
  REQUIRE(apply(ScalarOp::div, i(6), i(3)) == r(2.0));
  REQUIRE(apply(ScalarOp::div, i(1), i(0)) == r(INFINITY));
  REQUIRE(apply(ScalarOp::pow, i(-3), i(3)) == i(-27));
  REQUIRE(apply(ScalarOp::pow, i(3), i(0)) == i(1));
  REQUIRE(apply(ScalarOp::pow, i(2), i(-2)) == r(0.25));
  REQUIRE(apply(ScalarOp::pow, i(2), r(0.5)) == r(std::sqrt(2.0)));
}

TEST_CASE("float // and % are Python's") {
  REQUIRE(apply(ScalarOp::floordiv, r(-7.5), i(2)) == r(-4.0));
  REQUIRE(apply(ScalarOp::mod, r(-7.5), i(2)) == r(0.5));
  REQUIRE(apply(ScalarOp::mod, r(7.5), i(-2)) == r(-0.5));
  REQUIRE(apply(ScalarOp::mod, r(6.0), r(-2.0)) == r(-0.0));
  REQUIRE(apply(ScalarOp::floordiv, r(1.0), r(0.1)) == r(9.0));
  REQUIRE(apply(ScalarOp::floordiv, r(-0.0), r(3.0)) == r(-0.0));
  REQUIRE(apply(ScalarOp::floordiv, r(1.0), r(0.0)) == r(INFINITY));
  REQUIRE(std::isnan(apply(ScalarOp::mod, r(1.0), r(0.0)).real));
}

TEST_CASE("result types are what apply gives") {
  const std::vector<Scalar> samples = {b(true), i(3), r(0.5)};
  for (int n = 0; n < kScalarOpCount; ++n) {
    const ScalarOp op = static_cast<ScalarOp>(n);
    REQUIRE(scalar_op_named(name_of(op)) == op);
    for (Scalar x : samples) {
      for (Scalar y : samples) {
        Scalar result;
        if (failure_of([&] { result = apply(op, x, y); }) != "") continue;
        CAPTURE(name_of(op), static_cast<int>(x.type), static_cast<int>(y.type));
        REQUIRE(result.type == result_type(op, x.type, y.type));
      }
    }
  }
}

TEST_CASE("bits, booleans and questions") {
  REQUIRE(apply(ScalarOp::bit_and, i(6), i(3)) == i(2));
  REQUIRE(apply(ScalarOp::bit_xor, b(true), b(true)) == b(false));
  REQUIRE(apply(ScalarOp::bit_or, b(true), i(2)) == i(3));
  REQUIRE(apply(ScalarOp::bit_not, i(0)) == i(-1));
  REQUIRE(apply(ScalarOp::bit_not, b(false)) == b(true));
  REQUIRE_THROWS_AS(apply(ScalarOp::bit_and, r(1.0), i(1)), Failure);
  REQUIRE(apply(ScalarOp::add, b(true), b(true)) == i(2));
  REQUIRE(apply(ScalarOp::minimum, b(true), b(false)) == b(false));
  REQUIRE(apply(ScalarOp::lt, i(1), r(1.5)) == b(true));
  REQUIRE(apply(ScalarOp::eq, r(kNan), r(kNan)) == b(false));
  REQUIRE(std::isnan(apply(ScalarOp::minimum, r(1.0), r(kNan)).real));
  REQUIRE(std::isnan(apply(ScalarOp::maximum, r(kNan), r(1.0)).real));
  REQUIRE(std::isnan(apply(ScalarOp::relu, r(kNan)).real));
  REQUIRE(apply(ScalarOp::isinf, i(3)) == b(false));
}

TEST_CASE("unary maths in double; whole-number ops keep ints") {
  REQUIRE(apply(ScalarOp::exp, i(1)) == r(std::exp(1.0)));
  REQUIRE(apply(ScalarOp::round, r(2.5)) == r(2.0));
  REQUIRE(apply(ScalarOp::floor, i(3)) == i(3));
  REQUIRE(apply(ScalarOp::sign, r(-2.0)) == r(-1.0));
  REQUIRE(apply(ScalarOp::softplus, r(800.0)) == r(800.0));
  REQUIRE(apply(ScalarOp::sigmoid, r(-800.0)) == r(0.0));
  REQUIRE(apply(ScalarOp::to_integer, r(-2.7)) == i(-2));
  REQUIRE(apply(ScalarOp::to_integer, r(1e30)) == i(kMax));
  REQUIRE(apply(ScalarOp::to_integer, r(-1e30)) == i(kMin));
  REQUIRE(apply(ScalarOp::to_integer, r(kNan)) == i(0));
}

TEST_CASE("scalars are equal when their bits are") {
  REQUIRE(r(kNan) == r(kNan));
  REQUIRE_FALSE(r(0.0) == r(-0.0));
  REQUIRE_FALSE(i(1) == b(true));
}
