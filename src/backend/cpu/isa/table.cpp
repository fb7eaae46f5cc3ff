// The table of one instruction set.
#include "backend/cpu/isa/kernel_base.h"

namespace tsl::cpu::TSL_ISA {

void fill_table(KernelTable& table) {
  add_unary_kernels(table);
  add_binary_kernels(table);
  add_cast_kernels(table);
  add_reduce_kernels(table);
  add_exact_kernels(table);
  add_scan_kernels(table);
  add_order_kernels(table);
  add_source_kernels(table);
  add_copy_kernels(table);
  add_chain_kernel(table);
  add_fft_kernels(table);
  add_convolution_kernels(table);
  add_plane_kernels(table);
  add_attention_kernels(table);
}

}  // namespace tsl::cpu::TSL_ISA
