// Chains: programs over strips. What follows one after the other stays in an accumulator as long as a strip, which the
// compiler keeps in registers where the machine has enough of them.
#include "backend/cpu/isa/reduce.h"

namespace tsl::cpu::TSL_ISA {
namespace {

using Vector = VectorOf<float>::Type;
constexpr size_t kWidth = kVectorBytes / sizeof(float);
constexpr size_t kVectors = kStrip / kWidth;
constexpr size_t kLine = 64;  // bytes of a cache line

#define TSL_EACH_VECTOR _Pragma("GCC unroll 32") for (size_t k = 0; k < kVectors; ++k)

/// acc[k] = value for each vector, in which `b` is the operand: memory, or one element for all.
#define TSL_WITH_OPERAND(value)                                              \
  if (instr->is_one) {                                                       \
    const Vector b = *reinterpret_cast<const float*>(p) - Vector{};          \
    TSL_EACH_VECTOR acc[k] = value;                                          \
  } else {                                                                   \
    TSL_EACH_VECTOR { const Vector b = load_vector(p, k); acc[k] = value; }  \
  }

TSL_FN Vector load_vector(const std::byte* p, size_t k) {
  Vector v;
  __builtin_memcpy(&v, p + k * kVectorBytes, kVectorBytes);
  return v;
}
TSL_FN void store_vector(std::byte* p, size_t k, Vector v) { __builtin_memcpy(p + k * kVectorBytes, &v, kVectorBytes); }

/// Takes `count` elements of a strip into the lanes at `p`; those of a row's first strip are the lanes' first.
template <class R>
TSL_FN void take_strip(std::byte* p, const Vector (&strip)[kVectors], size_t count, bool is_first) {
  static_assert(kStrip == kReduceLanes);
  alignas(64) float values[kStrip];
  Vector lanes[kVectors];
  if (count < kStrip) {
    for (size_t k = 0; k < kVectors; ++k) store_vector(reinterpret_cast<std::byte*>(values), k, strip[k]);
    for (size_t i = count; i < kStrip; ++i) values[i] = R::template neutral<float>();
    for (size_t k = 0; k < kVectors; ++k) lanes[k] = load_vector(reinterpret_cast<std::byte*>(values), k);
  } else {
    TSL_EACH_VECTOR lanes[k] = strip[k];
  }
  TSL_EACH_VECTOR store_vector(p, k, is_first ? lanes[k] : R::combine(load_vector(p, k), lanes[k]));
}

void run_chain(const ChainInstr* code, size_t length, const ChainOperand* operands, size_t begin, size_t end) {
  Vector acc[kVectors] = {};
  for (size_t strip = 0, at = begin; at < end; ++strip, at += kStrip) {
    const size_t count = least(kStrip, end - at);
    auto address = [&](size_t operand) { return operands[operand].at + strip * operands[operand].step; };
    for (const ChainInstr* instr = code; instr != code + length; ++instr) {
      std::byte* p = address(instr->operand);
      switch (instr->code) {
        case ChainCode::load: TSL_WITH_OPERAND(b) break;
        case ChainCode::store: TSL_EACH_VECTOR store_vector(p, k, acc[k]); break;
        case ChainCode::add: TSL_WITH_OPERAND(acc[k] + b) break;
        case ChainCode::sub: TSL_WITH_OPERAND(acc[k] - b) break;
        case ChainCode::sub_from: TSL_WITH_OPERAND(b - acc[k]) break;
        case ChainCode::mul: TSL_WITH_OPERAND(acc[k] * b) break;
        case ChainCode::div: TSL_WITH_OPERAND(acc[k] / b) break;
        case ChainCode::div_into: TSL_WITH_OPERAND(b / acc[k]) break;
        case ChainCode::square: TSL_EACH_VECTOR acc[k] = acc[k] * acc[k]; break;
        case ChainCode::neg: TSL_EACH_VECTOR acc[k] = -acc[k]; break;
        case ChainCode::relu: TSL_EACH_VECTOR acc[k] = acc[k] <= 0 ? Vector{} : acc[k]; break;
        case ChainCode::sum: take_strip<Sum>(p, acc, count, at == 0); break;
        case ChainCode::prod: take_strip<Prod>(p, acc, count, at == 0); break;
        case ChainCode::max: take_strip<Max>(p, acc, count, at == 0); break;
        case ChainCode::min: take_strip<Min>(p, acc, count, at == 0); break;
        case ChainCode::call: {
          const void* in[3] = {address(instr->in[0]), address(instr->in[1]), address(instr->in[2])};
          instr->call(p, in, count);
          TSL_EACH_VECTOR acc[k] = Vector{};  // nobody has to save it across the call
          break;
        }
        case ChainCode::prefetch:
          for (size_t i = instr->in[0]; i < instr->in[1]; i += kLine) __builtin_prefetch(p + i);
          break;
      }
    }
  }
}

}  // namespace

void add_chain_kernel(KernelTable& table) { table.chain = run_chain; }

}  // namespace tsl::cpu::TSL_ISA
