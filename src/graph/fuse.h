// Fusion: decides which nodes share a kernel.
#pragma once

#include <algorithm>
#include <bitset>
#include <memory_resource>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"

namespace tsl::graph {

/// Bounds the time to compile a group. Larger groups would save little beside what they compute.
inline constexpr size_t kMaxGroupNodes = 1024;

using LoopFlags = std::bitset<kMaxRank>;  // one per loop

struct Group {
  explicit Group(std::pmr::memory_resource* memory) : nodes(memory), again(memory) {}
  std::pmr::vector<NodeId> nodes;  // ascending, which is a valid order
  std::pmr::vector<NodeId> again;  // nodes of other groups that the kernel computes again, see compute_again()
  Dims loops;                      // loops shared by all nodes, row-major
  LoopFlags reduced;               // loops that the group's reductions remove
  bool has_reduction = false;
  bool rows_stay = false;   // an element is used after a reduction of its row: Template::row
  bool has_totals = false;  // the rows' results are reduced again
  bool is_op = false;       // one op with a kernel of its own
};

/// Why a node did not join the group of one that it reads. A later decision may have joined them all the same.
struct FusionDecision {
  NodeId consumer, producer;
  const char* reason;
};

struct Fusion {
  explicit Fusion(std::pmr::memory_resource* memory) : groups(memory), group_of(memory), level(memory) {}
  std::pmr::vector<Group> groups;         // in a valid order of execution
  std::pmr::vector<int> group_of;         // per node; -1 for inputs and dead nodes
  std::pmr::vector<Level> level;          // per node, within its group
  std::vector<FusionDecision> decisions;  // why groups ended where they did

  /// Whether the kernel of a group computes the node, so that it need not read it from memory.
  bool computes(int group, NodeId id) const {
    if (group_of[id] == group) return true;
    if (group < 0) return false;
    const std::pmr::vector<NodeId>& again = groups[static_cast<size_t>(group)].again;
    return std::find(again.begin(), again.end(), id) != again.end();
  }
};

/// Groups the nodes of `graph` (all must be live). A node joins the groups of its operands if one template can run them
/// together and no cycle between groups arises. `resident`: see DeviceTraits. `memory` holds the result and
/// temporary data.
Fusion fuse(const Graph& graph, bool explain, const ResidentRows& resident, std::pmr::memory_resource* memory);

}  // namespace tsl::graph
