// Convolutions and their gradients: products of matrices whose columns are windows, of which a block makes a tile of
// 64 x 128, and, where groups have few channels, sums by a thread or a block for each element.

/// The axes of space; those of one or two come last. Operands have strides for batch, channels and space.
constexpr int kSpace = 3, kConvAxes = 5;
constexpr int kConvRows = 64, kConvColumns = 128, kConvDepth = 16, kConvThreads = 256;

/// What a convolution is: channels are those of a group.
struct ConvShape {
  Index batch, groups, in_channels, out_channels;
  Index in[kSpace], out[kSpace], taps[kSpace], stride[kSpace], dilation[kSpace], low[kSpace];
  __device__ Index windows() const { return out[0] * out[1] * out[2]; }
  __device__ Index places() const { return in[0] * in[1] * in[2]; }
  __device__ Index tap_count() const { return taps[0] * taps[1] * taps[2]; }
};

template <class T> struct ConvOperand {
  const T* first;
  long long strides[kConvAxes];
};

/// The dtype of sums: f32 of halves, and unsigned numbers, which wrap around, of integers.
template <class T> struct ConvSum { using Type = Unsigned<T>; };
template <> struct ConvSum<f16> { using Type = f32; };
template <> struct ConvSum<bf16> { using Type = f32; };
template <> struct ConvSum<f32> { using Type = f32; };
template <> struct ConvSum<f64> { using Type = f64; };

TSL_FN f32 add_product(f32 a, f32 b, f32 sum) { return __fmaf_rn(a, b, sum); }
TSL_FN f64 add_product(f64 a, f64 b, f64 sum) { return __fma_rn(a, b, sum); }
TSL_FN u32 add_product(u32 a, u32 b, u32 sum) { return a * b + sum; }
TSL_FN u64 add_product(u64 a, u64 b, u64 sum) { return a * b + sum; }

template <class S, class T> TSL_FN S widened(T x) {
  if constexpr (sizeof(S) == sizeof(f32) && S(0.5f) != S(0)) return s_cast<f32>(x);
  else return static_cast<S>(x);
}
template <class T, class S> TSL_FN T narrowed(S x) {
  if constexpr (S(0.5f) != S(0)) return s_cast<T>(x);
  else return static_cast<T>(x);
}

/// A part of the address of an element in windows: an offset, and a part of its place on each axis of space.
struct Part {
  long long offset;
  Index at[kSpace];
};

TSL_FN void split(Index number, const Index* extents, Index* at) {
  at[2] = number % extents[2];
  at[1] = number / extents[2] % extents[1];
  at[0] = number / extents[2] / extents[1];
}

/// Finds the offset of the sum of two parts; returns false if it lies outside. A gradient of the input reads windows,
/// where the stride divides the place.
template <bool kOfInput, class T>
TSL_FN bool find_offset(const ConvShape& c, const ConvOperand<T>& x, const Part& a, const Part& b, long long& offset) {
  offset = a.offset + b.offset;
#pragma unroll
  for (int axis = 0; axis < kSpace; ++axis) {
    Index at = a.at[axis] + b.at[axis];
    if (kOfInput) {
      if (at < 0 || at % c.stride[axis] != 0) return false;
      at /= c.stride[axis];
    }
    if (at < 0 || at >= (kOfInput ? c.out[axis] : c.in[axis])) return false;
    offset += at * x.strides[2 + axis];
  }
  return true;
}

/// Returns the part of a tap in the place of what a window reads.
template <bool kOfInput> TSL_FN Part part_of_tap(const ConvShape& c, Index tap) {
  Part part = {0, {}};
  split(tap, c.taps, part.at);
#pragma unroll
  for (int axis = 0; axis < kSpace; ++axis) part.at[axis] *= kOfInput ? -c.dilation[axis] : c.dilation[axis];
  return part;
}

/// Returns the part of window or, for a gradient of the input, of element number `column` of all examples.
template <bool kOfInput, class T>
TSL_FN Part part_of_column(const ConvShape& c, const ConvOperand<T>& x, Index column) {
  const Index each = kOfInput ? c.places() : c.windows();
  Part part = {column / each * x.strides[0], {}};
  split(column % each, kOfInput ? c.in : c.out, part.at);
#pragma unroll
  for (int axis = 0; axis < kSpace; ++axis)
    part.at[axis] = kOfInput ? part.at[axis] + c.low[axis] : part.at[axis] * c.stride[axis] - c.low[axis];
  return part;
}

/// The factors of products [rows, depth] and [depth, columns] of one group.
/// kOfInput: a gradient of the input, whose rows are its channels; else a convolution, whose rows are its results'.
template <bool kOfInput, class T> struct WindowFactors {
  static constexpr bool kGathersRows = false;
  ConvShape c;
  ConvOperand<T> x, weights;
  long long x_group, weights_group;  // offsets of the group
  __device__ WindowFactors(const ConvShape& c, const ConvOperand<T>& x, const ConvOperand<T>& weights, Index group)
      : c(c),
        x(x),
        weights(weights),
        x_group(group * (kOfInput ? c.out_channels : c.in_channels) * x.strides[1]),
        weights_group(group * c.out_channels * weights.strides[0]) {}
  __device__ Index rows() const { return kOfInput ? c.in_channels : c.out_channels; }
  __device__ Index depth() const { return (kOfInput ? c.out_channels : c.in_channels) * c.tap_count(); }
  __device__ Index columns() const { return c.batch * (kOfInput ? c.places() : c.windows()); }
  __device__ long long row(Index row) const { return weights_group + row * weights.strides[kOfInput ? 1 : 0]; }
  __device__ Part column(Index column) const { return part_of_column<kOfInput>(c, x, column); }
  /// Parts of element `k` of the depth: of the right factor's address, and of the left one's.
  __device__ Part along(Index k, long long& left) const {
    const Index tap = k % c.tap_count(), channel = k / c.tap_count();
    Index at[kSpace];
    split(tap, c.taps, at);
    left = channel * weights.strides[kOfInput ? 0 : 1];
    for (int axis = 0; axis < kSpace; ++axis) left += at[axis] * weights.strides[2 + axis];
    Part part = part_of_tap<kOfInput>(c, tap);
    part.offset = x_group + channel * x.strides[1];
    return part;
  }
  __device__ const T* left() const { return weights.first; }
  __device__ bool find(const Part& a, const Part& b, long long& offset) const {
    return find_offset<kOfInput>(c, x, a, b, offset);
  }
  __device__ const T* right() const { return x.first; }
};

/// The same for a gradient of the weights: rows are the result's channels, columns the weights of one, and the depth
/// all windows.
template <class T> struct WeightFactors {
  ConvShape c;
  ConvOperand<T> x, grad;
  long long x_group, grad_group;
  __device__ WeightFactors(const ConvShape& c, const ConvOperand<T>& x, const ConvOperand<T>& grad, Index group)
      : c(c),
        x(x),
        grad(grad),
        x_group(group * c.in_channels * x.strides[1]),
        grad_group(group * c.out_channels * grad.strides[1]) {}
  __device__ Index rows() const { return c.out_channels; }
  __device__ Index depth() const { return c.batch * c.windows(); }
  __device__ Index columns() const { return c.in_channels * c.tap_count(); }
  __device__ long long row(Index row) const { return grad_group + row * grad.strides[1]; }
  __device__ Part column(Index column) const {
    Part part = part_of_tap<false>(c, column % c.tap_count());
    part.offset = x_group + column / c.tap_count() * x.strides[1];
    return part;
  }
  __device__ Part along(Index k, long long& left) const {
    Index at[kSpace];
    split(k % c.windows(), c.out, at);
    left = k / c.windows() * grad.strides[0];
    for (int axis = 0; axis < kSpace; ++axis) left += at[axis] * grad.strides[2 + axis];
    return part_of_column<false>(c, x, k);
  }
  __device__ const T* left() const { return grad.first; }
  __device__ bool find(const Part& a, const Part& b, long long& offset) const {
    return find_offset<false>(c, x, a, b, offset);
  }
  __device__ const T* right() const { return x.first; }
};

/// Computes a tile of a product over [first, last) of the depth: put(row, column, sum) for each element.
template <class T, class Factors, class Put>
__device__ __forceinline__ void multiply_windows(const Factors& factors, Index row_tile, Index column_tile, Index first,
                                                 Index last, Put put) {
  using S = typename ConvSum<T>::Type;
  __shared__ S lefts[kConvDepth][kConvRows + 4], rights[kConvDepth][kConvColumns + 4];
  __shared__ Part parts[2][kConvDepth];
  __shared__ long long offsets[2][kConvDepth];
  constexpr int kLefts = kConvRows * kConvDepth / kConvThreads, kRights = kConvColumns * kConvDepth / kConvThreads;
  constexpr int kDown = 4, kAcross = 8;
  const int thread = threadIdx.x, k_left = thread % kConvDepth, row_left = thread / kConvDepth;
  const int column_right = thread % kConvColumns, k_right = thread / kConvColumns;
  const int down = thread / 16 * kDown, across = thread % 16 * kDown;
  const Index rows = factors.rows(), columns = factors.columns();
  const Index first_row = row_tile * kConvRows, first_column = column_tile * kConvColumns;
  const bool has_column = first_column + column_right < columns;
  const Part column = factors.column(has_column ? first_column + column_right : 0);
  const auto find_parts = [&](Index from) {
    const int which = (from - first) / kConvDepth & 1;
    if (thread < kConvDepth && from + thread < last)
      parts[which][thread] = factors.along(from + thread, offsets[which][thread]);
  };
  S left[kLefts], right[kRights];
  const auto load = [&](Index from) {
    const int which = (from - first) / kConvDepth & 1;
#pragma unroll
    for (int i = 0; i < kLefts; ++i) {
      const Index row = first_row + row_left + i * (kConvThreads / kConvDepth);
      const bool is_inside = row < rows && from + k_left < last;
      left[i] = is_inside ? widened<S>(factors.left()[factors.row(row) + offsets[which][k_left]]) : S(0);
    }
#pragma unroll
    for (int i = 0; i < kRights; ++i) {
      const int k = k_right + i * (kConvThreads / kConvColumns);
      long long at = 0;
      const bool is_inside = has_column && from + k < last && factors.find(column, parts[which][k], at);
      right[i] = is_inside ? widened<S>(factors.right()[at]) : S(0);
    }
  };
  S sums[kDown][kAcross] = {};
  find_parts(first);
  find_parts(first + kConvDepth);
  __syncthreads();
  load(first);
  for (Index from = first; from < last; from += kConvDepth) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLefts; ++i) lefts[k_left][row_left + i * (kConvThreads / kConvDepth)] = left[i];
#pragma unroll
    for (int i = 0; i < kRights; ++i) rights[k_right + i * (kConvThreads / kConvColumns)][column_right] = right[i];
    find_parts(from + 2 * kConvDepth);
    __syncthreads();
    if (from + kConvDepth < last) load(from + kConvDepth);
#pragma unroll
    for (int k = 0; k < kConvDepth; ++k) {
      S a[kDown], b[kAcross];
#pragma unroll
      for (int i = 0; i < kDown; ++i) a[i] = lefts[k][down + i];
#pragma unroll
      for (int j = 0; j < kAcross; ++j) b[j] = rights[k][across + j % kDown + j / kDown * (kConvColumns / 2)];
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) sums[i][j] = add_product(a[i], b[j], sums[i][j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const Index row = first_row + down + i;
      const Index at = first_column + across + j % kDown + j / kDown * (kConvColumns / 2);
      if (row < rows && at < columns) put(row, at, sums[i][j]);
    }
  }
}

/// Tile number `block` of a convolution, or of a gradient of its input.
template <bool kOfInput, class T> __device__ void convolve_tile(const ConvShape& c, const ConvOperand<T>& x,
                                                                const ConvOperand<T>& weights, T* out, unsigned block) {
  const Index channels = kOfInput ? c.in_channels : c.out_channels, each = kOfInput ? c.places() : c.windows();
  const Index down = (channels + kConvRows - 1) / kConvRows,
              across = (c.batch * each + kConvColumns - 1) / kConvColumns;
  const Index group = block / (down * across), row_tile = block / across % down, column_tile = block % across;
  const WindowFactors<kOfInput, T> factors(c, x, weights, group);
  multiply_windows<T>(factors, row_tile, column_tile, 0, factors.depth(), [&](Index row, Index column, auto sum) {
    const Index example = column / each;
    out[(((long long)example * c.groups + group) * channels + row) * each + column % each] = narrowed<T>(sum);
  });
}

/// Tile number `block` of one of the parts of a gradient of weights; parts[part] are gradients, which add up.
template <class T, class To> __device__ void gradient_tile(const ConvShape& c, const ConvOperand<T>& x,
                                                           const ConvOperand<T>& grad, To* parts, Index part_count,
                                                           unsigned block) {
  const Index depth = c.in_channels * c.tap_count();
  const Index down = (c.out_channels + kConvRows - 1) / kConvRows, across = (depth + kConvColumns - 1) / kConvColumns;
  const Index part = block / (down * across * c.groups), group = block / (down * across) % c.groups;
  const WeightFactors<T> factors(c, x, grad, group);
  const Index steps = (factors.depth() + kConvDepth - 1) / kConvDepth;
  const Index first = (long long)steps * part / part_count * kConvDepth;
  const Index last = (long long)steps * (part + 1) / part_count * kConvDepth;
  To* const out = parts + part * (c.groups * c.out_channels) * (long long)depth;
  multiply_windows<T>(factors, block / across % down, block % across, first,
                      last < factors.depth() ? last : factors.depth(), [&](Index row, Index column, auto sum) {
                        out[((long long)group * c.out_channels + row) * depth + column] = narrowed<To>(sum);
                      });
}

/// Adds up element i of the parts of a gradient.
template <class T, class S> __device__ void add_parts(const S* parts, Index part_count, Index count, T* out, Index i) {
  if (i >= count) return;
  S sum = parts[i];
  for (Index part = 1; part < part_count; ++part) sum = sum + parts[part * (long long)count + i];
  out[i] = narrowed<T>(sum);
}

/// Computes element i of a convolution, or of a gradient of its input, alone.
template <bool kOfInput, class T> __device__ void convolve_element(const ConvShape& c, const ConvOperand<T>& x,
                                                                   const ConvOperand<T>& weights, T* out, Index i) {
  using S = typename ConvSum<T>::Type;
  const Index each = kOfInput ? c.places() : c.windows(), channels = kOfInput ? c.in_channels : c.out_channels;
  if (i >= c.batch * c.groups * channels * each) return;
  const Index channel = i / each % (c.groups * channels), example = i / each / (c.groups * channels);
  const WindowFactors<kOfInput, T> factors(c, x, weights, channel / channels);
  const Part column = factors.column(example * each + i % each);
  const long long row = factors.row(channel % channels);
  S sum = 0;
  for (Index k = 0; k < factors.depth(); ++k) {
    long long left = 0;
    const Part part = factors.along(k, left);
    long long at = 0;
    if (factors.find(column, part, at))
      sum = add_product(widened<S>(weights.first[row + left]), widened<S>(x.first[at]), sum);
  }
  out[i] = narrowed<T>(sum);
}

/// Computes weight number `block` of a gradient by the threads of a block, whose sums are added in halves.
template <class T> __device__ void gradient_element(const ConvShape& c, const ConvOperand<T>& x,
                                                    const ConvOperand<T>& grad, T* out, unsigned block) {
  using S = typename ConvSum<T>::Type;
  __shared__ S sums[kConvThreads];
  const Index depth = c.in_channels * c.tap_count(), row = block / depth;
  const WeightFactors<T> factors(c, x, grad, row / c.out_channels);
  const Part column = factors.column(block % depth);
  S sum = 0;
  for (Index k = threadIdx.x; k < factors.depth(); k += kConvThreads) {
    long long left = 0;
    const Part part = factors.along(k, left);
    long long at = 0;
    if (factors.find(part, column, at)) {
      const S g = widened<S>(grad.first[factors.row(row % c.out_channels) + left]);
      sum = add_product(g, widened<S>(x.first[at]), sum);
    }
  }
  sums[threadIdx.x] = sum;
  for (int width = kConvThreads / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + width];
  }
  if (threadIdx.x == 0) out[block] = narrowed<T>(sums[0]);
}

/// Filters of so many taps, with such strides and dilations, whose numbers are known: of few channels in a group.
template <int kTapsZ, int kTapsY, int kTapsX, int kStrideZ, int kStrideY, int kStrideX, int kDilationY, int kDilationX>
struct Filter {
  static constexpr int kTaps = kTapsZ * kTapsY * kTapsX;

  /// Calls use(tap number, whether the element is inside, its offset) for each tap of the window or, for a gradient of
  /// the input, of the element that begins at these places.
  template <bool kOfInput, class T, class Use>
  static TSL_FN void for_taps(const ConvShape& c, const ConvOperand<T>& x, const Index* first, Use use) {
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      const int at[kSpace] = {tap / kTapsX / kTapsY, tap / kTapsX % kTapsY, tap % kTapsX};
      constexpr int kStride[kSpace] = {kStrideZ, kStrideY, kStrideX};
      long long offset = 0;
      bool is_inside = true;
#pragma unroll
      for (int axis = 0; axis < kSpace; ++axis) {
        Index place = kOfInput ? first[axis] - at[axis] * c.dilation[axis] : first[axis] + at[axis] * c.dilation[axis];
        if (kOfInput) {
          is_inside = is_inside && place >= 0 && place % kStride[axis] == 0;
          place /= kStride[axis];
        }
        is_inside = is_inside && place >= 0 && place < (kOfInput ? c.out[axis] : c.in[axis]);
        offset += place * x.strides[2 + axis];
      }
      use(tap, is_inside, offset);
    }
  }

  /// Computes element i of a convolution, or of a gradient of its input.
  template <bool kOfInput, class T> static __device__ void convolve(const ConvShape& c, const ConvOperand<T>& x,
                                                                    const ConvOperand<T>& weights, T* out, Index i) {
    using S = typename ConvSum<T>::Type;
    const Index each = kOfInput ? c.places() : c.windows(), channels = kOfInput ? c.in_channels : c.out_channels;
    if (i >= c.batch * c.groups * channels * each) return;
    const Index plane = i / each, channel = plane % (c.groups * channels), group = channel / channels;
    const Index read = kOfInput ? c.out_channels : c.in_channels;
    const Part column = part_of_column<kOfInput>(c, x, plane / (c.groups * channels) * each + i % each);
    const T* from = x.first + column.offset + group * read * x.strides[1];
    const T* w = weights.first + (kOfInput ? group * read * weights.strides[0] + channel % channels * weights.strides[1]
                                           : channel * weights.strides[0]);
    S sum = 0;
    for (Index k = 0; k < read; ++k) {
      for_taps<kOfInput>(c, x, column.at, [&](int tap, bool is_inside, long long offset) {
        const int at[kSpace] = {tap / kTapsX / kTapsY, tap / kTapsX % kTapsY, tap % kTapsX};
        const S factor =
            widened<S>(w[at[0] * weights.strides[2] + at[1] * weights.strides[3] + at[2] * weights.strides[4]]);
        if (is_inside) sum = add_product(factor, widened<S>(from[offset]), sum);
      });
      from += x.strides[1];
      w += weights.strides[kOfInput ? 0 : 1];
    }
    out[i] = narrowed<T>(sum);
  }

  /// Adds up the sums of a block's threads, and writes them.
  template <class S, class To> static __device__ void add_up(const S* sums, To* out) {
    constexpr int kWarp = tsl::device::kWarp, kWarps = kConvThreads / kWarp;
    __shared__ S shared[kWarps][kTaps];
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      S sum = sums[tap];
      for (int width = kWarp / 2; width > 0; width /= 2) sum = sum + tsl::device::shuffle_down(sum, width);
      if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp][tap] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= kTaps) return;
    S sum = shared[0][threadIdx.x];
    for (int warp = 1; warp < kWarps; ++warp) sum = sum + shared[warp][threadIdx.x];
    out[threadIdx.x] = narrowed<To>(sum);
  }

  /// Computes the gradient of the weights of one channel for one other, over a part of the windows, by a block.
  template <class T, class To> static __device__ void gradient(const ConvShape& c, const ConvOperand<T>& x,
                                                               const ConvOperand<T>& grad, To* parts, Index part_count,
                                                               unsigned block) {
    using S = typename ConvSum<T>::Type;
    const Index pairs = c.groups * c.out_channels * c.in_channels, pair = block % pairs, part = block / pairs;
    const Index output = pair / c.in_channels, windows = c.windows(), all = c.batch * windows;
    const T* from = x.first + (output / c.out_channels * c.in_channels + pair % c.in_channels) * x.strides[1];
    const T* of_output = grad.first + output * grad.strides[1];
    const Index first = (long long)all * part / part_count, last = (long long)all * (part + 1) / part_count;
    S sums[kTaps] = {};
    for (Index k = first + threadIdx.x; k < last; k += kConvThreads) {
      Index at[kSpace];
      split(k % windows, c.out, at);
      const Index example = k / windows;
      const S g = widened<S>(of_output[example * grad.strides[0] + at[0] * grad.strides[2] + at[1] * grad.strides[3] +
                                       at[2] * grad.strides[4]]);
      const T* const channel = from + example * x.strides[0];
#pragma unroll
      for (int axis = 0; axis < kSpace; ++axis) at[axis] = at[axis] * c.stride[axis] - c.low[axis];
      for_taps<false>(c, x, at, [&](int tap, bool is_inside, long long offset) {
        if (is_inside) sums[tap] = add_product(g, widened<S>(channel[offset]), sums[tap]);
      });
    }
    add_up(sums, parts + (part * (long long)pairs + pair) * kTaps);
  }

  // ---- Planes: each element that a thread reads is used for several rows of the result ----

  static constexpr int kRows = 4;

  /// Calls use(row of the result, tap of y, elements for the taps of x) for each row and tap of y, the taps in order.
  /// `y` and `x`: where the first row's window begins or, for a gradient of the input of stride 1, its element ends.
  template <bool kOfInput, class S, class T, class Use>
  static TSL_FN void for_rows(const ConvShape& c, const T* plane, Index row_stride, Index column_stride, Index y,
                              Index x, Use use) {
    constexpr int kStep = kOfInput ? 1 : kStrideY;
    const Index rows = kOfInput ? c.out[1] : c.in[1], columns = kOfInput ? c.out[2] : c.in[2];
    const auto column_of = [&](int tap) { return kOfInput ? x - tap * kDilationX : x + tap * kDilationX; };
#pragma unroll
    for (int i = 0; i <= (kRows - 1) * kStep + (kTapsY - 1) * kDilationY; ++i) {
      const Index row = kOfInput ? y + (kRows - 1) - i : y + i;
      const bool is_inside = row >= 0 && row < rows;
      S elements[kTapsX];
#pragma unroll
      for (int tap = 0; tap < kTapsX; ++tap) {
        const Index column = column_of(tap);
        const bool has_column = column >= 0 && column < columns;
        elements[tap] = is_inside && has_column ? widened<S>(plane[row * row_stride + column * column_stride]) : S(0);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int ahead = kOfInput ? r - (kRows - 1) + i : i - r * kStep;
        if (ahead >= 0 && ahead % kDilationY == 0 && ahead / kDilationY < kTapsY) use(r, ahead / kDilationY, elements);
      }
    }
  }

  /// Computes some rows of column i of a plane's result.
  template <bool kOfInput, class T> static __device__ void convolve_rows(const ConvShape& c, const ConvOperand<T>& x,
                                                                         const ConvOperand<T>& weights, T* out,
                                                                         Index i) {
    using S = typename ConvSum<T>::Type;
    const Index height = kOfInput ? c.in[1] : c.out[1], width = kOfInput ? c.in[2] : c.out[2];
    const Index channels = kOfInput ? c.in_channels : c.out_channels, read = kOfInput ? c.out_channels : c.in_channels;
    const Index bands = (height + kRows - 1) / kRows, plane = i / (bands * width);
    if (plane >= c.batch * c.groups * channels) return;
    const Index column = i % width, first = i / width % bands * kRows;
    const Index channel = plane % (c.groups * channels), group = channel / channels;
    const T* from = x.first + plane / (c.groups * channels) * x.strides[0] + group * read * x.strides[1];
    const T* w = weights.first + (kOfInput ? group * read * weights.strides[0] + channel % channels * weights.strides[1]
                                           : channel * weights.strides[0]);
    S sums[kRows] = {};
    for (Index k = 0; k < read; ++k) {
      S factors[kTaps];
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap)
        factors[tap] = widened<S>(w[tap / kTapsX * weights.strides[3] + tap % kTapsX * weights.strides[4]]);
      for_rows<kOfInput, S>(
          c, from, (Index)x.strides[3], (Index)x.strides[4], kOfInput ? first + c.low[1] : first * kStrideY - c.low[1],
          kOfInput ? column + c.low[2] : column * kStrideX - c.low[2], [&](int r, int tap_y, const S* elements) {
#pragma unroll
            for (int tap = 0; tap < kTapsX; ++tap)
              sums[r] = add_product(factors[tap_y * kTapsX + tap], elements[tap], sums[r]);
          });
      from += x.strides[1];
      w += weights.strides[kOfInput ? 0 : 1];
    }
    T* const to = out + ((long long)plane * height + first) * width + column;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first + r < height) to[r * (long long)width] = narrowed<T>(sums[r]);
    }
  }

  /// As gradient(), by several rows of windows at a time.
  template <class T, class To> static __device__ void gradient_rows(const ConvShape& c, const ConvOperand<T>& x,
                                                                    const ConvOperand<T>& grad, To* parts,
                                                                    Index part_count, unsigned block) {
    using S = typename ConvSum<T>::Type;
    const Index pairs = c.groups * c.out_channels * c.in_channels, pair = block % pairs, part = block / pairs;
    const Index output = pair / c.in_channels, height = c.out[1], width = c.out[2];
    const Index bands = (height + kRows - 1) / kRows, all = c.batch * bands * width;
    const T* from = x.first + (output / c.out_channels * c.in_channels + pair % c.in_channels) * x.strides[1];
    const T* of_output = grad.first + output * grad.strides[1];
    const Index begin = (long long)all * part / part_count, end = (long long)all * (part + 1) / part_count;
    S sums[kTaps] = {};
    for (Index k = begin + threadIdx.x; k < end; k += kConvThreads) {
      const Index column = k % width, first = k / width % bands * kRows, example = k / width / bands;
      const T* const grads = of_output + example * grad.strides[0] + first * grad.strides[3] + column * grad.strides[4];
      S g[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) g[r] = first + r < height ? widened<S>(grads[r * grad.strides[3]]) : S(0);
      for_rows<false, S>(c, from + example * x.strides[0], (Index)x.strides[3], (Index)x.strides[4],
                         first * kStrideY - c.low[1], column * kStrideX - c.low[2],
                         [&](int r, int tap_y, const S* elements) {
                           if (first + r >= height) return;
#pragma unroll
                           for (int tap = 0; tap < kTapsX; ++tap)
                             sums[tap_y * kTapsX + tap] = add_product(g[r], elements[tap], sums[tap_y * kTapsX + tap]);
                         });
    }
    add_up(sums, parts + (part * (long long)pairs + pair) * kTaps);
  }
};
