// Measures the error of approximated functions over all floats. `test_backend "[accuracy]" -s` prints the errors.
#include <functional>

#include "catch.h"
#include "kernel_fixture.h"

using namespace kernel_test;
using Real = long double;
static_assert(sizeof(Real) > sizeof(double), "the references need more digits than double has");

namespace {

/// Returns the distance in units of the last place of the exact value; for a subnormal one that is the least float.
template <class T> double ulps(T got, Real exact) {
  using Limits = std::numeric_limits<T>;
  const T want = static_cast<T>(exact);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(want) || std::isinf(got)) {
    // Between the greatest float and infinity, either is accepted.
    const bool near = std::isinf(exact) ? got == want
                                        : std::abs(exact) >= Limits::max() && std::abs(got) >= Limits::max() &&
                                              (got > 0) == (exact > 0);
    return near ? 0 : INFINITY;
  }
  int exponent;
  std::frexp(exact == 0 ? static_cast<Real>(Limits::denorm_min()) : exact, &exponent);
  exponent = std::max(exponent, Limits::min_exponent);
  return static_cast<double>(std::abs(static_cast<Real>(got) - exact) / std::ldexp(Real(1), exponent - Limits::digits));
}

Real sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real times_or_zero(Real x, Real factor) { return factor == 0 ? -0.0L : x * factor; }
Real gelu(Real x) {
  return x < -60 ? -0.0L : times_or_zero(x, 0.5L * std::erfc(-x * 0.70710678118654752440084436210484904L));
}
Real gelu_tanh(Real x) {
  return x < -60 ? -0.0L
                 : times_or_zero(x, sigmoid(1.59576912160573071175978423973752747L * (x + 0.044715L * x * x * x)));
}
Real erfinv(Real x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  const Real size = std::abs(x), y = math::s_erfinv(static_cast<double>(size));  // and a step of Newton
  if (!std::isfinite(y)) return NAN;
  const Real rest = size < 0.5L ? size - std::erf(y) : std::erfc(y) - (1 - size);
  return std::copysign(y + rest * 0.88622692545275801364908374167057259L * std::exp(y * y), x);
}
Real gamma(Real x) { return x < 0 && (x == std::floor(x) || std::isinf(x)) ? NAN : std::tgamma(x); }
/// Of x > 0, by Stirling's formula from 30 on.
Real digamma(Real x) {
  Real rest = 0;
  for (; x < 30; x += 1) rest -= 1 / x;
  const Real w = 1 / (x * x);
  const Real sum =
      w * (1 / 12.0L - w * (1 / 120.0L - w * (1 / 252.0L - w * (1 / 240.0L - w * (1 / 132.0L - w * 691 / 32760.0L)))));
  return rest + std::log(x) - 0.5L / x - sum;
}
bool is_positive(Real x) { return x > 0; }
bool is_far_from_zero_of_digamma(Real x) { return x > 0 && std::abs(x - 1.4616L) > 0.03L; }  // where digamma() is exact

struct Function {
  Op op;
  const char* name;
  std::function<Real(Real)> exact;
  bool fades = false;  // in f64, inexact near the least normal number; see scalar_functions.h
  double limit64 = 4, limit32 = 2;
  bool (*is_tested)(Real) = [](Real) { return true; };  // false near zeros where the terms cancel
};
const std::vector<Function>& functions() {
  static const std::vector<Function> list = {
#define TSL_EXACT(name)                                  \
  {                                                      \
    Op::name, #name, [](Real x) { return std::name(x); } \
  }
      TSL_EXACT(sqrt),
      TSL_EXACT(asin),
      TSL_EXACT(acos),
      TSL_EXACT(atan),
      TSL_EXACT(erf),
      TSL_EXACT(cbrt),
      TSL_EXACT(asinh),
      TSL_EXACT(acosh),
#undef TSL_EXACT
#define TSL_WITHIN(name, limit64) {Op::name, #name, [](Real x) { return std::name(x); }, false, limit64}
      TSL_WITHIN(exp, 0.9),
      TSL_WITHIN(exp2, 0.8),
      TSL_WITHIN(expm1, 1.1),
      TSL_WITHIN(sinh, 0.8),
      TSL_WITHIN(cosh, 0.9),
      TSL_WITHIN(tanh, 1.01),
      TSL_WITHIN(log, 0.9),
      TSL_WITHIN(log1p, 0.9),
      TSL_WITHIN(log2, 0.9),
      TSL_WITHIN(log10, 0.9),
      TSL_WITHIN(sin, 0.8),
      TSL_WITHIN(cos, 0.8),
      TSL_WITHIN(tan, 1),
#undef TSL_WITHIN
      {Op::atanh, "atanh", [](Real x) { return std::atanh(x); }, false, 4, 3},
      {Op::erfc, "erfc", [](Real x) { return std::erfc(x); }, true, 6, 4},
      {Op::gamma, "gamma", gamma, true, 10, 6},
      {Op::erfinv, "erfinv", erfinv, false, 2.7, 3},
      {Op::lgamma, "lgamma", [](Real x) { return std::lgamma(x); }, false, 4, 3, is_positive},
      {Op::digamma, "digamma", digamma, false, 4, 4, is_far_from_zero_of_digamma},
      {Op::rsqrt, "rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {Op::sigmoid, "sigmoid", sigmoid},
      {Op::silu, "silu", [](Real x) { return x < -20000 ? -0.0L : times_or_zero(x, sigmoid(x)); }, true},
      {Op::softplus, "softplus", [](Real x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }},
      {Op::gelu, "gelu", gelu, true, 6},  // glibc's erfc alone is off by up to 5 in the tail
      {Op::gelu_tanh, "gelu_tanh", gelu_tanh, true},
  };
  return list;
}

const std::vector<double>& specials() {
  static const std::vector<double> list = {0.0, -0.0, 1,    -1,    INFINITY, -INFINITY, NAN,
                                           0.5, -0.5, 88.7, -87.4, -103.9,   710,       -745};
  return list;
}

template <class T> std::vector<T> samples(size_t n) {
  std::vector<T> x;
  for (double s : specials()) x.push_back(static_cast<T>(s));
  using Bits = typename math::FloatTraits<T>::Bits;
  Random random(17);
  constexpr int fraction = std::numeric_limits<T>::digits - 1;
  // Tests every exponent and sign, with some fractions each.
  for (Bits exponent = 0; exponent < (Bits(1) << (sizeof(T) * 8 - fraction)); ++exponent) {
    for (Bits f : {Bits(0), Bits(1), (Bits(1) << fraction) - 1,
                   static_cast<Bits>(random.next()) & ((Bits(1) << fraction) - 1)}) {
      x.push_back(math::from_bits(static_cast<Bits>(exponent << fraction | f)));
    }
  }
  while (x.size() < n / 2) x.push_back(math::from_bits(static_cast<Bits>(random.next())));
  while (x.size() < n * 3 / 4)
    x.push_back(static_cast<T>((random.unit() - 0.5) * std::exp2(8 - 12 * random.unit())));  // where things happen
  while (x.size() < n) x.push_back(static_cast<T>(1 - std::exp(-37 * random.unit())));       // and from 0 to 1
  return x;
}

template <class T> void check_function(const Function& f, size_t n, double limit, DType dtype) {
  const std::vector<T> x = samples<T>(n);
  std::vector<T> y(x.size());
  const void* in[1] = {x.data()};
  best().map[static_cast<int>(f.op)][index(dtype)](y.data(), in, x.size());
  double worst = 0;
  T at = 0;
  size_t wrong_zeros = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!f.is_tested(x[i])) continue;
    const Real exact = f.exact(x[i]);
    const double error = ulps(y[i], exact);
    const bool faded = dtype == DType::f64 && f.fades && std::abs(exact) < 0x1p-1010L;
    if (error > worst && !faded) {
      worst = error;
      at = x[i];
    }
    if (exact == 0 && x[i] == 0) wrong_zeros += y[i] != 0 || std::signbit(y[i]) != std::signbit(exact);
  }
  INFO(f.name << " " << name_of(dtype) << ": max " << worst << " ulp at " << at);
  CHECK(worst <= limit);
  CHECK(wrong_zeros == 0);
}

}  // namespace

TEST_CASE("f32 functions are within 2 ulp, or what their row says", "[kernels][accuracy]") {
  for (const Function& f : functions()) check_function<float>(f, 1000000, f.limit32, DType::f32);
}

TEST_CASE("f64 functions are within 4 ulp, or the limit of their row", "[kernels][accuracy]") {
  for (const Function& f : functions()) check_function<double>(f, 100000, f.limit64, DType::f64);
}

namespace {

/// A number of any bits.
template <class T> T any_number(Random& random) {
  using Bits = typename math::FloatTraits<T>::Bits;
  return math::from_bits(static_cast<Bits>(random.next() >> (64 - sizeof(T) * 8)));
}
/// Numbers of any bits, or such that pow of them is of any size: its exponent is within half of `range`.
template <class T> std::pair<T, T> operands(Random& random, double range, bool is_moderate) {
  const T x = any_number<T>(random), y = any_number<T>(random);
  if (!is_moderate || !std::isfinite(x) || x == 0) return {x, y};
  return {std::abs(x), static_cast<T>((random.unit() - 0.5) * range / (std::log2(std::abs(x)) + 0.001))};
}

template <class T> void check_binary(Op op, const char* name, double limit, Real (*exact)(Real, Real)) {
  constexpr DType dtype = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
  Random random(23);
  std::vector<T> a, b;
  for (double s : specials()) {
    for (double t : specials()) {
      for (double scale : {1.0, 2.0, 3.0}) {
        a.push_back(static_cast<T>(s));
        b.push_back(static_cast<T>(t * scale));
      }
    }
  }
  while (a.size() < 1000000) {
    const auto [x, y] = operands<T>(random, dtype == DType::f64 ? 2200 : 300, a.size() % 2);
    a.push_back(x);
    b.push_back(y);
  }
  std::vector<T> y(a.size());
  const void* in[2] = {a.data(), b.data()};
  best().map[static_cast<int>(op)][index(dtype)](y.data(), in, a.size());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const Real value = exact(a[i], b[i]);
    const double error = ulps(y[i], value);
    if (error > worst) {
      worst = error;
      at = i;
    }
    if (value == 0 && std::signbit(value) != std::signbit(y[i]))
      FAIL_CHECK(name << "(" << a[i] << ", " << b[i] << ") has the wrong sign");
  }
  INFO(name << ": max " << worst << " ulp at " << a[at] << ", " << b[at]);
  CHECK(worst <= limit);
}

}  // namespace

TEST_CASE("f32 pow, atan2 and hypot are within 2 ulp", "[kernels][accuracy]") {
  check_binary<float>(Op::hypot, "hypot", 2, [](Real x, Real y) { return std::hypot(x, y); });
  check_binary<float>(Op::pow, "pow", 2, [](Real x, Real y) { return std::pow(x, y); });
  check_binary<float>(Op::atan2, "atan2", 2, [](Real y, Real x) { return std::atan2(y, x); });
}

TEST_CASE("f64 pow is within 0.9 ulp", "[kernels][accuracy]") {
  check_binary<double>(Op::pow, "pow", 0.9, [](Real x, Real y) { return std::pow(x, y); });
}

namespace {

template <class T> void check_signs_of_zero() {
  for (Op op : {Op::sin, Op::tan, Op::sinh, Op::tanh, Op::expm1, Op::log1p}) {
    const T x[2] = {T(0), -T(0)};
    const void* in[1] = {x};
    T y[2];
    best().map[static_cast<int>(op)][index(sizeof(T) == sizeof(double) ? DType::f64 : DType::f32)](y, in, 2);
    CHECK(y[0] == 0);
    CHECK(!std::signbit(y[0]));
    CHECK(y[1] == 0);
    CHECK(std::signbit(y[1]));
  }
}

}  // namespace

TEST_CASE("functions through 0 keep its sign", "[kernels][accuracy]") {
  check_signs_of_zero<float>();
  check_signs_of_zero<double>();
}

TEST_CASE("f64 angles next to multiples of pi/2, and beyond the reduction's range", "[kernels][accuracy]") {
  std::vector<double> x;
  for (int n = 1; n < 20000; ++n) {
    const double angle = n * 0x1.921fb54442d18p0;
    for (double near : {angle, std::nextafter(angle, 0.0), -std::nextafter(angle, INFINITY), 0.5 * angle})
      x.push_back(near);
  }
  for (double edge : {0x1p30, 0x1p31, 0x1p60, 0x1p1023}) {
    for (double near : {edge, -edge, std::nextafter(edge, 0.0), std::nextafter(edge, INFINITY)}) x.push_back(near);
  }
  std::vector<double> y(x.size());
  const void* in[1] = {x.data()};
  const auto worst_of = [&](Op op, Real (*exact)(Real)) {
    best().map[static_cast<int>(op)][index(DType::f64)](y.data(), in, x.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], exact(x[i])));
    return worst;
  };
  CHECK(worst_of(Op::sin, [](Real x) { return std::sin(x); }) <= 0.8);
  CHECK(worst_of(Op::cos, [](Real x) { return std::cos(x); }) <= 0.8);
  CHECK(worst_of(Op::tan, [](Real x) { return std::tan(x); }) <= 1);
}
