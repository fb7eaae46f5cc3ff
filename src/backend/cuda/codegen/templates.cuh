// What generated kernels are made of. Follows scalar_math.h, scalar_functions.h and random_math.h in the text given to
// NVRTC; needs no header.

// ---- Errors ----------------------------------------------------------------------------------------------------

/// The failure that the program would have met first: by op, then by element.
struct ErrorCell {
  unsigned lock, order, node, padding;
  long long element, value;
};

/// Failures are rare and many threads may see them at once, so they queue for a lock.
__device__ __noinline__ void report(ErrorCell* cell, unsigned order, unsigned node, long long element, long long value) {
  for (bool done = false; !done;) {
    if (atomicCAS(&cell->lock, 0u, 1u) != 0) continue;
    volatile ErrorCell* c = cell;
    if (order < c->order || (order == c->order && element < c->element)) {
      c->order = order;
      c->node = node;
      c->element = element;
      c->value = value;
    }
    __threadfence();
    atomicExch(&cell->lock, 0u);
    done = true;
  }
}

/// 0, as any element.
template <class T> __device__ __forceinline__ T nothing() { return T{}; }

// ---- Wide accesses ---------------------------------------------------------------------------------------------

/// `from` is a multiple of the array's size.
template <class T, int N> __device__ __forceinline__ void load_wide(T (&to)[N], const T* from) {
  const tsl::device::Pack<N, T> pack = tsl::device::load<N>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = pack[i];
}
template <class T, int N> __device__ __forceinline__ void store_wide(T* to, const T (&from)[N]) {
  tsl::device::Pack<N, T> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack[i] = from[i];
  tsl::device::store<N>(to, pack);
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
    const NormalPairDouble pair = normal_double(philox(static_cast<DoubleWord>(counter) + at / 2, static_cast<DoubleWord>(key)));
    return at % 2 ? pair.second : pair.first;
  } else {
    const PhiloxBlock b = philox(static_cast<DoubleWord>(counter) + at / 4, static_cast<DoubleWord>(key));
    const NormalPair pair = at & 2 ? normal_float(b.words[2], b.words[3]) : normal_float(b.words[0], b.words[1]);
    return s_cast<T>(at & 1 ? pair.second : pair.first);
  }
}

// ---- Reductions ------------------------------------------------------------------------------------------------
//
// The order is that of the CPU (backend/cpu/kernels.h), so that the devices agree bit for bit: of at most 4096 elements,
// lane l takes elements l, l + 32, …, and the 32 lanes fold in halves; of more, the law applies to the results of blocks
// of 4096. Each reduction's neutral element on the right changes no value, so it stands for lanes that take no part.

constexpr int kReduceLanes = 32, kReduceBlock = 4096;

template <class A, class T> __device__ __forceinline__ A widen_to(T x) {
  if constexpr (kIsShort<T> && !kIsShort<A>) return static_cast<A>(widen(x));
  else return static_cast<A>(x);
}

struct Sum {
  template <class A> static __device__ __forceinline__ A neutral() { if constexpr (kIsFloat<A>) return A(-0.0); else return A(0); }
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
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return (a >= b) | (a != a) ? a : b; }
};
struct Min {
  template <class A> static __device__ __forceinline__ A neutral() {
    if constexpr (kIsFloat<A>) return infinity<A>();
    else if constexpr (kIsBool<A>) return true;
    else return IntegerLimits<A>::kMax;
  }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return (a <= b) | (a != a) ? a : b; }
};
struct Any {
  template <class A> static __device__ __forceinline__ A neutral() { return false; }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return a | b; }
};
struct All {
  template <class A> static __device__ __forceinline__ A neutral() { return true; }
  template <class A> static __device__ __forceinline__ A combine(A a, A b) { return a & b; }
};

/// The fold of a warp's lanes, in all of them.
template <class R, class A> __device__ __forceinline__ A fold_lanes(A x) {
#pragma unroll
  for (int half = kReduceLanes / 2; half >= 1; half /= 2) x = R::combine(x, tsl::device::shuffle_down(x, half));
  return tsl::device::shuffle_from(x, 0);
}

/// argmax and argmin: the first of equals; the first NaN wins. Any order gives the same.
template <class T> struct Best {
  T value;
  long long index;  // -1: none yet
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
template <bool kGreatest, class T> __device__ __forceinline__ long long fold_best(Best<T> best) {
#pragma unroll
  for (int half = kReduceLanes / 2; half >= 1; half /= 2) {
    const T value = tsl::device::shuffle_down(best.value, half);
    const long long index = tsl::device::shuffle_down(best.index, half);
    take_best<kGreatest>(best, value, index);
  }
  return tsl::device::shuffle_from(best.index, 0);
}

/// The law over count <= kReduceBlock values in memory, by one warp.
template <class R, class A, class T>
__device__ __forceinline__ A reduce_array(const T* values, long long count, long long stride, int lane) {
  A sum = R::template neutral<A>();
  for (long long i = lane; i < count; i += kReduceLanes) sum = R::template combine<A>(sum, widen_to<A>(values[i * stride]));
  return fold_lanes<R>(sum);
}
template <bool kGreatest, class T>
__device__ __forceinline__ long long place_in_array(const T* values, long long count, int lane) {
  if constexpr (kIsShort<T>) {
    Best<float> best = {0.0f, -1};
    for (long long i = lane; i < count; i += kReduceLanes) take_best<kGreatest>(best, widen(values[i]), i);
    return fold_best<kGreatest>(best);
  } else {
    Best<T> best = {T(), -1};
    for (long long i = lane; i < count; i += kReduceLanes) take_best<kGreatest>(best, values[i], i);
    return fold_best<kGreatest>(best);
  }
}
