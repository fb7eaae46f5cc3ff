// The CPU backend: memory, threads, and running plans.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/memory.h"
#include "backend/cpu/run_state.h"
#include "backend/cpu/threads.h"
#include "exec/backend.h"

namespace tsl::cpu {

/// Belongs to one engine. Executables must not outlive it.
class CpuBackend : public exec::Backend {
 public:
  explicit CpuBackend(int threads = 0, Isa isa = best_isa());
  BlockCache& allocator() override { return allocator_; }
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override;
  std::unique_ptr<exec::Executable> prepare_plain(graph::Plan plan) override;
  Counters counters() const override;
  std::string hardware() const override;
  std::vector<std::pair<std::string, std::string>> code_key() const override {
    return {{"architecture", name_of(isa_)}};
  }
  uint64_t cache_bytes() const override { return cache_bytes_; }
  exec::KernelRows* kernel_rows() override { return &rows_; }
  graph::DeviceTraits traits() const override { return {.resident = {.neighbours = graph::kAnyRow}}; }
  graph::Rates prediction_rates() const override;
  std::string_view no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) override {
    return rows_.no_kernel(op, operands, attrs);
  }

  /// Sets the most bytes for tensors and the cache.
  void limit_memory(uint64_t bytes) { allocator_.set_limit(bytes); }

  /// Sets what fits in the caches, for plans that are prepared from now on.
  void set_cache_bytes(uint64_t bytes) { cache_bytes_ = bytes; }

  /// Lets functions of the host program allocate, and run loops, from now on.
  void use(const HostMemory& memory, const Scheduler& scheduler) {
    allocator_.use(memory);
    pool_.use(scheduler);
  }

  /// Returns the kernels of ops that are never fused; what none of them runs, run_op() does.
  const exec::KernelRows& rows() const { return rows_; }

  ThreadPool& pool() { return pool_; }
  const KernelTable& table() const { return table_; }
  std::vector<Scratch>& scratch() { return scratch_; }
  Scratch& shared_scratch() { return shared_; }
  void count_launches(size_t launches) { launches_ += launches; }

 private:
  const Isa isa_;
  const KernelTable& table_;
  uint64_t cache_bytes_;
  CachingAllocator allocator_;
  ThreadPool pool_;
  exec::KernelRows rows_;
  std::vector<Scratch> scratch_;
  Scratch shared_;
  uint64_t launches_ = 0;
};

}  // namespace tsl::cpu
