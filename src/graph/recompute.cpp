#include "graph/recompute.h"

#include <algorithm>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/copier.h"
#include "graph/domain.h"
#include "graph/passes.h"

namespace tsl::graph {

namespace {

/// Each trial fuses the whole graph; graphs in which more trials would gain are rare. Together they fuse so many nodes
/// at most, which takes a few milliseconds: one loop of training may have thousands.
constexpr int kMaxTrials = 32;
constexpr uint32_t kMaxTriedNodes = 1024;

bool is_elementwise(const Node& node) { return !node.is_input && is_elementwise(node.def()) && !node.may_fail(); }

/// Whether a kernel that reads the operand element by element could compute it instead.
bool reads_elements(const Node& reader) {
  return !reader.is_input && (is_elementwise(reader.def()) || is_reduction(reader.def()));
}

using Decision = std::pair<Node, const char*>;

/// A graph with what the other compiler passes would make of it.
struct Candidate {
  Candidate(Graph g, const Rates& rates, const ResidentRows& resident)
      : graph(std::move(g)),
        fusion(fuse(graph, false, resident, std::pmr::get_default_resource())),
        seconds(seconds_of(graph, fusion, rates)) {}
  Graph graph;
  Fusion fusion;
  double seconds;
  std::vector<Decision> decisions;  // that led to it
};

/// Makes a graph in which the readers of views of one elementwise node compute it themselves.
class Inliner {
 public:
  Inliner(const Graph& graph, const std::vector<bool>& stored, NodeId target)
      : graph_(graph), stored_(stored), target_(target), copier_(graph) {}

  /// Returns nothing if a reader's view cannot be expressed.
  std::optional<Graph> run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      Node node = graph_[id];
      for (Arg& arg : node.args) {
        if (!arg.is_tensor()) continue;
        if (arg.node != target_ || reads_all_in_order(graph_, arg)) {
          arg.node = copier_.renamed(arg.node);
          continue;
        }
        const NodeId clone = compute_again(target_, arg.layout);
        if (clone == kNoNode) return std::nullopt;
        arg.node = clone;
        arg.layout = Layout::contiguous(arg.layout.shape);
      }
      copier_.replace(id, copier_.add(std::move(node)));
    }
    return dead_code(copier_.finish());
  }

 private:
  struct Clone {
    NodeId node;
    Layout view;
    NodeId clone;
  };

  /// Adds ops that compute a view of elementwise node `id`, or returns kNoNode.
  NodeId compute_again(NodeId id, const Layout& view) {
    for (const Clone& known : clones_) {
      if (known.node == id && same(known.view, view)) return known.clone;
    }
    if (clones_.size() >= kMaxGroupNodes) return kNoNode;
    Node node = graph_[id];
    node.shape = view.shape;
    for (Arg& arg : node.args) {
      if (!arg.is_tensor()) continue;
      std::optional<Layout> layout = through(view, arg.layout);
      if (!layout) return kNoNode;
      arg.layout = std::move(*layout);
      const bool is_own = is_elementwise(graph_[arg.node]) && !stored_[arg.node] && !reads_all_in_order(graph_, arg);
      if (!is_own) {
        arg.node = copier_.renamed(arg.node);
        continue;
      }
      arg.node = compute_again(arg.node, arg.layout);
      if (arg.node == kNoNode) return kNoNode;
      arg.layout = Layout::contiguous(view.shape);
    }
    const NodeId clone = copier_.add(std::move(node));
    clones_.push_back({id, view, clone});
    return clone;
  }

  const Graph& graph_;
  const std::vector<bool>& stored_;
  NodeId target_;
  Copier copier_;
  std::vector<Clone> clones_;
};

/// Tries changes of a graph, and keeps those that cost less.
class Search {
 public:
  Search(const Rates& rates, const ResidentRows& resident, bool explains)
      : rates_(rates), resident_(resident), explains_(explains) {}

  Candidate run(Graph graph) {
    Candidate best = inline_producers(Candidate(std::move(graph), rates_, resident_));
    std::vector<Site> sites = find_sites(best);
    if (sites.empty() || try_unroll(best, sites)) return best;
    for (size_t i = sites.size(); i-- > 0 && sites.size() > 1;) {
      if (!try_unroll(best, std::span(sites).subspan(i, 1))) continue;
      sites = find_sites(best);
      i = std::min(i, sites.size());
    }
    return best;
  }

 private:
  using Site = std::vector<NodeId>;  // the reductions of a group's rows

  /// Computes producers again where that pays, from the last one to the first, so that the readers of each are known.
  Candidate inline_producers(Candidate best) {
    std::vector<bool> stored = stored_nodes(best.graph, best.fusion);
    for (NodeId id = best.graph.size(); id-- > 0;) {
      if (!is_candidate(best, stored, id) || !may_try(best.graph)) continue;
      std::optional<Graph> changed = Inliner(best.graph, stored, id).run();
      if (!changed) continue;
      Candidate next(std::move(*changed), rates_, resident_);
      const bool pays = next.seconds < best.seconds;
      if (explains_) {
        best.decisions.emplace_back(best.graph[id],
                                    pays ? "it is computed again where it is read, which moves fewer bytes"
                                         : "computing it again where it is read would take longer");
      }
      if (!pays) continue;
      next.decisions = std::move(best.decisions);
      best = std::move(next);
      stored = stored_nodes(best.graph, best.fusion);
      id = std::min(id, best.graph.size());
    }
    return best;
  }

  /// Whether kernels read node `id` from memory element by element, some of them views.
  static bool is_candidate(const Candidate& of, const std::vector<bool>& stored, NodeId id) {
    const Graph& graph = of.graph;
    if (!stored[id] || !is_elementwise(graph[id])) return false;
    for (const Output& out : graph.outputs) {
      if (out.node == id) return false;
    }
    bool has_view = false;
    for (NodeId reader = id + 1; reader < graph.size(); ++reader) {
      for (const Arg& arg : graph[reader].args) {
        if (!arg.is_tensor() || arg.node != id || of.fusion.group_of[reader] == of.fusion.group_of[id]) continue;
        if (!reads_elements(graph[reader])) return false;
        has_view = has_view || !reads_all_in_order(graph, arg);
      }
    }
    return has_view;
  }

  /// Returns the groups whose rows are so short that all their reductions may be unrolled.
  static std::vector<Site> find_sites(const Candidate& of) {
    std::vector<Site> sites;
    for (const Group& group : of.fusion.groups) {
      Site site;
      bool all = true;
      for (NodeId id : group.nodes) {
        if (!is_reduction(of.graph[id].def()) || of.fusion.level[id] != Level::row) continue;
        site.push_back(id);
        all = all && may_unroll(of.graph[id]);
      }
      if (all && !site.empty()) sites.push_back(std::move(site));
    }
    return sites;
  }

  /// Unrolls the reductions of sites, if that pays.
  bool try_unroll(Candidate& best, std::span<const Site> sites) {
    if (!may_try(best.graph)) return false;
    std::vector<bool> chosen(best.graph.size(), false);
    for (const Site& site : sites) {
      for (NodeId id : site) chosen[id] = true;
    }
    Candidate next(unroll(best.graph, [&](NodeId id) { return chosen[id]; }), rates_, resident_);
    next = inline_producers(std::move(next));
    const bool pays = next.seconds < best.seconds;
    std::vector<Decision> decisions = std::move(best.decisions);
    for (NodeId id = 0; id < best.graph.size() && explains_; ++id) {
      if (!chosen[id]) continue;
      decisions.emplace_back(best.graph[id], pays ? "its few elements are combined by elementwise ops"
                                                  : "combining its few elements by elementwise ops would take longer");
    }
    if (pays) {
      decisions.insert(decisions.end(), next.decisions.begin(), next.decisions.end());
      best = std::move(next);
    }
    best.decisions = std::move(decisions);
    return pays;
  }

  /// Counts a trial that changes a graph, and returns whether there may be one more.
  bool may_try(const Graph& graph) {
    tried_nodes_ += graph.size();
    return ++trials_ <= kMaxTrials && tried_nodes_ <= kMaxTriedNodes;
  }

  const Rates& rates_;
  const ResidentRows& resident_;
  bool explains_;
  int trials_ = 0;
  uint32_t tried_nodes_ = 0;
};

/// Whether a node is of a kind that recompute() changes: most graphs have none.
bool may_gain(const Graph& graph, const Node& node) {
  if (may_unroll(node)) return true;
  return reads_elements(node) && std::any_of(node.args.begin(), node.args.end(), [&](const Arg& arg) {
           return arg.is_tensor() && is_elementwise(graph[arg.node]) && !reads_all_in_order(graph, arg);
         });
}

}  // namespace

std::vector<bool> stored_nodes(const Graph& graph, const Fusion& fusion) {
  std::vector<bool> stored(graph.size(), false);
  for (const Output& out : graph.outputs) stored[out.node] = true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const Arg& arg : graph[id].args) {
      if (arg.is_tensor() && fusion.group_of[arg.node] != fusion.group_of[id]) stored[arg.node] = true;
    }
  }
  return stored;
}

Graph recompute(Graph graph, const Rates& rates, const DeviceTraits& device, const OnRecompute& on_decision) {
  bool gains = false;
  if (graph.size() > kMaxTriedNodes) return graph;
  for (NodeId id = 0; id < graph.size() && !gains; ++id) gains = may_gain(graph, graph[id]);
  if (!gains) return graph;
  Candidate best = Search(rates, device.resident, on_decision != nullptr).run(std::move(graph));
  for (const Decision& decision : best.decisions) on_decision(decision.first, decision.second);
  return std::move(best.graph);
}

}  // namespace tsl::graph
