#include "support/pretend_gpu.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace tsl {

class PretendGpu::Access {
 public:
  explicit Access(Memory& memory) : memory_(memory) { memory_.allow(true); }
  ~Access() { memory_.allow(false); }

 private:
  Memory& memory_;
};

class PretendGpu::Executable : public exec::Executable, public exec::DeferredRuns {
 public:
  Executable(PretendGpu& gpu, std::unique_ptr<exec::Executable> plan) : gpu_(gpu), plan_(std::move(plan)) {}

  exec::RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                     std::span<Tensor> outputs) override {
    const Access access(gpu_.memory_);
    return plan_->run(inputs, donated, symbols, outputs);
  }
  const graph::Plan& plan() const override { return plan_->plan(); }

  exec::DeferredRuns* deferred_runs() override { return gpu_.counts_ ? this : nullptr; }
  uint32_t run_deferred(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                        std::span<Tensor> outputs) override {
    const exec::RunError failure = run(inputs, donated, symbols, outputs);
    if (failure) make_garbage(outputs);
    gpu_.failures_.push_back(failure);
    ++gpu_.counts_->runs;
    return static_cast<uint32_t>(gpu_.failures_.size() - 1);
  }
  exec::RunError report(uint32_t number) override {
    if (number >= gpu_.finished_) {
      ++gpu_.counts_->waits;
      gpu_.finished_ = gpu_.failures_.size();
    }
    const exec::RunError failure = gpu_.failures_[number];
    if (number + 1 == gpu_.failures_.size()) {
      gpu_.failures_.clear();
      gpu_.finished_ = 0;
    }
    return failure;
  }

 private:
  /// Makes outputs of a run that has failed: all bytes are 1.
  void make_garbage(std::span<Tensor> outputs) {
    const Access access(gpu_.memory_);
    const graph::Graph& graph = plan().graph;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Layout layout = Layout::contiguous(graph.outputs[i].layout.shape);
      const DType dtype = graph[graph.outputs[i].node].dtype;
      const uint64_t bytes = static_cast<uint64_t>(element_count(layout.shape).hint()) * size_of(dtype);
      Ref<Storage> storage = gpu_.memory_.allocate(bytes);
      if (bytes > 0) std::memset(storage->data(), 1, bytes);
      outputs[i] = Tensor(dtype, layout, std::move(storage));
    }
  }

  PretendGpu& gpu_;
  std::unique_ptr<exec::Executable> plan_;
};

// ---- Memory ------------------------------------------------------------------------------------------------

PretendGpu::Memory::Memory(Device device, bool guarded)
    : BlockCache(device, {static_cast<uint64_t>(sysconf(_SC_PAGESIZE))}), is_guarded_(guarded), is_open_(!guarded) {}

PretendGpu::Memory::~Memory() { release_cache(); }

void* PretendGpu::Memory::take_from_system(uint64_t bytes) {
  void* data = mmap(nullptr, bytes, is_open_ ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  blocks_.emplace_back(data, bytes);
  return data;
}

void PretendGpu::Memory::give_to_system(void* data, uint64_t bytes) {
  std::erase(blocks_, std::pair(data, bytes));
  munmap(data, bytes);
}

void PretendGpu::Memory::allow(bool access) {
  if (!is_guarded_) return;
  is_open_ = access;
  for (const auto& [data, bytes] : blocks_) mprotect(data, bytes, access ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// ---- The backend -------------------------------------------------------------------------------------------

PretendGpu::PretendGpu(Device device, exec::Backend& host, bool guarded, DeferralCounts* counts)
    : CpuBackend(1), host_(host), memory_(device, guarded), counts_(counts) {}

std::unique_ptr<exec::Executable> PretendGpu::prepare(graph::Plan plan) {
  return std::make_unique<Executable>(*this, CpuBackend::prepare(std::move(plan)));
}

Tensor PretendGpu::to_device(const Tensor& tensor) {
  return tensor.device().is_host() ? copy(tensor, memory_, to_device_) : tensor;
}

Tensor PretendGpu::to_host(const Tensor& tensor) {
  return tensor.device().is_host() ? tensor : copy(tensor, host_.allocator(), to_host_);
}

Tensor PretendGpu::copy(const Tensor& tensor, Allocator& to, uint64_t& counter) {
  int64_t first = 0, last = 0;  // range of elements, relative to the tensor's first one
  bool is_empty = false;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t extent = tensor.shape()[axis].hint(), reach = (extent - 1) * tensor.layout().strides[axis].hint();
    is_empty = is_empty || extent == 0;
    (reach < 0 ? first : last) += reach;
  }
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  const auto bytes = static_cast<uint64_t>(is_empty ? 0 : (last - first + 1) * size);
  const Access access(memory_);
  Ref<Storage> storage = to.allocate(bytes);
  if (bytes > 0) std::memcpy(storage->data(), tensor.data() + first * size, bytes);
  counter += bytes;
  Layout layout = tensor.layout();
  layout.offset = is_empty ? 0 : -first;
  return Tensor(tensor.dtype(), layout, std::move(storage));
}

Counters PretendGpu::counters() const {
  Counters counters = CpuBackend::counters();
  const Allocator::Stats memory = memory_.stats();
  counters.bytes_to_device = to_device_;
  counters.bytes_to_host = to_host_;
  counters.memory = memory.live_bytes;
  counters.memory_peak = memory.peak_bytes;
  counters.memory_cached = memory.cached_bytes;
  return counters;
}

}  // namespace tsl
