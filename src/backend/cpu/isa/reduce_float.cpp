// Reductions of floats, whose order matters.
#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

template <class R, class T> T over_results(const T* results, size_t count) {
  return reduce_block<R>(results, count, count);
}

template <class R, class T> void rows_direct(void* out, const void* in, size_t rows, size_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  auto block = [=](size_t begin, size_t count) { return reduce_block<R>(x + begin, count, rows * n - begin); };
  for (size_t r = 0; r < rows; ++r)
    y[r] = n <= kReduceBlock ? block(r * n, n) : reduce_blocks<T>(block, over_results<R, T>, r * n, n);
}

/// Reduces f16 and bf16 in f32, one block at a time. Out is f32 (sums and products) or In.
template <class R, class In, class Out> void rows_short(void* out, const void* in, size_t rows, size_t n) {
  const In* x = static_cast<const In*>(in);
  Out* y = static_cast<Out*>(out);
  auto block = [=](size_t begin, size_t count) {
    float wide[kReduceBlock];
    widen(wide, x + begin, count);
    return reduce_block<R>(wide, count, count);
  };
  for (size_t r = 0; r < rows; ++r) {
    float result = reduce_blocks<float>(block, over_results<R, float>, r * n, n);
    if constexpr (sizeof(Out) == sizeof(float)) y[r] = result;
    else narrow(y + r, &result, 1);
  }
}

/// The columns that are reduced together.
constexpr size_t kColumns = 128;

/// Computes the reduced values of a row's elements `x`: the elements themselves. A row that is not in memory is
/// computed into `buffer`.
struct Elements {
  static const float* get(float*, const float* x, size_t) { return x; }
  static const double* get(double*, const double* x, size_t) { return x; }
  template <class In> static const float* get(float* buffer, const In* x, size_t width) {
    widen(buffer, x, width);
    return buffer;
  }
};

/// Sets sums[c] to lane `lane` of column c.
template <class R, class In, class T, class Get>
void reduce_lane(T* sums, const In* x, size_t lane, size_t n, size_t width, size_t stride, const Get& elements) {
  T buffer[kColumns];
  for (size_t r = lane; r < n; r += kReduceLanes) {
    const T* row = elements.get(buffer, x + r * stride, width);
    if (r == lane) {
      for (size_t c = 0; c < width; ++c) sums[c] = row[c];
    } else {
      TSL_VECTORIZE
      for (size_t c = 0; c < width; ++c) sums[c] = R::combine(sums[c], row[c]);
    }
  }
}

/// Reduces columns lane by lane, in the order in which lanes fold, so that each level has at most one lane waiting for
/// its partner. All lanes at once would not fit in the first-level cache.
template <class R, class In, class T, class Out, class Get>
void reduce_columns(void* out, const void* in, size_t n, size_t columns, size_t stride, const Get& elements) {
  constexpr size_t kLevels = 8;
  static_assert(size_t{1} << (kLevels - 1) == kReduceLanes);
  alignas(64) T waiting[kLevels][kColumns];
  alignas(64) T sums[kColumns] = {};
  bool waits[kLevels] = {};
  for (size_t begin = 0; begin < columns; begin += kColumns) {
    const size_t width = least(kColumns, columns - begin);
    for (size_t i = 0, lane = 0; i < kReduceLanes; ++i) {
      reduce_lane<R>(sums, static_cast<const In*>(in) + begin, lane, n, width, stride, elements);
      bool exists = lane < n;
      size_t level = 0;
      for (; i >> level & 1; ++level) {
        if (exists) {
          TSL_VECTORIZE
          for (size_t c = 0; c < width; ++c) sums[c] = R::combine(waiting[level][c], sums[c]);
        } else if (waits[level]) {  // the waiting lane is the lower one, which may exist where its partner does not
          for (size_t c = 0; c < width; ++c) sums[c] = waiting[level][c];
        }
        exists = waits[level];
      }
      waits[level] = exists;
      for (size_t c = 0; c < width; ++c) waiting[level][c] = sums[c];
      // Advances to the next number in bit-reversed order.
      size_t bit = kReduceLanes / 2;
      for (; lane & bit; bit /= 2) lane ^= bit;
      lane ^= bit;
    }
    Out* y = static_cast<Out*>(out) + begin;
    if constexpr (math::kIsShort<Out>) narrow(y, waiting[kLevels - 1], width);
    else
      for (size_t c = 0; c < width; ++c) y[c] = waiting[kLevels - 1][c];
  }
}

template <class R, class In, class T, class Out>
void columns_float(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  reduce_columns<R, In, T, Out>(out, in, n, columns, stride, Elements());
}

// ---- logsumexp -----------------------------------------------------------------------------------------------

template <class T> T shift_of(T greatest) { return math::select(math::s_isfinite(greatest), greatest, T(0)); }

/// Computes the logsumexp of n <= kReduceBlock elements; `readable` >= n may be read. The second pass reads a near
/// cache and prefetches the memory that follows, which is the next block of most rows.
template <class T> T logsumexp_block(const T* v, size_t n, size_t readable) {
  constexpr size_t kLine = 64 / sizeof(T);
  const T shift = shift_of(reduce_block<Max>(v, n, readable));
  alignas(64) T powers[kReduceBlock];
  for (size_t begin = 0; begin < n; begin += kBuffer) {
    const size_t count = least(kBuffer, n - begin);
    for (size_t i = 0; i < count; i += kLine) __builtin_prefetch(v + n + begin + i);
    for (size_t i = begin; i < begin + count; ++i) powers[i] = v[i] - shift;
    exponentiate(powers + begin, count);
  }
  return math::s_log(reduce_block<Sum>(powers, n, n)) + shift;
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
  const T* get(T* buffer, const T* x, size_t width) const {
    for (size_t c = 0; c < width; ++c) buffer[c] = x[c] - shift[c];
    exponentiate(buffer, width);
    return buffer;
  }
};

template <class T> void logsumexp_columns(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  T shift[kColumns], sum[kColumns];
  for (size_t begin = 0; begin < columns; begin += kColumns) {
    const size_t width = least(kColumns, columns - begin);
    const T* x = static_cast<const T*>(in) + begin;
    columns_float<Max, T, T, T>(shift, x, n, width, stride);
    for (size_t c = 0; c < width; ++c) shift[c] = shift_of(shift[c]);
    reduce_columns<Sum, T, T, T>(sum, x, n, width, stride, Powers<T>{shift});
    for (size_t c = 0; c < width; ++c) static_cast<T*>(out)[begin + c] = math::s_log(sum[c]) + shift[c];
  }
}

template <class R, class T> constexpr ReduceKernels direct_kernels() {
  return {rows_direct<R, T>, columns_float<R, T, T, T>};
}
template <class R, class In, class Out> constexpr ReduceKernels short_kernels() {
  return {rows_short<R, In, Out>, columns_float<R, In, float, Out>};
}

template <class R, bool kAccumulates> void add_folds(ReduceKernels* kernels) {
  kernels[index_of(DType::f32)] = direct_kernels<R, float>();
  kernels[index_of(DType::f64)] = direct_kernels<R, double>();
  kernels[index_of(DType::f16)] = short_kernels<R, math::Half, Choice<kAccumulates, float, math::Half>>();
  kernels[index_of(DType::bf16)] = short_kernels<R, math::BFloat16, Choice<kAccumulates, float, math::BFloat16>>();
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
