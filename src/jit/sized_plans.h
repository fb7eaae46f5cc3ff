// The plans of one segment. A trace is symbolic, a plan is not: for each set of sizes that comes along, the recorded
// graph is compiled for those sizes, without tracing or interpreting anything. The passes then decide on guards, not on
// guesses that would need guards of their own, and kernels see the sizes that eager execution would give them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "exec/devices.h"
#include "graph/compile.h"

namespace tsl::jit {

class SizedPlans {
 public:
  /// `graph` must compute something. `log` may be null; else it must outlive this.
  SizedPlans(exec::Devices& devices, Device device, graph::Graph graph, const graph::PlanOptions& options,
             const graph::CompileLog* log);

  /// The plan for the sizes of this run, given the values of all symbols. The reference is good until the next call,
  /// and the plan ready to run.
  /// Throws Failure (memory) if a tensor of the segment would be too large to exist.
  exec::Executable& at(std::span<const Scalar> symbols);

  size_t output_count() const { return graph_.outputs.size(); }

 private:
  struct Entry {
    std::vector<int64_t> sizes;  // the values of size_symbols_
    std::unique_ptr<exec::Executable> plan;
  };

  void find_size_symbols();
  bool fits(const Entry& entry, std::span<const Scalar> symbols) const;

  exec::Devices& devices_;
  Device device_;
  graph::PlanOptions options_;
  const graph::CompileLog* log_;
  graph::Graph graph_;
  std::vector<uint32_t> size_symbols_;  // ids of the inputs that extents and strides are computed from
  std::vector<Entry> entries_;          // the last one used last
};

}  // namespace tsl::jit
