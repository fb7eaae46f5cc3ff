// The plan: what a compiled graph does, in order, on buffers with known lifetimes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"
#include "tensor/counters.h"

namespace tsl::graph {

/// Buffers in the arena begin at multiples of this: wide enough for any vector load, and keeps neighbours out of each
/// other's cache lines.
inline constexpr uint64_t kAlignment = 64;

struct Buffer {
  enum class Kind : uint8_t { input, output, temporary } kind;
  uint32_t index = 0;  // of the input or output
  NodeId node = kNoNode;
  DType dtype = DType::f32;
  Dim count = 0;        // elements
  uint32_t home = 0;    // the buffer in whose memory it lies: itself, or, of temporaries, what is made in their place
  uint64_t offset = 0;  // temporaries that are their own home: in the arena, bytes
  uint32_t first = 0, last = 0;  // launches that write it first and read it last
};

/// Where an output of the graph comes from: a buffer seen through a layout. Several outputs may share a buffer.
struct PlanOutput {
  uint32_t buffer;
  Layout layout;
  DType dtype;
};

/// What the function that a plan is of asks of it. Backends that cannot do a thing leave it.
struct PlanOptions {
  bool graphs = true;          // a GPU may launch its kernels as a graph
  bool fast_numerics = false;  // values need not round between one op and the next
};

struct Plan {
  Graph graph;  // after the passes; spans, dtypes and layouts of the nodes
  PlanOptions options;
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  /// Kernels by launch, in order of execution. A launch of several is a table: one program over many tensors.
  std::vector<std::vector<uint32_t>> launches;
  std::vector<PlanOutput> outputs;
  uint64_t arena_bytes = 0;
  /// Per output buffer: the inputs whose memory it may take over if the caller gives them up (donation). Such outputs
  /// are written after all that may fail.
  std::vector<std::vector<uint32_t>> donors;
  bool may_fail = false;  // on elements' values
};

/// Whether the kernel may only run if nothing before it has failed: it may write over an input, and a plan that failed
/// must have left its inputs as they were.
bool needs_success(const Plan& plan, const Kernel& kernel);

/// Whether `out`, when it is first written, may lie where `in` did: that of a donor, or a temporary before it. If the
/// kernel that writes it reads `in`, it may be the same place, element by element.
bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out);

/// The memory a buffer takes, rounded up to what keeps its neighbours aligned.
uint64_t bytes_of(const Buffer& buffer);

}  // namespace tsl::graph
