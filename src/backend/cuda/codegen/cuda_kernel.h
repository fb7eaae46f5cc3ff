// The output of the code generator: CUDA kernels with the arguments to launch them. Sizes, strides, offsets and numbers
// are arguments. The source has only constants (strides of 0 and 1, which sizes are equal, the width of accesses), so
// that other sizes share it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/plan.h"

namespace tsl::cuda {

/// A parameter of a CUDA kernel, and where its value comes from when a plan runs.
struct KernelArg {
  enum class Kind : uint8_t {
    buffer,     // address of a plan buffer
    scratch,    // address in the program's scratch memory
    arrivals,   // address of the program's counters
    arg_table,  // address in the kernel's argument table, if that is in device memory
    integer,    // an extent, a stride or an offset
    scalar,     // a host number as an element of `dtype`
    error,      // address of the error cell
  } kind = Kind::buffer;
  uint32_t buffer = 0;
  uint64_t scratch = 0;  // bytes from its beginning; of arrivals, counters; of an argument table, words
  int64_t value = 0;     // integer
  Scalar scalar;
  DType dtype = DType::f32;
  const Symbol* symbol = nullptr;  // of a scalar or an offset: takes the place of the value
  bool operator==(const KernelArg&) const = default;
};

/// A plan buffer that is accessed several elements at a time, from an offset that a run may decide. An address that is
/// not a multiple of `bytes` (a power of two) needs a kernel without such accesses.
struct VectorAccess {
  uint32_t buffer = 0;
  int bytes = 1;
  int element_bytes = 1;
  const Symbol* offset = nullptr;  // in elements; null for a multiple
};

/// What a source is made of besides its function's name and the prelude: the source is a function of this and the name.
struct KernelText {
  std::string header;      // what stands before the kernel: types and functions
  std::string bounds;      // of launches: threads a block, and perhaps blocks a multiprocessor
  std::string parameters;  // "const float* b0, const Index n1"
  std::string body;        // begins with kBlockIndexLine, except for multi-tensor kernels
  bool operator==(const KernelText&) const = default;
};
struct KernelTextHash {
  size_t operator()(const KernelText& text) const {
    return std::hash<std::string>()(text.body);
  }  // nearly all kernels differ there
};
inline constexpr std::string_view kBlockIndexLine = "  const unsigned block_x = blockIdx.x;\n";

struct CudaKernel {
  std::string readable;  // what its name begins with
  KernelText text;
  std::vector<KernelArg> arguments;
  // The first arguments form the table of a multi-tensor kernel, a word each: one parameter, or device memory.
  size_t arg_table_words = 0;
  bool arg_table_in_memory = false;
  int64_t blocks = 1;  // of threads
  int threads_x = 1, threads_y = 1;
  std::vector<VectorAccess> vector_accesses;

  /// Of the function: readable, and unique by what it does. It takes longer to make than it does to find a kernel
  /// without it.
  std::string name() const;
  std::string source() const;
};

/// Each parameter of a kernel: "const float* b0".
std::vector<std::string> parameters_of(const KernelText& text);

/// The kernels of one kernel of a plan, or of one launch.
struct GeneratedKernels {
  std::vector<CudaKernel> kernels;  // of one kernel of a plan: in order, each depends on the one before it
  uint64_t scratch_bytes = 0;
  uint64_t arrivals = 0;  // counters (32 bits) that are 0 before the program runs, and after it
};

}  // namespace tsl::cuda
