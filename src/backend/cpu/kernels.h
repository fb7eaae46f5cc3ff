// The prebuilt tile kernels: loops over contiguous memory, compiled once per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/elements.h"
#include "tensor/op.h"

namespace tsl::cpu {

enum class Isa : uint8_t { generic, avx2, avx512 };

/// Returns the best instruction set of this machine (the environment variable TSL_ISA=generic|avx2|avx512 lowers it).
Isa best_isa();
const char* name_of(Isa isa);

/// Computes out[i] = op(in[0][i], …) for i < n. Buffers are contiguous. `out` may be an operand with elements of equal
/// size, but must not overlap one otherwise. Returns false if the op failed on some element (integer division by zero
/// gives 0); all others are computed.
using MapKernel = bool (*)(void* out, const void* const* in, size_t n);

// Reductions of contiguous rows. The order of combination is a function of n alone: it is the same on every instruction
// set and for rows and columns (docs/architecture.md, "Numerics"):
//   f(v[0..n)) for n <= kReduceBlock: kReduceLanes accumulators, lane l taking v[l], v[l+L], v[l+2L], …; then
//   the lanes fold in halves (lane l takes lane l+width/2, where it exists); lanes beyond n take no part.
//   For n > kReduceBlock: f over the results of consecutive blocks (the last may be short).
// logsumexp: with g = max(v), reduced in this order, and shift = g if g is finite, else 0,
//   f(v[0..n)) = log(sum(exp(v - shift))) + shift for n <= kReduceBlock; for more, f over the results of blocks as
//   above. It uses the scalar bodies of its parts, so it equals what graph::decompose makes of short rows.
inline constexpr size_t kReduceLanes = 128;
inline constexpr size_t kReduceBlock = 4096;

/// The reductions with kernels for rows and columns.
enum class ReduceOp : uint8_t {
#define TSL_REDUCTION(name, ...) name,
#define TSL_ARG_REDUCTION(...)
#include "tensor/bodies/reductions.def"
#undef TSL_REDUCTION
#undef TSL_ARG_REDUCTION
  count_
};
inline constexpr int kReduceOpCount = static_cast<int>(ReduceOp::count_);

struct ReduceKernels {
  /// Reduces rows: out[r] = f(in[r*n .. r*n+n)), n >= 1. `out` has the accumulator's dtype for sum and prod, else in's.
  void (*rows)(void* out, const void* in, size_t rows, size_t n);
  /// Reduces columns: `in` is [n][columns] with rows `stride` elements apart; out[c] = f(column c), n <= kReduceBlock.
  void (*columns)(void* out, const void* in, size_t n, size_t columns, size_t stride);
};

/// Computes argmax or argmin of contiguous rows. `out` is i64: the first of equal elements; the first NaN wins.
using ArgKernel = void (*)(void* out, const void* in, size_t rows, size_t n);

/// Computes running sums or products of a row of n; the accumulator is as for sum, rounded at each store. `out` has
/// in's dtype if that is a float, else i64. The order is a function of n alone, too:
///   Each block of kScanBlock elements is scanned element by element. Blocks are grouped by kScanBlock, those groups
///   again, and so on; the totals of a group's members are scanned in the same way. Element i is (… (T2 + T1) + own),
///   where own is the running total within its block, T1 that of the blocks before in its group, T2 that of the groups
///   before in its group of groups, and so on. Parts with nothing before them are left out.
inline constexpr size_t kScanBlock = 32;
struct ScanKernels {
  /// Scans contiguous rows of n elements.
  void (*rows)(void* out, const void* in, size_t rows, size_t n);
  /// Scans columns: `in` and `out` are [n][columns] with rows `stride` elements apart.
  void (*columns)(void* out, const void* in, size_t n, size_t columns, size_t stride);
};

/// Writes the keys of elements: numbers without a sign that sort as the elements do, NaN last, and the other way round
/// if `descending`. A key has 64 bits if an element does, else 32. Returns the least key.
using KeyKernel = uint64_t (*)(void* keys, const void* in, size_t n, bool descending);
/// Writes the elements that have these keys; -0.0, whose key is that of 0.0, and most NaNs become others.
using KeyedElementKernel = void (*)(void* out, const void* keys, size_t n, bool descending);

/// Writes the positions of the first `count` elements of each row of n <= kMaxRankedRow keys, in order; of equal keys,
/// the first comes first.
inline constexpr size_t kMaxRankedRow = 128;
using OrderKernel = void (*)(int64_t* out, const void* keys, size_t rows, size_t n, size_t count);

/// Computes elements [first, first + n) of the random stream (key, counter): element i uses word i%4 of Philox block
/// counter + i/4; f64 uses words 2i and 2i + 1 of the stream, so that a block makes two elements (random_math.h). `out`
/// is i64 (of bits) or a float dtype.
using RandomKernel = void (*)(void* out, uint64_t key, uint64_t counter, uint64_t first, size_t n);
struct RandomKernels {
  RandomKernel bits = nullptr;
  RandomKernel uniform[kDTypeCount] = {};
  RandomKernel normal[kDTypeCount] = {};
};

/// The indices of a gather, and what they count: rows that are `row_stride` elements apart. A negative index counts
/// from the end if `wraps`.
struct GatherIndex {
  const int64_t* index;
  ptrdiff_t step;       // between the indices of a row of the result, in elements
  ptrdiff_t index_row;  // between those of its rows
  int64_t extent;
  ptrdiff_t row_stride;
  bool wraps;
};

/// Copies element [r, i] of a view of `in` with these strides, from row index[r, i], to out[r * n + i], for r < height
/// and i < n. Returns how many are copied before the first with an index out of range.
using GatherKernel = size_t (*)(void* out, const void* in, GatherIndex rows, size_t height, size_t n, ptrdiff_t in_row,
                                ptrdiff_t stride);

/// The elements of a strip: one for each lane of a reduction.
inline constexpr size_t kStrip = kReduceLanes;
/// The most strips that a chain processes at a time, and their elements.
inline constexpr size_t kMaxStrips = 2, kMaxInHand = kMaxStrips * kStrip;

/// What an instruction of a chain does with the accumulator, which is a strip of f32. Binary ones read the other
/// operand from memory; for sub_from and div_into it is the left one. Elements of f16 and bf16 are f32 numbers here:
/// they are converted when they are read and written, and rounded after each op.
enum class ChainCode : uint8_t {
  load,
  store,
  store_f16,
  store_bf16,
  stream,
  stream_f16,
  stream_bf16,  // store past the caches, where memory is aligned to their lines
  round_f16,
  round_bf16,
  add,
  sub,
  sub_from,
  mul,
  div,
  div_into,
  square,
  neg,
  relu,
  abs,
  maximum,
  minimum,
  sum,
  prod,
  max,
  min,       // combine the accumulator into kReduceLanes lanes at the operand, which fold later
  call,      // a map kernel from memory to memory; overwrites the accumulator
  prefetch,  // the operand will be read soon
};

/// What the operand of a load or of a binary instruction is: elements of a dtype, or one f32 for all elements of a
/// strip.
enum class ChainRead : uint8_t { f32, f16, bf16, one };

struct ChainInstr {
  ChainCode code;
  ChainRead read = ChainRead::f32;
  uint16_t operand = 0;          // for call: the operand that receives the result
  std::array<uint16_t, 3> in{};  // operands of a call; for prefetch, in[0]: bytes to fetch per strip
  uint8_t arity = 0;             // of a call
  MapKernel call = nullptr;
};

/// An operand in memory: the address of its first strip, and the distance to the next in bytes; 0 if all strips are the
/// same, in which case memory holds kMaxInHand elements.
struct ChainOperand {
  std::byte* at = nullptr;
  size_t step = 0;
};

/// Runs `code` for elements [begin, end) of a row, strip by strip; `operands` are at `begin`. Except for operands of
/// calls, it may read and write whole strips, even if the last one has fewer elements.
using ChainKernel = void (*)(const ChainInstr* code, size_t length, const ChainOperand* operands, size_t begin,
                             size_t end);

/// The largest radix of a pass of a Fourier transform; lengths with a larger prime factor are transformed another way.
inline constexpr size_t kMostFftRadix = 31;

/// A pass of a Fourier transform, with tables in the dtype of the elements.
struct FftPass {
  size_t radix;
  size_t groups;         // butterflies that have twiddle factors of their own
  size_t width;          // elements that share them, times the lanes
  const void* twiddles;  // [groups][radix - 1] complex numbers
  const void* roots;     // [radix] powers of e^(-2πi / radix)
};

/// Steps of Fourier transforms of `lanes` rows side by side, in two planes [n][lanes] for real and imaginary parts; the
/// second begins `plane` elements behind the first.
struct FftKernels {
  void (*pass)(const FftPass& pass, const void* in, void* out, size_t plane) = nullptr;
  /// Reads and writes rows of n pairs, `stride` numbers apart.
  void (*load)(void* planes, size_t plane, const void* rows, size_t n, size_t lanes, ptrdiff_t stride) = nullptr;
  void (*store)(void* rows, ptrdiff_t stride, const void* planes, size_t plane, size_t n, size_t lanes) = nullptr;
  /// Multiplies element i of each lane with factors[i].
  void (*multiply)(void* planes, size_t plane, const void* factors, size_t n, size_t lanes) = nullptr;
  /// Multiplies `count` elements of two planes with those of two planes of factors.
  void (*multiply_each)(void* planes, size_t plane, const void* factors, size_t count) = nullptr;
  /// Transposes a plane [rows][columns], whose rows begin `stride` elements apart.
  void (*turn)(void* to, size_t to_stride, const void* from, size_t from_stride, size_t rows, size_t columns) = nullptr;
  /// Makes elements 0 to n of the spectrum of 2 n real numbers of the transform of n pairs of them.
  void (*separate)(void* to, size_t to_plane, const void* from, size_t from_plane, const void* twiddles, size_t n,
                   size_t lanes) = nullptr;
  /// Does the opposite.
  void (*join)(void* to, size_t to_plane, const void* from, size_t from_plane, const void* twiddles, size_t n,
               size_t lanes) = nullptr;
};

/// The axes of a convolution; those of one or two come last, and the others have extent 1.
inline constexpr int kConvAxes = 3;

/// A run of windows along the last axis: where the first begins in its example, before the shift of a tap. It may
/// begin outside.
struct WindowRun {
  ptrdiff_t example;  // where the example's first channel begins, in elements
  int64_t at[kConvAxes];
  int64_t length, column;  // windows, and the place of the first in a row of the result
};

/// What reads windows: channels of `extent`, of which element w * step + shift[tap] is read for window w.
struct WindowReader {
  int64_t extent[kConvAxes];
  int64_t step;  // along the last axis
  const int64_t* shift[kConvAxes];
  int64_t taps[kConvAxes];
};

/// Sizes of the products below: rows at a time, and the most vectors.
inline constexpr int kConvRows = 8, kConvVectors = 3;
/// Bytes of the lanes in which gradients of filters are added up, on every instruction set: the widest vector's.
inline constexpr size_t kSumBytes = 64;

/// Elements after the last one of a gathered row that may be overwritten.
inline constexpr int64_t kGatherSlack = 16;

/// A plane that a square of taps filters, by the same step along both axes: position p reads p * step + first + tap.
struct ConvPlane {
  int64_t extent[2], positions[2], first[2];
  int taps, step;  // 3 or 5, 1 or 2
};

struct ConvKernels {
  size_t lanes = 0;       // elements of a vector
  bool is_fused = false;  // a product that is added to a sum is not rounded
  /// out[r][c] = sum of w[r][l] * in[l][c] over l < depth, in order, or adds it; for r < rows, c < vectors * lanes.
  void (*multiply)(int rows, int vectors, void* out, ptrdiff_t out_row, const void* w, ptrdiff_t w_row, const void* in,
                   ptrdiff_t in_row, size_t depth, bool adds) = nullptr;
  /// Writes rows [first, first + count) of the windows' elements: row (channel, taps…), of `row` elements, has that of
  /// each window, and 0 where it lies outside. Rows have kGatherSlack more elements than windows.
  void (*gather)(void* out, ptrdiff_t row, const WindowRun* runs, size_t run_count, const void* in,
                 const WindowReader& reader, int64_t first, int64_t count) = nullptr;
  /// out[i] = sum of w[t] * in[offset[t] + i] over taps t, in order, for i < count, a multiple of lanes.
  void (*filter)(void* out, const void* in, const void* w, const ptrdiff_t* offset, size_t taps,
                 size_t count) = nullptr;
  /// sums[t] += a[i] * in[offset[t] + i] for i < count, a multiple of the kSumBytes' lanes: lane l adds up the products
  /// of elements l, l + lanes, ….
  void (*correlate)(void* sums, const void* a, const void* in, const ptrdiff_t* offset, size_t taps,
                    size_t count) = nullptr;
  /// Filters a plane by weights that lie `next` apart; adds to sums of lanes, as correlate() does, the products with a
  /// gradient; and computes the gradient of what a step of 2 reads.
  void (*filter_plane)(void* out, const void* in, const void* w, ptrdiff_t next, const ConvPlane& plane) = nullptr;
  void (*correlate_plane)(void* sums, const void* grad, const void* in, const ConvPlane& plane) = nullptr;
  void (*spread_plane)(void* out, const void* grad, const void* w, const ConvPlane& plane) = nullptr;
  /// out[i] = line[at + i * step] for i < length, and 0 outside of [0, extent).
  void (*copy)(void* out, const void* line, int64_t at, int64_t extent, int64_t length, int64_t step) = nullptr;
  /// Adds up the kSumBytes' lanes of each sum: out[i] = sums[i][0] + sums[i][1] + …, in halves.
  void (*fold)(void* out, const void* sums, size_t count) = nullptr;
};

/// A block of attention's scores, which lie without gaps. Row r looks at columns low + r to high + r - 1, of these at
/// the ones where the mask is true.
struct ScoreBlock {
  void* scores;  // f32 or f64: products of query and key
  size_t rows, columns;
  double scale, cap;  // cap: 0 for none
  int64_t low, high;
  const unsigned char* mask = nullptr;  // null: there is none
  int64_t mask_stride = 0;              // between its rows
};

/// What attention does beside products, of f32 or f64. Sums are in lanes, as those of reductions.
struct AttentionKernels {
  /// Replaces scores by exp(score - most), where `most` becomes the greatest of a row so far, adds them to `total`, and
  /// sets `shrink` to what earlier sums of the row must be multiplied by.
  void (*weigh)(const ScoreBlock& block, void* most, void* total, void* shrink);
  /// Replaces scores by exp(score - logsumexp), and `slopes`, the gradients of these, by those of products.
  void (*differentiate)(const ScoreBlock& block, void* slopes, const void* logsumexp, const void* delta);
  /// Multiplies rows by factors.
  void (*scale_rows)(void* x, const void* factors, size_t rows, size_t columns);
  /// Computes out[r] = the sum of a[r][c] * b[r][c].
  void (*dot_rows)(void* out, const void* a, const void* b, size_t rows, size_t columns);
};

struct KernelTable {
  MapKernel map[kOpCount][kDTypeCount] = {};      // by op and operand dtype (where: of its last two operands);
                                                  // null where the op's dtype rule admits no such operand
  MapKernel cast[kDTypeCount][kDTypeCount] = {};  // [from][to]
  ReduceKernels reduce[kReduceOpCount][kDTypeCount] =
      {};  // by input dtype; also [sum] of accumulator dtypes; logsumexp: f32, f64
  ArgKernel argmax[kDTypeCount] = {};
  ArgKernel argmin[kDTypeCount] = {};
  ScanKernels cumsum[kDTypeCount] = {};
  ScanKernels cumprod[kDTypeCount] = {};
  KeyKernel sort_keys[kDTypeCount] = {};
  KeyedElementKernel keyed_elements[kDTypeCount] = {};
  OrderKernel order_rows[2] = {};  // of keys with 32 and with 64 bits
  ChainKernel chain = nullptr;
  RandomKernels random;
  AttentionKernels attention[2] = {};  // of f32, f64
  /// Computes out[i] = start + i * step for i in [first, first + n); start and step are i64 or f64 according to the
  /// dtype. Not for bool.
  void (*iota[kDTypeCount])(void* out, Scalar start, Scalar step, uint64_t first, size_t n) = {};
  /// Copies out[r][c] = in[r*row_stride + c*column_stride] (in elements); `out` is contiguous.
  void (*load_2d[9])(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride,
                     ptrdiff_t column_stride) = {};
  /// Copies out[r*row_stride + c*column_stride] = in[r][c]. Both tables are indexed by the element's size: 1, 2, 4, 8.
  void (*store_2d[9])(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride,
                      ptrdiff_t column_stride) = {};
  GatherKernel gather[9] = {};  // by the element's size, too
  FftKernels fft[2];            // of f32 and f64
  ConvKernels conv_f32, conv_f64;
};

const KernelTable& kernels(Isa isa);

/// Writes `count` copies of one element of `size` bytes.
void fill(void* out, const void* value, size_t size, int64_t count);
/// Writes the result of a reduction over no elements.
void fill_identity(void* out, Op op, DType dtype, int64_t count);

}  // namespace tsl::cpu
