// Products of a matrix, which is read once, and a vector: sums are f32, in an order that depends on the extents alone.

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

}  // namespace tsl::cuda::vector_product
