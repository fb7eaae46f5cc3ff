// Roots of 1, of which transforms are made: as near as f64 can be, and the same bits on every machine.
#include "backend/cpu/kernels/unit_roots.h"

#include <bit>
#include <numbers>

#include "catch.h"

using namespace tsl::cpu;

namespace {

/// Returns by how many units of its last digit a number differs from a more exact one.
double distance(double x, long double exact) {
  const double next = std::nextafter(std::fabs(x), 2);
  return static_cast<double>(std::fabs(x - exact) / (next - std::fabs(x)));
}

}  // namespace

TEST_CASE("roots of 1 are rounded from more digits than f64 has", "[fft]") {
  for (const uint64_t n : {1, 2, 3, 5, 8, 12, 97, 360, 1024, 2187}) {
    for (uint64_t k = 0; k < n; ++k) {
      double root[2];
      write_root(root, k, n);
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
      CAPTURE(k, n, root[0], root[1]);
      // Near a multiple of π / 2 the reference loses digits, since its angle is rounded.
      if (std::fabs(root[0]) > 0.1) CHECK(distance(root[0], std::cos(angle)) < 0.55);
      if (std::fabs(root[1]) > 0.1) CHECK(distance(root[1], -std::sin(angle)) < 0.55);
      if (8 * k % n == 0) CHECK(std::fabs(root[0]) + std::fabs(root[1]) == (8 * k / n % 2 == 0 ? 1.0 : std::sqrt(2.0)));
    }
  }
}

TEST_CASE("roots of 1 have the same bits on every machine", "[fft]") {
  uint64_t digest = 0;
  for (uint64_t n = 1; n <= 500; ++n) {
    for (uint64_t k = 0; k < n; ++k) {
      double root[2];
      write_root(root, k, n);
      for (const double part : root) digest = digest * 0x100000001b3 + std::bit_cast<uint64_t>(part);
    }
  }
  CHECK(digest == 0xdfa71e738b39d0d8);
}
