#include "backend/cuda/plans/graph_launcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tsl::cuda {

using exec::GraphState;

namespace {

std::vector<void*> pointers_to(KernelCall& call) {
  if (call.structure) return {call.structure->make(call.values)};
  const size_t words = call.arg_table_words;
  std::vector<void*> pointers;
  pointers.reserve(call.values.size() - words + 1);
  if (words > 0 && !call.table) pointers.push_back(call.values.data());
  for (size_t i = words; i < call.values.size(); ++i) pointers.push_back(&call.values[i]);
  return pointers;
}

CUDA_KERNEL_NODE_PARAMS parameters(const KernelCall& call, std::vector<void*>& pointers) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = call.launch.function;
  params.gridDimX = call.launch.grid[0];
  params.gridDimY = call.launch.grid[1];
  params.gridDimZ = call.launch.grid[2];
  params.blockDimX = call.launch.block[0];
  params.blockDimY = call.launch.block[1];
  params.blockDimZ = call.launch.block[2];
  params.sharedMemBytes = call.launch.shared_bytes;
  params.kernelParams = pointers.data();
  return params;
}

}  // namespace

CudaGraphLauncher::~CudaGraphLauncher() {
  destroy();
  if (reported_) device_.driver().cuEventDestroy(reported_);
}

void CudaGraphLauncher::wait_for_reports() const {
  if (reported_) device_.check(device_.driver().cuEventSynchronize(reported_), "waiting for the GPU");
}

/// Returns the number of calls up to the last one that reports; 0 if none does.
size_t CudaGraphLauncher::end_of_reports() const {
  const auto last = std::find_if(calls_.rbegin(), calls_.rend(), [](const KernelCall& call) { return call.reports; });
  return static_cast<size_t>(calls_.rend() - last);
}

void CudaGraphLauncher::destroy() {
  if (executable_) device_.driver().cuGraphExecDestroy(executable_);
  if (graph_) device_.driver().cuGraphDestroy(graph_);
  executable_ = nullptr;
  graph_ = nullptr;
  nodes_.clear();
  profiled_nodes_ = nullptr;
}

void CudaGraphLauncher::copy_arg_tables() {
  for (KernelCall& call : calls_) {
    if (!call.table || call.is_copied) continue;
    device_.copy_to_device(call.table, call.values.data(), call.arg_table_words * sizeof(uint64_t));
    call.is_copied = true;
  }
}

GraphChange CudaGraphLauncher::prepare() {
  GraphChange change = GraphChange::none;
  is_current_ = false;
  copy_arg_tables();
  if (calls_.empty() || !has_run_ || wanted_ != GraphState::launched) return change;
  for (const KernelCall& call : calls_) {
    if (!call.library || (executable_ && call.is_sent)) continue;  // nothing to record
    if (call.is_unrecordable || !call.library->can_record(call.values)) return change;
  }
  if (executable_) is_current_ = patch(change);
  if (executable_) return change;
  try {
    is_current_ = instantiate_graph();
  } catch (...) {
    destroy();
    throw;
  }
  if (!is_current_) destroy();
  return is_current_ ? GraphChange::made : GraphChange::none;
}

GraphState CudaGraphLauncher::state() const {
  if (calls_.empty()) return GraphState::no_calls;
  if (wanted_ != GraphState::launched) return wanted_;
  if (!is_current_) return has_run_ ? GraphState::unrecorded : GraphState::first_run;
  return device_.log() && device_.log()->times_each_call() ? GraphState::timed : GraphState::launched;
}

void CudaGraphLauncher::launch() {
  if (calls_.empty()) return;
  WorkLog* const log = device_.log();
  if (state() != GraphState::launched) return launch_each();
  const WorkLog::Scope call(log, log ? profiled_nodes() : nullptr);
  device_.launch_graph(executable_, calls_.front().name);
  device_.counters().graph_kernels += calls_.size() - disabled_;
}

void CudaGraphLauncher::launch_each() {
  const Driver& driver = device_.driver();
  const size_t end = end_of_reports();
  if (end > 0 && !reported_) driver.check(driver.cuEventCreate(&reported_, CU_EVENT_DISABLE_TIMING), "making an event");
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].is_idle) launch(calls_[i]);
    if (i + 1 == end) driver.check(driver.cuEventRecord(reported_, device_.stream()), "recording an event");
  }
  has_run_ = true;
}

void CudaGraphLauncher::launch(KernelCall& call) {
  const WorkLog::Scope scope(device_.log(), call.activity);
  if (call.library) {
    call.library->enqueue(call.values);
    ++device_.counters().kernel_launches;
    return;
  }
  std::vector<void*> pointers = pointers_to(call);
  device_.launch(call.launch, pointers.data(), call.name);
}

void CudaGraphLauncher::set_activities(size_t first, size_t count, exec::Timeline::Id id) {
  for (size_t i = 0; i < count; ++i) {
    if (std::exchange(calls_[first + i].activity, id + static_cast<exec::Timeline::Id>(i)) != id + i)
      profiled_nodes_ = nullptr;
  }
}

/// Returns the graph's nodes by their numbers, as the profile needs them.
std::shared_ptr<const GraphNodes> CudaGraphLauncher::profiled_nodes() {
  if (profiled_nodes_) return profiled_nodes_;
  const Driver& driver = device_.driver();
  const exec::Timeline& timeline = *device_.log()->timeline();
  auto nodes = std::make_shared<GraphNodes>(calls_.size() + (has_event_ ? 1 : 0));
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].library && calls_[i].activity != kNoActivity)
      (*nodes)[i] = {calls_[i].activity, timeline[calls_[i].activity].kernel.name};
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].library) continue;
    CUgraph child = nullptr;
    size_t count = 0;
    driver.check(driver.cuGraphChildGraphNodeGetGraph(nodes_[i], &child), "reading a graph");
    if (child) driver.check(driver.cuGraphGetNodes(child, nullptr, &count), "reading a graph");
    nodes->insert(nodes->end(), count, {calls_[i].activity, ""});
  }
  return profiled_nodes_ = std::move(nodes);
}

bool CudaGraphLauncher::instantiate_graph() {
  const Driver& driver = device_.driver();
  driver.check(driver.cuGraphCreate(&graph_, 0), "making a graph");
  for (KernelCall& call : calls_) {
    nodes_.push_back(add_node(call));
    if (!nodes_.back()) return false;
  }
  has_event_ = reported_ != nullptr;
  if (has_event_) add_event();
  driver.check(driver.cuGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
  is_disabled_.assign(calls_.size(), false);
  disabled_ = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    enable(i);
    calls_[i].is_sent = true;
  }
  return true;
}

/// Makes the graph run the node of call `i`, or pass over it if the call is idle.
void CudaGraphLauncher::enable(size_t i) {
  if (is_disabled_[i] == calls_[i].is_idle) return;
  device_.check(device_.driver().cuGraphNodeSetEnabled(executable_, nodes_[i], calls_[i].is_idle ? 0 : 1),
                "patching a graph");
  is_disabled_[i] = calls_[i].is_idle;
  if (calls_[i].is_idle) ++disabled_;
  else --disabled_;
}

namespace {

/// Library work recorded as a graph; null if that failed. Other threads' use of the GPU may end a recording: loading a
/// module waits for the context, which cannot wait for a stream that records.
class Recorded {
 public:
  Recorded(Device& device, const KernelCall& call) : device_(device) {
    try {
      graph_ = device.capture([&] { call.library->enqueue(call.values); });
    } catch (const Failure& failure) {
      if (failure.error().kind() == ErrorKind::memory) throw;
    }
  }
  ~Recorded() {
    if (graph_) device_.driver().cuGraphDestroy(graph_);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  CUgraph graph() const { return graph_; }

 private:
  Device& device_;
  CUgraph graph_ = nullptr;
};

}  // namespace

/// Adds the call to the graph. Returns null if it could not be recorded.
CUgraphNode CudaGraphLauncher::add_node(KernelCall& call) {
  const Driver& driver = device_.driver();
  std::vector<CUgraphNode> after;
  for (uint32_t before : call.after) after.push_back(nodes_[before]);
  CUgraphNode node = nullptr;
  if (call.library) {
    const Recorded recorded(device_, call);
    if (!recorded.graph()) return nullptr;
    const CUresult result =
        driver.cuGraphAddChildGraphNode(&node, graph_, after.data(), after.size(), recorded.graph());
    call.is_unrecordable = result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_INVALID_VALUE;
    if (call.is_unrecordable) return nullptr;
    driver.check(result, "adding to a graph");
  } else {
    std::vector<void*> pointers = pointers_to(call);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(call, pointers);
    driver.check(driver.cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), &params), "adding to a graph");
  }
  return node;
}

/// Adds an event after all calls that report. Only the host waits for it.
void CudaGraphLauncher::add_event() {
  std::vector<CUgraphNode> after;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].reports) after.push_back(nodes_[i]);
  }
  CUgraphNode node = nullptr;
  device_.check(device_.driver().cuGraphAddEventRecordNode(&node, graph_, after.data(), after.size(), reported_),
                "adding to a graph");
}

bool CudaGraphLauncher::patch(GraphChange& change) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].is_sent) continue;
    change = GraphChange::updated;
    calls_[i].is_sent = patch(nodes_[i], calls_[i]);
    if (!calls_[i].is_sent) return false;
    enable(i);
  }
  return true;
}

bool CudaGraphLauncher::patch(CUgraphNode node, KernelCall& call) {
  const Driver& driver = device_.driver();
  if (call.library) {
    const Recorded recorded(device_, call);
    if (!recorded.graph()) return false;
    // If other operands have another alignment, their algorithm may use other kernels. Then the graph is rebuilt.
    const bool is_patched =
        driver.cuGraphExecChildGraphNodeSetParams(executable_, node, recorded.graph()) == CUDA_SUCCESS;
    if (!is_patched) destroy();
    return is_patched;
  } else {
    std::vector<void*> pointers = pointers_to(call);
    const CUDA_KERNEL_NODE_PARAMS params = parameters(call, pointers);
    driver.check(driver.cuGraphExecKernelNodeSetParams(executable_, node, &params), "patching a graph");
  }
  return true;
}

}  // namespace tsl::cuda
