// Gradients of a convolution's weights: products of the result's gradient with the elements of windows, whose rows are
// the windows here.
#include <algorithm>

#include "backend/cpu/kernels/convolution.h"
#include "base/integers.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

constexpr int64_t kRowsAtOnce = 256;    // of weights
constexpr int64_t kWeightColumns = 96;  // weights of a row at a time: a multiple of all tiles
constexpr int64_t kWindows = 256;       // of one example, summed before they are added to the sums before
// Windows are summed in parts where weights are too few for the threads of a large machine.
constexpr int64_t kWindowsOfPart = 32 * kWindows, kEnoughItems = 32;

template <class T> class WeightPass : WindowLoop {
 public:
  WeightPass(const WindowPass& pass, const T* in, const T* grad, T* out, const ConvContext& context)
      : WindowLoop(pass, context), in_(in), grad_(grad), out_(out), parts_(weight_parts(pass)) {}

  void run() {
    const int64_t down = ceil_div(pass_.rows, kRowsAtOnce), across = ceil_div(depth_, kWeightColumns);
    context_.pool.parallel_for(parts_ * pass_.groups * down * across, [&](int64_t item, int thread) {
      const int64_t row = item / across % down * kRowsAtOnce, column = item % across * kWeightColumns;
      run_block({item / across / down % pass_.groups, item / across / down / pass_.groups, row,
                 std::min(kRowsAtOnce, pass_.rows - row), column, std::min(kWeightColumns, depth_ - column)},
                thread);
    });
    const int64_t weights = pass_.groups * pass_.rows * depth_;
    for (int64_t part = 1; part < parts_; ++part) {
      for (int64_t i = 0; i < weights; ++i) out_[i] += out_[part * weights + i];
    }
  }

 private:
  /// Weights that an item computes, of one part of the windows.
  struct Block {
    int64_t group, part, row, rows, column, columns;
  };

  void run_block(const Block& block, int thread) const {
    T* const gathered = reinterpret_cast<T*>(context_.memory + static_cast<size_t>(thread) * context_.bytes_of_thread);
    T* const turned = gathered + kWeightColumns * (kWindows + kGatherSlack);
    T* const results = turned + kWindows * kWeightColumns;
    T* const out = out_ + block.part * pass_.groups * pass_.rows * depth_ +
                   (block.group * pass_.rows + block.row) * depth_ + block.column;
    const bool is_in_place = block.columns == kWeightColumns;
    const int64_t of_example = ceil_div(windows_, kWindows), chunks = pass_.batch * of_example;
    const int64_t begin = chunks * block.part / parts_, end = chunks * (block.part + 1) / parts_;
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t example = chunk / of_example, first = chunk % of_example * kWindows;
      const int64_t count = std::min(kWindows, windows_ - first);
      poll_stop();
      gather(block, example, first, count, gathered);
      const int64_t width = ceil_div(count, lanes_) * lanes_, columns = ceil_div(block.columns, lanes_) * lanes_;
      context_.load_2d(turned, gathered, static_cast<size_t>(width), static_cast<size_t>(columns), 1,
                       width + kGatherSlack);
      const T* const grad =
          grad_ + ((example * pass_.groups + block.group) * pass_.rows + block.row) * windows_ + first;
      multiply(block, grad, turned, count, is_in_place ? out : results, is_in_place ? depth_ : kWeightColumns,
               chunk > begin);
    }
    if (is_in_place) return;
    for (int64_t row = 0; row < block.rows; ++row)
      std::copy_n(results + row * kWeightColumns, block.columns, out + row * depth_);
  }

  void gather(const Block& block, int64_t example, int64_t first, int64_t count, T* to) const {
    std::array<WindowRun, kWindows> runs;
    size_t run_count = 0;
    for (int64_t column = 0; column < count;) {
      runs[run_count] = run_at(example, block.group, first + column, count - column, column);
      column += runs[run_count++].length;
    }
    const int64_t width = ceil_div(count, lanes_) * lanes_;
    context_.kernels.gather(to, width + kGatherSlack, runs.data(), run_count, in_, reader_of(pass_), block.column,
                            block.columns);
  }

  void multiply(const Block& block, const T* grad, const T* elements, int64_t count, T* out, int64_t out_row,
                bool adds) const {
    for (int64_t row = 0; row < block.rows; row += kConvRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kConvRows, block.rows - row));
      const int64_t row_length = ceil_div(block.columns, lanes_) * lanes_;
      for (int64_t column = 0; column < row_length;) {
        const int64_t vectors = tile_vectors((row_length - column) / lanes_);
        context_.kernels.multiply(rows, static_cast<int>(vectors), out + row * out_row + column, out_row,
                                  grad + row * windows_, windows_, elements + column, row_length,
                                  static_cast<size_t>(count), adds);
        column += vectors * lanes_;
      }
    }
  }

  const T* const in_;
  const T* const grad_;
  T* const out_;
  const int64_t parts_;
};

}  // namespace

int64_t weight_parts(const WindowPass& pass) {
  const int64_t items = pass.groups * ceil_div(pass.rows, kRowsAtOnce) * ceil_div(pass.depth(), kWeightColumns);
  const int64_t most = ceil_div(pass.batch * product_of(pass.positions), kWindowsOfPart);
  return items == 0 ? 1 : std::clamp<int64_t>(kEnoughItems / items, 1, std::max<int64_t>(most, 1));
}

size_t bytes_for_weights(size_t element) {
  return static_cast<size_t>(kWeightColumns * (2 * kWindows + kGatherSlack + kRowsAtOnce)) * element;
}

template <class T>
void sum_weights(const WindowPass& pass, const T* in, const T* grad, T* out, const ConvContext& context) {
  WeightPass<T>(pass, in, grad, out, context).run();
}

template void sum_weights(const WindowPass&, const float*, const float*, float*, const ConvContext&);
template void sum_weights(const WindowPass&, const double*, const double*, double*, const ConvContext&);

}  // namespace tsl::cpu
