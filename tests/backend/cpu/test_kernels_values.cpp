// Tests the results of elementwise kernels, casts and strided copies, case by case.
#include <limits>

#include "catch.h"
#include "kernel_fixture.h"

using namespace kernel_test;

namespace {

template <class T> constexpr DType kDTypeOf = DType::f32;
template <> constexpr DType kDTypeOf<double> = DType::f64;
template <> constexpr DType kDTypeOf<bool> = DType::boolean;
template <> constexpr DType kDTypeOf<uint8_t> = DType::u8;
template <> constexpr DType kDTypeOf<int8_t> = DType::i8;
template <> constexpr DType kDTypeOf<int16_t> = DType::i16;
template <> constexpr DType kDTypeOf<int32_t> = DType::i32;
template <> constexpr DType kDTypeOf<int64_t> = DType::i64;
template <> constexpr DType kDTypeOf<math::Half> = DType::f16;
template <> constexpr DType kDTypeOf<math::BFloat16> = DType::bf16;

template <class T, class Out = T> Out call(Op op, T a, T b = T(), bool* ok = nullptr) {
  Out out{};
  const void* in[2] = {&a, &b};
  const bool fine = best().map[static_cast<int>(op)][index(kDTypeOf<T>)](&out, in, 1);
  if (ok) *ok = fine;
  return out;
}
template <class To, class From> To cast(From x) {
  To out{};
  const void* in[1] = {&x};
  best().cast[index(kDTypeOf<From>)][index(kDTypeOf<To>)](&out, in, 1);
  return out;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace

TEMPLATE_TEST_CASE("integers wrap around and divide down", "[kernels]", int8_t, int16_t, int32_t, int64_t) {
  using T = TestType;
  const T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  CHECK(call<T>(Op::add, max, 1) == min);
  CHECK(call<T>(Op::sub, min, 1) == max);
  CHECK(call<T>(Op::mul, min, -1) == min);
  CHECK(call<T>(Op::neg, min) == min);
  CHECK(call<T>(Op::abs, min) == min);
  CHECK(call<T>(Op::square, 11) == 121);
  CHECK(call<T>(Op::floordiv, min, -1) == min);
  CHECK(call<T>(Op::mod, min, -1) == 0);
  for (int a : {-7, -6, 0, 6, 7}) {
    for (int b : {-3, 3}) {
      const T quotient = static_cast<T>(std::floor(a / static_cast<double>(b)));
      CHECK(call<T>(Op::floordiv, static_cast<T>(a), static_cast<T>(b)) == quotient);
      CHECK(call<T>(Op::mod, static_cast<T>(a), static_cast<T>(b)) == static_cast<T>(a - b * quotient));
    }
  }
  CHECK(call<T>(Op::pow, 3, 4) == 81);
  CHECK(call<T>(Op::pow, -3, 3) == -27);
  CHECK(call<T>(Op::pow, 0, 0) == 1);
  CHECK(call<T>(Op::pow, 2, -1) == 0);
  CHECK(call<T>(Op::pow, 1, -5) == 1);
  CHECK(call<T>(Op::pow, -1, -5) == -1);
  CHECK(call<T>(Op::pow, -1, -4) == 1);
  CHECK(call<T>(Op::sign, -5) == -1);
  CHECK(call<T>(Op::bit_xor, 6, 3) == 5);
  CHECK(call<T>(Op::bit_not, 6) == -7);
}

TEST_CASE("integer division by zero fails, and the other elements are computed", "[kernels]") {
  const std::vector<int32_t> a = {7, 8, 9}, b = {2, 0, -2};
  const void* in[2] = {a.data(), b.data()};
  for (Op op : {Op::floordiv, Op::mod}) {
    std::vector<int32_t> out(3, 99);
    CHECK_FALSE(best().map[static_cast<int>(op)][index(DType::i32)](out.data(), in, 3));
    CHECK(out == (op == Op::floordiv ? std::vector<int32_t>{3, 0, -5} : std::vector<int32_t>{1, 0, -1}));
  }
  bool ok = false;
  call<float>(Op::floordiv, 1.0f, 0.0f, &ok);
  CHECK(ok);
}

TEMPLATE_TEST_CASE("floats divide as in Python and NumPy", "[kernels]", float, double) {
  using T = TestType;
  const double inf = INFINITY;
  const double cases[][4] = {{7, 3, 2, 1},       {-7, 3, -3, 2},   {7, -3, -3, -2},    {-7, -3, 2, -1},
                             {6, 3, 2, 0},       {-6, 3, -2, 0},   {6, -3, -2, -0.0},  {0, 3, 0, 0},
                             {-0.0, 3, -0.0, 0}, {1, inf, 0, 1},   {-1, inf, -1, inf}, {1, -inf, -1, -inf},
                             {inf, 1, NAN, NAN}, {1, 0, inf, NAN}, {-1, 0, -inf, NAN}, {NAN, 1, NAN, NAN},
                             {1, NAN, NAN, NAN}, {0, 0, NAN, NAN}, {5.5, 0.25, 22, 0}};
  for (const auto& c : cases) {
    INFO(c[0] << " by " << c[1]);
    CHECK(same(call<T>(Op::floordiv, static_cast<T>(c[0]), static_cast<T>(c[1])), c[2]));
    CHECK(same(call<T>(Op::mod, static_cast<T>(c[0]), static_cast<T>(c[1])), c[3]));
  }
}

TEST_CASE("the remainder of floats is exact, and the quotient the nearest to a whole number", "[kernels]") {
  Random random(4);
  for (int i = 0; i < 200000; ++i) {
    const float a = math::as_float(static_cast<uint32_t>(random.next() >> 32));
    float b = math::as_float(static_cast<uint32_t>(random.next() >> 32));
    if (i % 4 == 1) b = a * static_cast<float>(random.unit() * 1e-3);
    if (i % 4 == 3) b = a * static_cast<float>((random.unit() - 0.5) * std::exp2(-28 * random.unit()));
    if (!std::isfinite(a) || !std::isfinite(b) || b == 0) continue;
    double rest = std::fmod(static_cast<double>(a), static_cast<double>(b));
    double quotient = (a - rest) / b;  // exact if it has no more than 29 bits
    if (rest != 0 && (rest < 0) != (b < 0)) {
      quotient -= 1;
      rest += b;
    }
    INFO(a << " by " << b);
    REQUIRE(call<float>(Op::mod, a, b) == static_cast<float>(rest));
    if (std::abs(quotient) < 0x1p29) REQUIRE(call<float>(Op::floordiv, a, b) == static_cast<float>(quotient));
  }
}

TEMPLATE_TEST_CASE("rounding and questions", "[kernels]", float, double) {
  using T = TestType;
  const double values[] = {0.0,  -0.0,      0.3,        -0.3,    0.5,  -0.5,  1.5,      2.5,       -2.5, 0.7,
                           -0.7, 1e7 + 0.5, -8388607.5, 8388609, 1e15, -1e30, INFINITY, -INFINITY, NAN};
  for (double v : values) {
    const T x = static_cast<T>(v);
    INFO(v);
    CHECK(same(call<T>(Op::floor, x), std::floor(x)));
    CHECK(same(call<T>(Op::ceil, x), std::ceil(x)));
    CHECK(same(call<T>(Op::trunc, x), std::trunc(x)));
    CHECK(same(call<T>(Op::round, x), std::nearbyint(x)));
    CHECK(call<T, bool>(Op::isnan, x) == std::isnan(x));
    CHECK(call<T, bool>(Op::isinf, x) == std::isinf(x));
    CHECK(call<T, bool>(Op::isfinite, x) == std::isfinite(x));
    CHECK(call<T, bool>(Op::logical_not, x) == (x == 0));
    CHECK(same(call<T>(Op::relu, x), std::isnan(x) ? x : x > 0 ? x : T(0)));
    CHECK(same(call<T>(Op::sign, x), std::isnan(x) || x == 0 ? x : x > 0 ? T(1) : T(-1)));
  }
}

TEMPLATE_TEST_CASE("minimum and maximum hand NaN on", "[kernels]", float, double) {
  using T = TestType;
  const T nan = NAN;
  for (Op op : {Op::minimum, Op::maximum}) {
    CHECK(std::isnan(call<T>(op, nan, 1)));
    CHECK(std::isnan(call<T>(op, 1, nan)));
  }
  CHECK(call<T>(Op::minimum, 1, 2) == 1);
  CHECK(call<T>(Op::maximum, 1, 2) == 2);
  CHECK_FALSE(call<T, bool>(Op::eq, nan, nan));
  CHECK(call<T, bool>(Op::ne, nan, nan));
  CHECK_FALSE(call<T, bool>(Op::le, nan, 1));
}

TEST_CASE("bool: add is or, mul is and", "[kernels]") {
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      CHECK(call<bool>(Op::add, a, b) == (a || b));
      CHECK(call<bool>(Op::mul, a, b) == (a && b));
      CHECK(call<bool>(Op::maximum, a, b) == (a || b));
      CHECK(call<bool>(Op::bit_xor, a, b) == (a != b));
      CHECK(call<bool>(Op::lt, a, b) == (a < b));
    }
    CHECK(call<bool>(Op::bit_not, a) == !a);
    CHECK(call<bool>(Op::logical_not, a) == !a);
  }
}

TEMPLATE_TEST_CASE("casts from floats truncate and saturate", "[kernels]", uint8_t, int8_t, int16_t, int32_t, int64_t) {
  using T = TestType;
  const T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  CHECK(cast<T>(1e30f) == max);
  CHECK(cast<T>(-1e30f) == min);
  CHECK(cast<T>(INFINITY) == max);
  CHECK(cast<T>(-static_cast<double>(INFINITY)) == min);
  CHECK(cast<T>(NAN) == 0);
  CHECK(cast<T>(static_cast<double>(NAN)) == 0);
  CHECK(cast<T>(3.99f) == 3);
  CHECK(cast<T>(-0.99) == 0);
  CHECK(cast<T>(static_cast<double>(max) + 1) == max);
  CHECK(cast<T>(static_cast<double>(min)) == min);
  CHECK(cast<T>(static_cast<float>(max)) == max);
  CHECK(cast<T>(math::Half{0x7c00}) == max);
  CHECK(cast<T>(true) == 1);
}

TEST_CASE("other casts", "[kernels]") {
  CHECK(cast<int8_t>(int64_t{0x1ff}) == -1);
  CHECK(cast<uint8_t>(int32_t{-1}) == 255);
  CHECK(cast<bool>(0.1f));
  CHECK(cast<bool>(NAN));
  CHECK_FALSE(cast<bool>(-0.0));
  CHECK(cast<bool>(int16_t{256}));
  CHECK(cast<float>(int64_t{16777217}) == 16777216.0f);
  CHECK(cast<math::Half>(int32_t{100000}).bits == 0x7c00);
}

namespace {

/// Converts a 16-bit float by its definition.
double value_of(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const double fraction = bits & ((1 << fraction_bits) - 1), sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * static_cast<double>(INFINITY) : static_cast<double>(NAN);
  const double scaled = std::ldexp(fraction, -fraction_bits);
  return sign * (exponent == 0 ? std::ldexp(scaled, 1 - bias) : std::ldexp(1 + scaled, exponent - bias));
}

template <class S> void check_short(int exponent_bits) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (Isa isa : isas()) {
    std::vector<float> wide(all.size());
    const void* in[1] = {all.data()};
    cpu::kernels(isa).cast[index(kDTypeOf<S>)][index(DType::f32)](wide.data(), in, all.size());
    for (size_t i = 0; i < all.size(); ++i) REQUIRE(same(wide[i], value_of(all[i], exponent_bits)));
    // Between neighbours: below the middle, on it, above it.
    std::vector<float> x;
    std::vector<uint16_t> expected;
    const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
    for (uint16_t low = 0; low < infinity; ++low) {
      const auto high = static_cast<uint16_t>(low + 1);
      const double beyond =
          high == infinity ? 2 * value_of(low, exponent_bits) - value_of(static_cast<uint16_t>(low - 1), exponent_bits)
                           : value_of(high, exponent_bits);
      const auto middle = static_cast<float>((value_of(low, exponent_bits) + beyond) / 2);
      if (std::isinf(middle)) continue;
      x.insert(x.end(), {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, INFINITY)});
      expected.insert(expected.end(), {low, low % 2 ? high : low, high});
    }
    std::vector<uint16_t> got(x.size());
    const void* floats[1] = {x.data()};
    cpu::kernels(isa).cast[index(DType::f32)][index(kDTypeOf<S>)](got.data(), floats, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      REQUIRE(got[i] == expected[i]);
    }
  }
}

}  // namespace

TEST_CASE("f16 and bf16: every value, and rounding at every boundary", "[kernels]") {
  check_short<math::Half>(5);
  check_short<math::BFloat16>(8);
}

TEST_CASE("f16 and bf16 compute in f32 and round once", "[kernels]") {
  Random random(8);
  for (int i = 0; i < 20000; ++i) {
    const math::Half a{static_cast<uint16_t>(random.next())}, b{static_cast<uint16_t>(random.next())};
    for (Op op : {Op::add, Op::mul, Op::div, Op::maximum}) {
      const float wide = call<float>(op, math::widen(a), math::widen(b));
      REQUIRE(same(math::widen(call<math::Half>(op, a, b)), math::widen(math::narrow<math::Half>(wide))));
    }
    REQUIRE(same(math::widen(call<math::Half>(Op::exp, a)),
                 math::widen(math::narrow<math::Half>(call<float>(Op::exp, math::widen(a))))));
  }
}

TEST_CASE("strided loads and stores", "[kernels]") {
  for (Isa isa : isas()) {
    for (size_t size : {1, 2, 4, 8}) {
      for (auto [rows, columns] : {std::pair<size_t, size_t>{1, 1}, {3, 5}, {16, 16}, {33, 50}, {64, 17}}) {
        const auto height = static_cast<ptrdiff_t>(rows), width = static_cast<ptrdiff_t>(columns);
        const std::pair<ptrdiff_t, ptrdiff_t> strides[] = {
            {width, 1},   {1, height}, {1, height + 3}, {width + 2, 1}, {2 * width, 2},
            {-width, -1}, {0, 1},      {1, 0},          {0, 0},         {-1, height}};
        for (auto [row_stride, column_stride] : strides) {
          const size_t extent = 4 * rows * columns + 400, origin = extent / 2;
          const Bytes memory = operands(DType::u8, 2 * extent * size, size);
          INFO("size " << size << " " << rows << "x" << columns << " strides " << row_stride << ", " << column_stride);
          const auto place = [&, rs = row_stride, cs = column_stride](size_t r, size_t c) {
            return static_cast<size_t>(static_cast<ptrdiff_t>(origin) + static_cast<ptrdiff_t>(r) * rs +
                                       static_cast<ptrdiff_t>(c) * cs) *
                   size;
          };
          Bytes tile(rows * columns * size);
          cpu::kernels(isa).load_2d[size](tile.data(), memory.data() + origin * size, rows, columns, row_stride,
                                          column_stride);
          bool equal = true;
          for (size_t r = 0; r < rows; ++r) {
            for (size_t c = 0; c < columns; ++c) {
              equal &= std::memcmp(tile.data() + (r * columns + c) * size, memory.data() + place(r, c), size) == 0;
            }
          }
          CHECK(equal);
          if (row_stride == 0 || column_stride == 0) continue;  // a store needs places of its own
          Bytes stored = memory, expected = memory;
          const Bytes values = operands(DType::u8, rows * columns * size, 77);
          cpu::kernels(isa).store_2d[size](stored.data() + origin * size, values.data(), rows, columns, row_stride,
                                           column_stride);
          for (size_t r = 0; r < rows; ++r) {
            for (size_t c = 0; c < columns; ++c) {
              std::memcpy(expected.data() + place(r, c), values.data() + (r * columns + c) * size, size);
            }
          }
          CHECK(stored == expected);
        }
      }
    }
  }
}

namespace {

/// The order of running sums and products, directly from kernels.h: the value before each element, and with it.
template <class A, class Combine> std::vector<A> before_each(const std::vector<A>& values, A neutral, Combine combine) {
  std::vector<A> own(values.size(), neutral), totals;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % cpu::kScanBlock != 0) own[i] = combine(own[i - 1], values[i - 1]);
    if (i % cpu::kScanBlock == cpu::kScanBlock - 1 || i + 1 == values.size())
      totals.push_back(combine(own[i], values[i]));
  }
  if (totals.size() <= 1) return own;
  const std::vector<A> above = before_each(totals, neutral, combine);
  for (size_t i = 0; i < values.size(); ++i) own[i] = combine(above[i / cpu::kScanBlock], own[i]);
  return own;
}

template <class A, class Combine> std::vector<A> scanned(const std::vector<A>& values, A neutral, Combine combine) {
  std::vector<A> sums(values.size()), totals;
  for (size_t i = 0; i < values.size(); ++i) {
    sums[i] = i % cpu::kScanBlock == 0 ? values[i] : combine(sums[i - 1], values[i]);
    if (i % cpu::kScanBlock == cpu::kScanBlock - 1 || i + 1 == values.size()) totals.push_back(sums[i]);
  }
  const std::vector<A> before = before_each(totals, neutral, combine);
  for (size_t i = 0; i < values.size(); ++i) sums[i] = combine(before[i / cpu::kScanBlock], sums[i]);
  return sums;
}

}  // namespace

TEST_CASE("running sums and products of floats keep their order on every instruction set", "[kernels]") {
  Random random(3);
  for (const size_t n : {1, 31, 32, 33, 100, 128, 1000, 1024, 1025, 40'000, 1'100'000}) {
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(random.unit() * 2 - 0.5);
    values[n / 2] = -0.0f;
    const std::vector<float> sums = scanned(values, -0.0f, [](float a, float b) { return a + b; });
    const std::vector<float> products = scanned(values, 1.0f, [](float a, float b) { return a * b; });
    for (Isa isa : isas()) {
      INFO(n);
      std::vector<float> out(n);
      cpu::kernels(isa).cumsum[index(DType::f32)].rows(out.data(), values.data(), 1, n);
      CHECK(std::memcmp(out.data(), sums.data(), n * sizeof(float)) == 0);
      std::fill(out.begin(), out.end(), 0.0f);
      cpu::kernels(isa).cumsum[index(DType::f32)].columns(out.data(), values.data(), n, 1, 1);
      CHECK(std::memcmp(out.data(), sums.data(), n * sizeof(float)) == 0);
      cpu::kernels(isa).cumprod[index(DType::f32)].rows(out.data(), values.data(), 1, n);
      CHECK(std::memcmp(out.data(), products.data(), n * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("scans and iota", "[kernels]") {
  const std::vector<int8_t> v = {100, 100, 100};
  std::vector<int64_t> sums(3);
  best().cumsum[index(DType::i8)].rows(sums.data(), v.data(), 1, 3);
  CHECK(sums == std::vector<int64_t>{100, 200, 300});
  const std::vector<float> f = {1.5f, 2, -3};
  std::vector<float> products(3);
  best().cumprod[index(DType::f32)].rows(products.data(), f.data(), 1, 3);
  CHECK(products == std::vector<float>{1.5f, 3, -9});
  // The total is kept in f32: more than 2048 ones still count in f16, since only stores round.
  std::vector<math::Half> ones(3000, math::narrow<math::Half>(1)), totals(3000);
  best().cumsum[index(DType::f16)].rows(totals.data(), ones.data(), 1, ones.size());
  CHECK(math::widen(totals[2999]) == 3000);
  std::vector<int16_t> counted(4);
  best().iota[index(DType::i16)](counted.data(), Scalar::of(int64_t{10}), Scalar::of(int64_t{-4}), 2, 4);
  CHECK(counted == std::vector<int16_t>{2, -2, -6, -10});
  std::vector<float> spaced(3);
  best().iota[index(DType::f32)](spaced.data(), Scalar::of(0.5), Scalar::of(0.1), 1, 3);
  CHECK(spaced == std::vector<float>{static_cast<float>(0.5 + 0.1), static_cast<float>(0.5 + 2 * 0.1),
                                     static_cast<float>(0.5 + 3 * 0.1)});
}
