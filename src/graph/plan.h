// The plan: the launches of a compiled graph in order, on buffers with known lifetimes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/integers.h"
#include "graph/graph.h"
#include "graph/kernel.h"
#include "tensor/counters.h"

namespace tsl::graph {

/// The alignment of buffers in the arena: enough for any vector load, and buffers share no cache lines.
inline constexpr uint64_t kAlignment = 64;

struct Buffer {
  enum class Kind : uint8_t { input, output, temporary } kind;
  uint32_t index = 0;  // number of the input or output
  NodeId node = kNoNode;
  DType dtype = DType::f32;
  Dim count = 0;                 // elements
  uint32_t alias_of = 0;         // the buffer whose memory it uses: itself or, for temporaries, possibly a later buffer
  uint64_t offset = 0;           // bytes from the arena's start; for temporaries that alias no other buffer
  uint32_t first = 0, last = 0;  // the launches that write it first and read it last
};

/// An output of the graph: a buffer viewed through a layout. Several outputs may share a buffer.
struct PlanOutput {
  uint32_t buffer;
  Layout layout;
  DType dtype;
};

/// Compile options of the traced function. A backend ignores an option that it does not support.
struct PlanOptions {
  std::string name = {};       // of the specialisation: "step:12#0"; "" for an eager op
  bool graphs = true;          // kernels may be launched as a CUDA graph
  bool fast_numerics = false;  // values need not be rounded between ops
  bool autotune = false;       // launch parameters may be measured, and the fastest kept
  uint32_t segment = 0;        // for reports: the position of its segment on the trace path
};

struct Plan {
  Graph graph;  // after all passes; has the nodes' spans, dtypes and layouts
  PlanOptions options;
  DeviceTraits device;  // of the one that will run it
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  /// The kernels of each launch, in order of execution. A launch of several kernels is a multi-tensor launch.
  std::vector<std::vector<uint32_t>> launches;
  std::vector<PlanOutput> outputs;
  uint64_t arena_bytes = 0;
  /// Per output buffer: the inputs whose memory it may reuse if the caller donates them. Such outputs, and the
  /// temporaries that alias them, are written after everything that may fail.
  std::vector<std::vector<uint32_t>> donors;
  bool may_fail = false;  // depending on elements' values
};

/// Returns the inputs whose memory a buffer may use: those of the output that it is or aliases.
std::span<const uint32_t> donors_of(const Plan& plan, uint32_t buffer);

/// Whether a launch, given as its kernels, may fail depending on elements' values.
bool may_fail(const Plan& plan, std::span<const uint32_t> kernels);

/// Whether the kernel must not run after a failure: it may overwrite a donated input, and a failed plan must not have
/// changed its inputs.
bool needs_success(const Plan& plan, const Kernel& kernel);

/// Whether `out` may use the memory of `in`, a donor or an earlier temporary, when it is first written. The kernel that
/// writes it may read `in` element by element.
bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out);

/// Rounds bytes up so that what follows is aligned.
constexpr uint64_t aligned(uint64_t bytes) { return rounded_up(bytes, kAlignment); }

/// Returns the memory of a buffer, rounded up so that the next buffer is aligned.
uint64_t bytes_of(const Buffer& buffer);

}  // namespace tsl::graph
