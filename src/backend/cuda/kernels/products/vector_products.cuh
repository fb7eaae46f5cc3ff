// Products of a matrix, which is read once, and a vector or a few: sums are f32, in an order that depends on the
// extents alone.

namespace tsl::cuda::vector_product {

/// Elements that are read at once.
template <class T> using Wide = ::tsl::device::Pack<16 / sizeof(T), T>;

template <class T> __device__ __forceinline__ Wide<T> read(const T* from, bool is_wide, long long step) {
  constexpr int kWidth = 16 / sizeof(T);
  if (is_wide) return ::tsl::device::load<kWidth>(from);
  Wide<T> x;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) x[i] = from[i * step];
  return x;
}

/// Summands lie side by side in the matrix: LANES threads compute a result.
template <class T, int LANES> struct AlongRows {
  static constexpr int kThreads = 256, kWidth = 16 / sizeof(T), kResults = kThreads / LANES, kShared = kThreads / 32;

  static __device__ __forceinline__ void run(const Arguments& p, float* shared) {
    const int blocks = (p.count + kResults - 1) / kResults, batch = blockIdx.x / blocks;
    const int lane = threadIdx.x % LANES, result = (int)(blockIdx.x % blocks) * kResults + threadIdx.x / LANES;
    const T* const vector = static_cast<const T*>(p.vector) + batch * p.vector_batch;
    const T* const row =
        static_cast<const T*>(p.matrix) + batch * p.matrix_batch + min(result, p.count - 1) * p.matrix_step;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = lane * kWidth; k < p.depth; k += LANES * kWidth) {
      const Wide<T> x = read(row + k, p.is_matrix_wide, 1);
      const Wide<T> y = read(vector + k * p.vector_step, p.is_vector_wide, p.vector_step);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum = __fmaf_rn(s_cast<float>(x[i]), s_cast<float>(y[i]), sum);
    }
#pragma unroll
    for (int by = 1; by < (LANES < 32 ? LANES : 32); by *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    if constexpr (LANES > 32) {
      const int first = threadIdx.x / LANES * (LANES / 32);  // warp of this result
      if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
      __syncthreads();
      sum = shared[first];
#pragma unroll
      for (int w = 1; w < LANES / 32; ++w) sum += shared[first + w];
    }
    if (lane == 0 && result < p.count) static_cast<T*>(p.out)[(long long)batch * p.count + result] = s_cast<T>(sum);
  }
};

/// Results lie side by side in the matrix: a thread reads 16 bytes of a row, for as many results. LANES threads read
/// beside each other; the other threads of a block, and the BLOCKS of a cluster, read other rows.
template <class T, int LANES, int BLOCKS> struct AlongColumns {
  static constexpr int kThreads = 256, kWarps = kThreads / 32, kWidth = 16 / sizeof(T), kResults = LANES * kWidth;
  static constexpr int kDeep = kThreads / LANES, kLoads = 4, kRows = kDeep * kLoads;  // rows that a block reads at once
  static constexpr int kShared = kRows + (kWarps + BLOCKS) * kResults;

  static __device__ __forceinline__ void run(const Arguments& p, float* shared) {
    const int tiles = (p.count + kResults - 1) / kResults, block = blockIdx.x % BLOCKS;
    const int tile = (int)(blockIdx.x / BLOCKS % tiles), batch = blockIdx.x / BLOCKS / tiles;
    float *const of_warps = shared + kRows, *const of_blocks = of_warps + kWarps * kResults;
    if constexpr (BLOCKS > 1) arrive_at_cluster();
    float sums[kWidth] = {};
    add_rows(p, shared, sums, batch, tile * kResults, block);
    add_lanes(sums, of_warps + threadIdx.x / 32 * kResults + threadIdx.x % LANES * kWidth);
    __syncthreads();
    const int i = threadIdx.x;
    float sum = i < kResults ? of_warps[i] : 0.0f;
#pragma unroll
    for (int w = 1; w < kWarps; ++w) sum += i < kResults ? of_warps[w * kResults + i] : 0.0f;
    if constexpr (BLOCKS > 1) {
      await_cluster();  // whose first block must have begun
      if (i < kResults) in_cluster(of_blocks, 0)[block * kResults + i] = sum;
      meet_cluster();
      sum = i < kResults ? of_blocks[i] : 0.0f;
#pragma unroll
      for (int b = 1; b < BLOCKS; ++b) sum += i < kResults ? of_blocks[b * kResults + i] : 0.0f;
    }
    const int column = tile * kResults + i;
    if (block == 0 && i < kResults && column < p.count)
      static_cast<T*>(p.out)[(long long)batch * p.count + column] = s_cast<T>(sum);
  }

 private:
  static __device__ __forceinline__ void arrive_at_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
  }
  static __device__ __forceinline__ void await_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }

  /// Adds what this block's rows of the matrix give.
  static __device__ __forceinline__ void add_rows(const Arguments& p, float* numbers, float (&sums)[kWidth], int batch,
                                                  int first_column, int block) {
    const int deep = threadIdx.x / LANES, share = (p.depth + BLOCKS - 1) / BLOCKS;
    const int first = block * share, end = min(p.depth, first + share);
    const int column = min(first_column + (int)(threadIdx.x % LANES) * kWidth, p.count - kWidth);
    const T* const matrix = static_cast<const T*>(p.matrix) + batch * p.matrix_batch + column;
    const T* const vector = static_cast<const T*>(p.vector) + batch * p.vector_batch;
    for (int at = first; at < end; at += kRows) {
      Wide<T> x[kLoads] = {};
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int k = at + deep + i * kDeep;
        if (k < end) x[i] = read(matrix + k * p.matrix_step, p.is_matrix_wide, 1);
      }
      if (at != first) __syncthreads();
      for (int i = threadIdx.x; i < kRows; i += kThreads)
        numbers[i] = at + i < end ? s_cast<float>(vector[(at + i) * p.vector_step]) : 0.0f;
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
#pragma unroll
        for (int j = 0; j < kWidth; ++j)
          if (at + deep + i * kDeep < end)
            sums[j] = __fmaf_rn(s_cast<float>(x[i][j]), numbers[deep + i * kDeep], sums[j]);
    }
  }

  /// Adds the sums of a warp's threads for the same columns: each hands half of what it has to another.
  static __device__ __forceinline__ void add_lanes(float (&sums)[kWidth], float* to) {
    int first = 0, kept = kWidth;
#pragma unroll
    for (int by = 16; by >= LANES; by /= 2) {
      const bool is_upper = threadIdx.x & by;
      if (kept == 1) {
        sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], by);
        continue;
      }
      kept /= 2;
#pragma unroll
      for (int i = 0; i < kWidth / 2; ++i) {
        if (i >= kept) break;
        const float low = sums[i], high = sums[i + kept];
        sums[i] = (is_upper ? high : low) + __shfl_xor_sync(0xffffffffu, is_upper ? low : high, by);
      }
      first += is_upper ? kept : 0;
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (i < kept) to[first + i] = sums[i];
    }
  }
};

}  // namespace tsl::cuda::vector_product
