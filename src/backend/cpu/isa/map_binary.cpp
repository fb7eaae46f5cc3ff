// Elementwise ops of two operands, and `where`.
#include "backend/cpu/isa/kernel_map.h"

namespace tsl::cpu::TSL_ISA {

namespace {

/// Selects by bits, so one kernel per element size suffices.
template <class T> bool map_where(void* out, const void* const* in, size_t n) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* y = static_cast<T*>(out);
  TSL_VECTORIZE
  for (size_t i = 0; i < n; ++i) {
    const T chosen = static_cast<T>(-static_cast<T>(c[i]));  // all ones or none, without a branch
    y[i] = static_cast<T>((a[i] & chosen) | (b[i] & static_cast<T>(~chosen)));
  }
  return true;
}

}  // namespace

void add_binary_kernels(KernelTable& table) {
#define TSL_UNARY(...)
#define TSL_BINARY(name, rule, ...) add_map_kernels<Fn_##name, DTypeRule::rule, 2>(table);
#define TSL_TERNARY(name, ...) static_assert(Op::name == Op::where, "the new ternary op needs a kernel");
#include "tensor/bodies/elementwise.def"
  for_each_dtype([&](auto dtype) {
    MapKernel& kernel = table.map[static_cast<int>(Op::where)][index_of(dtype.value)];
    constexpr size_t size = sizeof(Element<dtype.value>);
    if constexpr (size == 1) kernel = map_where<uint8_t>;
    else if constexpr (size == 2) kernel = map_where<uint16_t>;
    else if constexpr (size == 4) kernel = map_where<uint32_t>;
    else kernel = map_where<uint64_t>;
  });
}

}  // namespace tsl::cpu::TSL_ISA
