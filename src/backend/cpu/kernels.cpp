#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/run_watch.h"

namespace tsl::cpu {

namespace generic {
void fill_table(KernelTable& table);
}
#if defined(TSL_X86_KERNELS)
namespace avx2 {
void fill_table(KernelTable& table);
}
namespace avx512 {
void fill_table(KernelTable& table);
}
#endif

namespace {

/// Returns the best instruction set that the processor and the operating system support.
Isa supported_isa() {
#if defined(TSL_X86_KERNELS)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::generic;  // these imply F16C
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : Isa::avx2;
#else
  return Isa::generic;
#endif
}

std::unique_ptr<const KernelTable> table_of([[maybe_unused]] Isa isa) {
  auto table = std::make_unique<KernelTable>();
#if defined(TSL_X86_KERNELS)
  if (isa == Isa::avx512) avx512::fill_table(*table);
  else if (isa == Isa::avx2) avx2::fill_table(*table);
  else generic::fill_table(*table);
#else
  generic::fill_table(*table);
#endif
  return table;
}

template <class T> void fill_with(void* out, const void* value, int64_t count) {
  T v;
  std::memcpy(&v, value, sizeof v);
  in_parts(count, [&](int64_t first, int64_t part) { std::fill_n(static_cast<T*>(out) + first, part, v); });
}

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
  }
  return "";
}

Isa best_isa() {
  const Isa supported = supported_isa();
  const char* text = std::getenv("TSL_ISA");
  const std::string_view wanted = text ? text : "";
  if (wanted == "generic") return Isa::generic;
  if (wanted == "avx2") return std::min(supported, Isa::avx2);
  return supported;
}

const KernelTable& kernels(Isa isa) {
  switch (isa) {
    case Isa::avx512: {
      static const auto* const table = table_of(Isa::avx512).release();
      return *table;
    }
    case Isa::avx2: {
      static const auto* const table = table_of(Isa::avx2).release();
      return *table;
    }
    case Isa::generic: break;
  }
  static const auto* const table = table_of(Isa::generic).release();
  return *table;
}

void fill(void* out, const void* value, size_t size, int64_t count) {
  switch (size) {
    case 1: fill_with<uint8_t>(out, value, count); break;
    case 2: fill_with<uint16_t>(out, value, count); break;
    case 4: fill_with<uint32_t>(out, value, count); break;
    default: fill_with<uint64_t>(out, value, count); break;  // 8 bytes
  }
}

void fill_identity(void* out, Op op, DType dtype, int64_t count) {
  fill(out, to_bits(Scalar::of(op_def(op).of_nothing.value_or(0)), dtype).bytes, size_of(dtype), count);
}

}  // namespace tsl::cpu
