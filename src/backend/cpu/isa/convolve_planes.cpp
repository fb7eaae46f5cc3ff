// Filters of single planes by small squares of taps: rows are read where they lie, in vectors whose lanes outside of
// the plane are zero, and each vector that is read serves all rows of the result that a block has.
#include "backend/cpu/isa/vectors.h"

namespace tsl::cpu::TSL_ISA {

namespace {

constexpr int kRowsAtOnce = 4;

/// Returns the lanes i of a vector with low <= i < high.
#if defined(__AVX512F__)
template <class T> using Lanes = uint32_t;
template <class T> Lanes<T> lanes_within(int64_t low, int64_t high) {
  constexpr auto kCount = static_cast<int64_t>(kLanes<T>);
  const uint32_t all = (1u << kCount) - 1;
  const uint32_t above = low <= 0 ? all : low >= kCount ? 0u : all << low;
  return above & (high >= kCount ? all : high <= 0 ? 0u : (1u << high) - 1);
}
Vector<float> load_lanes(const float* from, Lanes<float> lanes) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), from);
}
Vector<double> load_lanes(const double* from, Lanes<double> lanes) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), from);
}
void store_lanes(float* to, Vector<float> v, Lanes<float> lanes) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes), v);
}
void store_lanes(double* to, Vector<double> v, Lanes<double> lanes) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(lanes), v);
}
template <class T> Lanes<T> no_lanes() { return 0; }
#elif defined(__AVX2__)
template <class T> using Lanes = __m256i;
template <class T> Lanes<T> lanes_within(int64_t low, int64_t high) {
  typedef int32_t Ints __attribute__((vector_size(32)));
  typedef int64_t Longs __attribute__((vector_size(32)));
  const auto clamped = [](int64_t x) { return x < 0 ? 0 : x > 8 ? 8 : x; };
  if constexpr (sizeof(T) == 4) {
    const Ints at = {0, 1, 2, 3, 4, 5, 6, 7};
    const auto first = static_cast<int32_t>(clamped(low)), end = static_cast<int32_t>(clamped(high));
    return reinterpret_cast<__m256i>((at >= first) & (at < end));
  } else {
    const Longs at = {0, 1, 2, 3};
    return reinterpret_cast<__m256i>((at >= clamped(low)) & (at < clamped(high)));
  }
}
Vector<float> load_lanes(const float* from, __m256i lanes) { return _mm256_maskload_ps(from, lanes); }
Vector<double> load_lanes(const double* from, __m256i lanes) { return _mm256_maskload_pd(from, lanes); }
void store_lanes(float* to, Vector<float> v, __m256i lanes) { _mm256_maskstore_ps(to, lanes, v); }
void store_lanes(double* to, Vector<double> v, __m256i lanes) { _mm256_maskstore_pd(to, lanes, v); }
template <class T> Lanes<T> no_lanes() { return __m256i{}; }
#else
struct Range {
  int low, high;
};
template <class T> using Lanes = Range;
template <class T> Lanes<T> lanes_within(int64_t low, int64_t high) {
  constexpr auto kCount = static_cast<int64_t>(kLanes<T>);
  const auto clamped = [](int64_t x) { return static_cast<int>(x < 0 ? 0 : x > kCount ? kCount : x); };
  return {clamped(low), clamped(high)};
}
template <class T> Vector<T> load_lanes(const T* from, Range lanes) {
  if (lanes.low == 0 && lanes.high == static_cast<int>(kLanes<T>)) return load(from);
  Vector<T> v = {};
  for (int i = lanes.low; i < lanes.high; ++i) v[i] = from[i];
  return v;
}
template <class T> void store_lanes(T* to, Vector<T> v, Range lanes) {
  if (lanes.low == 0 && lanes.high == static_cast<int>(kLanes<T>)) return store(to, v);
  for (int i = lanes.low; i < lanes.high; ++i) to[i] = v[i];
}
template <class T> Lanes<T> no_lanes() { return {0, 0}; }
#endif

/// Returns every second element of two vectors, from `kFirst` on.
template <int kFirst, class V> V every_second(V a, V b) {
  constexpr int f = kFirst;
  if constexpr (sizeof(a) / sizeof(a[0]) == 16)
    return __builtin_shufflevector(a, b, f, f + 2, f + 4, f + 6, f + 8, f + 10, f + 12, f + 14, f + 16, f + 18, f + 20,
                                   f + 22, f + 24, f + 26, f + 28, f + 30);
  else if constexpr (sizeof(a) / sizeof(a[0]) == 8)
    return __builtin_shufflevector(a, b, f, f + 2, f + 4, f + 6, f + 8, f + 10, f + 12, f + 14);
  else if constexpr (sizeof(a) / sizeof(a[0]) == 4) return __builtin_shufflevector(a, b, f, f + 2, f + 4, f + 6);
  else return __builtin_shufflevector(a, b, f, f + 2);
}
/// Returns the elements of two vectors in turn: those of their first or second halves.
template <int kHalf, class V> V in_turn(V a, V b) {
  constexpr int n = sizeof(a) / sizeof(a[0]), h = kHalf * (n / 2);
  if constexpr (n == 16)
    return __builtin_shufflevector(a, b, h, h + 16, h + 1, h + 17, h + 2, h + 18, h + 3, h + 19, h + 4, h + 20, h + 5,
                                   h + 21, h + 6, h + 22, h + 7, h + 23);
  else if constexpr (n == 8) return __builtin_shufflevector(a, b, h, h + 8, h + 1, h + 9, h + 2, h + 10, h + 3, h + 11);
  else if constexpr (n == 4) return __builtin_shufflevector(a, b, h, h + 4, h + 1, h + 5);
  else return __builtin_shufflevector(a, b, h, h + 2);
}

/// Reads what the taps of a row need for windows from `column` on, by a step of 1 or 2.
template <class T, int kTaps, int kStep> struct TapReader {
  static constexpr int kReads = kStep == 1 ? kTaps : (kTaps + 1) / 2 * 2;
  Lanes<T> lanes[kReads];
  ptrdiff_t first;  // of a row

  TapReader(const ConvPlane& plane, int64_t column) : first(column * kStep + plane.first[1]) {
    for (int i = 0; i < kReads; ++i) lanes[i] = lanes_within<T>(-offset_of(i), plane.extent[1] - offset_of(i));
  }
  int64_t offset_of(int read) const {
    return kStep == 1 ? first + read : first + read / 2 * 2 + read % 2 * static_cast<int64_t>(kLanes<T>);
  }
  void read(Vector<T> (&x)[kTaps], const T* row, bool is_inside) const {
    Vector<T> all[kReads];
#pragma GCC unroll 8
    for (int i = 0; i < kReads; ++i) all[i] = load_lanes(row + offset_of(i), is_inside ? lanes[i] : no_lanes<T>());
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t) {
      if constexpr (kStep == 1) x[t] = all[t];
      else x[t] = t % 2 == 0 ? every_second<0>(all[t], all[t + 1]) : every_second<1>(all[t - 1], all[t]);
    }
  }
};

/// Calls body(row's number, its taps' elements) for the rows that windows [row, row + kRows) read.
template <class T, int kTaps, int kStep, int kRows, class Body>
void for_rows(const T* in, const ConvPlane& plane, const TapReader<T, kTaps, kStep>& reader, int64_t row, Body body) {
#pragma GCC unroll 16
  for (int i = 0; i < (kRows - 1) * kStep + kTaps; ++i) {
    const int64_t y = row * kStep + plane.first[0] + i;
    const bool is_inside = y >= 0 && y < plane.extent[0];
    Vector<T> x[kTaps];
    reader.read(x, in + (is_inside ? y : 0) * plane.extent[1], is_inside);
    body(i, x);
  }
}

template <class T, int kTaps, int kStep, int kRows>
[[gnu::always_inline]] inline void filter_rows(T* out, const T* in, const Vector<T> (&w)[kTaps][kTaps],
                                               const ConvPlane& plane, const TapReader<T, kTaps, kStep>& reader,
                                               int64_t row, Lanes<T> written) {
  Vector<T> sums[kRows] = {};
  for_rows<T, kTaps, kStep, kRows>(in, plane, reader, row, [&](int i, const Vector<T>(&x)[kTaps]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int tap = i - r * kStep;
      if (tap < 0 || tap >= kTaps) continue;
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) sums[r] = multiply_add(w[tap][t], x[t], sums[r]);
    }
  });
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) store_lanes(out + r * plane.positions[1], sums[r], written);
}

template <class T, int kTaps, int kStep>
void filter_plane(T* out, const T* in, const T* weights, ptrdiff_t next, const ConvPlane& plane) {
  Vector<T> w[kTaps][kTaps];
  for (int i = 0; i < kTaps * kTaps; ++i) w[i / kTaps][i % kTaps] = all_of(weights[i * next]);
  for (int64_t column = 0; column < plane.positions[1]; column += kLanes<T>) {
    const TapReader<T, kTaps, kStep> reader(plane, column);
    const Lanes<T> written = lanes_within<T>(0, plane.positions[1] - column);
    T* to = out + column;
    int64_t row = 0;
    for (; row + kRowsAtOnce <= plane.positions[0]; row += kRowsAtOnce, to += kRowsAtOnce * plane.positions[1])
      filter_rows<T, kTaps, kStep, kRowsAtOnce>(to, in, w, plane, reader, row, written);
    const int64_t left = plane.positions[0] - row;
    if (left == 3) filter_rows<T, kTaps, kStep, 3>(to, in, w, plane, reader, row, written);
    else if (left == 2) filter_rows<T, kTaps, kStep, 2>(to, in, w, plane, reader, row, written);
    else if (left == 1) filter_rows<T, kTaps, kStep, 1>(to, in, w, plane, reader, row, written);
  }
}

template <class T, int kTaps, int kStep, int kRows>
[[gnu::always_inline]] inline void correlate_rows(Vector<T> (&sums)[kTaps][kTaps], const T* grad, const T* in,
                                                  const ConvPlane& plane, const TapReader<T, kTaps, kStep>& reader,
                                                  int64_t row, Lanes<T> lanes) {
  Vector<T> g[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) g[r] = load_lanes(grad + r * plane.positions[1], lanes);
  for_rows<T, kTaps, kStep, kRows>(in, plane, reader, row, [&](int i, const Vector<T>(&x)[kTaps]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const int tap = i - r * kStep;
      if (tap < 0 || tap >= kTaps) continue;
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) sums[tap][t] = multiply_add(g[r], x[t], sums[tap][t]);
    }
  });
}

/// Adds to a vector of each sum's lanes the products of the columns that these lanes take, from `first` on.
template <class T, int kTaps, int kStep>
void correlate_columns(T* to, const T* grad, const T* in, const ConvPlane& plane, int64_t first) {
  Vector<T> sums[kTaps][kTaps];
  for (int i = 0; i < kTaps * kTaps; ++i) sums[i / kTaps][i % kTaps] = load(to + i * kSumLanes<T>);
  for (int64_t column = first; column < plane.positions[1]; column += kSumLanes<T>) {
    const TapReader<T, kTaps, kStep> reader(plane, column);
    const Lanes<T> lanes = lanes_within<T>(0, plane.positions[1] - column);
    const T* from = grad + column;
    int64_t row = 0;
    for (; row + kRowsAtOnce <= plane.positions[0]; row += kRowsAtOnce, from += kRowsAtOnce * plane.positions[1])
      correlate_rows<T, kTaps, kStep, kRowsAtOnce>(sums, from, in, plane, reader, row, lanes);
    const int64_t left = plane.positions[0] - row;
    if (left == 3) correlate_rows<T, kTaps, kStep, 3>(sums, from, in, plane, reader, row, lanes);
    else if (left == 2) correlate_rows<T, kTaps, kStep, 2>(sums, from, in, plane, reader, row, lanes);
    else if (left == 1) correlate_rows<T, kTaps, kStep, 1>(sums, from, in, plane, reader, row, lanes);
  }
  for (int i = 0; i < kTaps * kTaps; ++i) store(to + i * kSumLanes<T>, sums[i / kTaps][i % kTaps]);
}

template <class T, int kTaps, int kStep>
void correlate_plane(T* to, const T* grad, const T* in, const ConvPlane& plane) {
  for (size_t lane = 0; lane < kSumLanes<T> && static_cast<int64_t>(lane) < plane.positions[1]; lane += kLanes<T>)
    correlate_columns<T, kTaps, kStep>(to + lane, grad, in, plane, static_cast<int64_t>(lane));
}

/// Computes columns [2 * column, …) of the gradient of what a filter by a step of 2 reads: those of even and odd places
/// read the taps from kOdd and from 1 - kOdd on, every second one.
template <class T, int kTaps, int kOdd>
void spread_columns(T* out, const T* grad, const Vector<T> (&w)[kTaps][kTaps], const ConvPlane& plane, int64_t column) {
  constexpr auto kCount = static_cast<int64_t>(kLanes<T>);
  const int64_t low = -plane.first[0], width = plane.positions[1], end = plane.extent[1] - 2 * column;
  const int64_t first = column + (-plane.first[1] - kOdd) / 2;
  const auto moved = [](int tap) { return ((tap + kOdd) % 2 + kOdd - tap) / 2; };
  const Lanes<T> written[] = {lanes_within<T>(0, end), lanes_within<T>(0, end - kCount)};
  Lanes<T> lanes[kTaps];
  for (int t = 0; t < kTaps; ++t) lanes[t] = lanes_within<T>(-first - moved(t), width - first - moved(t));
  for (int64_t row = 0; row < plane.extent[0]; ++row, out += plane.extent[1]) {
    Vector<T> sums[2] = {};
    for (auto i = static_cast<int>((row + low) & 1); i < kTaps; i += 2) {
      const int64_t y = (row + low - i) / 2;
      if (row + low < i || y >= plane.positions[0]) continue;
      const T* const line = grad + y * width + first;
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) {
        Vector<T>& sum = sums[(t + kOdd) % 2];
        sum = multiply_add(w[i][t], load_lanes(line + moved(t), lanes[t]), sum);
      }
    }
    store_lanes(out + 2 * column, in_turn<0>(sums[0], sums[1]), written[0]);
    store_lanes(out + 2 * column + kCount, in_turn<1>(sums[0], sums[1]), written[1]);
  }
}

template <class T, int kTaps> void spread_plane(T* out, const T* grad, const T* weights, const ConvPlane& plane) {
  Vector<T> w[kTaps][kTaps];
  for (int i = 0; i < kTaps * kTaps; ++i) w[i / kTaps][i % kTaps] = all_of(weights[i]);
  for (int64_t column = 0; 2 * column < plane.extent[1]; column += kLanes<T>) {
    if (plane.first[1] % 2 == 0) spread_columns<T, kTaps, 0>(out, grad, w, plane, column);
    else spread_columns<T, kTaps, 1>(out, grad, w, plane, column);
  }
}

template <class T> void filter(void* out, const void* in, const void* weights, ptrdiff_t next, const ConvPlane& plane) {
  const auto run = plane.taps == 3 ? (plane.step == 1 ? filter_plane<T, 3, 1> : filter_plane<T, 3, 2>)
                                   : (plane.step == 1 ? filter_plane<T, 5, 1> : filter_plane<T, 5, 2>);
  run(static_cast<T*>(out), static_cast<const T*>(in), static_cast<const T*>(weights), next, plane);
}

template <class T> void correlate(void* sums, const void* grad, const void* in, const ConvPlane& plane) {
  const auto run = plane.taps == 3 ? (plane.step == 1 ? correlate_plane<T, 3, 1> : correlate_plane<T, 3, 2>)
                                   : (plane.step == 1 ? correlate_plane<T, 5, 1> : correlate_plane<T, 5, 2>);
  run(static_cast<T*>(sums), static_cast<const T*>(grad), static_cast<const T*>(in), plane);
}

template <class T> void spread(void* out, const void* grad, const void* weights, const ConvPlane& plane) {
  const auto run = plane.taps == 3 ? spread_plane<T, 3> : spread_plane<T, 5>;
  run(static_cast<T*>(out), static_cast<const T*>(grad), static_cast<const T*>(weights), plane);
}

template <class T> void add_to(ConvKernels& kernels) {
  kernels.filter_plane = filter<T>;
  kernels.correlate_plane = correlate<T>;
  kernels.spread_plane = spread<T>;
}

}  // namespace

void add_plane_kernels(KernelTable& table) {
  add_to<float>(table.conv_f32);
  add_to<double>(table.conv_f64);
}

}  // namespace tsl::cpu::TSL_ISA
