// The options that an engine passes to a backend when it opens a device. A new option needs a field, a row of the table
// below, which defines its flag, and code in a backend that reads it.
#pragma once

#include <cstdint>
#include <iterator>
#include <variant>

#include "tensor/field_count.h"

namespace tsl::exec {

struct BackendOptions {
  uint64_t memory_limit = 0;  // the most bytes for tensors and the cache on a device; 0: no limit
  bool cuda_graphs = true;    // kernels are launched as CUDA graphs; if not, one by one
  bool tf32 = false;          // products of f32 on a GPU may round their operands to 11 bits
  bool portable = false;      // functions of f32 and shorter floats on a GPU give the CPU's bits
};

/// An option on the command line. The field's type says how it is written: `uint64_t` as a size in memory, `int` as a
/// number from 0 on, `bool` as a flag that sets it or, if it is set anyway, as `on|off`.
struct BackendOption {
  const char* name;
  const char* text;  // what --help says
  std::variant<uint64_t BackendOptions::*, int BackendOptions::*, bool BackendOptions::*> field;
};

inline constexpr BackendOption kBackendOptions[] = {
    {"--memory-limit", "The most memory that tensors may take: 512M, 1.5GiB, …", &BackendOptions::memory_limit},
    {"--cuda-graphs", "Launch kernels as CUDA graphs, or one by one", &BackendOptions::cuda_graphs},
    {"--tf32", "Products of f32 on a GPU may round their operands to 11 bits", &BackendOptions::tf32},
    {"--portable", "Functions of f32, f16 and bf16 on a GPU give the CPU's bits, and take longer",
     &BackendOptions::portable},
};
static_assert(std::size(kBackendOptions) == count_fields<BackendOptions>(), "every option has a row");

}  // namespace tsl::exec
