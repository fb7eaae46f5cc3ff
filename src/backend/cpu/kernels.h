// The prebuilt tile kernels: tight loops over contiguous memory, compiled once per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/elements.h"
#include "tensor/op.h"

namespace tsl::cpu {

enum class Isa : uint8_t { generic, avx2, avx512 };

/// The best instruction set of this machine (TSL_ISA=generic|avx2|avx512 in the environment lowers it).
Isa best_isa();

/// out[i] = op(in[0][i], …) for i < n. Buffers are contiguous; `out` may be one of `in` whose elements have the same
/// size, but not overlap one otherwise. Returns false if the op failed on some element (integer division by zero
/// gives 0); all others are computed.
using MapKernel = bool (*)(void* out, const void* const* in, size_t n);

// Reductions of contiguous rows. The order of combination is a function of n alone, the same on every
// instruction set and for both forms (docs/architecture.md, "Numerics"):
//   f(v[0..n)) for n <= kReduceBlock: kReduceLanes accumulators, lane l taking v[l], v[l+L], v[l+2L], …; then
//   the lanes fold in halves (lane l takes lane l+width/2, where it exists); lanes beyond n take no part.
//   For n > kReduceBlock: f over the results of consecutive blocks (the last may be short).
// logsumexp: with g = max(v), in this order, and shift = g if g is finite, else 0,
//   f(v[0..n)) = log(sum(exp(v - shift))) + shift for n <= kReduceBlock; for more, f over the results of blocks as
//   above. Its parts are the scalar bodies of the ops: what graph::decompose makes of short rows is the same.
inline constexpr size_t kReduceLanes = 128;
inline constexpr size_t kReduceBlock = 4096;

/// The reductions that have kernels of rows and columns.
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
  /// out[r] = f(in[r*n .. r*n+n)), n >= 1, any n. `out` has the accumulator's dtype for sum and prod, else in's.
  void (*rows)(void* out, const void* in, size_t rows, size_t n);
  /// The other way round: in is [n][columns] with rows `stride` elements apart; out[c] = f(column c), n <=
  /// kReduceBlock.
  void (*columns)(void* out, const void* in, size_t n, size_t columns, size_t stride);
};

/// argmax/argmin of contiguous rows: out is i64; the first of equals; the first NaN wins.
using ArgKernel = void (*)(void* out, const void* in, size_t rows, size_t n);

/// Running sums or products of a row of n; the accumulator is as for sum, rounded at each store. `out` has in's dtype
/// if that is a float, else i64. The order, too, is a function of n alone:
///   Blocks of kScanBlock elements are scanned one element after the other, within each block. Blocks are grouped by
///   kScanBlock, those groups again, and so on; totals of the members of a group are scanned in the same way. Element i
///   is (… (T2 + T1) + own), own being what its block has up to i, T1 what its group of blocks has before the block, T2
///   what the group of groups has before that group, and so on. What has nothing before it adds nothing.
inline constexpr size_t kScanBlock = 32;
using ScanKernel = void (*)(void* out, const void* in, size_t n);

/// Elements [first, first + n) of the stream (key, counter): element i is made of word i%4 of Philox block
/// counter + i/4; of f64, of words 2i and 2i + 1 of the stream, so that a block makes two elements (random_math.h).
/// `out` is i64 (random_bits) or a float dtype.
using RandomKernel = void (*)(void* out, uint64_t key, uint64_t counter, uint64_t first, size_t n);

/// Elements of a strip: one for each lane of a reduction.
inline constexpr size_t kStrip = kReduceLanes;
/// Strips that a chain may have in hand at a time, and their elements.
inline constexpr size_t kMaxStrips = 2, kMaxInHand = kMaxStrips * kStrip;

/// What a chain does with its accumulator, strips of f32. The binary ones take their other operand from memory;
/// sub_from and div_into have it on the left.
enum class ChainCode : uint8_t {
  load,
  store,
  add,
  sub,
  sub_from,
  mul,
  div,
  div_into,
  square,
  neg,
  relu,
  sum,
  prod,
  max,
  min,       // combine the accumulator into kReduceLanes lanes at the operand, which fold later
  call,      // a map kernel from memory to memory; the accumulator is lost
  prefetch,  // the operand will be read soon
};

struct ChainInstr {
  ChainCode code;
  bool is_one = false;           // the operand is one f32 for all elements
  uint16_t operand = 0;          // of call: where the result goes
  std::array<uint16_t, 3> in{};  // of call; in[0] of prefetch: how many bytes of each strip
  MapKernel call = nullptr;
};

/// An operand in memory: where its first strip is, and how many bytes on the next one; 0 if strips are the same, for as
/// many as a chain has in hand.
struct ChainOperand {
  std::byte* at = nullptr;
  size_t step = 0;
};

/// Runs all of `code` on one strip after the other, for elements [begin, end) of a row; `operands` are at `begin`.
/// All of a strip may be read and written unless it is call's, also where the last one has fewer elements.
using ChainKernel = void (*)(const ChainInstr* code, size_t length, const ChainOperand* operands, size_t begin,
                             size_t end);

struct KernelTable {
  MapKernel map[kOpCount][kDTypeCount] = {};      // by op and operand dtype (where: of its last two operands);
                                                  // null where the op's dtype rule admits no such operand
  MapKernel cast[kDTypeCount][kDTypeCount] = {};  // [from][to]
  ReduceKernels reduce[kReduceOpCount][kDTypeCount] =
      {};  // by input dtype; also [sum] of accumulator dtypes; logsumexp: f32, f64
  ArgKernel argmax[kDTypeCount] = {};
  ArgKernel argmin[kDTypeCount] = {};
  ScanKernel cumsum[kDTypeCount] = {};
  ScanKernel cumprod[kDTypeCount] = {};
  ChainKernel chain = nullptr;
  RandomKernel random_bits = nullptr;
  RandomKernel random_uniform[kDTypeCount] = {};
  RandomKernel random_normal[kDTypeCount] = {};
  /// out[i] = start + i * step for i in [first, first + n); start and step are i64 or f64 as the dtype is. Not for
  /// bool.
  void (*iota[kDTypeCount])(void* out, Scalar start, Scalar step, uint64_t first, size_t n) = {};
  /// out[r][c] = in[r*row_stride + c*column_stride] (in elements); out is contiguous.
  void (*load_2d[9])(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride,
                     ptrdiff_t column_stride) = {};
  /// out[r*row_stride + c*column_stride] = in[r][c]. Both tables are indexed by the element's size: 1, 2, 4, 8.
  void (*store_2d[9])(void* out, const void* in, size_t rows, size_t columns, ptrdiff_t row_stride,
                      ptrdiff_t column_stride) = {};
};

const KernelTable& kernels(Isa isa);

}  // namespace tsl::cpu
