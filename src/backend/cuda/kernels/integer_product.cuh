// Products of integer matrices, which wrap around: a block makes a tile of 64 x 64 elements, a thread 4 x 4 of them.

constexpr int kProductTile = 64, kProductDepth = 16, kProductThreads = 256, kProductEach = 4;

/// An operand: elements from `first` on, so far apart down and across.
template <class T> struct ProductOperand {
  const T* first;
  long long down, across;
  __device__ __forceinline__ const T& at(long long row, long long column) const {
    return first[row * down + column * across];
  }
};

template <class T> __device__ __forceinline__ void multiply_tiles(ProductOperand<T> a, ProductOperand<T> b, T* out,
                                                                  Index m, Index n, Index k, Index row_tile,
                                                                  Index column_tile) {
  using U = Unsigned<T>;
  __shared__ U tile_a[kProductDepth][kProductTile + 1], tile_b[kProductDepth][kProductTile + 1];
  const int down = threadIdx.x / 16, across = threadIdx.x % 16;
  const Index first_row = row_tile * kProductTile, first_column = column_tile * kProductTile;
  U sums[kProductEach][kProductEach] = {};
  for (Index depth = 0; depth < k; depth += kProductDepth) {
#pragma unroll
    for (int i = 0; i < kProductEach; ++i) {
      // Along the rows of a, and of b.
      const int e = threadIdx.x + i * kProductThreads;
      const int row = e / kProductDepth, l = e % kProductDepth, column = e % kProductTile, h = e / kProductTile;
      const bool in_a = first_row + row < m && depth + l < k, in_b = first_column + column < n && depth + h < k;
      tile_a[l][row] = in_a ? static_cast<U>(a.at(first_row + row, depth + l)) : U(0);
      tile_b[h][column] = in_b ? static_cast<U>(b.at(depth + h, first_column + column)) : U(0);
    }
    __syncthreads();
#pragma unroll 4
    for (int l = 0; l < kProductDepth; ++l) {
      U left[kProductEach], right[kProductEach];
#pragma unroll
      for (int i = 0; i < kProductEach; ++i) {
        left[i] = tile_a[l][down + 16 * i];
        right[i] = tile_b[l][across + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < kProductEach; ++i) {
#pragma unroll
        for (int j = 0; j < kProductEach; ++j) sums[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kProductEach; ++i) {
#pragma unroll
    for (int j = 0; j < kProductEach; ++j) {
      const Index row = first_row + down + 16 * i, column = first_column + across + 16 * j;
      if (row < m && column < n) out[(long long)row * n + column] = static_cast<T>(sums[i][j]);
    }
  }
}
