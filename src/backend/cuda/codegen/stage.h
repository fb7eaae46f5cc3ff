// What the code generator makes of a kernel: one or more CUDA kernels ("stages") with the arguments to launch them.
// Sizes, strides, offsets and numbers are arguments; what is in the source are facts (which strides are 0 or 1, which
// are equal, how wide accesses are), so that kernels of other sizes share it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/plan.h"

namespace tsl::cuda {

/// A parameter of a stage and how to find its value when a plan runs.
struct Argument {
  enum class Kind : uint8_t {
    buffer,    // address of a plan buffer
    scratch,   // address in the program's scratch memory
    arrivals,  // address of the program's counters
    table,     // address in the stage's table, where that lies in the device's memory
    integer,   // an extent, a stride or an offset
    scalar,    // a host number as an element of `dtype`
    error,     // address of the error cell
  } kind = Kind::buffer;
  uint32_t buffer = 0;
  uint64_t scratch = 0;  // bytes from its beginning; of arrivals, counters; of a table, words
  int64_t value = 0;     // integer
  Scalar scalar;
  DType dtype = DType::f32;
  const Symbol* symbol = nullptr;  // of a scalar or an offset: takes the place of the value
  bool operator==(const Argument&) const = default;
};

/// A plan buffer that is accessed several elements at a time, from an offset that a run may decide. An address that is
/// not a multiple of `bytes` (a power of two) needs a kernel without such accesses.
struct WideAccess {
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
  std::string body;        // begins with kPlaceOfBlock, but for a table's
  bool operator==(const KernelText&) const = default;
};
struct KernelTextHash {
  size_t operator()(const KernelText& text) const {
    return std::hash<std::string>()(text.body);
  }  // nearly all kernels differ there
};
inline constexpr std::string_view kPlaceOfBlock = "  const unsigned block_x = blockIdx.x;\n";

struct Stage {
  std::string readable;  // what its name begins with
  KernelText text;
  std::vector<Argument> arguments;
  // The first so many arguments are a table, a word each: one parameter, or no parameter but in the device's memory.
  size_t table_words = 0;
  bool table_in_memory = false;
  int64_t blocks = 1;  // of threads
  int threads_x = 1, threads_y = 1;
  std::vector<WideAccess> wide;

  /// Of the function: readable, and unique by what it does. It takes longer to make than it does to find a kernel
  /// without it.
  std::string name() const;
  std::string source() const;
};

/// Each parameter of a kernel: "const float* b0".
std::vector<std::string> parameters_of(const KernelText& text);

struct KernelProgram {
  std::vector<Stage> stages;  // in order; each needs the one before it
  uint64_t scratch_bytes = 0;
  uint64_t arrivals = 0;  // counters (32 bits) that are 0 before the program runs, and after it
};

}  // namespace tsl::cuda
