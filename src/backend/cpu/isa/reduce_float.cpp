// Reductions of floats, whose order matters.
#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

template <class R, class T>
void rows_direct(void* out, const void* in, size_t rows, size_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  auto block = [=](size_t begin, size_t count) { return reduce_block<R>(x + begin, count, rows * n - begin); };
  for (size_t r = 0; r < rows; ++r) y[r] = n <= kReduceBlock ? block(r * n, n) : reduce_blocks<R, T>(block, r * n, n);
}

/// f16 and bf16: in f32, a block at a time. Out is f32 (sums and products) or In.
template <class R, class In, class Out>
void rows_short(void* out, const void* in, size_t rows, size_t n) {
  const In* x = static_cast<const In*>(in);
  Out* y = static_cast<Out*>(out);
  auto block = [=](size_t begin, size_t count) {
    float wide[kReduceBlock];
    widen(wide, x + begin, count);
    return reduce_block<R>(wide, count, count);
  };
  for (size_t r = 0; r < rows; ++r) {
    float result = reduce_blocks<R, float>(block, r * n, n);
    if constexpr (sizeof(Out) == sizeof(float)) y[r] = result;
    else narrow(y + r, &result, 1);
  }
}

/// So many columns at a time that their lanes stay in the fastest cache.
constexpr size_t kColumns = 128;

/// lanes[l][c]: accumulator l of column c.
template <class R, class T>
void fold_columns(T (*lanes)[kColumns], size_t n, size_t width, T* result) {
  size_t count = least(n, kReduceLanes);
  for (size_t half = kReduceLanes / 2; half >= 1; half /= 2) {
    for (size_t l = 0; l < half && l + half < count; ++l) {
      TSL_VECTORIZE
      for (size_t c = 0; c < width; ++c) lanes[l][c] = R::combine(lanes[l][c], lanes[l + half][c]);
    }
    count = least(count, half);
  }
  for (size_t c = 0; c < width; ++c) result[c] = lanes[0][c];
}

template <class R, class In, class T, class Out>
void columns_float(void* out, const void* in, size_t n, size_t columns, size_t stride) {
  alignas(64) T lanes[kReduceLanes][kColumns];
  T wide[kColumns];
  for (size_t begin = 0; begin < columns; begin += kColumns) {
    const In* x = static_cast<const In*>(in) + begin;
    size_t width = least(kColumns, columns - begin);
    for (size_t r = 0; r < n; ++r) {
      const T* row = wide;
      if constexpr (math::kIsShort<In>) widen(wide, x + r * stride, width);
      else row = x + r * stride;
      T* lane = lanes[r % kReduceLanes];
      if (r < kReduceLanes) {
        for (size_t c = 0; c < width; ++c) lane[c] = row[c];
      } else {
        TSL_VECTORIZE
        for (size_t c = 0; c < width; ++c) lane[c] = R::combine(lane[c], row[c]);
      }
    }
    Out* y = static_cast<Out*>(out) + begin;
    if constexpr (math::kIsShort<Out>) {
      fold_columns<R>(lanes, n, width, wide);
      narrow(y, wide, width);
    } else {
      fold_columns<R>(lanes, n, width, y);
    }
  }
}

template <class R, class T>
constexpr ReduceKernels direct_kernels() {
  return {rows_direct<R, T>, columns_float<R, T, T, T>};
}
template <class R, class In, class Out>
constexpr ReduceKernels short_kernels() {
  return {rows_short<R, In, Out>, columns_float<R, In, float, Out>};
}

template <class R>
void add_op(KernelTable& table, ReduceOp op) {
  ReduceKernels* kernels = table.reduce[static_cast<int>(op)];
  kernels[index_of(DType::f32)] = direct_kernels<R, float>();
  kernels[index_of(DType::f64)] = direct_kernels<R, double>();
  if (op == ReduceOp::sum || op == ReduceOp::prod) {
    kernels[index_of(DType::f16)] = short_kernels<R, math::Half, float>();
    kernels[index_of(DType::bf16)] = short_kernels<R, math::BFloat16, float>();
  } else {
    kernels[index_of(DType::f16)] = short_kernels<R, math::Half, math::Half>();
    kernels[index_of(DType::bf16)] = short_kernels<R, math::BFloat16, math::BFloat16>();
  }
}

}  // namespace

void add_reduce_kernels(KernelTable& table) {
  add_op<Sum>(table, ReduceOp::sum);
  add_op<Prod>(table, ReduceOp::prod);
  add_op<Max>(table, ReduceOp::max);
  add_op<Min>(table, ReduceOp::min);
}

}  // namespace tsl::cpu::TSL_ISA
