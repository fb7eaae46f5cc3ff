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
  Dim count = 0;                 // elements
  uint32_t alias_of = 0;         // the buffer whose memory it uses: itself, or a later buffer (temporaries)
  uint64_t offset = 0;           // temporaries that alias no other buffer: bytes from the arena's start
  uint32_t first = 0, last = 0;  // launches that write it first and read it last
};

/// Where an output of the graph comes from: a buffer seen through a layout. Several outputs may share a buffer.
struct PlanOutput {
  uint32_t buffer;
  Layout layout;
  DType dtype;
};

/// Compile options of the traced function. Backends that cannot do a thing leave it.
struct PlanOptions {
  bool graphs = true;          // a GPU may launch its kernels as a graph
  bool fast_numerics = false;  // values need not round between one op and the next
};

struct Plan {
  Graph graph;  // after the passes; spans, dtypes and layouts of the nodes
  PlanOptions options;
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  /// Kernels by launch, in order of execution. A launch of several kernels is a multi-tensor launch: one program over
  /// many tensors.
  std::vector<std::vector<uint32_t>> launches;
  std::vector<PlanOutput> outputs;
  uint64_t arena_bytes = 0;
  /// Per output buffer: the inputs whose memory it may take over if the caller donates them (donation). Such outputs
  /// are written after all that may fail.
  std::vector<std::vector<uint32_t>> donors;
  bool may_fail = false;  // on elements' values
};

/// Whether the kernel may only run if nothing before it has failed: it may write over an input, and a plan that failed
/// must have left its inputs as they were.
bool needs_success(const Plan& plan, const Kernel& kernel);

/// Whether `out`, when it is first written, may use the memory of `in`, a donor or an earlier temporary. The kernel
/// that writes it may read `in` element by element.
bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out);

/// The memory a buffer takes, rounded up to what keeps its neighbours aligned.
uint64_t bytes_of(const Buffer& buffer);

}  // namespace tsl::graph
