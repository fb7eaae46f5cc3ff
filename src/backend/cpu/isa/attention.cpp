// What attention does beside products: softmax of blocks of scores, and its derivative.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {
namespace {

constexpr size_t kLanes = 64;
template <class T> constexpr T kNone = static_cast<T>(-__builtin_inf());

int64_t within(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/// The columns at which a row looks: [first, end).
struct Columns {
  size_t first, end;
};
Columns columns_of(const ScoreBlock& block, size_t row) {
  const auto columns = static_cast<int64_t>(block.columns), r = static_cast<int64_t>(row);
  const int64_t first = within(block.low + r, 0, columns);
  return {static_cast<size_t>(first), static_cast<size_t>(within(block.high + r, first, columns))};
}

/// Combines n elements in kLanes lanes, which then fold in halves.
template <class T, class Combine> T fold(const T* x, size_t n, T neutral, Combine combine) {
  T lanes[kLanes];
  for (size_t l = 0; l < kLanes; ++l) lanes[l] = neutral;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    TSL_VECTORIZE
    for (size_t l = 0; l < kLanes; ++l) lanes[l] = combine(lanes[l], x[i + l]);
  }
  for (size_t l = 0; i + l < n; ++l) lanes[l] = combine(lanes[l], x[i + l]);
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l] = combine(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

/// Makes scores of products, and -inf of those at which the row does not look. Calls slope(i, s) with the derivative s
/// of score i.
template <class T, class Slope> void score(const ScoreBlock& block, T* x, Columns seen, Slope slope) {
  const T scale = static_cast<T>(block.scale), cap = static_cast<T>(block.cap);
  for (size_t i = 0; i < seen.first; ++i) x[i] = kNone<T>;
  for (size_t i = seen.end; i < block.columns; ++i) x[i] = kNone<T>;
  if (block.cap == 0) {
    TSL_VECTORIZE
    for (size_t i = seen.first; i < seen.end; ++i) {
      x[i] *= scale;
      slope(i, scale);
    }
    return;
  }
  TSL_VECTORIZE
  for (size_t i = seen.first; i < seen.end; ++i) {
    const T ratio = math::s_tanh(x[i] * scale / cap);
    x[i] = ratio * cap;
    slope(i, scale * (1 - ratio * ratio));
  }
}

/// Makes -inf of scores where the mask is false.
template <class T> void hide(const ScoreBlock& block, size_t row, T* x, Columns seen) {
  const unsigned char* const mask = block.mask + static_cast<int64_t>(row) * block.mask_stride;
  TSL_VECTORIZE
  for (size_t i = seen.first; i < seen.end; ++i) x[i] = mask[i] ? x[i] : kNone<T>;
}

template <class T> void weigh(const ScoreBlock& block, void* most, void* total, void* shrink) {
  T* const scores = static_cast<T*>(block.scores);
  T *const greatest = static_cast<T*>(most), *const sums = static_cast<T*>(total),
           *const factors = static_cast<T*>(shrink);
  for (size_t r = 0; r < block.rows; ++r) {
    T* const x = scores + r * block.columns;
    const Columns seen = columns_of(block, r);
    score(block, x, seen, [](size_t, T) {});
    if (block.mask) hide(block, r, x, seen);
    const T high = fold(x + seen.first, seen.end - seen.first, greatest[r], [](T a, T b) { return a < b ? b : a; });
    const T shift = high == kNone<T> ? T(0) : high;
    factors[r] = greatest[r] - shift;
    greatest[r] = high;
    TSL_VECTORIZE
    for (size_t i = seen.first; i < seen.end; ++i) x[i] -= shift;
  }
  exponentiate(scores, block.rows * block.columns);
  exponentiate(factors, block.rows);
  for (size_t r = 0; r < block.rows; ++r) {
    const Columns seen = columns_of(block, r);
    const T sum =
        fold(scores + r * block.columns + seen.first, seen.end - seen.first, T(0), [](T a, T b) { return a + b; });
    sums[r] = sums[r] * factors[r] + sum;
  }
}

template <class T> void differentiate(const ScoreBlock& block, void* slopes, const void* logsumexp, const void* delta) {
  T* const scores = static_cast<T*>(block.scores);
  for (size_t r = 0; r < block.rows; ++r) {
    T *const x = scores + r * block.columns, *const d = static_cast<T*>(slopes) + r * block.columns;
    const T lse = static_cast<const T*>(logsumexp)[r], mean = static_cast<const T*>(delta)[r];
    const Columns seen = lse == kNone<T> ? Columns{0, 0} : columns_of(block, r);
    score(block, x, seen, [=](size_t i, T slope) { d[i] = (d[i] - mean) * slope; });
    TSL_VECTORIZE
    for (size_t i = seen.first; i < seen.end; ++i) x[i] -= lse;
    for (size_t i = 0; i < seen.first; ++i) d[i] = T(0);
    for (size_t i = seen.end; i < block.columns; ++i) d[i] = T(0);
  }
  exponentiate(scores, block.rows * block.columns);
  T* const products = static_cast<T*>(slopes);
  TSL_VECTORIZE
  for (size_t i = 0; i < block.rows * block.columns; ++i) products[i] *= scores[i];
}

template <class T> void scale_rows(void* x, const void* factors, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    T* const row = static_cast<T*>(x) + r * columns;
    const T factor = static_cast<const T*>(factors)[r];
    TSL_VECTORIZE
    for (size_t i = 0; i < columns; ++i) row[i] *= factor;
  }
}

template <class T> void dot_rows(void* out, const void* a, const void* b, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    const T *const x = static_cast<const T*>(a) + r * columns, *const y = static_cast<const T*>(b) + r * columns;
    T lanes[kLanes] = {};
    for (size_t i = 0; i < columns; i += kLanes) {
      const size_t count = least(kLanes, columns - i);
      TSL_VECTORIZE
      for (size_t l = 0; l < count; ++l) lanes[l] += x[i + l] * y[i + l];
    }
    static_cast<T*>(out)[r] = fold(lanes, kLanes, T(0), [](T p, T q) { return p + q; });
  }
}

template <class T> constexpr AttentionKernels kKernels = {weigh<T>, differentiate<T>, scale_rows<T>, dot_rows<T>};

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table.attention[0] = kKernels<float>;
  table.attention[1] = kKernels<double>;
}

}  // namespace tsl::cpu::TSL_ISA
