// Reductions whose order does not matter: of integers and bools, any and all; and argmax, argmin.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

struct Sum {
  template <class A> static A start() { return 0; }
  template <class A, class T> static A combine(A a, T x) { return math::s_add(a, static_cast<A>(x)); }
};
struct Prod {
  template <class A> static A start() { return 1; }
  template <class A, class T> static A combine(A a, T x) { return math::s_mul(a, static_cast<A>(x)); }
};
struct Max {
  template <class A> static A start() { return math::IntegerLimits<A>::kMin; }
  template <class A, class T> static A combine(A a, T x) { return a > x ? a : x; }
};
struct Min {
  template <class A> static A start() { return math::IntegerLimits<A>::kMax; }
  template <class A, class T> static A combine(A a, T x) { return a < x ? a : x; }
};
struct Any {
  template <class A> static A start() { return 0; }
  template <class A, class T> static A combine(A a, T x) { return a | math::s_cast<bool>(x); }
};
struct All {
  template <class A> static A start() { return 1; }
  template <class A, class T> static A combine(A a, T x) { return a & math::s_cast<bool>(x); }
};

/// A accumulates elements of T; the result is stored as Out.
template <class R, class T, class A, class Out> void reduce_rows(void* out, const void* in, size_t rows, size_t n) {
  const T* x = static_cast<const T*>(in);
  Out* y = static_cast<Out*>(out);
  for (size_t r = 0; r < rows; ++r, x += n) {
    A total = R::template start<A>();
    for (size_t i = 0; i < n; ++i) total = R::combine(total, x[i]);
    y[r] = static_cast<Out>(total);
  }
}
template <class R, class T, class A, class Out>
void reduce_columns(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  constexpr size_t kColumns = 512;
  A total[kColumns];
  for (size_t begin = 0; begin < columns; begin += kColumns) {
    size_t width = least(kColumns, columns - begin);
    for (size_t c = 0; c < width; ++c) total[c] = R::template start<A>();
    for (size_t r = 0; r < n; ++r) {
      const T* row = static_cast<const T*>(in) + r * stride + begin;
      for (size_t c = 0; c < width; ++c) total[c] = R::combine(total[c], row[c]);
    }
    for (size_t c = 0; c < width; ++c) static_cast<Out*>(out)[begin + c] = static_cast<Out>(total[c]);
  }
}
template <class R, class T, class A, class Out> constexpr ReduceKernels reduce_kernels() {
  return {reduce_rows<R, T, A, Out>, reduce_columns<R, T, A, Out>};
}

// ---- argmax, argmin ------------------------------------------------------------------------------------------

struct Greater {
  template <class T> static bool beats(T a, T b) { return a > b; }
};
struct Less {
  template <class T> static bool beats(T a, T b) { return a < b; }
};

/// Returns the first index from `begin` on of an element that equals `value`; there is one.
template <class T> size_t find(const T* x, size_t begin, size_t n, T value) {
  constexpr size_t kAtOnce = 64;
  size_t i = begin;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    unsigned hits = 0;
    for (size_t k = 0; k < kAtOnce; ++k) hits |= x[i + k] == value;
    if (hits) break;
  }
  while (x[i] != value) ++i;
  return i;
}

/// Finds the best element of a block, then its first index (or that of a NaN). Blocks keep the second pass short.
template <class Better, class T> int64_t arg_row(const T* x, size_t n) {
  constexpr size_t kBlock = 1024, kWays = 64 / sizeof(T);
  T best = x[0];
  size_t block_of_best = 0;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    size_t count = least(kBlock, n - begin), i = 0;
    T ways[kWays];
    for (size_t w = 0; w < kWays; ++w) ways[w] = best;
    unsigned nan = 0;
    for (; i + kWays <= count; i += kWays) {
      for (size_t w = 0; w < kWays; ++w) {
        T v = x[begin + i + w];
        nan |= v != v;
        ways[w] = Better::beats(v, ways[w]) ? v : ways[w];
      }
    }
    for (; i < count; ++i) {
      nan |= x[begin + i] != x[begin + i];
      ways[0] = Better::beats(x[begin + i], ways[0]) ? x[begin + i] : ways[0];
    }
    if (nan) {
      for (i = begin;; ++i)
        if (x[i] != x[i]) return static_cast<int64_t>(i);
    }
    T top = best;
    for (size_t w = 0; w < kWays; ++w) top = Better::beats(ways[w], top) ? ways[w] : top;
    if (Better::beats(top, best)) {
      best = top;
      block_of_best = begin;
    }
  }
  return static_cast<int64_t>(find(x, block_of_best, n, best));
}

/// Longer rows leave the caches side by side.
template <class T> constexpr size_t kShortRow = std::is_integral_v<T> ? 32 : 64;

template <class T> TSL_FN T wide(T x) { return x; }
TSL_FN float wide(math::Half x) { return math::widen(x); }
TSL_FN float wide(math::BFloat16 x) { return math::widen(x); }

/// Finds the best elements of short rows side by side.
template <class Better, class T> void arg_short_rows(int64_t* out, const T* x, size_t rows, size_t n) {
  constexpr size_t kSide = 64;
  using Wide = decltype(wide(T()));
  for (size_t begin = 0; begin < rows; begin += kSide, x += kSide * n) {
    const size_t count = least(kSide, rows - begin);
    Wide best[kSide];
    int32_t place[kSide] = {};
    for (size_t r = 0; r < count; ++r) best[r] = wide(x[r * n]);
    for (size_t i = 1; i < n; ++i) {
      for (size_t r = 0; r < count; ++r) {
        const Wide v = wide(x[r * n + i]);
        const bool wins = Better::beats(v, best[r]) | ((v != v) & (best[r] == best[r]));
        best[r] = wins ? v : best[r];
        place[r] = wins ? static_cast<int32_t>(i) : place[r];
      }
    }
    for (size_t r = 0; r < count; ++r) out[begin + r] = place[r];
  }
}

template <class Better, class T> void arg_rows(void* out, const void* in, size_t rows, size_t n) {
  const T* x = static_cast<const T*>(in);
  if (n <= kShortRow<T>) return arg_short_rows<Better>(static_cast<int64_t*>(out), x, rows, n);
  for (size_t r = 0; r < rows; ++r) static_cast<int64_t*>(out)[r] = arg_row<Better>(x + r * n, n);
}
/// For f16 and bf16: compares the winners of blocks.
template <class Better, class T> void arg_rows_short(void* out, const void* in, size_t rows, size_t n) {
  if (n <= kShortRow<T>) return arg_short_rows<Better>(static_cast<int64_t*>(out), static_cast<const T*>(in), rows, n);
  float block[kBuffer];
  for (size_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * n;
    float best = 0;
    int64_t position = -1;
    for (size_t begin = 0; begin < n; begin += kBuffer) {
      widen(block, x + begin, least(kBuffer, n - begin));
      int64_t i = arg_row<Better>(block, least(kBuffer, n - begin));
      if (position < 0 || block[i] != block[i] || Better::beats(block[i], best)) {
        best = block[i];
        position = static_cast<int64_t>(begin) + i;
      }
      if (best != best) break;
    }
    static_cast<int64_t*>(out)[r] = position;
  }
}

template <class T> void add_arg(KernelTable& table, DType dtype) {
  if constexpr (math::kIsShort<T>) {
    table.argmax[index_of(dtype)] = arg_rows_short<Greater, T>;
    table.argmin[index_of(dtype)] = arg_rows_short<Less, T>;
  } else {
    table.argmax[index_of(dtype)] = arg_rows<Greater, T>;
    table.argmin[index_of(dtype)] = arg_rows<Less, T>;
  }
}

/// Returns the kernels of a reduction for one dtype: logic for all dtypes, others for integers and bools.
template <class R, ReduceRule kRule, DType kDType> void add_exact([[maybe_unused]] ReduceKernels& kernels) {
  using T = Element<kDType>;
  if constexpr (kRule == ReduceRule::logic) kernels = reduce_kernels<R, T, uint8_t, bool>();
  else if constexpr (kRule == ReduceRule::total && !is_float(kDType))
    kernels = reduce_kernels<R, T, Element<accumulator_of(kDType)>, Element<accumulator_of(kDType)>>();
  else if constexpr (kRule == ReduceRule::same && kDType == DType::boolean)
    kernels = reduce_kernels<R, T, uint8_t, bool>();
  else if constexpr (kRule == ReduceRule::same && !is_float(kDType)) kernels = reduce_kernels<R, T, T, T>();
}

// Declares the combiners that have no kernels in this file.
#define TSL_REDUCTION(name, combiner, ...) struct combiner;
#define TSL_ARG_REDUCTION(...)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION

}  // namespace

void add_exact_kernels(KernelTable& table) {
  for_each_dtype([&](auto dtype) {
    using T = Element<dtype.value>;
    constexpr int index = index_of(dtype.value);
#define TSL_REDUCTION(name, combiner, rule, ...) \
  add_exact<combiner, ReduceRule::rule, dtype.value>(table.reduce[static_cast<int>(ReduceOp::name)][index]);
#define TSL_ARG_REDUCTION(...)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
    add_arg<T>(table, dtype.value);
  });
}

}  // namespace tsl::cpu::TSL_ISA
