// Finds the ops of a traced program whose results nothing uses.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace tsl::jit {

/// Remembers which ops on tensors the program's own code has called during a trace. Other ops may have unused results
/// for good reasons: the library computes what not all callers need, and so do functions that are differentiated.
class UnusedResults {
 public:
  /// Called for an op of the program, by its position in the trace.
  void called(uint32_t order) { called_.push_back(order); }
  void clear() { called_.clear(); }
  /// Returns the nodes of these ops that have no use, one for each line of `sources`. Ops of one call count as used if
  /// one of them is: a builtin may compute several results.
  std::vector<const graph::Node*> find(const graph::Graph& graph, const SourceMap& sources) const;

 private:
  std::vector<uint32_t> called_;  // ascending
};

}  // namespace tsl::jit
