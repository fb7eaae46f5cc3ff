// The plans of one segment. A trace is symbolic, but plans are not: the recorded graph is compiled for each set of
// sizes that occurs, without tracing again. So passes decide on actual sizes and need no guards of their own, and
// kernels are the same as in eager execution.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "exec/devices.h"
#include "graph/compile.h"

namespace tsl::jit {

class SizedPlans {
 public:
  /// `graph` must compute something. `log` is null or outlives this.
  SizedPlans(exec::Devices& devices, Device device, graph::Graph graph, const graph::PlanOptions& options,
             const graph::CompileLog* log);

  /// Returns the plan for the sizes of this run, given the values of all symbols; it is ready to run. The reference is
  /// valid until the next call. Throws Failure (memory) if a tensor of the segment would be too large.
  exec::Executable& at(std::span<const Scalar> symbols);

  size_t output_count() const { return graph_.outputs.size(); }

 private:
  struct Entry {
    std::vector<int64_t> sizes;  // values of size_symbols_
    std::unique_ptr<exec::Executable> plan;
  };

  void find_size_symbols();
  bool fits(const Entry& entry, std::span<const Scalar> symbols) const;

  exec::Devices& devices_;
  Device device_;
  graph::PlanOptions options_;
  const graph::CompileLog* log_;
  graph::Graph graph_;
  std::vector<uint32_t> size_symbols_;  // ids of the input symbols that extents and strides depend on
  std::vector<Entry> entries_;          // the most recently used one is last
};

}  // namespace tsl::jit
