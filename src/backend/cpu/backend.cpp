#include "backend/cpu/backend.h"

#include <cxxabi.h>

#include <algorithm>
#include <memory>
#include <string>

#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/kernels/op_kernels.h"
#include "backend/cpu/tiles/runner.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "base/platform/machine.h"
#include "base/run_watch.h"
#include "exec/address_check.h"
#include "exec/plan_activities.h"
#include "exec/plan_memory.h"

namespace tsl::cpu {

using exec::RunError;
using graph::Plan;

namespace {

uint64_t last_cache_bytes() {
  constexpr uint64_t kUnknown = uint64_t{32} << 20;
  static const uint64_t bytes = platform::last_cache_bytes();  // an engine takes microseconds to make, this takes more
  return bytes > 0 ? bytes : kUnknown;
}

class CpuExecutable : public exec::Executable {
 public:
  CpuExecutable(CpuBackend& backend, Plan plan, TileForms forms)
      : backend_(backend), plan_(std::move(plan)), memory_(plan_, backend.allocator()) {
    for (const graph::Kernel& kernel : plan_.kernels) {
      tiles_.emplace_back();
      libraries_.emplace_back();
      if (kernel.kind == graph::Template::op) {
        const graph::Node& node = plan_.graph[kernel.op_node];
        libraries_.back() = backend.rows().find(node);
        lacks_kernel_ |= !libraries_.back() && !has_own_kernel(node.op);
        if (libraries_.back())
          workspace_bytes_ = std::max(workspace_bytes_, workspace_bytes(*libraries_.back(), plan_, kernel));
        continue;
      }
      tiles_.back() =
          std::make_unique<const TilePlan>(build_tiles(kernel, plan_, backend_.table(), backend_.cache_bytes(), forms));
    }
  }

  const Plan& plan() const override { return plan_; }
  void observe(exec::LaunchObserver* observer) override { observer_ = observer; }
  std::vector<exec::LoadedKernel> kernels() const override {
    std::vector<exec::LoadedKernel> out = Executable::kernels();
    for (exec::LoadedKernel& kernel : out) {
      const auto& library = libraries_[plan_.launches[kernel.launch][0]];
      if (library) kernel.name = library->name();
    }
    return out;
  }
  std::vector<exec::KernelCandidate> candidates(uint32_t launch) const override {
    const graph::Kernel& first = plan_.kernels[plan_.launches[launch][0]];
    if (first.kind != graph::Template::op) return {};
    return backend_.rows().candidates(plan_.graph[first.op_node], "own");
  }
  uint64_t table_bytes() const override {
    uint64_t bytes = 0;
    // bounded: the libraries of a plan
    for (const auto& library : libraries_) bytes += library ? library->table_bytes() : 0;
    return bytes;
  }

  RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
               std::span<Tensor> outputs) override {
    if (exec::checks_addresses()) exec::AddressCheck(plan_, inputs, symbols).check_kernels();
    memory_.bind(inputs, lacks_kernel_ ? std::span<const char>() : donated);
    RunState state;
    state.buffers = memory_.addresses();
    state.symbols = symbols.data();
    state.pool = &backend_.pool();
    state.scratch = &backend_.scratch();
    state.shared = &backend_.shared_scratch();
    backend_.count_launches(plan_.launches.size());
    Ref<Storage> workspace;
    size_t begun = 0;  // launches
    try {
      if (workspace_bytes_ > 0) workspace = backend_.allocator().allocate(workspace_bytes_);
      exec::Timeline* const timeline = backend_.timeline();
      exec::Timeline::Id activity = timeline ? activities_.first(*timeline, *this, Device()) : 0;
      for (const std::vector<uint32_t>& launch : plan_.launches) {
        if (&launch != plan_.launches.data()) poll_stop();
        const exec::ActivityScope scope(timeline, activity++);
        const auto number = static_cast<uint32_t>(&launch - plan_.launches.data());
        if (observer_) observer_->before(number, memory_.addresses());
        begun = number + 1;
        std::byte* const memory = workspace ? static_cast<std::byte*>(workspace->data()) : nullptr;
        run_launch(launch, state, {memory, workspace_bytes_});
        if (state.error) break;
        if (observer_) observer_->after(number, memory_.addresses());
      }
      if (!state.error) memory_.make_outputs(inputs, symbols, outputs);
    } catch (const abi::__forced_unwind&) {
      memory_.release();
      throw;
    } catch (...) {
      const bool is_lost = memory_.has_donors() && begun > memory_.first_overwriting();
      memory_.release();
      if (is_lost) exec::fail_after_overwriting();
      throw;
    }
    memory_.release();
    return state.error;
  }

 private:
  void run_launch(const std::vector<uint32_t>& launch, RunState& state, std::span<std::byte> workspace) {
    if (launch.size() > 1) {
      run_table(launch, state);
    } else if (tiles_[launch[0]]) {
      runner(launch[0], state).run();
    } else {
      run_op(backend_, plan_, plan_.kernels[launch[0]], state, libraries_[launch[0]].get(), workspace);
    }
  }

  /// Runs a multi-tensor launch: reductions and large kernels one after the other, each on all threads; then small
  /// kernels in groups, distributed over the threads.
  void run_table(const std::vector<uint32_t>& launch, RunState& state) {
    small_.clear();
    groups_.assign(1, 0);
    int64_t work = 0;
    for (uint32_t kernel : launch) {
      const int64_t own = tiles_[kernel]->work();
      if (own >= kParallelWork || plan_.kernels[kernel].kind != graph::Template::pointwise) {
        runner(kernel, state).run();
        continue;
      }
      small_.push_back(kernel);
      work += own;
      if (work < kParallelWork) continue;
      groups_.push_back(small_.size());
      work = 0;
    }
    if (groups_.back() < small_.size()) groups_.push_back(small_.size());
    state.pool->parallel_for(static_cast<int64_t>(groups_.size()) - 1, [&](int64_t group, int thread) {
      for (size_t i = groups_[group]; i < groups_[group + 1]; ++i) runner(small_[i], state).run(thread);
    });
  }

  TileRunner runner(uint32_t kernel, RunState& state) const {
    return TileRunner(*tiles_[kernel], backend_.table(), state);
  }

  CpuBackend& backend_;
  Plan plan_;
  exec::PlanMemory memory_;
  std::vector<std::unique_ptr<const TilePlan>> tiles_;      // by kernel; null for those of ops
  std::vector<std::unique_ptr<exec::OpKernel>> libraries_;  // per kernel; null: a library does not run it
  uint64_t workspace_bytes_ = 0;                            // the most of any kernel of a library
  bool lacks_kernel_ = false;  // of an op: its run will fail, and must not have overwritten what it was given
  exec::PlanActivities activities_;
  exec::LaunchObserver* observer_ = nullptr;
  std::vector<uint32_t> small_;  // small kernels of the current launch
  std::vector<size_t> groups_;   // start of each group in small_, and the end
};

}  // namespace

CpuBackend::CpuBackend(int threads, Isa isa)
    : isa_(isa), table_(kernels(isa)), cache_bytes_(last_cache_bytes()), pool_(threads), scratch_(pool_.size()) {
  // bounded: the table of kernels
  for (const auto rows : kKernelRows) rows_.add(rows({pool_, table_}));
}

std::unique_ptr<exec::Executable> CpuBackend::prepare(Plan plan) {
  return std::make_unique<CpuExecutable>(*this, std::move(plan), TileForms::any);
}

std::unique_ptr<exec::Executable> CpuBackend::prepare_plain(Plan plan) {
  return std::make_unique<CpuExecutable>(*this, std::move(plan), TileForms::plain);
}

Counters CpuBackend::counters() const {
  const Allocator::Stats memory = allocator_.stats();
  Counters out;
  out.kernels = launches_;
  out.driver_allocations = memory.system_allocations;
  out.memory = memory.live_bytes;
  out.memory_peak = memory.peak_bytes;
  out.memory_cached = memory.cached_bytes;
  return out;
}

graph::Rates CpuBackend::prediction_rates() const {
  // Fitted to the kernels of benchmarks/sweep/predict.py, seed 7 (AMD EPYC, AVX-512, one thread, 2026-11-26).
  return {.seconds_per_launch = 0.2e-6,
          .operations_per_strided = 15,
          .operations_per_gathered = 58,
          .operations_per_run = 120,
          .operations_per_row = 800,
          .cache_speedup = 1.4};
}

std::string CpuBackend::hardware() const {
  std::string model = platform::processor_name();
  if (model.empty()) model = "CPU";
  return model + ", " + std::to_string(pool_.size()) + " threads";
}

}  // namespace tsl::cpu
