// Reductions of floats, whose order matters.
#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

template <class R, class T> T over_results(const T* results, size_t count) {
  return reduce_block<R, T>(results, count, count);
}

/// Writes results of T as elements of Out.
template <class T, class Out> void write_results(Out* out, const T* values, size_t count) {
  if constexpr (math::kIsShort<Out>) narrow(out, values, count);
  else __builtin_memcpy(out, values, count * sizeof(T));
}

/// Reduces rows of n <= kReduceBlock elements in T, at most kFew of them if that is less than kReduceLanes. The lanes
/// of as many rows as a vector has are folded together, those of a few rows alone.
template <class R, class T, size_t kFew, class In, class Out>
void reduce_rows_together(Out* out, const In* x, size_t rows, size_t n) {
  constexpr size_t width = Lanes<T, kFew>::kWidth;
  auto lanes_of = [=](size_t row) { return reduce_to_vector<R, T, kFew>(x + row * n, n, (rows - row) * n); };
  size_t r = 0;
  for (; rows - r > width / 4; r += least(width, rows - r)) {
    const size_t count = least(width, rows - r);
    typename Lanes<T, kFew>::Vector partial[width];
    for (size_t i = 0; i < count; ++i) partial[i] = lanes_of(r + i);
    for (size_t i = count; i < width; ++i) partial[i] = partial[0];
    T results[width];
    store_vector(results, fold_each<R, width / 2>(partial));
    write_results(out + r, results, count);
  }
  for (; r < rows; ++r) {
    const T result = fold<R, T>(lanes_of(r));
    write_results(out + r, &result, 1);
  }
}

/// Reduces rows of n <= kReduceBlock elements in T. Only whole vectors of f16 and bf16 can be loaded.
template <class R, class T, class In, class Out> void reduce_short_rows(Out* out, const In* x, size_t rows, size_t n) {
  constexpr size_t kFewest = math::kIsShort<In> ? kWidth : 4;
  if (n <= 4 && kFewest <= 4) reduce_rows_together<R, T, kFewest>(out, x, rows, n);
  else if (n <= 8 && kFewest <= 8) reduce_rows_together<R, T, 8 < kFewest ? kFewest : 8>(out, x, rows, n);
  else if (n <= 16) reduce_rows_together<R, T, 16>(out, x, rows, n);
  else if (n <= 32) reduce_rows_together<R, T, 32>(out, x, rows, n);
  else if (n <= 64) reduce_rows_together<R, T, 64>(out, x, rows, n);
  else reduce_rows_together<R, T, kReduceLanes>(out, x, rows, n);
}

/// Reduces rows of In in T. Out is T or In.
template <class R, class In, class T, class Out> void rows_float(void* out, const void* in, size_t rows, size_t n) {
  const In* x = static_cast<const In*>(in);
  Out* y = static_cast<Out*>(out);
  if (n <= kReduceBlock) return reduce_short_rows<R, T>(y, x, rows, n);
  auto block = [=](size_t begin, size_t count) { return reduce_block<R, T>(x + begin, count, rows * n - begin); };
  for (size_t r = 0; r < rows; ++r) {
    const T result = reduce_blocks<T>(block, over_results<R, T>, r * n, n);
    write_results(y + r, &result, 1);
  }
}

// ---- Columns --------------------------------------------------------------------------------------------------------

/// The columns that are reduced together: their lanes take 64 KiB of the second-level cache. Fewer columns would fit in
/// the first, but be read a cache line at a time.
template <class T> constexpr size_t kColumns = (64 << 10) / sizeof(T) / kReduceLanes;
/// The rows of a lane that are combined before the lane is stored.
constexpr size_t kRowsAtOnce = 4;

/// Combines lane l with lane l + half in halves; the lanes are [lane][width]. Lanes from n on do not exist.
template <class R, class T> void fold_columns(T* lanes, size_t n, size_t width) {
  size_t existing = least(n, kReduceLanes);
  for (size_t half = kReduceLanes / 2; half >= 1; half /= 2) {
    if (existing <= half) continue;
    const T* upper = lanes + half * width;
    const size_t count = (existing - half) * width;
    TSL_VECTORIZE
    for (size_t i = 0; i < count; ++i) lanes[i] = R::combine(lanes[i], upper[i]);
    existing = half;
  }
}

/// Combines rows of kColumns<T> elements, kReduceLanes rows apart, into a lane; the first ones initialise it.
template <class R, size_t kRows, bool kAreFirst, class T, class In>
void take_rows(T* lane, const In* x, size_t stride) {
  constexpr size_t width = kVectorBytes / sizeof(T);
  _Pragma("GCC unroll 8") for (size_t c = 0; c < kColumns<T>; c += width) {
    auto value = load_widened(x + c);
    if (!kAreFirst) value = R::combine(load_widened(lane + c), value);
    for (size_t k = 1; k < kRows; ++k) value = R::combine(value, load_widened(x + k * kReduceLanes * stride + c));
    store_vector(lane + c, value);
  }
}

/// Reduces kColumns<T> columns into the first lane.
template <class R, class T, class In> void reduce_wide_columns(T* lanes, const In* x, size_t n, size_t stride) {
  constexpr size_t kSpan = kRowsAtOnce * kReduceLanes;
  size_t row = 0;
  for (; row + kSpan <= n; row += kSpan) {
    for (size_t lane = 0; lane < kReduceLanes; ++lane) {
      const In* from = x + (row + lane) * stride;
      if (row == 0) take_rows<R, kRowsAtOnce, true>(lanes + lane * kColumns<T>, from, stride);
      else take_rows<R, kRowsAtOnce, false>(lanes + lane * kColumns<T>, from, stride);
    }
  }
  for (; row < n; ++row) {
    T* lane = lanes + row % kReduceLanes * kColumns<T>;
    if (row < kReduceLanes) take_rows<R, 1, true>(lane, x + row * stride, stride);
    else take_rows<R, 1, false>(lane, x + row * stride, stride);
  }
  fold_columns<R>(lanes, n, kColumns<T>);
}

/// Reads elements as they are. Rows that are not in memory as T side by side are put into `buffer`.
struct Elements {
  template <class T, class In> static const T* get(T* buffer, const In* x, size_t rows, size_t width, size_t stride) {
    if constexpr (!math::kIsShort<In>) {
      if (rows == 1 || stride == width) return x;
    }
    if (stride == width) width *= rows, rows = 1;
    for (size_t r = 0; r < rows; ++r) {
      if constexpr (math::kIsShort<In>) widen(buffer + r * width, x + r * stride, width);
      else __builtin_memcpy(buffer + r * width, x + r * stride, width * sizeof(T));
    }
    return buffer;
  }
};

/// Reduces width <= kColumns<T> columns into the first lane. `elements` computes what is reduced, some rows at a time.
template <class R, class T, class In, class Get>
void reduce_computed_columns(T* lanes, const In* x, size_t n, size_t width, size_t stride, const Get& elements) {
  T buffer[kBuffer];
  for (size_t r = 0; r < n;) {
    const size_t lane = r % kReduceLanes, rows = least(least(kReduceLanes - lane, n - r), kBuffer / width);
    const T* values = elements.get(buffer, x + r * stride, rows, width, stride);
    T* to = lanes + lane * width;
    if (r < kReduceLanes) {
      __builtin_memcpy(to, values, rows * width * sizeof(T));
    } else {
      TSL_VECTORIZE
      for (size_t i = 0; i < rows * width; ++i) to[i] = R::combine(to[i], values[i]);
    }
    r += rows;
  }
  fold_columns<R>(lanes, n, width);
}

template <class R, class In, class T, class Out>
void columns_float(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  alignas(64) T lanes[kReduceLanes * kColumns<T>];
  const In* x = static_cast<const In*>(in);
  Out* y = static_cast<Out*>(out);
  if (columns < kColumns<T>) {
    reduce_computed_columns<R>(lanes, x, n, columns, stride, Elements());
    return write_results(y, lanes, columns);
  }
  for (size_t at = 0; at < columns; at += kColumns<T>) {
    const size_t begin = least(at, columns - kColumns<T>);  // the last columns may be reduced twice
    reduce_wide_columns<R>(lanes, x + begin, n, stride);
    write_results(y + begin, lanes, kColumns<T>);
  }
}

// ---- logsumexp -----------------------------------------------------------------------------------------------

template <class T> T shift_of(T greatest) { return math::select(math::s_isfinite(greatest), greatest, T(0)); }

/// Computes the logsumexp of n <= kReduceBlock elements; `readable` >= n may be read. The second pass reads a near
/// cache and prefetches the memory that follows, which is the next block of most rows.
template <class T> T logsumexp_block(const T* v, size_t n, size_t readable) {
  constexpr size_t kLine = 64 / sizeof(T);
  const T shift = shift_of(reduce_block<Max, T>(v, n, readable));
  alignas(64) T powers[kReduceBlock];
  for (size_t begin = 0; begin < n; begin += kBuffer) {
    const size_t count = least(kBuffer, n - begin);
    for (size_t i = 0; i < count; i += kLine) __builtin_prefetch(v + n + begin + i);
    for (size_t i = begin; i < begin + count; ++i) powers[i] = v[i] - shift;
    exponentiate(powers + begin, count);
  }
  return math::s_log(reduce_block<Sum, T>(powers, n, n)) + shift;
}

template <class T> void logsumexp_rows(void* out, const void* in, size_t rows, size_t n) {
  const T* x = static_cast<const T*>(in);
  auto block = [=](size_t begin, size_t count) { return logsumexp_block(x + begin, count, rows * n - begin); };
  auto over_results = [](const T* results, size_t count) { return logsumexp_block(results, count, count); };
  for (size_t r = 0; r < rows; ++r) static_cast<T*>(out)[r] = reduce_blocks<T>(block, over_results, r * n, n);
}

/// Computes exp(x - shift), with a shift for each column.
template <class T> struct Powers {
  const T* shift;
  const T* get(T* buffer, const T* x, size_t rows, size_t width, size_t stride) const {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < width; ++c) buffer[r * width + c] = x[r * stride + c] - shift[c];
    }
    exponentiate(buffer, rows * width);
    return buffer;
  }
};

template <class T> void logsumexp_columns(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  alignas(64) T lanes[kReduceLanes * kColumns<T>];
  T shift[kColumns<T>];
  for (size_t begin = 0; begin < columns; begin += kColumns<T>) {
    const size_t width = least(kColumns<T>, columns - begin);
    const T* x = static_cast<const T*>(in) + begin;
    columns_float<Max, T, T, T>(shift, x, n, width, stride);
    for (size_t c = 0; c < width; ++c) shift[c] = shift_of(shift[c]);
    reduce_computed_columns<Sum>(lanes, x, n, width, stride, Powers<T>{shift});
    for (size_t c = 0; c < width; ++c) static_cast<T*>(out)[begin + c] = math::s_log(lanes[c]) + shift[c];
  }
}

template <class R, class In, class T, class Out> constexpr ReduceKernels float_kernels() {
  return {rows_float<R, In, T, Out>, columns_float<R, In, T, Out>};
}

template <class R, bool kAccumulates> void add_folds(ReduceKernels* kernels) {
  kernels[index_of(DType::f32)] = float_kernels<R, float, float, float>();
  kernels[index_of(DType::f64)] = float_kernels<R, double, double, double>();
  kernels[index_of(DType::f16)] = float_kernels<R, math::Half, float, Choice<kAccumulates, float, math::Half>>();
  kernels[index_of(DType::bf16)] =
      float_kernels<R, math::BFloat16, float, Choice<kAccumulates, float, math::BFloat16>>();
}

template <class R, ReduceRule kRule> void add_op([[maybe_unused]] ReduceKernels* kernels) {
  constexpr bool accumulates = kRule == ReduceRule::total;
  if constexpr (accumulates || kRule == ReduceRule::same) add_folds<R, accumulates>(kernels);
}

// Declares the combiners that have no float kernels.
#define TSL_REDUCTION(name, combiner, ...) struct combiner;
#define TSL_ARG_REDUCTION(...)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION

}  // namespace

void add_reduce_kernels(KernelTable& table) {
#define TSL_REDUCTION(name, combiner, rule, ...) \
  add_op<combiner, ReduceRule::rule>(table.reduce[static_cast<int>(ReduceOp::name)]);
#define TSL_ARG_REDUCTION(...)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
  ReduceKernels* logsumexp = table.reduce[static_cast<int>(ReduceOp::logsumexp)];
  logsumexp[index_of(DType::f32)] = {logsumexp_rows<float>, logsumexp_columns<float>};
  logsumexp[index_of(DType::f64)] = {logsumexp_rows<double>, logsumexp_columns<double>};
}

}  // namespace tsl::cpu::TSL_ISA
