// Normal numbers of f64: the scalar body against references computed with 150 bits (by mpmath).
#include <cmath>
#include <limits>

#include "catch.h"
#include "tensor/bodies/scalar_bodies.h"

using namespace tsl;

namespace {

struct Reference {
  unsigned words[4];
  double first, second;  // radius * cos(2 pi u), radius * sin(2 pi u)
};

// Words at the ends and at the quadrants' borders, and random ones.
const Reference kReferences[] = {
    {{0x00000000u, 0x00000000u, 0x00000000u, 0x00000000u}, 0x0.0p0, 0x0.0p0},
    {{0x00000000u, 0x00000040u, 0x00000000u, 0x00000000u}, 0x1.0000000000000p-26, 0x0.0p0},
    {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, 0x1.124b2800eda48p3, -0x1.aedbfe2394203p-48},
    {{0xffffffffu, 0xffffffffu, 0x20000000u, 0x00000000u}, 0x1.83e8e2149f688p2, 0x1.83e8e2149f688p2},
    {{0x00000000u, 0x00000040u, 0x40000000u, 0x00000000u}, 0x0.0p0, 0x1.0000000000000p-26},
    {{0x00000001u, 0x00000000u, 0x80000000u, 0x00000000u}, 0x0.0p0, 0x0.0p0},
    {{0x0000001fu, 0xffffffffu, 0xc0000000u, 0x00000000u}, 0x0.0p0, -0x1.ffffffcffffffp-14},
    {{0x00000020u, 0x00000000u, 0x20000020u, 0x00000000u}, 0x1.6a09e556ebd9dp-14, 0x1.6a09e78f9c3d4p-14},
    {{0x80000000u, 0x00000000u, 0x1fffffe0u, 0xffffffffu}, 0x1.aa4499161cd4dp-1, 0x1.aa4499161cd42p-1},
    {{0x4afb0cccu, 0x00000000u, 0xffffffe0u, 0x00000000u}, 0x1.aa4498ed43883p-1, -0x1.4eca4223a1314p-25},
    {{0x4afb0d02u, 0x00000005u, 0x00000000u, 0x00000040u}, 0x1.aa4499c6b0affp-1, 0x1.4eca42ce655c5p-51},
    {{0xffffffe0u, 0x00000000u, 0x7fffffe0u, 0x00000000u}, -0x1.878d580360f0dp2, 0x1.338639c926ce1p-22},
    {{0xffffffc0u, 0x00000000u, 0x80000020u, 0x00000000u}, -0x1.803b9557bec54p2, -0x1.2dc693e5b9f37p-22},
    {{0x00000007u, 0x00000040u, 0x60000000u, 0x00000000u}, -0x1.6a09e667f3bcdp-27, 0x1.6a09e667f3bcdp-27},
    {{0x60000020u, 0x00000000u, 0x60000020u, 0x00000040u}, -0x1.5f02c9cb4b5cap-1, 0x1.5f02c7a3ed831p-1},
    {{0x73cf256du, 0xdda1494cu, 0x8f4d3e27u, 0xdb5b5fabu}, -0x1.055c381186373p0, -0x1.9c30d976454fdp-2},
    {{0xec99108du, 0xc7fde805u, 0x7734d7c1u, 0x73ab4876u}, -0x1.1c00cfc3b9183p1, 0x1.f21f758b26fb1p-2},
    {{0x8201e2bdu, 0xdae44550u, 0x965eda32u, 0x309d6b79u}, -0x1.04077d2379703p0, -0x1.3e2cc1d1fc449p-1},
    {{0x2f45e678u, 0xcdcc6929u, 0x830c71c2u, 0x79cb9e86u}, -0x1.463e9d023f0eep-1, -0x1.874e69c6cbe61p-5},
    {{0xa13ffe79u, 0x9d2c67edu, 0xcb008853u, 0x2fa91425u}, 0x1.8123aca13f981p-2, -0x1.5bdc10e8ba2adp0},
    {{0x18187993u, 0x7253edc6u, 0x4dabb481u, 0x244caf9cu}, -0x1.2bd71ca8827efp-3, 0x1.adebcc426bea4p-2},
    {{0x17362f25u, 0x89e7d15fu, 0xcf44dd3fu, 0xe3eff9c0u}, 0x1.46da71dc07611p-3, -0x1.9f7a3360c6b15p-2},
    {{0xb1852f27u, 0xa26b7f62u, 0x0ab8ab67u, 0x986e86cbu}, 0x1.7c1cec715552ep0, 0x1.9997ab4a4963ep-2},
    {{0xfb710734u, 0x656abd72u, 0xf6fa5db8u, 0x73f778aau}, 0x1.6270f808593b8p1, -0x1.3f2ca19adeee9p-1},
};

/// Returns the distance in units of the last place of the exact value.
double units(double got, double wanted) {
  if (wanted == 0) return got == 0 ? 0 : 1e9;
  return std::abs(got - wanted) / std::ldexp(1.0, std::ilogb(wanted) - 52);
}

}  // namespace

TEST_CASE("normal numbers of f64 are within 3 units of the last place") {
  for (const Reference& row : kReferences) {
    INFO(row.words[0] << " " << row.words[1] << " " << row.words[2] << " " << row.words[3]);
    const math::NormalPairDouble pair = math::normal_double({{row.words[0], row.words[1], row.words[2], row.words[3]}});
    CHECK(units(pair.first, row.first) <= 3);
    CHECK(units(pair.second, row.second) <= 3);
  }
}

TEST_CASE("the logarithm of uniform numbers, the sine and the cosine are within an unit of the last place") {
  // Long doubles have 11 bits more, which is enough for a bound.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  for (int i = 1; i < 20000; ++i) {
    const double u = i % 2 ? i / 20000.0 : std::ldexp(1.0 + i / 20000.0, -(i % 53) - 1);
    const double f = i / 20000.0 - 0.5;
    const auto right_angle = 1.57079632679489661923132169163975144L;
    INFO(u << " " << f);
    const auto error = [](double got, long double wanted) {
      return static_cast<double>(std::abs(got - wanted) / std::ldexp(1.0L, std::ilogb(wanted) - 52));
    };
    const math::NormalPairDouble unit = math::sine_and_cosine(f);
    REQUIRE(error(math::log_of_parts(math::log_parts(u)), std::log(static_cast<long double>(u))) <= 1);
    REQUIRE((f == 0 ? 0 : error(unit.first, std::sin(right_angle * f))) <= 1);
    REQUIRE(error(unit.second, std::cos(right_angle * f)) <= 1);
  }
}
