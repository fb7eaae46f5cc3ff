#include "backend/cpu/products/tile_products.h"

#include <algorithm>

#include "backend/cpu/kernels/convolution.h"
#include "backend/cpu/products/thread_memory.h"
#include "base/integers.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

// The most products of a part of a sum: a strip of as many rows, of 96 KiB, is read from a core's second cache while
// the first one holds rows of the left operand.
constexpr int64_t kTileDepth = 512;
// The most bytes of a block of the left operand, which stays in the second cache for all strips: 256 rows of 512 f32.
constexpr int64_t kBlockBytes = 640 * 1024;
// The most rows of a block: a deadline is looked at before each strip of a block.
constexpr int64_t kMostBlockRows = 512;
// With so few rows, packing the right operand takes longer than reading it row by row.
constexpr int64_t kFewRows = 32;
// Smaller products leave lanes empty, or are bound by memory, which BLAS reads at its full speed.
constexpr int64_t kLeastRows = 9, kLeastColumns = 16;
constexpr int64_t kLineBytes = 64;
#if defined(TSL_OPENBLAS)
constexpr bool kHasBlas = true;
#else
constexpr bool kHasBlas = false;
#endif

/// The length of the parts of a sum of k products: equal ones.
int64_t part_of(int64_t k) {
  const int64_t parts = std::max<int64_t>(ceil_div(k, kTileDepth), 1);
  return std::max<int64_t>(rounded_up(ceil_div(k, parts), 16), 1);
}

/// Computes panels with the memory of one thread.
template <class T> class ProductWorker {
 public:
  /// `adds`: whether the product is added to what c holds.
  ProductWorker(const Product& p, const TileKernels& kernels, bool adds)
      : p_(p),
        kernels_(kernels),
        adds_(adds),
        lanes_(static_cast<int64_t>(kernels.products.lanes)),
        columns_(kConvVectors * lanes_),
        depth_(part_of(p.k)),
        block_row_(depth_ + kLineBytes / static_cast<int64_t>(sizeof(T))),  // so that rows do not compete for lines
        block_rows_(std::min(kBlockBytes / static_cast<int64_t>(sizeof(T)) / block_row_ / kConvRows * kConvRows,
                             kMostBlockRows)),
        strip_(reinterpret_cast<T*>(ThreadMemory::of_thread())),
        tail_(strip_ + depth_ * columns_),
        block_(tail_ + block_rows_ * columns_) {}

  void run(const Panel& panel) {
    for (int64_t first = 0; first < p_.k; first += depth_) {
      const int64_t count = std::min(depth_, p_.k - first);
      const int64_t blocks = ceil_div(panel.rows, block_rows_);
      const int64_t rows = rounded_up(ceil_div(panel.rows, blocks), kConvRows);
      for (int64_t row = 0; row < panel.rows; row += rows)
        run_block(panel, {first, count, panel.row + row, std::min(rows, panel.rows - row)});
    }
  }

 private:
  /// Products [first, first + count) of the sums of some rows.
  struct Part {
    int64_t first, count, row, rows;
  };
  /// What a kernel reads of the right operand.
  struct Strip {
    const T* data;
    int64_t row;
  };

  static const T* elements(const Matrix& matrix, int64_t batch, int64_t row, int64_t column) {
    const T* const data = reinterpret_cast<const T*>(matrix.data) + matrix.batch[batch];
    return data + (matrix.transposed ? column * matrix.stride + row : row * matrix.stride + column);
  }

  void run_block(const Panel& panel, const Part& part) {
    const T* const a = elements(p_.a, panel.batch, part.row, part.first);
    copy(p_.a, a, part.rows, part.count, block_, block_row_);
    const int64_t end = panel.column + panel.columns;
    for (int64_t column = panel.column; column < end;) {
      poll_stop();
      const int64_t vectors = tile_vectors(ceil_div(end - column, lanes_));
      const int64_t count = std::min(vectors * lanes_, end - column);
      const T* const b = elements(p_.b, panel.batch, part.first, column);
      const bool is_whole = count == vectors * lanes_;
      Strip strip{b, p_.b.stride};
      if (p_.b.transposed || !is_whole || p_.m > kFewRows) {
        copy(p_.b, b, part.count, count, strip_, columns_);
        strip = {strip_, columns_};
      }
      T* const c = reinterpret_cast<T*>(p_.c) + (panel.batch * p_.m + part.row) * p_.n + column;
      if (is_whole) multiply(part, vectors, strip, c, p_.n, adds_ || part.first > 0);
      else multiply_tail(part, vectors, strip, c, count);
      column += count;
    }
  }

  /// Copies rows of a matrix, of which `from` is the first element, in order.
  void copy(const Matrix& matrix, const T* from, int64_t rows, int64_t columns, T* to, int64_t to_row) const {
    if (matrix.transposed) {
      kernels_.planes.turn(to, static_cast<size_t>(to_row), from, static_cast<size_t>(matrix.stride),
                           static_cast<size_t>(columns), static_cast<size_t>(rows));
      return;
    }
    for (int64_t row = 0; row < rows; ++row) std::copy_n(from + row * matrix.stride, columns, to + row * to_row);
  }

  void multiply(const Part& part, int64_t vectors, const Strip& strip, T* c, int64_t c_row, bool adds) const {
    kernels_.products.multiply(static_cast<int>(part.rows), static_cast<int>(vectors), c, c_row, block_, block_row_,
                               strip.data, strip.row, static_cast<size_t>(part.count), adds);
  }

  /// Multiplies by a strip whose last vector reaches beyond the result.
  void multiply_tail(const Part& part, int64_t vectors, const Strip& strip, T* c, int64_t count) const {
    multiply(part, vectors, strip, tail_, columns_, false);
    for (int64_t row = 0; row < part.rows; ++row) {
      const T* const from = tail_ + row * columns_;
      T* const to = c + row * p_.n;
      if (part.first == 0 && !adds_) std::copy_n(from, count, to);
      else
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
    }
  }

  const Product& p_;
  const TileKernels& kernels_;
  const bool adds_;
  const int64_t lanes_, columns_;  // of a vector, of a strip
  const int64_t depth_, block_row_, block_rows_;
  T *const strip_, *const tail_, *const block_;  // the packed right operand, results that are copied, the left operand
};

/// The panels of a product: the threads' shares. One thread packs each operand once.
Panels shares_of(const Product& p, int threads) { return threads > 1 ? panels_of(p) : Panels(p, p.m, p.n); }

}  // namespace

std::string_view tiles_refusal(int64_t m, int64_t n, const KernelTable& table) {
  if (!kHasBlas) return "";
  if (!table.conv_f64.is_fused) return "the processor has no fused multiply-adds";
  return m < kLeastRows ? "few rows" : n < kLeastColumns ? "few columns" : "";
}

template <class T> void multiply_tiles(const Product& p, const TileKernels& kernels, ThreadPool& pool) {
  const Panels panels = shares_of(p, pool.size());
  auto run = [&](int64_t i, int) {
    const ThreadMemory memory;
    ProductWorker<T>(p, kernels, false).run(panels[i]);
  };
  const int64_t count = panels.size();
  if (is_worth_threads(p)) return pool.parallel_for(count, run);
  for (int64_t i = 0; i < count; ++i) run(i, 0);
}

template <class T> void multiply_tiles(const Product& p, const TileKernels& kernels, bool adds) {
  ProductWorker<T> worker(p, kernels, adds);
  for (int64_t batch = 0; batch < p.batches; ++batch) worker.run({batch, 0, p.m, 0, p.n});
}

template void multiply_tiles<float>(const Product&, const TileKernels&, ThreadPool&);
template void multiply_tiles<double>(const Product&, const TileKernels&, ThreadPool&);
template void multiply_tiles<float>(const Product&, const TileKernels&, bool);
template void multiply_tiles<double>(const Product&, const TileKernels&, bool);

}  // namespace tsl::cpu
