// Sums over GPUs of one host in the order of ranks. Each block stages a chunk of its rank's elements in its own memory,
// tells the other ranks' blocks of its number, and reads what they have staged: all of it, or, of large tensors of
// several ranks, a part, whose sums the others then read.

namespace tsl::cuda::peers {

/// 16 bytes of elements.
template <class T> using Wide = ::tsl::device::Pack<16 / sizeof(T), T>;

template <class T> __device__ __forceinline__ Wide<T> wide_of(uint4 bits) { return bit_cast_to<Wide<T>>(bits); }

/// Adds elements of T up as Acc.
template <class T, class Acc> class Sum {
  static constexpr int kWidth = 16 / sizeof(T);

 public:
  __device__ __forceinline__ Sum(const SumArguments& a)
      : a_(a),
        from_(static_cast<const T*>(a.from)),
        to_(static_cast<T*>(a.to)),
        is_wide_(((unsigned long long)a.from | (unsigned long long)a.to) % 16 == 0) {}

  __device__ __forceinline__ void run() {
    unsigned* const counter = a_.rounds + blockIdx.x;
    told_ = *counter;
    const int parts = a_.is_shared ? kSumPacks / a_.size * a_.size : kSumPacks;  // packs of a chunk
    const unsigned long long step = (unsigned long long)parts * kWidth;
    for (unsigned long long first = blockIdx.x * step; first < a_.count; first += gridDim.x * step) {
      const bool goes_on = a_.is_shared ? add_part(first, parts) : a_.size == 2 ? add_pair(first) : add_all(first);
      if (!goes_on) return;
      told_ += 2;
    }
    __syncthreads();
    if (threadIdx.x == 0) *counter = told_;
  }

 private:
  /// Returns where this block of a rank stages its chunk, or the sums of its part, behind it.
  __device__ __forceinline__ uint4* staged(int rank, int which = 0) const {
    const unsigned slot = (blockIdx.x * 2 + told_ / 2 % 2) * 2 + which;
    return reinterpret_cast<uint4*>(a_.areas[rank]) + (unsigned long long)slot * kSumPacks;
  }

  __device__ __forceinline__ uint4 read(unsigned long long at) const {
    if (is_wide_ && at + kWidth <= a_.count) return __ldcs(reinterpret_cast<const uint4*>(from_ + at));
    Wide<T> pack;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) pack[i] = at + i < a_.count ? from_[at + i] : T();
    return bit_cast_to<uint4>(pack);
  }

  __device__ __forceinline__ void write(unsigned long long at, uint4 bits) const {
    if (is_wide_ && at + kWidth <= a_.count) {
      *reinterpret_cast<uint4*>(to_ + at) = bits;
      return;
    }
    const Wide<T> pack = wide_of<T>(bits);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (at + i < a_.count) to_[at + i] = pack[i];
    }
  }

  /// Tells all other ranks' blocks of this number that memory can be read, and waits until they have told it.
  __device__ __forceinline__ bool meet(unsigned number) const {
    __syncthreads();
    bool is_there = true;
    const int other = threadIdx.x;
    if (other < a_.size && other != a_.rank) {
      write_flag(a_.flags_there[other] + blockIdx.x, number);
      is_there = await_number(a_.flags_here[other] + blockIdx.x, number, a_.cut);
    }
    return __syncthreads_and(is_there);
  }

  static __device__ __forceinline__ uint4 sum_of(uint4 x, uint4 y) {
    const Wide<T> a = wide_of<T>(x), b = wide_of<T>(y);
    Wide<T> sum;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = s_cast<T>(s_add(s_cast<Acc>(a[i]), s_cast<Acc>(b[i])));
    return bit_cast_to<uint4>(sum);
  }

  /// Returns the sum of what all ranks have staged at a pack.
  __device__ __forceinline__ uint4 sum_at(int pack) const {
    Acc sums[kWidth];
    for (int rank = 0; rank < a_.size; ++rank) {
      const Wide<T> x = wide_of<T>(__ldcg(staged(rank) + pack));
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const Acc value = s_cast<Acc>(x[i]);
        sums[i] = rank == 0 ? value : s_add(sums[i], value);
      }
    }
    Wide<T> sum;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = s_cast<T>(sums[i]);
    return bit_cast_to<uint4>(sum);
  }

  /// Of two ranks: what is its own stays in registers, and all of the other's is read at once.
  __device__ __forceinline__ bool add_pair(unsigned long long first) const {
    constexpr int kAtOnce = kSumPacks / kThreads;
    uint4 own[kAtOnce], others[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int pack = k * kThreads + threadIdx.x;
      const unsigned long long at = first + (unsigned long long)pack * kWidth;
      own[k] = at < a_.count ? read(at) : uint4{};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) staged(a_.rank)[k * kThreads + threadIdx.x] = own[k];
    if (!meet(told_ + 2)) return false;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int pack = k * kThreads + threadIdx.x;
      others[k] = first + (unsigned long long)pack * kWidth < a_.count ? __ldcg(staged(1 - a_.rank) + pack) : uint4{};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const unsigned long long at = first + (unsigned long long)(k * kThreads + threadIdx.x) * kWidth;
      const uint4 sum = a_.rank == 0 ? sum_of(own[k], others[k]) : sum_of(others[k], own[k]);
      if (at < a_.count) write(at, sum);
    }
    return true;
  }

  __device__ __forceinline__ void stage(unsigned long long first, int packs) const {
    for (int pack = threadIdx.x; pack < packs; pack += kThreads) {
      const unsigned long long at = first + (unsigned long long)pack * kWidth;
      if (at < a_.count) staged(a_.rank)[pack] = read(at);
    }
  }

  /// Of several ranks and few elements: each adds all up.
  __device__ __forceinline__ bool add_all(unsigned long long first) const {
    stage(first, kSumPacks);
    if (!meet(told_ + 2)) return false;
    for (int pack = threadIdx.x; pack < kSumPacks; pack += kThreads) {
      const unsigned long long at = first + (unsigned long long)pack * kWidth;
      if (at < a_.count) write(at, sum_at(pack));
    }
    return true;
  }

  /// Of several ranks and many elements: each adds a part of the chunk up, and reads the others' sums.
  __device__ __forceinline__ bool add_part(unsigned long long first, int packs) const {
    const int part = packs / a_.size;
    stage(first, packs);
    if (!meet(told_ + 1)) return false;
    for (int i = threadIdx.x; i < part; i += kThreads) {
      const int pack = a_.rank * part + i;
      const unsigned long long at = first + (unsigned long long)pack * kWidth;
      if (at >= a_.count) continue;
      const uint4 sum = sum_at(pack);
      staged(a_.rank, 1)[i] = sum;
      write(at, sum);
    }
    if (!meet(told_ + 2)) return false;
    for (int i = threadIdx.x; i < packs - part; i += kThreads) {
      const int rank = i / part + (i / part >= a_.rank ? 1 : 0), pack = rank * part + i % part;
      const unsigned long long at = first + (unsigned long long)pack * kWidth;
      if (at < a_.count) write(at, __ldcg(staged(rank, 1) + i % part));
    }
    return true;
  }

  const SumArguments& a_;
  const T* const from_;
  T* const to_;
  const bool is_wide_;
  unsigned told_ = 0;  // the last number that this block has told; a chunk takes two
};

}  // namespace tsl::cuda::peers
