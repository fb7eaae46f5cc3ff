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

/// Returns the offset of the sum of two parts; -1 if it lies outside. A gradient of the input reads windows, where the
/// stride divides the place.
template <bool kOfInput, class T>
TSL_FN long long offset_read(const ConvShape& c, const ConvOperand<T>& x, const Part& a, const Part& b) {
  long long offset = a.offset + b.offset;
#pragma unroll
  for (int axis = 0; axis < kSpace; ++axis) {
    Index at = a.at[axis] + b.at[axis];
    if (kOfInput) {
      if (at < 0 || at % c.stride[axis] != 0) return -1;
      at /= c.stride[axis];
    }
    if (at < 0 || at >= (kOfInput ? c.out[axis] : c.in[axis])) return -1;
    offset += at * x.strides[2 + axis];
  }
  return offset;
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
  __device__ long long place(const Part& a, const Part& b) const { return offset_read<kOfInput>(c, x, a, b); }
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
  __device__ long long place(const Part& a, const Part& b) const { return offset_read<false>(c, x, a, b); }
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
      const long long at = has_column && from + k < last ? factors.place(column, parts[which][k]) : -1;
      right[i] = at >= 0 ? widened<S>(factors.right()[at]) : S(0);
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
    const long long at = factors.place(column, part);
    if (at >= 0) sum = add_product(widened<S>(weights.first[row + left]), widened<S>(x.first[at]), sum);
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
    const long long at = factors.place(part, column);
    if (at >= 0) {
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
