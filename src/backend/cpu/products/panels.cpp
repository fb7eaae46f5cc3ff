#include <algorithm>
#include <iterator>
#include <limits>

#include "backend/cpu/products/product.h"
#include "base/integers.h"

namespace tsl::cpu {

namespace {

// Multiply-adds of a panel that are worth another thread.
constexpr double kPanelWork = 512 * 1024;
// A loop of fewer multiply-adds stays on one thread.
constexpr double kThreadedWork = 256 * 1024;

/// How far products are cut: while there are fewer than `panels`, if a half has at least `side` rows or columns. BLAS
/// packs its operands anew for each panel, which takes 3 % of the time with sides of 256, and 5 % with sides of 128.
struct CutLimit {
  int64_t panels, side;
};
constexpr CutLimit kCutLimits[] = {{4, 48}, {32, 256}, {std::numeric_limits<int64_t>::max(), 512}};
constexpr int64_t kAlignment = 16;  // panels begin at multiples, where BLAS's kernels begin, too

struct Grid {
  int64_t rows = 1, columns = 1;
};

/// Cuts the longer side of the panels in halves as long as that is worth it.
Grid grid_of(const Product& p) {
  Grid grid;
  for (;;) {
    const int64_t rows = p.m / grid.rows, columns = p.n / grid.columns, panels = grid.rows * grid.columns;
    const int64_t half = std::max(rows, columns) / 2, all = p.batches * panels;
    const bool is_long = std::any_of(std::begin(kCutLimits), std::end(kCutLimits),
                                     [&](const CutLimit& limit) { return all < limit.panels && half >= limit.side; });
    if (!is_long || work_of(p) < kPanelWork * static_cast<double>(2 * panels)) return grid;
    (rows >= columns ? grid.rows : grid.columns) *= 2;
  }
}

/// The length of `parts` equal pieces of an extent.
int64_t step_of(int64_t extent, int64_t parts, int64_t max_extent) {
  if (parts == 1 && extent <= max_extent) return std::max<int64_t>(extent, 1);
  const int64_t length = ceil_div(extent, parts);
  return std::min(rounded_up(length, kAlignment), max_extent);
}

}  // namespace

double work_of(const Product& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

Panels::Panels(const Product& product, int64_t rows, int64_t columns)
    : batches_(product.batches),
      m_(product.m),
      n_(product.n),
      rows_(rows),
      columns_(columns),
      down_(ceil_div(m_, rows)),
      across_(ceil_div(n_, columns)) {}

Panel Panels::operator[](int64_t i) const {
  const int64_t column = i % across_ * columns_, row = i / across_ % down_ * rows_;
  return {i / across_ / down_, row, std::min(rows_, m_ - row), column, std::min(columns_, n_ - column)};
}

Panels panels_of(const Product& p, int64_t max_extent) {
  const Grid grid = grid_of(p);
  const bool one_row = p.n > max_extent || (!p.a.transposed && needs_single_rows(p.a, max_extent));
  const bool one_column = p.b.transposed && needs_single_rows(p.b, max_extent);
  const int64_t down = one_row ? 1 : step_of(p.m, grid.rows, max_extent);
  const int64_t across = one_column ? 1 : step_of(p.n, grid.columns, max_extent);
  return {p, down, across};
}

bool is_worth_threads(const Product& p) { return work_of(p) * static_cast<double>(p.batches) >= kThreadedWork; }

}  // namespace tsl::cpu
