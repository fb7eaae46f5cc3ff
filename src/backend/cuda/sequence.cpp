#include "backend/cuda/sequence.h"

#include <algorithm>

namespace tsl::cuda {

namespace {

std::vector<void*> pointers_to(KernelCall& call) {
  std::vector<void*> pointers;
  if (call.is_table) pointers.push_back(call.values.data());
  else for (uint64_t& value : call.values) pointers.push_back(&value);
  return pointers;
}

CUDA_KERNEL_NODE_PARAMS parameters(const KernelCall& call, std::vector<void*>& pointers) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = call.function;
  params.gridDimX = call.grid[0];
  params.gridDimY = call.grid[1];
  params.gridDimZ = 1;
  params.blockDimX = call.block[0];
  params.blockDimY = call.block[1];
  params.blockDimZ = 1;
  params.kernelParams = pointers.data();
  return params;
}

}  // namespace

KernelSequence::~KernelSequence() { destroy(); }

void KernelSequence::destroy() {
  if (executable_) device_.driver().cuGraphExecDestroy(executable_);
  if (graph_) device_.driver().cuGraphDestroy(graph_);
  executable_ = nullptr;
  graph_ = nullptr;
  nodes_.clear();
}

void KernelSequence::prepare() {
  is_current_ = false;
  if (calls_.empty() || !has_run_ || !as_graph_) return;
  for (const KernelCall& call : calls_) {
    if (!call.library || (executable_ && call.is_sent)) continue;  // nothing to record
    if (!call.library->can_record(call.values)) return;
  }
  if (executable_) {
    patch();
  } else {
    try {
      instantiate();
    } catch (...) {
      destroy();
      throw;
    }
  }
  is_current_ = true;
}

void KernelSequence::launch() {
  if (calls_.empty()) return;
  if (!is_current_) return launch_each();
  device_.launch_graph(executable_, calls_.front().name);
  device_.counters().graph_kernels += calls_.size();
}

void KernelSequence::launch_each() {
  for (KernelCall& call : calls_) {
    if (call.library) {
      call.library->enqueue(call.values);
      ++device_.counters().kernel_launches;
      continue;
    }
    std::vector<void*> pointers = pointers_to(call);
    Launch launch;
    launch.function = call.function;
    std::copy(call.grid, call.grid + 2, launch.grid);
    std::copy(call.block, call.block + 2, launch.block);
    device_.launch(launch, pointers.data(), call.name);
  }
  has_run_ = true;
}

void KernelSequence::instantiate() {
  const Driver& driver = device_.driver();
  driver.check(driver.cuGraphCreate(&graph_, 0), "making a graph");
  for (KernelCall& call : calls_) nodes_.push_back(add_node(call));
  driver.check(driver.cuGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
  for (KernelCall& call : calls_) call.is_sent = true;
}

namespace {

/// A library's work as a graph.
class Recorded {
 public:
  Recorded(Device& device, const KernelCall& call) : device_(device), graph_(device.capture([&] { call.library->enqueue(call.values); })) {}
  ~Recorded() { device_.driver().cuGraphDestroy(graph_); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  CUgraph graph() const { return graph_; }

 private:
  Device& device_;
  CUgraph graph_;
};

}  // namespace

CUgraphNode KernelSequence::add_node(KernelCall& call) {
  const Driver& driver = device_.driver();
  const CUgraphNode* before = nodes_.empty() ? nullptr : &nodes_.back();
  const size_t count = nodes_.empty() ? 0 : 1;
  CUgraphNode node = nullptr;
  if (call.library) {
    const Recorded recorded(device_, call);
    driver.check(driver.cuGraphAddChildGraphNode(&node, graph_, before, count, recorded.graph()), "adding to a graph");
  } else {
    std::vector<void*> pointers = pointers_to(call);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(call, pointers);
    driver.check(driver.cuGraphAddKernelNode(&node, graph_, before, count, &params), "adding to a graph");
  }
  return node;
}

void KernelSequence::patch() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].is_sent) continue;
    patch(nodes_[i], calls_[i]);
    calls_[i].is_sent = true;
  }
}

void KernelSequence::patch(CUgraphNode node, KernelCall& call) {
  const Driver& driver = device_.driver();
  if (call.library) {
    const Recorded recorded(device_, call);
    driver.check(driver.cuGraphExecChildGraphNodeSetParams(executable_, node, recorded.graph()), "patching a graph");
  } else {
    std::vector<void*> pointers = pointers_to(call);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(call, pointers);
    driver.check(driver.cuGraphExecKernelNodeSetParams(executable_, node, &params), "patching a graph");
  }
}

}  // namespace tsl::cuda
