// Convolutions: products with windows, and filters of single channels.
#include "backend/cpu/isa/vectors.h"

namespace tsl::cpu::TSL_ISA {

namespace {

template <class T, int kRows, int kVectors>
[[gnu::noinline]] void multiply_tile(T* out, ptrdiff_t out_row, const T* w, ptrdiff_t w_row, const T* in,
                                     ptrdiff_t in_row, size_t depth, bool adds) {
  Vector<T> sums[kRows][kVectors] = {};
  for (size_t l = 0; l < depth; ++l, in += in_row) {
    Vector<T> x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = load(in + v * kLanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vector<T> factor = all_of(w[r * w_row + static_cast<ptrdiff_t>(l)]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sums[r][v] = multiply_add(factor, x[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      T* const to = out + r * out_row + v * kLanes<T>;
      store(to, adds ? load(to) + sums[r][v] : sums[r][v]);
    }
  }
}

template <class T, int kRows> void multiply_rows(int vectors, T* out, ptrdiff_t out_row, const T* w, ptrdiff_t w_row,
                                                 const T* in, ptrdiff_t in_row, size_t depth, bool adds) {
  if (vectors == 3) multiply_tile<T, kRows, 3>(out, out_row, w, w_row, in, in_row, depth, adds);
  else if (vectors == 2) multiply_tile<T, kRows, 2>(out, out_row, w, w_row, in, in_row, depth, adds);
  else multiply_tile<T, kRows, 1>(out, out_row, w, w_row, in, in_row, depth, adds);
}

template <class T> void multiply(int rows, int vectors, void* to, ptrdiff_t out_row, const void* weights,
                                 ptrdiff_t w_row, const void* from, ptrdiff_t in_row, size_t depth, bool adds) {
  T* out = static_cast<T*>(to);
  const T* w = static_cast<const T*>(weights);
  const T* const in = static_cast<const T*>(from);
  const auto move = [&](int by) {
    out += by * out_row;
    w += by * w_row;
    rows -= by;
  };
  // GCC keeps the sums of 8 rows in registers only where there are 32.
  constexpr int kMost = kVectorBytes == 64 ? kConvRows : 4;
  for (; rows >= kMost; move(kMost)) multiply_rows<T, kMost>(vectors, out, out_row, w, w_row, in, in_row, depth, adds);
  if (rows >= 4) {
    multiply_rows<T, 4>(vectors, out, out_row, w, w_row, in, in_row, depth, adds);
    move(4);
  }
  if (rows >= 2) {
    multiply_rows<T, 2>(vectors, out, out_row, w, w_row, in, in_row, depth, adds);
    move(2);
  }
  if (rows > 0) multiply_rows<T, 1>(vectors, out, out_row, w, w_row, in, in_row, depth, adds);
}

#if defined(__AVX512F__)
/// Returns lanes i with low <= i < high.
__mmask16 lanes_between(int64_t low, int64_t high) {
  const uint32_t above = low <= 0 ? 0xffffu : low >= 16 ? 0u : 0xffffu << low;
  const uint32_t below = high >= 16 ? 0xffffu : high <= 0 ? 0u : (1u << high) - 1;
  return static_cast<__mmask16>(above & below);
}
/// Copies elements that are neighbours: in[at + i], or 0 outside of [0, extent), for i < length.
void copy_run(float* out, const float* in, int64_t at, int64_t extent, int64_t length) {
  for (int64_t i = 0; i < length; i += 16) {
    const __mmask16 inside = lanes_between(-at - i, extent - at - i);
    _mm512_mask_storeu_ps(out + i, lanes_between(0, length - i), _mm512_maskz_loadu_ps(inside, in + at + i));
  }
}
/// Copies every second element.
void copy_halves(float* out, const float* in, int64_t at, int64_t extent, int64_t length) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  for (int64_t i = 0; i < length; i += 16) {
    const int64_t first = at + 2 * i, last = 2 * length - 1 + at;  // reads no element after that of the last window
    const int64_t end = last < extent ? last : extent;
    const __m512 low = _mm512_maskz_loadu_ps(lanes_between(-first, end - first), in + first);
    const __m512 high = _mm512_maskz_loadu_ps(lanes_between(-first - 16, end - first - 16), in + first + 16);
    _mm512_mask_storeu_ps(out + i, lanes_between(0, length - i), _mm512_permutex2var_ps(low, even, high));
  }
}
#endif

template <class T> void copy_run(T* out, const T* in, int64_t at, int64_t extent, int64_t length) {
  int64_t i = 0;
  for (; i < length && at + i < 0; ++i) out[i] = 0;
  const int64_t end = extent - at < length ? extent - at : length;
  for (; i < end; ++i) out[i] = in[at + i];
  for (; i < length; ++i) out[i] = 0;
}

template <class T> void copy_steps(T* out, const T* in, int64_t at, int64_t extent, int64_t length, int64_t step) {
  for (int64_t i = 0; i < length; ++i, at += step) out[i] = at >= 0 && at < extent ? in[at] : T(0);
}

template <class T> void copy_windows(T* out, const T* in, int64_t at, int64_t extent, int64_t length, int64_t step) {
  if (step == 1) return copy_run(out, in, at, extent, length);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == sizeof(float)) {
    if (step == 2) return copy_halves(out, in, at, extent, length);
  }
#endif
  copy_steps(out, in, at, extent, length, step);
}

/// A part of a run that one tap reads, of at most as many elements as a vector has: what lies where in a row of
/// windows' elements. `at` counts from the channel's first element.
struct Piece {
  ptrdiff_t at;
  int32_t column;
  int16_t low, high;  // elements [low, high) are inside of the input, the others 0
  int16_t length;
};
constexpr size_t kPieces = 256;

/// Cuts runs into pieces from element `done` of the first run on; returns their number.
template <class T> size_t cut_runs(Piece* pieces, const WindowRun*& run, const WindowRun* end, int64_t& done,
                                   const WindowReader& reader, const int64_t* tap) {
  size_t count = 0;
  while (run < end && count < kPieces) {
    const int64_t z = run->at[0] + reader.shift[0][tap[0]], y = run->at[1] + reader.shift[1][tap[1]];
    const bool is_inside = z >= 0 && z < reader.extent[0] && y >= 0 && y < reader.extent[1];
    const int64_t line = is_inside ? (z * reader.extent[1] + y) * reader.extent[2] : 0;
    const int64_t first = run->at[2] + reader.shift[2][tap[2]], step = reader.step;
    for (; done < run->length && count < kPieces; done += kLanes<T>) {
      const int64_t at = first + done * step, left = run->length - done;
      const int64_t length = left < static_cast<int64_t>(kLanes<T>) ? left : static_cast<int64_t>(kLanes<T>);
      const int64_t before = at < 0 ? (-at + step - 1) / step : 0;
      const int64_t inside = at < reader.extent[2] ? (reader.extent[2] - at + step - 1) / step : 0;
      const int64_t high = is_inside ? (inside < length ? inside : length) : 0;
      pieces[count++] = {run->example + line + at, static_cast<int32_t>(run->column + done),
                         static_cast<int16_t>(before < high ? before : high), static_cast<int16_t>(high),
                         static_cast<int16_t>(length)};
    }
    if (done >= run->length) {
      done = 0;
      ++run;
    }
  }
  return count;
}

template <class T> void copy_piece(T* out, const T* in, const Piece& piece, int64_t step) {
  for (int64_t i = 0; i < piece.low; ++i) out[i] = 0;
  if (step == 1) {
    for (int64_t i = piece.low; i < piece.high; ++i) out[i] = in[i];
  } else {
    for (int64_t i = piece.low; i < piece.high; ++i) out[i] = in[i * step];
  }
  for (int64_t i = piece.high; i < piece.length; ++i) out[i] = 0;
}

#if defined(__AVX512F__)
/// Writes whole vectors: what follows a piece in its row is written after it, or is of no use.
void copy_pieces(float* out, const float* in, const Piece* pieces, size_t count, int64_t step) {
  if (step == 1) {
    for (size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[i];
      const auto inside = static_cast<__mmask16>(((1u << piece.high) - 1) & ~((1u << piece.low) - 1));
      _mm512_storeu_ps(out + piece.column, _mm512_maskz_loadu_ps(inside, in + piece.at));
    }
    return;
  }
  if (step == 2) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    for (size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[i];
      const uint64_t end = piece.high > 0 ? (uint64_t{1} << (2 * piece.high - 1)) - 1 : 0;
      const uint64_t inside = end & ~((uint64_t{1} << (2 * piece.low)) - 1);
      const float* const from = in + piece.at;
      const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(inside), from);
      const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(inside >> 16), from + 16);
      _mm512_storeu_ps(out + piece.column, _mm512_permutex2var_ps(low, even, high));
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) copy_piece(out + pieces[i].column, in + pieces[i].at, pieces[i], step);
}
#endif

template <class T> void copy_pieces(T* out, const T* in, const Piece* pieces, size_t count, int64_t step) {
  for (size_t i = 0; i < count; ++i) {
    const Piece& piece = pieces[i];
    T* const to = out + piece.column;
    const T* const from = in + piece.at;
    if (step == 1 && piece.low == 0 && piece.high == static_cast<int16_t>(kLanes<T>)) store(to, load(from));
    else copy_piece(to, from, piece, step);
  }
}

template <class T> void gather(void* to, ptrdiff_t row, const WindowRun* runs, size_t run_count, const void* from,
                               const WindowReader& reader, int64_t first, int64_t count) {
  T* const out = static_cast<T*>(to);
  const T* const in = static_cast<const T*>(from);
  const int64_t channel_size = reader.extent[0] * reader.extent[1] * reader.extent[2];
  const int64_t taps = reader.taps[0] * reader.taps[1] * reader.taps[2];
  Piece pieces[kPieces];
  const WindowRun* run = runs;
  // The pieces of a row are written in order. Rows are written tap by tap, so one that follows must not be written yet.
  for (int64_t done = 0; run < runs + run_count;) {
    const WindowRun* const begin = run;
    const int64_t begin_done = done;
    for (int64_t tap = 0; tap < taps; ++tap) {
      run = begin;
      done = begin_done;
      const int64_t place[] = {tap / reader.taps[2] / reader.taps[1], tap / reader.taps[2] % reader.taps[1],
                               tap % reader.taps[2]};
      const size_t piece_count = cut_runs<T>(pieces, run, runs + run_count, done, reader, place);
      const int64_t earlier = first > tap ? (first - tap + taps - 1) / taps : 0;
      for (int64_t channel = earlier; channel * taps + tap < first + count; ++channel) {
        copy_pieces(out + (channel * taps + tap - first) * row, in + channel * channel_size, pieces, piece_count,
                    reader.step);
      }
    }
  }
}

template <class T, int kVectors>
void filter_part(T* out, const T* in, const T* w, const ptrdiff_t* offset, size_t taps) {
  Vector<T> sums[kVectors] = {};
  for (size_t t = 0; t < taps; ++t) {
    const Vector<T> factor = all_of(w[t]);
    const T* const at = in + offset[t];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[v] = multiply_add(factor, load(at + v * kLanes<T>), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) store(out + v * kLanes<T>, sums[v]);
}

template <class T>
void filter(void* to, const void* from, const void* weights, const ptrdiff_t* offset, size_t taps, size_t count) {
  T* const out = static_cast<T*>(to);
  const T *const in = static_cast<const T*>(from), *const w = static_cast<const T*>(weights);
  constexpr int kAtOnce = 6;
  size_t i = 0;
  for (; i + kAtOnce * kLanes<T> <= count; i += kAtOnce * kLanes<T>)
    filter_part<T, kAtOnce>(out + i, in + i, w, offset, taps);
  for (; i + 2 * kLanes<T> <= count; i += 2 * kLanes<T>) filter_part<T, 2>(out + i, in + i, w, offset, taps);
  for (; i < count; i += kLanes<T>) filter_part<T, 1>(out + i, in + i, w, offset, taps);
}

template <class T, int kTaps>
void correlate_taps(T* sums, const T* a, const T* in, const ptrdiff_t* offset, size_t count) {
  for (size_t lane = 0; lane < kSumLanes<T>; lane += kLanes<T>) {
    Vector<T> all[kTaps];
    for (int t = 0; t < kTaps; ++t) all[t] = load(sums + t * kSumLanes<T> + lane);
    for (size_t i = lane; i < count; i += kSumLanes<T>) {
      const Vector<T> x = load(a + i);
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) all[t] = multiply_add(x, load(in + offset[t] + i), all[t]);
    }
    for (int t = 0; t < kTaps; ++t) store(sums + t * kSumLanes<T> + lane, all[t]);
  }
}

template <class T>
void correlate(void* to, const void* left, const void* from, const ptrdiff_t* offset, size_t taps, size_t count) {
  T* sums = static_cast<T*>(to);
  const T *const a = static_cast<const T*>(left), *const in = static_cast<const T*>(from);
  constexpr size_t kAtOnce = 3;
  for (; taps >= kAtOnce; taps -= kAtOnce, offset += kAtOnce, sums += kAtOnce * kSumLanes<T>)
    correlate_taps<T, kAtOnce>(sums, a, in, offset, count);
  for (; taps > 0; --taps, ++offset, sums += kSumLanes<T>) correlate_taps<T, 1>(sums, a, in, offset, count);
}

template <class T> void copy(void* out, const void* line, int64_t at, int64_t extent, int64_t length, int64_t step) {
  copy_windows(static_cast<T*>(out), static_cast<const T*>(line), at, extent, length, step);
}

template <class T> void fold(void* to, const void* from, size_t count) {
  constexpr size_t kVectors = kSumLanes<T> / kLanes<T>;
  const T* in = static_cast<const T*>(from);
  for (T* out = static_cast<T*>(to); count > 0; --count, ++out, in += kSumLanes<T>) {
    Vector<T> sums[kVectors];
    for (size_t v = 0; v < kVectors; ++v) sums[v] = load(in + v * kLanes<T>);
    for (size_t half = kVectors / 2; half > 0; half /= 2) {
      for (size_t v = 0; v < half; ++v) sums[v] += sums[v + half];
    }
    *out = sum_of_halves(sums[0]);
  }
}

template <class T> void add_to(ConvKernels& kernels) {
  kernels.lanes = kLanes<T>;
  kernels.is_fused = kIsFused;
  kernels.multiply = multiply<T>;
  kernels.gather = gather<T>;
  kernels.filter = filter<T>;
  kernels.correlate = correlate<T>;
  kernels.copy = copy<T>;
  kernels.fold = fold<T>;
}

}  // namespace

void add_convolution_kernels(KernelTable& table) {
  add_to<float>(table.conv_f32);
  add_to<double>(table.conv_f64);
}

}  // namespace tsl::cpu::TSL_ISA
