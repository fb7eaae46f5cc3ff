// What generated kernels are made of. Follows the scalar bodies (tensor/bodies/*.h) in the text given to
// NVRTC; needs no header.

// ---- Errors ----------------------------------------------------------------------------------------------------

struct Failure {
  unsigned order, node;
  long long element, value;
};
/// The failure that the program would have met first, by op, then by element; and its copy in the host's memory.
struct ErrorCell {
  Failure first;
  Failure* mirror;
  unsigned lock, padding;
};

/// Whether the program would have met the failure before `first`, of which the order is written last, and read first.
__device__ __forceinline__ bool is_before(unsigned order, long long element, const volatile Failure* first) {
  const unsigned known = first->order;
  __threadfence();
  return order < known || (order == known && element < first->element);
}

/// Failures are rare, but many threads may see them at once. Those that do not come first so far leave, the others
/// queue for a lock.
__device__ __noinline__ void report(ErrorCell* cell, unsigned order, unsigned node, long long element,
                                    long long value) {
  volatile Failure* const first = &cell->first;
  for (bool done = !is_before(order, element, first); !done;) {
    if (atomicCAS(&cell->lock, 0u, 1u) != 0) continue;
    if (is_before(order, element, first)) {
      volatile Failure* const places[] = {first, cell->mirror};
      for (volatile Failure* to : places) {
        to->node = node;
        to->element = element;
        to->value = value;
        __threadfence();
        to->order = order;
      }
    }
    __threadfence_system();
    atomicExch(&cell->lock, 0u);
    done = true;
  }
}

/// Returns whether an earlier kernel has reported a failure. No kernel that reports runs beside one that asks, so all
/// threads get the same answer.
__device__ __forceinline__ bool has_failed(const ErrorCell* cell) { return cell->first.order != ~0u; }

/// Whether this block of threads is the last of `count` to come here: it sees what all of them wrote. All its threads
/// must come. The counter is 0 before the first, and again after the last.
__device__ __forceinline__ bool is_last_block(unsigned* counter, unsigned count) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    unsigned before;
    asm volatile("atom.release.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(count - 1) : "memory");
    is_last = before == count - 1;
    if (is_last) __threadfence();
  }
  __syncthreads();
  return is_last;
}

// A cluster: neighbouring blocks of threads that run at the same time and reach each other's shared memory. There are
// none before sm_90, and no kernel asks for them there.

/// Waits for all threads of the cluster, and sees what they wrote.
__device__ __forceinline__ void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
/// A place in shared memory, of block number `block` of the cluster.
template <class T> __device__ __forceinline__ T* in_cluster(T* place, int block) {
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %0, %1;" : "+l"(place) : "r"(block));
#endif
  return place;
}

/// n / divisor for 0 <= n < 2^31; reciprocal_of() in codegen/writer.h makes the reciprocal. A division takes ten times
/// as many instructions.
__device__ __forceinline__ int divide(int n, unsigned long long reciprocal) {
  return static_cast<int>(__umulhi(static_cast<unsigned>(n), static_cast<unsigned>(reciprocal)) >>
                          static_cast<unsigned>(reciprocal >> 32));
}

/// 0, as any element.
template <class T> __device__ __forceinline__ T nothing() { return T{}; }

/// Asks for bytes that will be read soon, but for those before the first and after the last multiple of 16; before the
/// loads that follow.
__device__ __forceinline__ void prefetch(const void* from, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  const unsigned long long at = __cvta_generic_to_global(from);
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at / 16 * 16), "r"(bytes / 16 * 16) : "memory");
#endif
}

/// a * b + c without rounding the product (fast numerics).
template <class T> __device__ __forceinline__ T mul_add(T a, T b, T c) {
  if constexpr (kIsShort<T>) return narrow<T>(fused(widen(a), widen(b), widen(c)));
  else return fused(a, b, c);
}

// ---- Vectorized accesses ---------------------------------------------------------------------------------------

/// Loads an element that is within a part of a tensor; elsewhere nothing is read, and the value is not used.
template <class T> __device__ __forceinline__ T load_guarded(const T* from, long long index, bool is_within) {
  T value{};
  if (is_within) value = from[index];
  return value;
}
template <class T, int N> __device__ __forceinline__ void load_pack(T (&to)[N], const tsl::device::Pack<N, T>& from) {
  const tsl::device::Pack<N, T> pack = from;
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = pack[i];
}
/// `from` is a multiple of the array's size.
template <class T, int N> __device__ __forceinline__ void load_vector(T (&to)[N], const T* from) {
  load_pack(to, tsl::device::load<N>(from));
}
template <class T, int N> __device__ __forceinline__ void store_vector(T* to, const T (&from)[N]) {
  tsl::device::Pack<N, T> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack[i] = from[i];
  tsl::device::store<N>(to, pack);
}

template <int N, class T> __device__ __forceinline__ void store_repeated(T* to, T value) {
  tsl::device::Pack<N, T> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack[i] = value;
  tsl::device::store<N>(to, pack);
}

/// Keeps 16-bit elements, two to a register.
template <class T, int N> __device__ __forceinline__ void pack(unsigned* to, const T (&from)[N]) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i)
    to[i] = bit_cast_to<unsigned>(tsl::device::Pack<2, T>{{from[2 * i], from[2 * i + 1]}});
}
/// Gives them again. The compiler must not see that they are those: it would keep them in a register each.
template <class T, int N> __device__ __forceinline__ void unpack(T (&to)[N], const unsigned* from) {
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    unsigned word;
    asm volatile("mov.b32 %0, %1;" : "=r"(word) : "r"(from[i]));
    const auto pair = bit_cast_to<tsl::device::Pack<2, T>>(word);
    to[2 * i] = pair[0];
    to[2 * i + 1] = pair[1];
  }
}

// ---- Elements from nothing -------------------------------------------------------------------------------------

template <class T, class Number> __device__ __forceinline__ T iota(Number start, Number step, long long i) {
  if constexpr (kIsInteger<Number>) {
    return static_cast<T>(static_cast<DoubleWord>(start) + static_cast<DoubleWord>(i) * static_cast<DoubleWord>(step));
  } else {
    return s_cast<T>(start + static_cast<double>(i) * step);
  }
}

template <class T> __device__ __forceinline__ T random_bits(long long key, long long counter, long long i) {
  const DoubleWord at = static_cast<DoubleWord>(i);
  return static_cast<T>(philox(static_cast<DoubleWord>(counter) + at / 4, static_cast<DoubleWord>(key)).words[at % 4]);
}
template <class T> __device__ __forceinline__ T random_uniform(long long key, long long counter, long long i) {
  const DoubleWord at = static_cast<DoubleWord>(i);
  if constexpr (sizeof(T) == sizeof(double)) {
    const PhiloxBlock b = philox(static_cast<DoubleWord>(counter) + at / 2, static_cast<DoubleWord>(key));
    return at % 2 ? uniform_double(b.words[2], b.words[3]) : uniform_double(b.words[0], b.words[1]);
  } else {
    const Word word = philox(static_cast<DoubleWord>(counter) + at / 4, static_cast<DoubleWord>(key)).words[at % 4];
    if constexpr (!kIsShort<T>) return uniform_float(word);
    else if constexpr (T::kExponent == Half::kExponent) return narrow<T>(uniform_half(word));
    else return narrow<T>(uniform_bfloat16(word));
  }
}
template <class T> __device__ __forceinline__ T random_normal(long long key, long long counter, long long i) {
  const DoubleWord at = static_cast<DoubleWord>(i);
  if constexpr (sizeof(T) == sizeof(double)) {
    const NormalPairDouble pair =
        normal_double(philox(static_cast<DoubleWord>(counter) + at / 2, static_cast<DoubleWord>(key)));
    return at % 2 ? pair.second : pair.first;
  } else {
    const PhiloxBlock b = philox(static_cast<DoubleWord>(counter) + at / 4, static_cast<DoubleWord>(key));
    const NormalPair pair = at & 2 ? normal_float(b.words[2], b.words[3]) : normal_float(b.words[0], b.words[1]);
    return s_cast<T>(at & 1 ? pair.second : pair.first);
  }
}

// ---- Reductions ------------------------------------------------------------------------------------------------
//
// The order is that of the CPU (backend/cpu/kernels.h), so that the devices agree bit for bit: of at most 4096
// elements, lane l takes elements l, l + 128, …, and the 128 lanes fold in halves; of more, the same order applies to
// the results of blocks of 4096. Each reduction's neutral element on the right changes no value, so it stands for lanes
// that take no part.

constexpr int kReduceLanes = 128, kReduceBlock = 4096, kWarpThreads = 32;

template <class A, class T> __device__ __forceinline__ A widen_to(T x) {
  if constexpr (kIsShort<T> && !kIsShort<A>) return static_cast<A>(widen(x));
  else return static_cast<A>(x);
}

template <class A> __device__ __forceinline__ A greater_of(A a, A b) { return s_maximum(a, b); }
template <class A> __device__ __forceinline__ A lesser_of(A a, A b) { return s_minimum(a, b); }
#if defined(TSL_NATIVE)
__device__ __forceinline__ float greater_of(float a, float b) {
  return native_max(a, b);
}  // one instruction instead of four
__device__ __forceinline__ float lesser_of(float a, float b) { return native_min(a, b); }
#endif

struct Sum {
  template <class A> static __device__ __forceinline__ A neutral() {
    if constexpr (kIsFloat<A>) return A(-0.0);
    else return A(0);
  }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return s_add(a, b); }
};
struct Prod {
  template <class A> static __device__ __forceinline__ A neutral() { return A(1); }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return s_mul(a, b); }
};
struct Max {
  template <class A> static __device__ __forceinline__ A neutral() {
    if constexpr (kIsFloat<A>) return -infinity<A>();
    else if constexpr (kIsBool<A>) return false;
    else return IntegerLimits<A>::kMin;
  }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return greater_of(a, b); }
};
struct Min {
  template <class A> static __device__ __forceinline__ A neutral() {
    if constexpr (kIsFloat<A>) return infinity<A>();
    else if constexpr (kIsBool<A>) return true;
    else return IntegerLimits<A>::kMax;
  }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return lesser_of(a, b); }
};
struct Any {
  template <class A> static __device__ __forceinline__ A neutral() { return false; }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return a | b; }
};
struct All {
  template <class A> static __device__ __forceinline__ A neutral() { return true; }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return a & b; }
};

/// The fold of the values of kThreads neighbours in a warp, in the first of them.
template <class R, int kThreads, class A> __device__ __forceinline__ A fold_threads(A x) {
#pragma unroll
  for (int half = kThreads / 2; half >= 1; half /= 2) x = R::combine(x, tsl::device::shuffle_down(x, half));
  return x;
}
/// Of kThreads threads, those that are in the same warp.
template <int kThreads> constexpr int kWarpPart = kThreads < kWarpThreads ? kThreads : kWarpThreads;

/// Values in registers, folded in halves until kLeft are left: a loop would have them in memory.
template <class R, int kCount, int kLeft = 1, class A> __device__ __forceinline__ void fold_few(A* held) {
  if constexpr (kCount > kLeft) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) held[i] = R::combine(held[i], held[i + kCount / 2]);
    fold_few<R, kCount / 2, kLeft>(held);
  }
}

/// The lanes of one thread among kThreads (1 to 128) that reduce together, one behind the other in the block: kWidth
/// neighbours every kThreads * kWidth. Of kReduceLanes lanes, the first kLanes take elements; a power of two.
template <class R, class A, int kThreads, int kWidth = 1, int kLanes = kReduceLanes> struct Lanes {
  static constexpr int kSteps = kLanes / (kThreads * kWidth), kPart = kWarpPart<kThreads>;
  A held[kSteps * kWidth];

  __device__ __forceinline__ Lanes() {
#pragma unroll
    for (int i = 0; i < kSteps * kWidth; ++i) held[i] = R::template neutral<A>();
  }
  /// The value of the element `place` of kWidth in the thread's `step`-th turn.
  template <class T> __device__ __forceinline__ void take(int step, int place, T x) {
    A& lane = held[step % kSteps * kWidth + place];
    lane = R::template combine<A>(lane, widen_to<A>(x));
  }
  /// Brings down what needs no other thread.
  __device__ __forceinline__ void fold_steps() { fold_few<R, kSteps * kWidth, kWidth>(held); }
  /// The result, in all threads. `shared`: kThreads * kWidth values for these threads alone, if they are more than a
  /// warp; then the whole block must come here, and again to a barrier before `shared` is used anew.
  __device__ __forceinline__ A fold(A* shared) {
    fold_steps();
    if constexpr (kThreads > kWarpThreads) {
      const int thread = threadIdx.x % kThreads, lane = threadIdx.x % kWarpThreads;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) shared[i * kThreads + thread] = held[i];
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const A* at = shared + i * kThreads + lane;
        if constexpr (kThreads == 128) held[i] = R::combine(R::combine(at[0], at[64]), R::combine(at[32], at[96]));
        else held[i] = R::combine(at[0], at[32]);
      }
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) held[i] = fold_threads<R, kPart>(held[i]);
#pragma unroll
    for (int half = kWidth / 2; half >= 1; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) held[i] = R::combine(held[i], held[i + half]);
    }
    if constexpr (kPart == 1) return held[0];
    else return tsl::device::shuffle_from(held[0], 0, kPart);
  }
  /// The same for kAcross rows at a time, of which the threads alternate. `shared`: kThreads * kAcross values.
  template <int kAcross> __device__ __forceinline__ A fold_across(A* shared) {
    static_assert(kWidth == 1);
    fold_steps();
    A* const own = shared + threadIdx.x;
    *own = held[0];
    __syncthreads();
#pragma unroll
    for (int half = kThreads / 2; half >= 1; half /= 2) {
      if (threadIdx.x < half * kAcross) *own = held[0] = R::combine(held[0], own[half * kAcross]);
      __syncthreads();
    }
    return shared[threadIdx.x % kAcross];
  }
};

/// logsumexp, whose order is that of its parts. A NaN need not win among the elements that shift is the greatest of,
/// nor does it matter which 0 does: the sum comes out the same.
struct Greatest {
  template <class A> static __device__ __forceinline__ A neutral() { return -infinity<A>(); }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) {
    if constexpr (sizeof(A) == sizeof(float)) return ::fmaxf(a, b);
    else return ::fmax(a, b);
  }
};
template <class A> __device__ __forceinline__ A shift_of(A greatest) { return s_isfinite(greatest) ? greatest : A(0); }
template <class A> __device__ __forceinline__ A shifted_exp(A x, A shift) { return s_exp(s_sub(x, shift)); }
template <class A> __device__ __forceinline__ A shifted_log(A sum, A shift) { return s_add(s_log(sum), shift); }

/// The elements of one thread among kThreads that take a block of a row for logsumexp. What stands for elements that
/// are not there has an exponential of 0.
template <class A, int kThreads, int kWidth> struct TwoPassBlock {
  static constexpr int kTurns = kReduceBlock / (kThreads * kWidth);
  A held[kTurns * kWidth];

  __device__ __forceinline__ TwoPassBlock() {
#pragma unroll
    for (int i = 0; i < kTurns * kWidth; ++i) held[i] = -infinity<A>();
  }
  __device__ __forceinline__ void take(int turn, int place, A x) { held[turn * kWidth + place] = x; }
  /// As that of Lanes.
  __device__ __forceinline__ A fold(A* shared) {
    Lanes<Greatest, A, kThreads, kWidth> greatest;
#pragma unroll
    for (int i = 0; i < kTurns * kWidth; ++i) greatest.take(i / kWidth, i % kWidth, held[i]);
    const A shift = shift_of(greatest.fold(shared));
    if constexpr (kThreads > kWarpThreads) __syncthreads();
    Lanes<Sum, A, kThreads, kWidth> sum;
#pragma unroll
    for (int i = 0; i < kTurns * kWidth; ++i) sum.take(i / kWidth, i % kWidth, shifted_exp(held[i], shift));
    return shifted_log(sum.fold(shared), shift);
  }
};

/// argmax and argmin: the first of equals; the first NaN wins. Any order gives the same.
template <class T> struct Best {
  T value = nothing<T>();
  long long index = -1;  // -1: none yet
};
template <bool kGreatest, class T> __device__ __forceinline__ bool beats(T a, long long i, T b, long long j) {
  if (j < 0) return true;
  if (i < 0) return false;
  const bool nan_a = a != a, nan_b = b != b;
  if (nan_a != nan_b) return nan_a;
  const bool better = kGreatest ? a > b : a < b, worse = kGreatest ? a < b : a > b;
  return better || (!worse && i < j);
}
template <bool kGreatest, class T> __device__ __forceinline__ void take_best(Best<T>& best, T value, long long index) {
  if (beats<kGreatest>(value, index, best.value, best.index)) best = {value, index};
}
/// The same for an index after those before: where neither is better, the first stays.
template <bool kGreatest, class T> __device__ __forceinline__ void take_next(Best<T>& best, T value, long long index) {
  const bool stays = (kGreatest ? value <= best.value : value >= best.value) || best.value != best.value;
  if (!stays || best.index < 0) best = {value, index};
}
template <bool kGreatest, class T> __device__ __forceinline__ Best<T> better_of(Best<T> a, Best<T> b) {
  take_best<kGreatest>(a, b.value, b.index);
  return a;
}
/// The best, in all of a row's kThreads threads. `shared`: one for each of their warps, if they are more.
template <bool kGreatest, int kThreads, class T>
__device__ __forceinline__ Best<T> fold_best(Best<T> best, Best<T>* shared) {
  constexpr int kPart = kWarpPart<kThreads>;
#pragma unroll
  for (int half = kPart / 2; half >= 1; half /= 2) {
    const T value = tsl::device::shuffle_down(best.value, half);
    const long long index = tsl::device::shuffle_down(best.index, half);
    take_best<kGreatest>(best, value, index);
  }
  if constexpr (kThreads > kWarpThreads) {
    const int thread = threadIdx.x % kThreads;
    if (thread % kWarpThreads == 0) shared[thread / kWarpThreads] = best;
    __syncthreads();
    best = shared[0];
    for (int warp = 1; warp < kThreads / kWarpThreads; ++warp)
      take_best<kGreatest>(best, shared[warp].value, shared[warp].index);
    return best;
  }
  return {tsl::device::shuffle_from(best.value, 0, kPart), tsl::device::shuffle_from(best.index, 0, kPart)};
}

/// The same for kAcross rows at a time, as in Lanes.
template <bool kGreatest, int kThreads, int kAcross, class T>
__device__ __forceinline__ Best<T> fold_best_across(Best<T> best, Best<T>* shared) {
  Best<T>* const own = shared + threadIdx.x;
  *own = best;
  __syncthreads();
#pragma unroll
  for (int half = kThreads / 2; half >= 1; half /= 2) {
    if (threadIdx.x < half * kAcross) *own = best = better_of<kGreatest>(best, own[half * kAcross]);
    __syncthreads();
  }
  return shared[threadIdx.x % kAcross];
}

/// The reduction order over value(0), …, value(count - 1), count <= kReduceBlock, by kThreads threads; `shared` as in
/// Lanes.
template <class R, class A, int kThreads, class Value>
__device__ __forceinline__ A reduce_values(Value value, long long count, int thread, A* shared) {
  constexpr int kSteps = kReduceLanes / kThreads;
  Lanes<R, A, kThreads> lanes;
  long long first = 0;
#pragma unroll(32 / kSteps)
  for (; first + kReduceLanes <= count; first += kReduceLanes) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) lanes.take(step, 0, value(first + step * kThreads + thread));
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const long long i = first + step * kThreads + thread;
    if (i < count) lanes.take(step, 0, value(i));
  }
  return lanes.fold(shared);
}
/// Over values in memory.
template <class R, class A, int kThreads, class T>
__device__ __forceinline__ A reduce_array(const T* values, long long count, long long stride, int thread, A* shared) {
  return reduce_values<R, A, kThreads>([=](long long i) { return values[i * stride]; }, count, thread, shared);
}
/// By a warp.
template <class R, class A, class T>
__device__ __forceinline__ A reduce_array(const T* values, long long count, int lane) {
  return reduce_array<R, A, kWarpThreads>(values, count, 1, lane, static_cast<A*>(nullptr));
}
/// Of count <= kCount values, by one thread. kCount is a power of two up to kReduceLanes.
template <class R, class A, int kCount, class T>
__device__ __forceinline__ A reduce_few(const T* values, long long count) {
  A held[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    held[i] = R::template neutral<A>();
    if (i < count) held[i] = R::template combine<A>(held[i], widen_to<A>(values[i]));
  }
  fold_few<R, kCount>(held);
  return held[0];
}
/// Of up to as many blocks as kThreads threads have groups of kReduceLanes, each of which takes one. `shared`: kThreads
/// values, and one for each group.
template <class R, class A, int kThreads, class T>
__device__ __forceinline__ A reduce_blocks(const T* values, long long count, A* shared) {
  const int block = threadIdx.x / kReduceLanes, thread = threadIdx.x % kReduceLanes;
  A* const results = shared + kThreads;
  const long long blocks = (count + kReduceBlock - 1) / kReduceBlock,
                  left = block < blocks ? count - block * kReduceBlock : 0;
  const A result =
      reduce_array<R, A, kReduceLanes>(values + block * kReduceBlock, left < kReduceBlock ? left : kReduceBlock, 1,
                                       thread, shared + block * kReduceLanes);
  if (thread == 0) results[block] = result;
  __syncthreads();
  return reduce_array<R, A>(results, blocks, threadIdx.x % kWarpThreads);
}
/// The reduction order over block_value(0), …, block_value(blocks - 1), each of which all of the warp computes.
template <class R, class A, class Value>
__device__ __forceinline__ A reduce_block_values(Value block_value, long long blocks) {
  const int lane = threadIdx.x % kWarpThreads;
  Lanes<R, A, kWarpThreads> lanes;
  for (long long block = 0; block < blocks; ++block) {
    const A result = block_value(block);
#pragma unroll
    for (int step = 0; step < kReduceLanes / kWarpThreads; ++step) {
      if (block % kReduceLanes == step * kWarpThreads + lane) lanes.take(step, 0, result);
    }
  }
  return lanes.fold(nullptr);
}
__device__ __forceinline__ long long block_length(long long count, long long block) {
  const long long left = count - block * kReduceBlock;
  return left < kReduceBlock ? left : kReduceBlock;
}
/// Over any number of values up to kReduceBlock^2.
template <class R, class A, class T>
__device__ __forceinline__ A reduce_long_array(const T* values, long long count, int lane) {
  if (count <= kReduceBlock) return reduce_array<R, A>(values, count, lane);
  const auto of_block = [=](long long block) {
    return reduce_array<R, A>(values + block * kReduceBlock, block_length(count, block), lane);
  };
  return reduce_block_values<R, A>(of_block, (count + kReduceBlock - 1) / kReduceBlock);
}
/// The same for logsumexp, which asks for every value twice. Called, as it is long and needed once a row.
template <class A> __device__ __noinline__ A logsumexp_array(const A* values, long long count, int lane) {
  const A shift = shift_of(reduce_array<Greatest, A>(values, count, lane));
  const auto power = [=](long long i) { return shifted_exp(values[i], shift); };
  return shifted_log(reduce_values<Sum, A, kWarpThreads>(power, count, lane, static_cast<A*>(nullptr)), shift);
}
template <class A> __device__ __forceinline__ A logsumexp_long_array(const A* values, long long count, int lane) {
  if (count <= kReduceBlock) return logsumexp_array(values, count, lane);
  const long long blocks = (count + kReduceBlock - 1) / kReduceBlock;
  const auto of_block = [=](long long block) {
    return logsumexp_array(values + block * kReduceBlock, block_length(count, block), lane);
  };
  const A shift = shift_of(reduce_block_values<Greatest, A>(of_block, blocks));
  return shifted_log(
      reduce_block_values<Sum, A>([=](long long block) { return shifted_exp(of_block(block), shift); }, blocks), shift);
}
/// The best of partial results, by kThreads threads; `shared` as in fold_best.
template <bool kGreatest, int kThreads, class A>
__device__ __forceinline__ Best<A> best_of_array(const Best<A>* partial, long long count, int thread, Best<A>* shared) {
  Best<A> best;
#pragma unroll 4
  for (long long i = thread; i < count; i += kThreads) best = better_of<kGreatest>(best, partial[i]);
  return fold_best<kGreatest, kThreads>(best, shared);
}
