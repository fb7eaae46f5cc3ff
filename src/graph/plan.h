// The plan: what a compiled graph does, in order, on buffers with known lifetimes.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/counters.h"
#include "graph/graph.h"
#include "graph/kernel.h"

namespace tsl::graph {

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

struct CompileLog {
  const SourceMap* sources = nullptr;
  bool graph = false, fusion = false, plan = false;
  void (*write)(void* context, const std::string& text) = nullptr;
  void* context = nullptr;
};

class Backend;

/// The passes, in a sentence: dead code → spell out → simplify → absorb epilogues → fuse → lower → plan. `backend`, if
/// given, is the one that will prepare the plan, and is asked what it can do beyond what every backend can.
Plan compile(Graph graph, const PlanOptions& options = {}, const CompileLog* log = nullptr, Backend* backend = nullptr);

/// An error that only the elements' values could show, found while a plan ran.
struct RunError {
  uint32_t order = ~0u;  // of the node, in program order; ~0 means none
  NodeId node = kNoNode;
  int64_t value = 0;  // the offending index
  explicit operator bool() const { return order != ~0u; }
};

/// The inputs of a run: tensors side by side, or those of them that `slots` picks, in its order. Both must outlive
/// this.
class Inputs {
 public:
  Inputs() = default;
  Inputs(const Tensor* tensors, size_t count) : tensors_(tensors), size_(count) {}
  template <class Tensors>
  requires std::convertible_to<const Tensors&, std::span<const Tensor>> Inputs(const Tensors& tensors)
      : Inputs(std::span<const Tensor>(tensors).data(), std::span<const Tensor>(tensors).size()) {}
  Inputs(const Tensor* tensors, std::span<const uint32_t> slots)
      : tensors_(tensors), slots_(slots.data()), size_(slots.size()) {}
  size_t size() const { return size_; }
  const Tensor* tensors() const { return tensors_; }
  /// Where input i is among the tensors.
  size_t slot(size_t i) const { return slots_ ? slots_[i] : i; }
  const Tensor& operator[](size_t i) const { return tensors_[slot(i)]; }

 private:
  const Tensor* tensors_ = nullptr;
  const uint32_t* slots_ = nullptr;
  size_t size_ = 0;
};

/// A plan made ready for one device.
class Executable {
 public:
  virtual ~Executable() = default;
  /// `symbols` holds the value of every symbol by id. Inputs are as the plan's graph declares them. `donated` is
  /// empty, or says of each of the tensors they are picked from whether the caller gives it up: then it may be
  /// overwritten and be an output if it is held only there and by the caller, and no other tensor has its storage.
  /// Fills `outputs`. An error leaves the inputs as they were, unless it is a Failure that is final.
  virtual RunError run(Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                       std::span<Tensor> outputs) = 0;
  virtual const Plan& plan() const = 0;
};

/// One device: its memory, and how plans run on it.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Allocator& allocator() = 0;
  virtual std::unique_ptr<Executable> prepare(Plan plan) = 0;
  /// Whether it computes `product`, a matmul with an epilogue, in one go.
  virtual bool has_epilogue([[maybe_unused]] const Node& product) { return false; }
  /// A tensor in host memory, moved to the device: the same one if the device is the host.
  virtual Tensor to_device(const Tensor& host) { return host; }
  /// A tensor of the device in host memory, after all that was launched; its layout may be another.
  virtual Tensor to_host(const Tensor& tensor) { return tensor; }
  /// A tensor of another device, copied to this one without the host in between; null where there is no such way. This
  /// is the device in use.
  virtual Tensor from_peer(const Tensor&, Backend&) { return {}; }
  /// Called before the device is used again after another one was.
  virtual void activate() {}
  virtual Counters counters() const = 0;
};

/// Whether `out`, when it is first written, may lie where `in` did: that of a donor, or a temporary before it. If the
/// kernel that writes it reads `in`, it may be the same place, element by element.
bool may_share_memory(const Plan& plan, uint32_t in, uint32_t out);

/// The error a user sees for a RunError.
Error describe(const RunError& error, const Graph& graph);

std::string dump(const Plan& plan, const SourceMap* sources);

}  // namespace tsl::graph
