// Sums of counts, which sorting and nonzero share.

constexpr int kSumThreads = 256;

/// Rows of counts, one a block, in place: what comes before each. The total of each goes to totals[row].
template <class T> __device__ __forceinline__ void sum_before(Index length, T* counts, T* totals) {
  __shared__ T warps[kSumThreads / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  T* row = counts + (long long)blockIdx.x * length;
  T sofar = 0;
  for (Index at = 0; at < length; at += kSumThreads) {
    const Index i = at + threadIdx.x;
    const T own = i < length ? row[i] : T(0);
    T upto = own;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const T other = tsl::device::shuffle_up(upto, by);
      if (lane >= by) upto += other;
    }
    if (lane == 31) warps[warp] = upto;
    __syncthreads();
    T before = sofar;
#pragma unroll
    for (int w = 0; w < kSumThreads / 32; ++w) {
      if (w < warp) before += warps[w];
      sofar += warps[w];
    }
    if (i < length) row[i] = before + upto - own;
    __syncthreads();
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = sofar;
}

/// The same for many short rows, a thread each.
template <class T> __device__ __forceinline__ void sum_few_before(long long rows, Index length, T* counts, T* totals) {
  const long long own = (long long)blockIdx.x * kSumThreads + threadIdx.x;
  if (own >= rows) return;
  T* row = counts + own * length;
  T sum = 0;
  for (Index i = 0; i < length; ++i) {
    const T count = row[i];
    row[i] = sum;
    sum += count;
  }
  totals[own] = sum;
}
