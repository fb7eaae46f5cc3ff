// Convolutions of floats on the CPU. All sums have an order that depends on shapes alone: a sum of products with
// windows runs over channels and taps, in parts of kDepth; one of weight gradients over the windows, that of a filter
// in lanes. So threads may share the work as they like, and AVX2 and AVX-512 give the same bits. Without them products
// are rounded before they are added.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/threads.h"
#include "base/integers.h"
#include "tensor/rows/convolution.h"

namespace tsl::cpu {

static_assert(kConvAxes == kMostSpace);

/// One pass over windows: `rows` channels are written at some positions, each of which reads a window of `channels`
/// channels. A convolution is one pass, a gradient of the input one for each remainder of positions by the stride.
struct WindowPass {
  int64_t batch, groups, channels, rows;               // channels and rows of a group
  ConvAxes extent, positions, step, first;             // position p reads p * step + first + shift
  std::array<std::vector<int64_t>, kConvAxes> shifts;  // of the taps
  ConvAxes to_extent, to_first, to_step;               // position p is written to p * to_step + to_first
  int64_t weights = 0;                                 // where the weights [groups, rows, depth] begin

  int64_t taps() const { return static_cast<int64_t>(shifts[0].size() * shifts[1].size() * shifts[2].size()); }
  int64_t depth() const { return channels * taps(); }
  /// Whether the positions are all elements of the result.
  bool is_dense() const { return positions == to_extent && to_step == ConvAxes{1, 1, 1}; }
  /// Whether windows are single elements, in the order of the positions.
  bool is_pointwise() const {
    return taps() == 1 && positions == extent && step == ConvAxes{1, 1, 1} && first == ConvAxes{} &&
           shifts[0][0] == 0 && shifts[1][0] == 0 && shifts[2][0] == 0;
  }
};

/// Returns the pass of a convolution, and those of the gradient of its input: none where no window reads.
WindowPass forward_pass(const ConvForm& shape);
std::vector<WindowPass> input_passes(const ConvForm& shape);

/// What a loop over windows runs on: threads, the kernels of a dtype, and memory of each thread.
struct ConvContext {
  ThreadPool& pool;
  const ConvKernels& kernels;
  void (*load_2d)(void*, const void*, size_t, size_t, ptrdiff_t, ptrdiff_t);  // KernelTable::load_2d
  std::byte* memory;
  size_t bytes_of_thread;
};

/// What gathers of a pass read.
inline WindowReader reader_of(const WindowPass& pass) {
  WindowReader reader{{pass.extent[0], pass.extent[1], pass.extent[2]}, pass.step[2], {}, {}};
  for (int axis = 0; axis < kConvAxes; ++axis) {
    reader.shift[axis] = pass.shifts[axis].data();
    reader.taps[axis] = static_cast<int64_t>(pass.shifts[axis].size());
  }
  return reader;
}

/// What the passes that gather windows into columns have in common.
class WindowLoop {
 protected:
  WindowLoop(const WindowPass& pass, const ConvContext& context)
      : pass_(pass),
        context_(context),
        lanes_(static_cast<int64_t>(context.kernels.lanes)),
        depth_(pass.depth()),
        windows_(product_of(pass.positions)),
        in_plane_(product_of(pass.extent)) {}

  /// Returns the run that begins with window `at` of a group of an example: it ends with its row, or after `most`.
  WindowRun run_at(int64_t example, int64_t group, int64_t at, int64_t most, int64_t column) const {
    WindowRun run{(example * pass_.groups + group) * pass_.channels * in_plane_, {}, most, column};
    for (int axis = kConvAxes - 1; axis >= 0; --axis) {
      const int64_t place = at % pass_.positions[axis];
      at /= pass_.positions[axis];
      run.at[axis] = place * pass_.step[axis] + pass_.first[axis];
      if (axis == kConvAxes - 1) run.length = std::min(most, pass_.positions[axis] - place);
    }
    return run;
  }

  const WindowPass& pass_;
  const ConvContext& context_;
  const int64_t lanes_, depth_, windows_, in_plane_;  // windows of an example, elements of a channel
};

/// Returns the vectors of the next tile of a row that has so many left: none of one vector after one of three.
inline int64_t tile_vectors(int64_t left) {
  return left == kConvVectors + 1 ? 2 : left < kConvVectors ? left : kConvVectors;
}

/// Runs a pass by products of matrices, or by filters of single channels. Returns the bytes that a thread needs.
template <class T>
void multiply_windows(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context);
size_t bytes_for_multiplying(const WindowPass& pass, size_t element);
template <class T>
void filter_windows(const WindowPass& pass, const T* in, const T* weights, T* out, const ConvContext& context);
size_t bytes_for_filters(const WindowPass& pass, size_t element);
/// Whether filters are faster.
bool suits_filters(const WindowPass& pass);
/// Computes the gradient of the input of filters by a step of 2 in one pass, where it can.
template <class T>
void spread_filters(const ConvForm& shape, const T* grad, const T* weights, T* out, const ConvContext& context);
bool suits_spreading(const ConvForm& shape);

/// Writes the weights of input_passes(), in their order.
template <class T> void turn_weights(const ConvForm& shape, const std::vector<WindowPass>& passes, const T* weights,
                                     T* out, const ConvContext& context);

/// Computes the gradient of the weights from the forward pass and the gradient of its result. `out` has room for
/// weight_parts() gradients, of which the first is the result.
template <class T>
void sum_weights(const WindowPass& pass, const T* in, const T* grad, T* out, const ConvContext& context);
int64_t weight_parts(const WindowPass& pass);
size_t bytes_for_weights(size_t element);
template <class T>
void sum_filter_weights(const WindowPass& pass, const T* in, const T* grad, T* out, const ConvContext& context);

}  // namespace tsl::cpu
