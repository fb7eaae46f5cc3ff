// Fusion: which nodes share a kernel.
#pragma once

#include <bitset>
#include <memory_resource>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"

namespace tsl::graph {

/// A row kept in registers between reductions must fit a core's second-level cache.
inline constexpr int64_t kMaxResidentRow = 64 * 1024;
/// Larger groups gain nothing and make the register file of a tile outgrow the first-level cache.
inline constexpr size_t kMaxGroupNodes = 256;

using LoopFlags = std::bitset<kMaxRank>;  // one per loop

struct Group {
  explicit Group(std::pmr::memory_resource* memory) : nodes(memory) {}
  std::pmr::vector<NodeId> nodes;  // ascending: a valid order
  Dims loops;                      // the loops all its nodes share, row-major
  LoopFlags reduced;               // loops gone after the group's reductions
  bool has_reduction = false;
  bool rows_stay = false;   // an element is used again after a reduction of its row: Template::row
  bool has_totals = false;  // its rows' results are reduced once more
  bool is_op = false;       // one op with a kernel of its own
};

struct Fusion {
  explicit Fusion(std::pmr::memory_resource* memory) : groups(memory), group_of(memory), level(memory) {}
  std::pmr::vector<Group> groups;      // in an order in which they can run
  std::pmr::vector<int> group_of;      // per node; -1 for inputs and dead nodes
  std::pmr::vector<Level> level;       // per node, in its group
  std::vector<std::string> decisions;  // why groups ended where they did
};

/// Whether ops of this class share kernels. The others have kernels of their own.
bool fuses(OpClass op_class);

/// Groups the nodes of `graph` (all of which are live). A node joins the groups of its operands whenever one
/// template can run them together without a cycle between groups. The result lies in `memory`, as does what is needed
/// on the way.
Fusion fuse(const Graph& graph, bool explain, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
