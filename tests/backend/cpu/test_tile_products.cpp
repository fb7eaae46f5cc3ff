// Products by tiles: the same bits for any layout and number of threads, and on all instruction sets that have fused
// multiply-adds.
#include "backend/cpu/products/tile_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/kernel_fixture.h"
#include "backend/cpu/products/thread_memory.h"
#include "catch.h"

using namespace kernel_test;
using namespace tsl::cpu;

namespace {

struct Extents {
  int64_t batches, m, n, k;
};

/// A matrix of random numbers, stored in rows or in columns with `gap` elements between them.
template <class T> struct Operand {
  std::vector<T> values;
  Matrix matrix;

  Operand(int64_t batches, int64_t rows, int64_t columns, bool transposed, int64_t gap, uint64_t seed) {
    Random random(seed);
    const int64_t height = transposed ? columns : rows, width = transposed ? rows : columns;
    matrix = {nullptr, transposed, width + gap, {batches, height * (width + gap)}};
    values.assign(static_cast<size_t>(batches * height * matrix.stride), std::numeric_limits<T>::quiet_NaN());
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column)
          values[index_of(batch, row, column)] = static_cast<T>(random.unit() - 0.5);
      }
    }
    matrix.data = reinterpret_cast<const std::byte*>(values.data());
  }

  size_t index_of(int64_t batch, int64_t row, int64_t column) const {
    const int64_t at = matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column;
    return static_cast<size_t>(matrix.batch[batch] + at);
  }
  T at(int64_t batch, int64_t row, int64_t column) const { return values[index_of(batch, row, column)]; }
};

/// The definition: parts of equal length, at most 512 and a multiple of 16, whose products are added up in order.
template <class T>
T sum_of(const Operand<T>& a, const Operand<T>& b, int64_t batch, int64_t row, int64_t column, int64_t k, bool fused) {
  const int64_t parts = (k + 511) / 512, length = ((k + parts - 1) / parts + 15) / 16 * 16;
  T sum = 0;
  for (int64_t first = 0; first < k; first += length) {
    T part = 0;
    for (int64_t l = first; l < std::min(first + length, k); ++l) {
      const T x = a.at(batch, row, l), y = b.at(batch, l, column);
      part = fused ? std::fma(x, y, part) : x * y + part;
    }
    sum = first == 0 ? part : sum + part;
  }
  return sum;
}

template <class T> std::vector<T> reference(const Operand<T>& a, const Operand<T>& b, const Extents& e, bool fused) {
  std::vector<T> out;
  for (int64_t batch = 0; batch < e.batches; ++batch) {
    for (int64_t row = 0; row < e.m; ++row) {
      for (int64_t column = 0; column < e.n; ++column) out.push_back(sum_of(a, b, batch, row, column, e.k, fused));
    }
  }
  return out;
}

template <class T> void check_all(const Extents& e) {
  std::array<std::vector<T>, 2> references;  // without and with fused multiply-adds
  for (const int layout : {0, 1, 2, 3}) {
    const bool a_turned = layout % 2 != 0, b_turned = layout >= 2;
    for (const int64_t gap : {0, 5}) {
      const Operand<T> a(e.batches, e.m, e.k, a_turned, gap, 1), b(e.batches, e.k, e.n, b_turned, gap, 2);
      for (const Isa isa : isas()) {
        const bool fused = kernels(isa).conv_f64.is_fused;
        std::vector<T>& expected = references[fused];
        if (expected.empty()) expected = reference(a, b, e, fused);
        std::vector<T> c(expected.size(), T(-1));
        const Product product{e.batches, e.m, e.n, e.k, a.matrix, b.matrix, reinterpret_cast<std::byte*>(c.data())};
        for (const int threads : {1, 3}) {
          CAPTURE(e.batches, e.m, e.n, e.k, a_turned, b_turned, gap, name_of(isa), threads, sizeof(T));
          ThreadPool pool(threads);
          multiply_tiles<T>(product, tile_kernels<T>(kernels(isa)), pool);
          CHECK(c == expected);
        }
        std::fill(c.begin(), c.end(), T(0));
        const ThreadMemory memory;
        multiply_tiles<T>(product, tile_kernels<T>(kernels(isa)), true);
        CHECK(c == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("products by tiles have the bits of their definition", "[products]") {
  for (const Extents& e : {Extents{1, 1, 1, 1},
                           {2, 1, 40, 30},
                           {1, 40, 1, 30},
                           {1, 8, 15, 700},
                           {1, 4, 16, 1},
                           {3, 5, 17, 7},
                           {1, 16, 96, 33},
                           {2, 37, 50, 20},
                           {1, 33, 130, 600},
                           {1, 300, 49, 513},
                           {1, 9, 64, 1100},
                           {1, 130, 200, 90}}) {
    check_all<float>(e);
    check_all<double>(e);
  }
}

TEST_CASE("few rows or columns, and plain kernels, are left to BLAS where there is one", "[products]") {
  const auto suits = [](int64_t m, int64_t n, Isa isa) { return tiles_refusal(m, n, kernels(isa)).empty(); };
#if defined(TSL_OPENBLAS)
  constexpr bool kHasBlas = true;
#else
  constexpr bool kHasBlas = false;
#endif
  const auto is_fused = [](Isa isa) { return kernels(isa).conv_f64.is_fused; };
  CHECK(suits(64, 64, Isa::generic) == (!kHasBlas || is_fused(Isa::generic)));
  CHECK(suits(8, 64, best_isa()) == !kHasBlas);
  CHECK(suits(64, 15, best_isa()) == !kHasBlas);
  CHECK(suits(9, 16, best_isa()) == (!kHasBlas || is_fused(best_isa())));
}
