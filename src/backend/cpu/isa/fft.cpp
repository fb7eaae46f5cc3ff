// Fourier transforms of several rows side by side: element i of all rows, the lanes, lies together, and the real and
// imaginary parts lie in two planes [n][lanes]. The radices follow Stockham's scheme, which sorts while it transforms
// (Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992). A lane's result depends on no other.
#include "backend/cpu/isa/vectors.h"

namespace tsl::cpu::TSL_ISA {

namespace {

/// The two planes of complex numbers.
template <class T> struct Planes {
  T* re;
  T* im;
  Planes at(size_t i) const { return {re + i, im + i}; }
};
template <class T> Planes<const T> read(const void* planes, size_t plane) {
  return {static_cast<const T*>(planes), static_cast<const T*>(planes) + plane};
}
template <class T> Planes<T> written(void* planes, size_t plane) {
  return {static_cast<T*>(planes), static_cast<T*>(planes) + plane};
}

/// Stores (re, im) times the twiddle factor w.
template <class T> void store_turned(const Planes<T>& out, size_t q, T re, T im, const T* w) {
  out.re[q] = re * w[0] - im * w[1];
  out.im[q] = re * w[1] + im * w[0];
}

template <class T>
void radix_2(const Planes<const T>& a, const Planes<const T>& b, const Planes<T>& out, size_t n, const T* w) {
  const Planes<T> second = out.at(n);
  TSL_VECTORIZE
  for (size_t q = 0; q < n; ++q) {
    const T re = a.re[q] - b.re[q], im = a.im[q] - b.im[q];
    out.re[q] = a.re[q] + b.re[q];
    out.im[q] = a.im[q] + b.im[q];
    store_turned(second, q, re, im, w);
  }
}

template <class T> void radix_3(const Planes<const T>* x, const Planes<T>& out, size_t n, const T* w) {
  constexpr T kHalf = T(0.5), kSine = T(0.866025403784438646763723170752936183L);  // of 2π/3
  const Planes<const T> a = x[0], b = x[1], c = x[2];
  const Planes<T> second = out.at(n), third = out.at(2 * n);
  TSL_VECTORIZE
  for (size_t q = 0; q < n; ++q) {
    const T sum_re = b.re[q] + c.re[q], sum_im = b.im[q] + c.im[q];
    const T turn_re = kSine * (b.im[q] - c.im[q]), turn_im = kSine * (c.re[q] - b.re[q]);
    const T mid_re = a.re[q] - kHalf * sum_re, mid_im = a.im[q] - kHalf * sum_im;
    out.re[q] = a.re[q] + sum_re;
    out.im[q] = a.im[q] + sum_im;
    store_turned(second, q, mid_re + turn_re, mid_im + turn_im, w);
    store_turned(third, q, mid_re - turn_re, mid_im - turn_im, w + 2);
  }
}

template <class T> void radix_4(const Planes<const T>* x, const Planes<T>& out, size_t n, const T* w) {
  const Planes<const T> a = x[0], b = x[1], c = x[2], d = x[3];
  const Planes<T> second = out.at(n), third = out.at(2 * n), fourth = out.at(3 * n);
  TSL_VECTORIZE
  for (size_t q = 0; q < n; ++q) {
    const T even_re = a.re[q] + c.re[q], even_im = a.im[q] + c.im[q];
    const T odd_re = b.re[q] + d.re[q], odd_im = b.im[q] + d.im[q];
    const T cross_re = a.re[q] - c.re[q], cross_im = a.im[q] - c.im[q];
    const T turn_re = b.im[q] - d.im[q], turn_im = d.re[q] - b.re[q];  // -i times b - d
    out.re[q] = even_re + odd_re;
    out.im[q] = even_im + odd_im;
    store_turned(second, q, cross_re + turn_re, cross_im + turn_im, w);
    store_turned(third, q, even_re - odd_re, even_im - odd_im, w + 2);
    store_turned(fourth, q, cross_re - turn_re, cross_im - turn_im, w + 4);
  }
}

template <class T> void radix_5(const Planes<const T>* x, const Planes<T>& out, size_t n, const T* w) {
  constexpr T kCosine1 = T(0.309016994374947424102293417182819059L),
              kSine1 = T(0.951056516295153572116439333379382143L);
  constexpr T kCosine2 = T(-0.809016994374947424102293417182819059L),
              kSine2 = T(0.587785252292473129168705954639072769L);
  const Planes<const T> a = x[0], b = x[1], c = x[2], d = x[3], e = x[4];
  const Planes<T> second = out.at(n), third = out.at(2 * n), fourth = out.at(3 * n), fifth = out.at(4 * n);
  TSL_VECTORIZE
  for (size_t q = 0; q < n; ++q) {
    const T be_re = b.re[q] + e.re[q], be_im = b.im[q] + e.im[q], cd_re = c.re[q] + d.re[q], cd_im = c.im[q] + d.im[q];
    const T b_e_re = b.re[q] - e.re[q], b_e_im = b.im[q] - e.im[q], c_d_re = c.re[q] - d.re[q],
            c_d_im = c.im[q] - d.im[q];
    const T mid1_re = a.re[q] + kCosine1 * be_re + kCosine2 * cd_re;
    const T mid1_im = a.im[q] + kCosine1 * be_im + kCosine2 * cd_im;
    const T mid2_re = a.re[q] + kCosine2 * be_re + kCosine1 * cd_re;
    const T mid2_im = a.im[q] + kCosine2 * be_im + kCosine1 * cd_im;
    const T turn1_re = kSine1 * b_e_im + kSine2 * c_d_im, turn1_im = -(kSine1 * b_e_re + kSine2 * c_d_re);
    const T turn2_re = kSine2 * b_e_im - kSine1 * c_d_im, turn2_im = kSine1 * c_d_re - kSine2 * b_e_re;
    out.re[q] = a.re[q] + (be_re + cd_re);
    out.im[q] = a.im[q] + (be_im + cd_im);
    store_turned(second, q, mid1_re + turn1_re, mid1_im + turn1_im, w);
    store_turned(third, q, mid2_re + turn2_re, mid2_im + turn2_im, w + 2);
    store_turned(fourth, q, mid2_re - turn2_re, mid2_im - turn2_im, w + 4);
    store_turned(fifth, q, mid1_re - turn1_re, mid1_im - turn1_im, w + 6);
  }
}

/// Adds x times a root of one to out.
template <class T> void add_turned(const Planes<T>& out, const Planes<const T>& x, size_t n, const T* root) {
  TSL_VECTORIZE
  for (size_t q = 0; q < n; ++q) {
    out.re[q] += x.re[q] * root[0] - x.im[q] * root[1];
    out.im[q] += x.re[q] * root[1] + x.im[q] * root[0];
  }
}

/// Computes a radix without a formula of its own by its sums, radix² products.
template <class T>
void radix_any(const FftPass& pass, const Planes<const T>* x, const Planes<T>& out, size_t n, const T* w) {
  const T* const roots = static_cast<const T*>(pass.roots);
  for (size_t k = 0; k < pass.radix; ++k) {
    const Planes<T> part = out.at(k * n);
    for (size_t q = 0; q < n; ++q) {
      part.re[q] = x[0].re[q];
      part.im[q] = x[0].im[q];
    }
    for (size_t j = 1; j < pass.radix; ++j) add_turned(part, x[j], n, roots + 2 * (j * k % pass.radix));
    if (k == 0) continue;
    TSL_VECTORIZE
    for (size_t q = 0; q < n; ++q) store_turned(part, q, part.re[q], part.im[q], w + 2 * (k - 1));
  }
}

template <class T> void run_pass(const FftPass& pass, const void* from, void* to, size_t plane) {
  const size_t radix = pass.radix, n = pass.width;
  const Planes<const T> in = read<T>(from, plane);
  const T* w = static_cast<const T*>(pass.twiddles);
  for (size_t p = 0; p < pass.groups; ++p, w += 2 * (radix - 1)) {
    Planes<const T> x[kMostFftRadix];
    for (size_t j = 0; j < radix; ++j) x[j] = in.at((p + pass.groups * j) * n);
    const Planes<T> out = written<T>(to, plane).at(p * radix * n);
    switch (radix) {
      case 2: radix_2(x[0], x[1], out, n, w); break;
      case 3: radix_3(x, out, n, w); break;
      case 4: radix_4(x, out, n, w); break;
      case 5: radix_5(x, out, n, w); break;
      default: radix_any(pass, x, out, n, w); break;
    }
  }
}

// ---- Between rows and planes --------------------------------------------------------------------------------

/// Reads n pairs of each of the rows: re[i][lane] = in[lane * stride + 2 i].
template <class T> void load(void* planes, size_t plane, const void* rows, size_t n, size_t lanes, ptrdiff_t stride) {
  const Planes<T> out = written<T>(planes, plane);
  const T* const in = static_cast<const T*>(rows);
  if (lanes == 1) {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) {
      out.re[i] = in[2 * i];
      out.im[i] = in[2 * i + 1];
    }
    return;
  }
  constexpr size_t kTile = 16;  // elements of a row at a time, so that the written lines stay in the first cache
  for (size_t first = 0; first < n; first += kTile) {
    const size_t end = first + kTile < n ? first + kTile : n;
    for (size_t lane = 0; lane < lanes; ++lane) {
      const T* const row = in + static_cast<ptrdiff_t>(lane) * stride;
      for (size_t i = first; i < end; ++i) {
        out.re[i * lanes + lane] = row[2 * i];
        out.im[i * lanes + lane] = row[2 * i + 1];
      }
    }
  }
}

template <class T> void store(void* rows, ptrdiff_t stride, const void* planes, size_t plane, size_t n, size_t lanes) {
  const Planes<const T> in = read<T>(planes, plane);
  T* const out = static_cast<T*>(rows);
  if (lanes == 1) {
    TSL_VECTORIZE
    for (size_t i = 0; i < n; ++i) {
      out[2 * i] = in.re[i];
      out[2 * i + 1] = in.im[i];
    }
    return;
  }
  constexpr size_t kTile = 16;
  for (size_t first = 0; first < n; first += kTile) {
    const size_t end = first + kTile < n ? first + kTile : n;
    for (size_t lane = 0; lane < lanes; ++lane) {
      T* const row = out + static_cast<ptrdiff_t>(lane) * stride;
      for (size_t i = first; i < end; ++i) {
        row[2 * i] = in.re[i * lanes + lane];
        row[2 * i + 1] = in.im[i * lanes + lane];
      }
    }
  }
}

/// Multiplies element i of all lanes with factors[i].
template <class T> void multiply(void* planes, size_t plane, const void* factors, size_t n, size_t lanes) {
  const Planes<T> x = written<T>(planes, plane);
  const T* w = static_cast<const T*>(factors);
  for (size_t i = 0; i < n; ++i, w += 2) {
    const Planes<T> row = x.at(i * lanes);
    TSL_VECTORIZE
    for (size_t lane = 0; lane < lanes; ++lane) store_turned(row, lane, row.re[lane], row.im[lane], w);
  }
}

template <class T> void multiply_each(void* planes, size_t plane, const void* factors, size_t count) {
  const Planes<T> x = written<T>(planes, plane);
  const Planes<const T> w = read<T>(factors, count);
  TSL_VECTORIZE
  for (size_t i = 0; i < count; ++i) {
    const T re = x.re[i], im = x.im[i];
    x.re[i] = re * w.re[i] - im * w.im[i];
    x.im[i] = re * w.im[i] + im * w.re[i];
  }
}

/// Four elements, which may lie anywhere.
template <class T> struct FourOf;
template <> struct FourOf<float> { typedef float Type __attribute__((vector_size(16), aligned(4), may_alias)); };
template <> struct FourOf<double> { typedef double Type __attribute__((vector_size(32), aligned(8), may_alias)); };

/// Transposes a tile of 4 x 4 elements.
template <class T> void turn_tile(T* to, size_t to_stride, const T* from, size_t from_stride) {
  using Four = typename FourOf<T>::Type;
  const auto row = [&](size_t i) -> const Four& { return *reinterpret_cast<const Four*>(from + i * from_stride); };
  const auto out = [&](size_t i) -> Four& { return *reinterpret_cast<Four*>(to + i * to_stride); };
  const Four ab_low = __builtin_shufflevector(row(0), row(1), 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(row(0), row(1), 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(row(2), row(3), 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(row(2), row(3), 2, 6, 3, 7);
  out(0) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  out(1) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  out(2) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  out(3) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

#if defined(__AVX512F__)
/// Interleaves the first or the second halves of two vectors.
Vector<float> interleave(Vector<float> a, Vector<float> b, bool second) {
  if (second) return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Vector<double> interleave(Vector<double> a, Vector<double> b, bool second) {
  if (second) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

/// Transposes a square of as many rows as a vector has elements: each round interleaves rows of its halves.
template <class T> void turn_square(T* to, size_t to_stride, const T* from, size_t from_stride) {
  constexpr size_t kSide = kLanes<T>;
  Vector<T> rows[kSide], next[kSide];
#pragma GCC unroll 16
  for (size_t i = 0; i < kSide; ++i) rows[i] = load(from + i * from_stride);
#pragma GCC unroll 4
  for (size_t round = 1; round < kSide; round *= 2) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kSide; ++i) next[i] = interleave(rows[i / 2], rows[i / 2 + kSide / 2], i % 2 != 0);
#pragma GCC unroll 16
    for (size_t i = 0; i < kSide; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < kSide; ++i) store(to + i * to_stride, rows[i]);
}
#endif

/// Writes four rows of the result at a time, from their first element to the last, so that they keep to few lines.
template <class T>
void turn_by_fours(T* out, size_t to_stride, const T* in, size_t from_stride, size_t rows, size_t columns) {
  const size_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (size_t j = 0; j < whole_columns; j += 4) {
    for (size_t i = 0; i < whole_rows; i += 4)
      turn_tile(out + j * to_stride + i, to_stride, in + i * from_stride + j, from_stride);
  }
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      out[j * to_stride + i] = in[i * from_stride + j];
  }
}

template <class T>
void turn(void* to, size_t to_stride, const void* from, size_t from_stride, size_t rows, size_t columns) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
#if defined(__AVX512F__)
  constexpr size_t kSide = kLanes<T>;
  for (; rows >= kSide; rows -= kSide, in += kSide * from_stride, out += kSide) {
    size_t j = 0;
    for (; j + kSide <= columns; j += kSide) turn_square(out + j * to_stride, to_stride, in + j, from_stride);
    turn_by_fours(out + j * to_stride, to_stride, in + j, from_stride, kSide, columns - j);
  }
#endif
  turn_by_fours(out, to_stride, in, from_stride, rows, columns);
}

// ---- Real numbers -------------------------------------------------------------------------------------------

/// Makes one element of the spectrum of 2 n real numbers of elements k and n - k of the transform of n pairs of them.
template <class T>
void separate_one(const Planes<T>& out, size_t k, const Planes<const T>& in, size_t a, size_t b, const T* w) {
  constexpr T kHalf = T(0.5);
  const T even_re = kHalf * (in.re[a] + in.re[b]), even_im = kHalf * (in.im[a] - in.im[b]);
  const T odd_re = kHalf * (in.im[a] + in.im[b]), odd_im = kHalf * (in.re[b] - in.re[a]);
  out.re[k] = even_re + (odd_re * w[0] - odd_im * w[1]);
  out.im[k] = even_im + (odd_re * w[1] + odd_im * w[0]);
}

/// Makes the spectrum of 2 n real numbers, elements 0 to n of it, of the transform of n pairs of them: each pair was
/// transformed as one complex number. twiddles[k] = e^(-2πi k / 2n).
template <class T> void separate(void* to, size_t to_plane, const void* from, size_t from_plane, const void* twiddles,
                                 size_t n, size_t lanes) {
  const Planes<const T> in = read<T>(from, from_plane);
  const Planes<T> out = written<T>(to, to_plane);
  const T* const w = static_cast<const T*>(twiddles);
  if (lanes == 1) {
    separate_one(out, 0, in, 0, 0, w);
    TSL_VECTORIZE
    for (size_t k = 1; k < n; ++k) separate_one(out, k, in, k, n - k, w + 2 * k);
    separate_one(out, n, in, 0, 0, w + 2 * n);
    return;
  }
  for (size_t k = 0; k <= n; ++k) {
    const size_t a = (k < n ? k : 0) * lanes, b = (k == 0 ? 0 : n - k) * lanes;
    TSL_VECTORIZE
    for (size_t q = 0; q < lanes; ++q) separate_one(out, k * lanes + q, in, a + q, b + q, w + 2 * k);
  }
}

/// Makes one complex number of elements k and n - k of a spectrum, of which the first have no imaginary parts.
template <class T> void join_one(const Planes<T>& out, size_t k, const Planes<const T>& in, size_t a, size_t b,
                                 const T* w, bool is_first) {
  const T a_im = is_first ? T(0) : in.im[a], b_im = is_first ? T(0) : in.im[b];
  const T even_re = in.re[a] + in.re[b], even_im = a_im - b_im;
  const T diff_re = in.re[a] - in.re[b], diff_im = a_im + b_im;
  const T odd_re = diff_re * w[0] + diff_im * w[1], odd_im = diff_im * w[0] - diff_re * w[1];
  out.re[k] = even_re - odd_im;
  out.im[k] = even_im + odd_re;
}

/// Makes n complex numbers, whose inverse transform has 2 n real ones as pairs, of elements 0 to n of their spectrum.
/// The imaginary parts of the first and the last element do not count.
template <class T> void join(void* to, size_t to_plane, const void* from, size_t from_plane, const void* twiddles,
                             size_t n, size_t lanes) {
  const Planes<const T> in = read<T>(from, from_plane);
  const Planes<T> out = written<T>(to, to_plane);
  const T* const w = static_cast<const T*>(twiddles);
  for (size_t q = 0; q < lanes; ++q) join_one(out, q, in, q, n * lanes + q, w, true);
  if (lanes == 1) {
    TSL_VECTORIZE
    for (size_t k = 1; k < n; ++k) join_one(out, k, in, k, n - k, w + 2 * k, false);
    return;
  }
  for (size_t k = 1; k < n; ++k) {
    TSL_VECTORIZE
    for (size_t q = 0; q < lanes; ++q)
      join_one(out, k * lanes + q, in, k * lanes + q, (n - k) * lanes + q, w + 2 * k, false);
  }
}

template <class T> FftKernels kernels_of() {
  return {run_pass<T>, load<T>, store<T>, multiply<T>, multiply_each<T>, turn<T>, separate<T>, join<T>};
}

}  // namespace

void add_fft_kernels(KernelTable& table) {
  table.fft[0] = kernels_of<float>();
  table.fft[1] = kernels_of<double>();
}

}  // namespace tsl::cpu::TSL_ISA
