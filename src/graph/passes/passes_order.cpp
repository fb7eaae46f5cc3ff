// The order of nodes, which is that in which kernels start.
#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/passes/copier.h"
#include "graph/passes/passes.h"

namespace tsl::graph {

namespace {

bool moves_elements(const Node& node) {
  return !node.is_input && (node.op == Op::concat || node.op == Op::copy || node.has_parts());
}

/// Per node: whether it is a sum over ranks, or only moves elements for such nodes.
std::vector<bool> nodes_of_sums(const Graph& graph) {
  std::vector<bool> of_sums(graph.size()), is_read_by_others(graph.size());
  for (const Output& out : graph.outputs) is_read_by_others[out.node] = true;
  for (NodeId id = graph.size(); id-- > 0;) {
    const Node& node = graph[id];
    of_sums[id] = node.is_of_program() || (moves_elements(node) && !is_read_by_others[id]);
    for (const Arg& arg : node.args) {
      if (arg.is_tensor() && !of_sums[id]) is_read_by_others[arg.node] = true;
    }
  }
  return of_sums;
}

}  // namespace

Graph start_sums_early(Graph graph) {
  NodeId first = 0;
  while (first < graph.size() && !graph[first].is_of_program()) ++first;
  if (first == graph.size()) return graph;
  const std::vector<bool> of_sums = nodes_of_sums(graph);
  std::vector<NodeId> ready(graph.size());  // the node after which a node comes; inputs are first
  for (NodeId id = 0; id < graph.size(); ++id) {
    ready[id] = of_sums[id] || graph[id].is_input ? 0 : id;
    for (const Arg& arg : graph[id].args) {
      if (of_sums[id] && arg.is_tensor()) ready[id] = std::max(ready[id], ready[arg.node]);
    }
  }
  std::vector<NodeId> order(graph.size());
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return ready[a] < ready[b]; });
  Copier copier(graph);
  for (const NodeId id : order) copier.keep(id);
  return copier.finish();
}

}  // namespace tsl::graph
