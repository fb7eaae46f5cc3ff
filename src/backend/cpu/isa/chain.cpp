// Chains: programs over strips. Successive results stay in an accumulator of one strip, which the compiler keeps in
// registers if the machine has enough of them.
#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

constexpr size_t kLaneVectors = kStrip / kWidth;
constexpr size_t kLine = 64;  // bytes of a cache line
/// Strips at a time: as many as half of the registers hold, so that instructions are decoded less often. (There are 32
/// of the longest registers.)
constexpr size_t kStripsAtOnce = kVectorBytes == 64 ? kMaxStrips : 1;

/// Rounds to f16 or bf16.
TSL_FN Vector rounded(math::Half, Vector x) { return widened(math::Half(), narrowed(math::Half(), x)); }
TSL_FN Vector rounded(math::BFloat16, Vector x) { return (Vector)(round_upper_half(x) & 0xffff0000); }

// ---- Strips ---------------------------------------------------------------------------------------------------------

#define TSL_EACH_VECTOR _Pragma("GCC unroll 32") for (size_t k = 0; k < kVectors; ++k)

/// Sets acc[k] = value for each vector, where `b` is the operand: elements of f32, f16 or bf16, or one for all.
#define TSL_WITH_OPERAND(value)                                                                 \
  switch (instr->read) {                                                                        \
    case ChainRead::f32: TSL_WITH_EACH(load_vector(p, k), value) break;                         \
    case ChainRead::f16: TSL_WITH_EACH(load_short<math::Half>(p, k), value) break;              \
    case ChainRead::bf16: TSL_WITH_EACH(load_short<math::BFloat16>(p, k), value) break;         \
    case ChainRead::one: {                                                                      \
      const Vector first = broadcast(p), second = broadcast(p + operands[instr->operand].step); \
      TSL_EACH_VECTOR {                                                                         \
        const Vector b = k < kLaneVectors ? first : second;                                     \
        acc[k] = value;                                                                         \
      }                                                                                         \
      break;                                                                                    \
    }                                                                                           \
  }
#define TSL_WITH_EACH(element, value) \
  TSL_EACH_VECTOR {                   \
    const Vector b = element;         \
    acc[k] = value;                   \
  }

TSL_FN Vector broadcast(const std::byte* p) { return *reinterpret_cast<const float*>(p) - Vector{}; }
TSL_FN Vector load_vector(const std::byte* p, size_t k) {
  Vector v;
  __builtin_memcpy(&v, p + k * kVectorBytes, kVectorBytes);
  return v;
}
TSL_FN void store_vector(std::byte* p, size_t k, Vector v) { __builtin_memcpy(p + k * kVectorBytes, &v, kVectorBytes); }

template <class S> TSL_FN Vector load_short(const std::byte* p, size_t k) {
  return load_widened(reinterpret_cast<const S*>(p) + k * kWidth);
}
template <class S> TSL_FN void store_short(std::byte* p, size_t k, Vector v) {
  const ShortVector bits = narrowed(S(), v);
  __builtin_memcpy(p + k * sizeof bits, &bits, sizeof bits);
}

// Stores past the caches: the lines are not read before. `p` is aligned to them.
#if defined(__AVX512F__)
TSL_FN void stream_vector(std::byte* p, size_t k, Vector v) {
  _mm512_stream_ps(reinterpret_cast<float*>(p + k * kVectorBytes), (__m512)v);
}
TSL_FN void stream_short(std::byte* p, size_t k, ShortVector v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p + k * sizeof v), (__m256i)v);
}
#elif defined(__AVX__)
TSL_FN void stream_vector(std::byte* p, size_t k, Vector v) {
  _mm256_stream_ps(reinterpret_cast<float*>(p + k * kVectorBytes), (__m256)v);
}
TSL_FN void stream_short(std::byte* p, size_t k, ShortVector v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p + k * sizeof v), (__m128i)v);
}
#else
TSL_FN void stream_vector(std::byte* p, size_t k, Vector v) { store_vector(p, k, v); }
TSL_FN void stream_short(std::byte* p, size_t k, ShortVector v) { __builtin_memcpy(p + k * sizeof v, &v, sizeof v); }
#endif

/// Combines strips into the lanes at `p`; a row's first strip initialises the lanes. A single strip may have only
/// `count` elements.
template <class R, size_t kVectors>
TSL_FN void take_strips(std::byte* p, const Vector (&strips)[kVectors], size_t count, bool is_first) {
  static_assert(kStrip == kReduceLanes);
  alignas(64) float values[kStrip];
  Vector own[kVectors];
  if (kVectors == kLaneVectors && count < kStrip) {
    for (size_t k = 0; k < kLaneVectors; ++k) store_vector(reinterpret_cast<std::byte*>(values), k, strips[k]);
    for (size_t i = count; i < kStrip; ++i) values[i] = R::template neutral<float>();
    for (size_t k = 0; k < kLaneVectors; ++k) own[k] = load_vector(reinterpret_cast<std::byte*>(values), k);
  } else {
    TSL_EACH_VECTOR own[k] = strips[k];
  }
  _Pragma("GCC unroll 32") for (size_t k = 0; k < kLaneVectors; ++k) {
    Vector lane = is_first ? own[k] : R::combine(load_vector(p, k), own[k]);
    for (size_t next = k + kLaneVectors; next < kVectors; next += kLaneVectors) lane = R::combine(lane, own[next]);
    store_vector(p, k, lane);
  }
}

/// Runs `kStrips` strips at a time, from element `at` on, while enough remain; one strip at a time may have fewer
/// elements. `operands` are at `begin`. Returns the position after them.
template <size_t kStrips> TSL_FN size_t run_strips(const ChainInstr* code, size_t length, const ChainOperand* operands,
                                                   size_t begin, size_t at, size_t end) {
  constexpr size_t kVectors = kStrips * kLaneVectors, kElements = kStrips * kStrip;
  Vector acc[kVectors] = {};
  for (; kStrips > 1 ? at + kElements <= end : at < end; at += kElements) {
    const size_t count = least(kElements, end - at), strip = (at - begin) / kStrip;
    // A strip with fewer elements is a copy that is read again.
    auto may_stream = [](const std::byte* p, size_t n) {
      return n == kElements && reinterpret_cast<uintptr_t>(p) % kLine == 0;
    };
    auto address = [&](size_t operand) { return operands[operand].at + strip * operands[operand].step; };
    for (const ChainInstr* instr = code; instr != code + length; ++instr) {
      std::byte* p = address(instr->operand);
      switch (instr->code) {
        case ChainCode::load: TSL_WITH_OPERAND(b) break;
        case ChainCode::store: TSL_EACH_VECTOR store_vector(p, k, acc[k]); break;
        case ChainCode::store_f16: TSL_EACH_VECTOR store_short<math::Half>(p, k, acc[k]); break;
        case ChainCode::store_bf16: TSL_EACH_VECTOR store_short<math::BFloat16>(p, k, acc[k]); break;
        case ChainCode::stream:
          if (may_stream(p, count)) TSL_EACH_VECTOR stream_vector(p, k, acc[k]);
          else TSL_EACH_VECTOR store_vector(p, k, acc[k]);
          break;
        case ChainCode::stream_f16:
          if (may_stream(p, count)) TSL_EACH_VECTOR stream_short(p, k, narrowed(math::Half(), acc[k]));
          else TSL_EACH_VECTOR store_short<math::Half>(p, k, acc[k]);
          break;
        case ChainCode::stream_bf16:
          if (may_stream(p, count)) TSL_EACH_VECTOR stream_short(p, k, narrowed(math::BFloat16(), acc[k]));
          else TSL_EACH_VECTOR store_short<math::BFloat16>(p, k, acc[k]);
          break;
        case ChainCode::round_f16: TSL_EACH_VECTOR acc[k] = rounded(math::Half(), acc[k]); break;
        case ChainCode::round_bf16: TSL_EACH_VECTOR acc[k] = rounded(math::BFloat16(), acc[k]); break;
        case ChainCode::add: TSL_WITH_OPERAND(acc[k] + b) break;
        case ChainCode::sub: TSL_WITH_OPERAND(acc[k] - b) break;
        case ChainCode::sub_from: TSL_WITH_OPERAND(b - acc[k]) break;
        case ChainCode::mul: TSL_WITH_OPERAND(acc[k] * b) break;
        case ChainCode::div: TSL_WITH_OPERAND(acc[k] / b) break;
        case ChainCode::div_into: TSL_WITH_OPERAND(b / acc[k]) break;
        case ChainCode::square: TSL_EACH_VECTOR acc[k] = acc[k] * acc[k]; break;
        case ChainCode::neg: TSL_EACH_VECTOR acc[k] = -acc[k]; break;
        case ChainCode::relu: TSL_EACH_VECTOR acc[k] = acc[k] <= 0 ? Vector{} : acc[k]; break;
        case ChainCode::abs: TSL_EACH_VECTOR acc[k] = (Vector)((WordVector)acc[k] & 0x7fffffff); break;
        case ChainCode::maximum: TSL_WITH_OPERAND(Max::combine(acc[k], b)) break;
        case ChainCode::minimum: TSL_WITH_OPERAND(Min::combine(acc[k], b)) break;
        case ChainCode::sum: take_strips<Sum>(p, acc, count, at == 0); break;
        case ChainCode::prod: take_strips<Prod>(p, acc, count, at == 0); break;
        case ChainCode::max: take_strips<Max>(p, acc, count, at == 0); break;
        case ChainCode::min: take_strips<Min>(p, acc, count, at == 0); break;
        case ChainCode::call: {
          const void* in[3] = {address(instr->in[0]), address(instr->in[1]), address(instr->in[2])};
          instr->call(p, in, count);
          TSL_EACH_VECTOR acc[k] = Vector{};  // so that it need not be saved across the call
          break;
        }
        case ChainCode::prefetch:
          for (size_t i = 0; i < kStrips * instr->in[0]; i += kLine) __builtin_prefetch(p + i);
          break;
      }
    }
  }
  return at;
}

void run_chain(const ChainInstr* code, size_t length, const ChainOperand* operands, size_t begin, size_t end) {
  size_t at = begin;
  if constexpr (kStripsAtOnce > 1) at = run_strips<kStripsAtOnce>(code, length, operands, begin, at, end);
  run_strips<1>(code, length, operands, begin, at, end);
}

}  // namespace

void add_chain_kernel(KernelTable& table) { table.chain = run_chain; }

}  // namespace tsl::cpu::TSL_ISA
