// Elementwise ops of one operand.
#include "backend/cpu/isa/kernel_map.h"

namespace tsl::cpu::TSL_ISA {

void add_unary_kernels(KernelTable& table) {
#define TSL_UNARY(name, rule, ...) add_map_kernels<Fn_##name, DTypeRule::rule, 1>(table);
#define TSL_BINARY(...)
#define TSL_TERNARY(...)
#include "tensor/elementwise.def"
}

}  // namespace tsl::cpu::TSL_ISA
