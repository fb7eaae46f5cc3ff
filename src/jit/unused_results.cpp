#include "jit/unused_results.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tsl::jit {

namespace {

std::vector<bool> used_nodes(const graph::Graph& graph) {
  std::vector<bool> used(graph.size());
  for (const graph::Output& output : graph.outputs) used[output.node] = true;
  for (graph::NodeId id = graph.size(); id-- > 0;) {
    if (graph[id].is_result() && !used[id]) continue;  // of an op, every result of which may be unused
    for (const graph::Arg& arg : graph[id].args) {
      if (arg.is_tensor()) used[arg.node] = true;
    }
  }
  return used;
}

using SpanKey = std::tuple<uint32_t, uint32_t, uint32_t>;
SpanKey key_of(Span span) { return {span.source, span.begin, span.end}; }

}  // namespace

std::vector<const graph::Node*> UnusedResults::find(const graph::Graph& graph, const SourceMap& sources) const {
  const std::vector<bool> used = used_nodes(graph);
  std::set<SpanKey> used_calls;
  for (graph::NodeId id = 0; id < graph.size(); ++id) {
    if (used[id]) used_calls.insert(key_of(graph[id].span));
  }
  std::vector<const graph::Node*> found;
  std::set<std::pair<uint32_t, uint32_t>> lines;
  for (graph::NodeId id = 0; id < graph.size(); ++id) {
    const graph::Node& node = graph[id];
    if (used[id] || node.is_input || node.is_result() || node.may_fail() || !node.span.valid()) continue;
    if (!std::binary_search(called_.begin(), called_.end(), node.order)) continue;
    if (used_calls.contains(key_of(node.span))) continue;
    const uint32_t line = sources.get(node.span.source).line_of(node.span.begin);
    if (lines.emplace(node.span.source, line).second) found.push_back(&node);
  }
  return found;
}

}  // namespace tsl::jit
