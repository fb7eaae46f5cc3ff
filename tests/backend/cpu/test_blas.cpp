// Panels of matrix products: the same for any number of threads, and each within what BLAS takes.
#if defined(TSL_OPENBLAS)
#include "backend/cpu/products/blas.h"

#include <algorithm>
#include <array>
#include <random>

#include "catch.h"

using namespace tsl::cpu;

namespace {

/// A product of small whole numbers, whose sums are exact, with some space between the rows of its operands.
struct Example {
  Product product;
  std::vector<double> a, b, c;

  Example(int64_t batches, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, int64_t gap) {
    product = {
        batches, m, n, k, operand(a, m, k, batches, transpose_a, gap), operand(b, k, n, batches, transpose_b, gap),
        nullptr};
    c.assign(static_cast<size_t>(batches * m * n), -1);
    product.c = reinterpret_cast<std::byte*>(c.data());
  }

  static Matrix operand(std::vector<double>& values, int64_t rows, int64_t columns, int64_t batches, bool transposed,
                        int64_t gap) {
    static std::mt19937 random(3);
    if (transposed) std::swap(rows, columns);
    Matrix matrix{nullptr, transposed, columns + gap, {batches, rows * (columns + gap)}};
    values.resize(static_cast<size_t>(batches * rows * matrix.stride));
    for (double& value : values) value = static_cast<double>(random() % 7) - 3;
    matrix.data = reinterpret_cast<const std::byte*>(values.data());
    return matrix;
  }

  static double at(const Matrix& matrix, const std::vector<double>& values, int64_t batch, int64_t i, int64_t j) {
    const int64_t element = matrix.transposed ? j * matrix.stride + i : i * matrix.stride + j;
    return values[static_cast<size_t>(matrix.batch[batch] + element)];
  }

  size_t count_wrong() const {
    size_t wrong = 0;
    for (int64_t i = 0; i < product.batches * product.m * product.n; ++i) {
      const int64_t batch = i / product.n / product.m, row = i / product.n % product.m, column = i % product.n;
      double sum = 0;
      for (int64_t l = 0; l < product.k; ++l)
        sum += at(product.a, a, batch, row, l) * at(product.b, b, batch, l, column);
      wrong += c[static_cast<size_t>(i)] != sum;
    }
    return wrong;
  }
};

}  // namespace

TEST_CASE("panels cover a product once, and grow with it", "[blas]") {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {64, 64, 64},
                                {129, 129, 129},
                                {1, 5000, 3000},
                                std::array<int64_t, 3>{5000, 1, 3000},
                                {1000, 70, 80},
                                {2048, 2048, 2048}}) {
    for (const int64_t batches : {1, 3, 40}) {
      Product product{batches, m, n, k, {}, {}, nullptr};
      const Panels panels = panels_of(product);
      std::vector<char> covered(static_cast<size_t>(batches * m * n));
      size_t twice = 0;
      for (int64_t i = 0; i < panels.size(); ++i) {
        const Panel p = panels[i];
        CHECK((p.rows > 0 && p.columns > 0));
        for (int64_t row = p.row; row < p.row + p.rows; ++row) {
          for (int64_t column = p.column; column < p.column + p.columns; ++column)
            twice += covered[static_cast<size_t>((p.batch * m + row) * n + column)]++;
        }
      }
      CAPTURE(batches, m, n, k, panels.size());
      CHECK(twice == 0);
      CHECK(std::count(covered.begin(), covered.end(), 1) == batches * m * n);
      const int64_t longest = batches * (m / 512 + 1) * (n / 512 + 1);  // so that each ends soon after an interrupt
      CHECK(panels.size() < 64 + longest);
    }
  }
  CHECK(panels_of({1, 64, 64, 64, {}, {}, nullptr}).size() == 1);
  CHECK(panels_of({1, 129, 129, 129, {}, {}, nullptr}).size() >= 2);
  CHECK(panels_of({1, 2048, 2048, 2048, {}, {}, nullptr}).size() == 32);
}

TEST_CASE("no call of BLAS has an extent or a stride beyond the largest", "[blas]") {
  constexpr int64_t kMost = 16;
  ThreadPool pool(2);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const int64_t gap : {0, 3}) {
        for (const auto& [m, n, k] : {std::array<int64_t, 3>{5, 7, 9},
                                      {1, 1, 50},
                                      {50, 3, 2},
                                      {2, 50, 3},
                                      {3, 2, 50},
                                      std::array<int64_t, 3>{40, 50, 60},
                                      {100, 110, 120}}) {
          Example example(2, m, n, k, transpose_a, transpose_b, gap);
          CAPTURE(m, n, k, transpose_a, transpose_b, gap);
          const Panels panels = panels_of(example.product, kMost);
          for (int64_t i = 0; i < panels.size(); ++i) CHECK((panels[i].rows <= kMost && panels[i].columns <= kMost));
          multiply_by_blas<double>(example.product, pool, kMost);
          CHECK(example.count_wrong() == 0);
        }
      }
    }
  }
}
#endif
