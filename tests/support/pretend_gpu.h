// A CPU backend that appears as a GPU, so that programs for several devices run on any machine.
#pragma once

#include <utility>
#include <vector>

#include "backend/cpu/backend.h"
#include "tensor/block_cache.h"

namespace tsl {

/// Counts the runs that were deferred, and the waits for them.
struct DeferralCounts {
  uint32_t runs = 0, waits = 0;
};

/// Its tensors have a GPU as their device. If `guarded`, accessing their memory from outside crashes, as with a GPU.
class PretendGpu : public cpu::CpuBackend {
 public:
  /// Without `counts`, runs cannot be deferred.
  PretendGpu(Device device, exec::Backend& host, bool guarded, DeferralCounts* counts = nullptr);

  BlockCache& allocator() override { return memory_; }
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override;
  Tensor to_device(const Tensor& tensor) override;
  Tensor to_host(const Tensor& tensor) override;
  Counters counters() const override;

 private:
  class Executable;
  class Access;  // during its lifetime, the memory may be accessed

  class Memory : public BlockCache {
   public:
    Memory(Device device, bool guarded);
    ~Memory() override;
    void allow(bool access);

   protected:
    void* take_from_system(uint64_t bytes) override;
    void give_to_system(void* data, uint64_t bytes) override;

   private:
    std::vector<std::pair<void*, uint64_t>> blocks_;
    const bool is_guarded_;
    bool is_open_;
  };

  /// Copies the part of the tensor's memory that its layout reaches, and views the copy through the same layout.
  Tensor copy(const Tensor& tensor, Allocator& to, uint64_t& counter);

  exec::Backend& host_;
  Memory memory_;
  DeferralCounts* const counts_;
  std::vector<exec::RunError> failures_;  // of the deferred runs
  size_t finished_ = 0;                   // of these, the ones that were waited for
  uint64_t to_device_ = 0, to_host_ = 0;  // bytes
};

}  // namespace tsl
