#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

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

std::unique_ptr<const KernelTable> make_multi_tensor_kernel([[maybe_unused]] Isa isa) {
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

}  // namespace

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
      static const auto table = make_multi_tensor_kernel(Isa::avx512);
      return *table;
    }
    case Isa::avx2: {
      static const auto table = make_multi_tensor_kernel(Isa::avx2);
      return *table;
    }
    case Isa::generic: break;
  }
  static const auto table = make_multi_tensor_kernel(Isa::generic);
  return *table;
}

}  // namespace tsl::cpu
