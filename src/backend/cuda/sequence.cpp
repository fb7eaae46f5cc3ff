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

bool same(const KernelCall& a, const KernelCall& b) {
  return a.function == b.function && std::equal(a.grid, a.grid + 2, b.grid) && std::equal(a.block, a.block + 2, b.block) &&
         a.values == b.values;
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

KernelSequence::~KernelSequence() {
  if (executable_) device_.driver().cuGraphExecDestroy(executable_);
  if (graph_) device_.driver().cuGraphDestroy(graph_);
}

void KernelSequence::launch() {
  if (calls_.empty()) return;
  if (!has_run_) return launch_each();
  if (!executable_) instantiate();
  else patch();
  device_.launch_graph(executable_, calls_.front().name);
}

void KernelSequence::launch_each() {
  for (KernelCall& call : calls_) {
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
  for (KernelCall& call : calls_) {
    std::vector<void*> pointers = pointers_to(call);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(call, pointers);
    CUgraphNode node = nullptr;
    const CUgraphNode* before = nodes_.empty() ? nullptr : &nodes_.back();
    driver.check(driver.cuGraphAddKernelNode(&node, graph_, before, nodes_.empty() ? 0 : 1, &params), "adding to a graph");
    nodes_.push_back(node);
  }
  driver.check(driver.cuGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
  sent_ = calls_;
}

void KernelSequence::patch() {
  const Driver& driver = device_.driver();
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (same(calls_[i], sent_[i])) continue;
    std::vector<void*> pointers = pointers_to(calls_[i]);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(calls_[i], pointers);
    driver.check(driver.cuGraphExecKernelNodeSetParams(executable_, nodes_[i], &params), "patching a graph");
    sent_[i] = calls_[i];
  }
}

}  // namespace tsl::cuda
