// Passes of convolutions as products of matrices: the weights, and the elements of windows in columns, which are
// gathered into a thread's memory block by block.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/kernels/convolution.h"
#include "base/integers.h"
#include "base/run_watch.h"

namespace tsl::cpu {

namespace {

// Products that are summed before they are added to the sums before: as many rows of windows, 192 KiB with kColumns,
// stay in a core's cache.
constexpr int64_t kDepth = 512;
constexpr int64_t kColumns = 96;  // windows of a block: a multiple of all tiles
// A block of the windows of one example is written where it belongs; with fewer windows, one spans examples, and so
// does one of whole vectors of so few windows that weights would be read again for each example.
constexpr int64_t kWindowsOfExample = 256, kWindowsOfVectors = 48;
constexpr int64_t kChannelsAtOnce = 32;  // whose weights lie side by side, as they are turned
// Outputs whose weights are read side by side: with rows of a power of 2, more would compete for few lines of the
// cache.
constexpr int64_t kOutputsAtOnce = 8;
constexpr int64_t kFewestRows = 96;  // of a part of the rows, which gathers its windows anew

/// Runs one pass by one item after another: a group, a block of windows, and a part of the rows.
template <class T> class ProductPass : WindowLoop {
 public:
  ProductPass(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context)
      : WindowLoop(pass, context),
        in_(in),
        weights_(weights + pass.weights),
        out_(out),
        out_plane_(product_of(pass.to_extent)) {
    is_by_example_ =
        pass.batch == 1 || windows_ >= kWindowsOfExample || (windows_ >= kWindowsOfVectors && windows_ % lanes_ == 0);
    blocks_ = is_by_example_ ? pass.batch * blocks_in(windows_) : blocks_in(pass.batch * windows_);
    const int64_t wanted = 2 * context.pool.size(), most = ceil_div(pass.rows, kFewestRows);
    const int64_t items = pass.groups * blocks_;
    parts_ = context.pool.size() == 1 || items >= wanted ? 1 : std::clamp(ceil_div(wanted, items), int64_t{1}, most);
  }

  void run() {
    context_.pool.parallel_for(pass_.groups * blocks_ * parts_,
                               [&](int64_t item, int thread) { run_item(item, thread); });
  }

 private:
  /// Columns of a block that one call computes.
  struct Tile {
    int64_t column, count;
    int vectors;
    bool is_in_place;  // written to the result at once
  };
  /// A block of windows of a group, and the rows to compute.
  struct Block {
    int64_t group, first, count, row, rows;  // first: of the windows of all examples
    std::vector<Tile> tiles;
    std::vector<WindowRun> runs;
    int64_t width;  // of gathered rows
    T *gathered, *results;
  };

  static int64_t blocks_in(int64_t windows) { return ceil_div(windows, kColumns); }

  Block block_of(int64_t item, int thread) const {
    Block block{};
    const int64_t part = item % parts_, number = item / parts_ % blocks_;
    block.group = item / parts_ / blocks_;
    if (is_by_example_) {
      const int64_t each = blocks_in(windows_), at = number % each * kColumns;
      block.first = number / each * windows_ + at;
      block.count = std::min(kColumns, windows_ - at);
    } else {
      block.first = number * kColumns;
      block.count = std::min(kColumns, pass_.batch * windows_ - block.first);
    }
    const int64_t rows = rounded_up(ceil_div(pass_.rows, parts_), kConvRows);
    block.row = std::min(part * rows, pass_.rows);
    block.rows = std::min(rows, pass_.rows - block.row);
    for (int64_t column = 0; column < block.count;) {
      const int64_t left = block.count - column, taken = tile_vectors(ceil_div(left, lanes_));
      const int64_t count = std::min(left, taken * lanes_);
      const bool fits = count == taken * lanes_ && is_by_example_ && pass_.is_dense();
      block.tiles.push_back({column, count, static_cast<int>(taken), fits});
      column += taken * lanes_;
    }
    block.width = rounded_up(block.count, lanes_) + kGatherSlack;
    add_runs(block);
    block.gathered = reinterpret_cast<T*>(context_.memory + static_cast<size_t>(thread) * context_.bytes_of_thread);
    block.results = block.gathered + std::min(depth_, kDepth) * (kColumns + kGatherSlack);
    return block;
  }

  /// Splits the windows of a block into runs along the last axis.
  void add_runs(Block& block) const {
    for (int64_t column = 0; column < block.count;) {
      const int64_t window = block.first + column;
      block.runs.push_back(run_at(window / windows_, block.group, window % windows_, block.count - column, column));
      column += block.runs.back().length;
    }
  }

  void run_item(int64_t item, int thread) {
    const Block block = block_of(item, thread);
    if (block.rows == 0) return;
    // Elements of a pointwise pass are read where they lie, but for a last tile that reaches beyond them.
    const bool reads_in_place = pass_.is_pointwise() && pass_.is_dense() && is_by_example_;
    for (int64_t first = 0; first < depth_; first += kDepth) {
      const int64_t count = std::min(kDepth, depth_ - first);
      poll_stop();
      if (!reads_in_place) gather(block, block.runs, first, count);
      else if (const Tile& last = block.tiles.back(); last.count < last.vectors * lanes_)
        gather(block, {tail_of(block, last)}, first, count);
      multiply(block, first, count, reads_in_place);
    }
    write(block);
  }

  /// Returns the run of a block's last tile. The block is one run.
  WindowRun tail_of(const Block& block, const Tile& tile) const {
    WindowRun run = block.runs.front();
    run.at[2] += tile.column;
    run.column = tile.column;
    run.length = tile.count;
    return run;
  }

  void gather(const Block& block, const std::vector<WindowRun>& runs, int64_t first, int64_t count) const {
    context_.kernels.gather(block.gathered, block.width, runs.data(), runs.size(), in_, reader_of(pass_), first, count);
  }

  void multiply(const Block& block, int64_t first, int64_t count, bool reads_in_place) const {
    const T* const in = in_ + block.runs.front().example + block.first % windows_ + first * windows_;
    T* const out = out_ + block_start(block);
    for (int64_t row = 0; row < block.rows; row += kConvRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kConvRows, block.rows - row));
      const T* const w = weights_ + (block.group * pass_.rows + block.row + row) * depth_ + first;
      for (const Tile& tile : block.tiles) {
        const bool is_direct = reads_in_place && tile.count == tile.vectors * lanes_;
        T* const to =
            tile.is_in_place ? out + row * out_plane_ + tile.column : block.results + row * kColumns + tile.column;
        context_.kernels.multiply(rows, tile.vectors, to, tile.is_in_place ? out_plane_ : kColumns, w, depth_,
                                  is_direct ? in + tile.column : block.gathered + tile.column,
                                  is_direct ? windows_ : block.width, static_cast<size_t>(count), first > 0);
      }
    }
  }

  /// Returns where the first row of a block of a dense pass begins, if it lies in one example.
  int64_t block_start(const Block& block) const {
    const int64_t example = block.first / windows_, at = block.first % windows_;
    return ((example * pass_.groups + block.group) * pass_.rows + block.row) * out_plane_ + at;
  }

  /// Copies the tiles that were not written in place to the result.
  void write(const Block& block) const {
    int64_t begin = block.count;
    for (const Tile& tile : block.tiles) {
      if (!tile.is_in_place) begin = std::min(begin, tile.column);
    }
    for (int64_t column = begin; column < block.count;) column += write_run(block, column);
  }

  /// Copies the windows of all rows from `column` to the end of their run; returns their number.
  int64_t write_run(const Block& block, int64_t column) const {
    const int64_t example = (block.first + column) / windows_, at = (block.first + column) % windows_;
    int64_t length = std::min(block.count - column, windows_ - at), place = at, step = 1;
    if (!pass_.is_dense()) {
      const int64_t x = at % pass_.positions[2], y = at / pass_.positions[2] % pass_.positions[1],
                    z = at / pass_.positions[2] / pass_.positions[1];
      length = std::min(length, pass_.positions[2] - x);
      step = pass_.to_step[2];
      place =
          ((z * pass_.to_step[0] + pass_.to_first[0]) * pass_.to_extent[1] + y * pass_.to_step[1] + pass_.to_first[1]) *
              pass_.to_extent[2] +
          x * step + pass_.to_first[2];
    }
    T* out = out_ + ((example * pass_.groups + block.group) * pass_.rows + block.row) * out_plane_ + place;
    const T* from = block.results + column;
    for (int64_t row = 0; row < block.rows; ++row, out += out_plane_, from += kColumns) {
      if (step == 1) std::copy_n(from, length, out);
      else
        for (int64_t i = 0; i < length; ++i) out[i * step] = from[i];
    }
    return length;
  }

  const T* const in_;
  const T* const weights_;
  T* const out_;
  const int64_t out_plane_;
  bool is_by_example_;
  int64_t blocks_, parts_;
};

int64_t floor_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

/// The positions of one axis that have the same taps in a gradient of the input.
struct Phase {
  int64_t first, positions;
  std::vector<int64_t> taps, shifts;
};
std::vector<Phase> phases_of(const ConvForm& shape, int axis) {
  std::vector<Phase> phases;
  const int64_t stride = shape.stride[axis], low = shape.low[axis];
  for (int64_t first = 0; first < std::min(stride, shape.in[axis]); ++first) {
    Phase phase{first, ceil_div(shape.in[axis] - first, stride), {}, {}};
    for (int64_t tap = 0; tap < shape.taps[axis]; ++tap) {
      const int64_t ahead = first + low - tap * shape.dilation[axis];
      if (floor_mod(ahead, stride) != 0) continue;
      phase.taps.push_back(tap);
      phase.shifts.push_back(ahead / stride);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

/// Calls body(z, y, x) for the phases of all axes that some tap reaches.
template <class Body> void for_phases(const ConvForm& shape, Body body) {
  const std::vector<Phase> all[] = {phases_of(shape, 0), phases_of(shape, 1), phases_of(shape, 2)};
  for (const Phase& z : all[0]) {
    for (const Phase& y : all[1]) {
      for (const Phase& x : all[2]) {
        if (!z.taps.empty() && !y.taps.empty() && !x.taps.empty()) body(z, y, x);
      }
    }
  }
}

/// Merges the axes of a pointwise pass into one, so that its windows are long runs.
WindowPass merged(WindowPass pass) {
  if (!pass.is_pointwise() || !pass.is_dense()) return pass;
  pass.extent = pass.positions = pass.to_extent = {1, 1, product_of(pass.extent)};
  return pass;
}

}  // namespace

WindowPass forward_pass(const ConvForm& shape) {
  WindowPass pass{
      shape.batch, shape.groups, shape.in_channels, shape.out_channels, shape.in, shape.out, shape.stride, {}, {},
      shape.out,   {},           {1, 1, 1}};
  for (int axis = 0; axis < kConvAxes; ++axis) {
    pass.first[axis] = -shape.low[axis];
    for (int64_t tap = 0; tap < shape.taps[axis]; ++tap) pass.shifts[axis].push_back(tap * shape.dilation[axis]);
  }
  return merged(std::move(pass));
}

std::vector<WindowPass> input_passes(const ConvForm& shape) {
  std::vector<WindowPass> passes;
  int64_t weights = 0;
  for_phases(shape, [&](const Phase& z, const Phase& y, const Phase& x) {
    WindowPass pass{shape.batch,
                    shape.groups,
                    shape.out_channels,
                    shape.in_channels,
                    shape.out,
                    {z.positions, y.positions, x.positions},
                    {1, 1, 1},
                    {},
                    {z.shifts, y.shifts, x.shifts},
                    shape.in,
                    {z.first, y.first, x.first},
                    shape.stride,
                    weights};
    weights += shape.groups * shape.in_channels * pass.depth();
    passes.push_back(merged(std::move(pass)));
  });
  return passes;
}

namespace {

/// Transposes weights of single elements: channels become rows.
template <class T> void transpose_weights(const ConvForm& shape, const T* weights, T* out, const ConvContext& context) {
  const int64_t in = shape.in_channels, blocks = ceil_div(in, kChannelsAtOnce);
  context.pool.parallel_for(shape.groups * blocks, [&](int64_t item, int) {
    const int64_t group = item / blocks * shape.out_channels * in, first = item % blocks * kChannelsAtOnce;
    context.load_2d(out + group + first * shape.out_channels, weights + group + first,
                    static_cast<size_t>(std::min(kChannelsAtOnce, in - first)), static_cast<size_t>(shape.out_channels),
                    1, in);
  });
}

/// The taps that a pass has, of all.
struct ChosenTaps {
  const WindowPass* pass;
  std::vector<int64_t> taps;
};

/// Weights [outputs, channels, taps] that become [channels, outputs, taps].
template <class T> struct TurnedBlock {
  const T* from;
  T* to;
  int64_t outputs, channels, output_step, channel_step, to_channel_step;

  /// Copies the chosen taps, of which there are kCount.
  template <size_t kCount> void copy_chosen(const std::vector<int64_t>& chosen) const {
    std::array<int64_t, kCount> taps;
    std::copy_n(chosen.begin(), kCount, taps.begin());
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t o = 0; o < outputs; ++o) {
        const T* const all = from + o * output_step + c * channel_step;
        T* const picked = to + c * to_channel_step + o * static_cast<int64_t>(kCount);
        for (size_t i = 0; i < kCount; ++i) picked[i] = all[taps[i]];
      }
    }
  }
  void copy_chosen(const std::vector<int64_t>& chosen) const {
    for (int64_t c = 0; c < channels; ++c) {
      T* next = to + c * to_channel_step;
      for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t tap : chosen) *next++ = from[o * output_step + c * channel_step + tap];
      }
    }
  }
  /// Copies squares of 3 taps, which lie side by side.
  void copy_squares() const {
    for (int64_t c = 0; c < channels; ++c) {
      T* next = to + c * to_channel_step;
      for (int64_t o = 0; o < outputs; ++o, next += 9)
        std::memcpy(next, from + o * output_step + c * channel_step, 9 * sizeof(T));
    }
  }
  void copy(const std::vector<int64_t>& chosen) const {
    if (chosen.size() == 9 && channel_step == 9) copy_squares();
    else if (chosen.size() == 4) copy_chosen<4>(chosen);
    else if (chosen.size() == 2) copy_chosen<2>(chosen);
    else if (chosen.size() == 1) copy_chosen<1>(chosen);
    else copy_chosen(chosen);
  }
};

/// Writes the taps of all passes, for each channel of all outputs.
template <class T> void turn_taps(const ConvForm& shape, const std::vector<ChosenTaps>& passes, const T* weights,
                                  T* out, ThreadPool& pool) {
  const int64_t taps = product_of(shape.taps), in = shape.in_channels;
  const int64_t blocks = ceil_div(in, kChannelsAtOnce);
  pool.parallel_for(shape.groups * blocks, [&](int64_t item, int) {
    const int64_t group = item / blocks, first = item % blocks * kChannelsAtOnce;
    for (int64_t output = 0; output < shape.out_channels; output += kOutputsAtOnce) {
      const int64_t outputs = std::min(kOutputsAtOnce, shape.out_channels - output);
      const T* const from = weights + ((group * shape.out_channels + output) * in + first) * taps;
      for (const auto& [pass, chosen] : passes) {
        T* const to = out + pass->weights + (group * in + first) * pass->depth() + output * pass->taps();
        TurnedBlock<T>{from, to, outputs, std::min(kChannelsAtOnce, in - first), in * taps, taps, pass->depth()}.copy(
            chosen);
      }
    }
  });
}

}  // namespace

template <class T> void turn_weights(const ConvForm& shape, const std::vector<WindowPass>& passes, const T* weights,
                                     T* out, const ConvContext& context) {
  if (product_of(shape.taps) == 1) {
    if (!passes.empty()) transpose_weights(shape, weights, out, context);
    return;
  }
  std::vector<ChosenTaps> all;
  for_phases(shape, [&](const Phase& z, const Phase& y, const Phase& x) {
    ChosenTaps& chosen = all.emplace_back(ChosenTaps{&passes[all.size()], {}});
    for (int64_t i : z.taps) {
      for (int64_t j : y.taps) {
        for (int64_t k : x.taps) chosen.taps.push_back((i * shape.taps[1] + j) * shape.taps[2] + k);
      }
    }
  });
  turn_taps(shape, all, weights, out, context.pool);
}

template <class T>
void multiply_windows(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context) {
  if (product_of(pass.positions) > 0) ProductPass<T>(pass, in, weights, out, context).run();
}

size_t bytes_for_multiplying(const WindowPass& pass, size_t element) {
  const int64_t gathered = std::min(pass.depth(), kDepth) * (kColumns + kGatherSlack);
  return static_cast<size_t>(gathered + rounded_up(pass.rows, kConvRows) * kColumns) * element;
}

template void turn_weights(const ConvForm&, const std::vector<WindowPass>&, const float*, float*, const ConvContext&);
template void turn_weights(const ConvForm&, const std::vector<WindowPass>&, const double*, double*, const ConvContext&);
template void multiply_windows(const WindowPass&, const float*, const float*, float*, const ConvContext&);
template void multiply_windows(const WindowPass&, const double*, const double*, double*, const ConvContext&);

}  // namespace tsl::cpu
