// The plans of one segment. A trace is symbolic, but plans are not: the recorded graph is compiled for each set of
// sizes that occurs, without tracing again. So passes decide on actual sizes and need no guards of their own, and
// kernels are the same as in eager execution.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/devices.h"
#include "graph/compile.h"
#include "jit/plan_budget.h"
#include "jit/trace_observer.h"

namespace tsl::jit {

/// Names the specialisations of a region in the order in which they are compiled: "step:12#0", "step:12#1".
struct SpecialisationNames {
  std::string region;  // "step:12": the function and the line
  uint32_t count = 0;
  uint32_t watched = 0;  // segments whose plans observers see, which are numbered
  std::string next() { return region + "#" + std::to_string(count++); }
};

/// The most plans of one segment. Further sizes evict plans, which are compiled again when their sizes return.
inline constexpr size_t kMaxSizes = 64;

class SizedPlans {
 public:
  /// `graph` must compute something. `names` and `budget` outlive this.
  SizedPlans(exec::Devices& devices, Device device, graph::Graph graph, const graph::PlanOptions& options,
             SpecialisationNames& names, PlanBudget& budget);
  ~SizedPlans();
  SizedPlans(const SizedPlans&) = delete;
  SizedPlans& operator=(const SizedPlans&) = delete;

  /// Returns the plan for the sizes of this run, given the values of all symbols; it is ready to run. The reference is
  /// valid until the next call. Throws Failure (memory) if a tensor of the segment would be too large.
  const std::shared_ptr<exec::Executable>& at(std::span<const Scalar> symbols);

  /// Returns the ids of the input symbols that extents and strides depend on.
  const std::vector<uint32_t>& size_symbols() const { return size_symbols_; }
  /// Tells observers of each plan that is compiled. `size_names` are the variables of size_symbols().
  void watch(const TraceObservers& observers, RegionNote region, std::vector<std::string> size_names);
  /// Returns the number among the watched segments of the declaration.
  uint32_t number() const { return watch_ ? watch_->number : SegmentNote::kNoPlans; }

  /// Returns the time of the first use that evict_oldest() would undo; 0 if there is no plan.
  uint64_t last_use() const { return entries_.empty() ? 0 : entries_.front().last_use; }
  void evict_oldest();

  /// Whether there are more sizes than are kept, so that some are compiled again when they return.
  bool evicts() const { return evicts_; }
  Device device() const { return device_; }
  size_t output_count() const { return graph_.outputs.size(); }

 private:
  struct Entry {
    std::vector<int64_t> sizes;  // values of size_symbols_
    std::shared_ptr<exec::Executable> plan;
    uint64_t bytes = 0;     // about
    uint64_t last_use = 0;  // in the time of the budget
  };

  struct Watch {
    const TraceObservers& observers;
    RegionNote region;
    uint32_t number;
    std::vector<std::string> size_names;
  };

  void find_size_symbols();
  void notify(const Entry& entry) const;
  bool fits(const Entry& entry, std::span<const Scalar> symbols) const;

  exec::Devices& devices_;
  Device device_;
  graph::PlanOptions options_;
  SpecialisationNames& names_;
  PlanBudget& budget_;
  graph::Graph graph_;
  std::vector<uint32_t> size_symbols_;  // ids of the input symbols that extents and strides depend on
  std::unique_ptr<Watch> watch_;        // null: nothing watches
  std::vector<Entry> entries_;          // the most recently used one is last
  bool evicts_ = false;
};

}  // namespace tsl::jit
