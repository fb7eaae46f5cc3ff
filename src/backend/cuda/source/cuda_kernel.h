// The output of the code generator: CUDA kernels with the arguments to launch them. Sizes, strides, offsets and numbers
// are arguments. The source contains only constants such as strides of 0 and 1, which sizes are equal, and the width of
// accesses, so kernels that differ only in sizes share one source.
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
    arrivals,   // address of the kernels' arrival counters
    arg_table,  // address in the kernel's argument table, if that is in device memory
    integer,    // an extent, a stride or an offset
    scalar,     // a host number as an element of `dtype`
    error,      // address of the error cell
  } kind = Kind::buffer;
  uint32_t buffer = 0;
  uint64_t scratch = 0;  // bytes from the start of the scratch memory; counters for `arrivals`; words for `arg_table`
  int64_t value = 0;     // of an integer
  Scalar scalar;
  DType dtype = DType::f32;
  const Symbol* symbol = nullptr;  // of a scalar or an offset whose value is known only at run time; replaces `value`
  bool operator==(const KernelArg&) const = default;
};

/// A plan buffer that the kernel reads or writes several elements at a time, from an offset that may be a symbol. If
/// the address is not a multiple of `bytes` (a power of two), the scalar kernel must run instead.
struct VectorAccess {
  uint32_t buffer = 0;
  int bytes = 1;
  int element_bytes = 1;
  const Symbol* offset = nullptr;  // in elements; null: the offset is a known multiple of the width
  friend bool operator==(const VectorAccess&, const VectorAccess&) = default;
};

/// The parts of a kernel's source. With the function's name and the prelude, they determine the source completely.
struct KernelText {
  std::string header;      // types and functions in front of the kernel
  std::string bounds;      // "__launch_bounds__(128, 4)": threads per block, and perhaps blocks per multiprocessor
  std::string parameters;  // "const float* b0, const Index n1"
  std::string body;        // begins with kBlockIndexLine, except for multi-tensor kernels
  bool operator==(const KernelText&) const = default;
};
struct KernelTextHash {
  size_t operator()(const KernelText& text) const {
    return std::hash<std::string>()(text.body);
  }  // compared first: nearly all kernels differ in their bodies
};
inline constexpr std::string_view kBlockIndexLine = "  const unsigned block_x = blockIdx.x;\n";

struct CudaKernel {
  std::string readable;  // the readable start of the name
  KernelText text;
  std::vector<KernelArg> arguments;
  // The first `arg_table_words` arguments form the table of a multi-tensor kernel, one word each. The table is a single
  // parameter, or lies in device memory.
  size_t arg_table_words = 0;
  bool arg_table_in_memory = false;
  int64_t blocks = 1;  // blocks of threads
  int threads_x = 1, threads_y = 1;
  bool is_for_one_arch = false;  // uses instructions of "sm_90a" that "sm_90" has not
  std::vector<VectorAccess> vector_accesses;

  /// Returns the function's name: readable, and unique by a hash of the text. Caches look kernels up by their text
  /// instead, because computing the hash takes longer than such a lookup.
  std::string name() const;
  std::string source() const;
};

/// Splits the parameter list into its parameters: "const float* b0".
std::vector<std::string> parameters_of(const KernelText& text);

/// The CUDA kernels of one kernel of a plan, or of one launch.
struct GeneratedKernels {
  std::vector<CudaKernel> kernels;  // for one kernel of a plan: in order, each depends on the one before it
  uint64_t scratch_bytes = 0;
  uint64_t arrivals = 0;  // number of 32-bit counters, which are 0 before and after the kernels run
};

}  // namespace tsl::cuda
