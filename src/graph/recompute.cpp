#include "graph/recompute.h"

#include <algorithm>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/domain.h"
#include "graph/passes/copier.h"
#include "graph/passes/passes.h"

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
  const auto store_operands = [&](NodeId id, int group) {
    for (const Arg& arg : graph[id].args) {
      if (arg.is_tensor() && !fusion.computes(group, arg.node)) stored[arg.node] = true;
    }
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (fusion.group_of[id] >= 0) store_operands(id, fusion.group_of[id]);
  }
  for (size_t group = 0; group < fusion.groups.size(); ++group) {
    for (NodeId id : fusion.groups[group].again) store_operands(id, static_cast<int>(group));
  }
  return stored;
}

namespace {

/// A group computes at most so many nodes again to avoid reading one.
constexpr size_t kMostAgain = 8;
/// Smaller tensors stay in caches.
constexpr int64_t kFewestElements = 4096;

bool fuses_as(const Node& node, FusesAs kind) { return !node.is_input && node.def().traits.fuses_as == kind; }
bool is_iota(const Node& node) { return !node.is_input && node.op == Op::iota; }
double bytes_of(const Node& node) {
  return static_cast<double>(count_of(node.shape)) * static_cast<double>(size_of(node.dtype));
}

/// Finds the nodes that compute_again() chooses, from the last one to the first: what computes one again may read one
/// that is chosen later.
class AgainSearch {
 public:
  AgainSearch(const Graph& graph, Fusion& fusion, double operations_per_byte)
      : graph_(graph), fusion_(fusion), operations_per_byte_(operations_per_byte), readers_(graph.size()) {
    stored_ = stored_nodes(graph, fusion);
    for (NodeId id = 0; id < graph.size(); ++id) add_reader(id, fusion.group_of[id]);
  }

  void run(const OnRecompute& on_decision) {
    bool changes = false;
    for (NodeId id = 0; id < graph_.size(); ++id) changes |= count_again(id);
    for (NodeId id = graph_.size(); id-- > 0;) {
      if (!may_go(id) || !pays(id)) continue;
      changes = true;
      if (on_decision)
        on_decision(graph_[id], "kernels that read it compute it again from its operands, which moves fewer bytes");
      for (auto& [group, chain] : chains_) {
        for (NodeId node : chain.nodes) {
          fusion_.groups[static_cast<size_t>(group)].again.push_back(node);
          add_reader(node, group);
        }
        for (NodeId leaf : chain.leaves) stored_[leaf] = true;
      }
      stored_[id] = false;
    }
    if (changes) prune();
  }

 private:
  struct Reader {
    NodeId node;
    int group;  // that computes it, perhaps again
  };
  /// What a group computes again, and what it reads for that.
  struct Chain {
    std::vector<NodeId> nodes, leaves;
  };

  void add_reader(NodeId id, int group) {
    for (const Arg& arg : graph_[id].args) {
      if (arg.is_tensor()) readers_[arg.node].push_back({id, group});
    }
  }

  /// Lets all kernels that read an iota, through whatever view, count by themselves; returns whether they can.
  bool count_again(NodeId id) {
    if (!is_iota(graph_[id]) || !stored_[id] || fusion_.group_of[id] < 0) return false;
    const bool is_output =
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [id](const Output& out) { return out.node == id; });
    const auto needs_memory = [&](const Reader& reader) {
      const Node& node = graph_[reader.node];
      const bool takes_from_it = fuses_as(node, FusesAs::take) && node.args[0].node == id;
      return reader.group < 0 || fusion_.groups[static_cast<size_t>(reader.group)].is_op || takes_from_it;
    };
    const std::vector<Reader>& readers = readers_[id];
    if (is_output || std::any_of(readers.begin(), readers.end(), needs_memory)) return false;
    for (const Reader& reader : readers) {
      if (!fusion_.computes(reader.group, id)) fusion_.groups[static_cast<size_t>(reader.group)].again.push_back(id);
    }
    stored_[id] = false;
    return true;
  }

  /// Whether a kernel of these loops can compute the node at every element.
  bool fits(NodeId id, const Group& group) const {
    const std::optional<Dims> loops = refine(without_ones(graph_[id].shape), group.loops);
    return loops && same(*loops, group.loops);
  }

  bool is_computed_simply(NodeId id) const {
    return is_elementwise(graph_[id]) && !graph_[id].has_parts() && fusion_.group_of[id] >= 0 &&
           fusion_.level[id] == Level::full;
  }

  /// Whether all kernels that read the node can compute it instead.
  bool may_go(NodeId id) const {
    if (!stored_[id] || !is_computed_simply(id) || count_of(graph_[id].shape) < kFewestElements) return false;
    for (const Output& out : graph_.outputs) {
      if (out.node == id) return false;
    }
    for (const Reader& reader : readers_[id]) {
      const Node& node = graph_[reader.node];
      if (fusion_.computes(reader.group, id)) continue;
      if (node.is_result() || !reads_elements(node) || node.has_parts()) return false;
      const bool reads_full = fusion_.level[reader.node] == Level::full ||
                              (is_reduction(node.def()) && fusion_.level[reader.node] == Level::row);
      if (!reads_full || !fits(id, fusion_.groups[static_cast<size_t>(reader.group)])) return false;
      for (const Arg& arg : node.args) {
        if (arg.is_tensor() && arg.node == id && !reads_all_in_order(graph_, arg)) return false;
      }
    }
    return true;
  }

  /// Adds node `id` and what it needs of unstored nodes to a chain; returns false if that is too much.
  bool expand(NodeId id, int group, Chain& chain) const {
    chain.nodes.push_back(id);
    if (chain.nodes.size() > kMostAgain || !fits(id, fusion_.groups[static_cast<size_t>(group)])) return false;
    for (const Arg& arg : graph_[id].args) {
      const auto has = [&](const std::vector<NodeId>& list) {
        return std::find(list.begin(), list.end(), arg.node) != list.end();
      };
      if (!arg.is_tensor() || fusion_.computes(group, arg.node) || has(chain.nodes) || has(chain.leaves)) continue;
      const bool is_leaf = stored_[arg.node] || graph_[arg.node].is_input || !is_computed_simply(arg.node) ||
                           !reads_all_in_order(graph_, arg) ||
                           size_of(graph_[arg.node].dtype) < size_of(graph_[id].dtype);
      if (is_leaf) chain.leaves.push_back(arg.node);
      else if (!expand(arg.node, group, chain)) return false;
    }
    return true;
  }

  /// Whether a group reads the node from memory.
  bool reads(int group, NodeId id) const {
    return !fusion_.computes(group, id) && std::any_of(readers_[id].begin(), readers_[id].end(),
                                                       [&](const Reader& reader) { return reader.group == group; });
  }

  /// Whether computing the node again where it is read takes less than writing and reading it. Fills chains_.
  bool pays(NodeId id) {
    chains_.clear();
    double saved = bytes_of(graph_[id]), operations = 0;
    std::vector<NodeId> newly_stored;
    for (const Reader& reader : readers_[id]) {
      const bool is_known =
          std::any_of(chains_.begin(), chains_.end(), [&](const auto& c) { return c.first == reader.group; });
      if (is_known || fusion_.computes(reader.group, id)) continue;
      Chain& chain = chains_.emplace_back(reader.group, Chain()).second;
      const Group& group = fusion_.groups[static_cast<size_t>(reader.group)];
      if (!expand(id, reader.group, chain) || group.nodes.size() + group.again.size() + kMostAgain > kMaxGroupNodes)
        return false;
      saved += bytes_of(graph_[id]);
      for (NodeId node : chain.nodes) {
        const Node& op = graph_[node];
        const DType from = op.args[0].is_tensor() ? graph_[op.args[0].node].dtype : op.dtype;
        operations += static_cast<double>(count_of(op.shape)) * operations_of(op.op, from, op.dtype);
      }
      for (NodeId leaf : chain.leaves) {
        if (!reads(reader.group, leaf)) saved -= bytes_of(graph_[leaf]);
        if (!stored_[leaf] && !graph_[leaf].is_input) newly_stored.push_back(leaf);
      }
    }
    std::sort(newly_stored.begin(), newly_stored.end());
    newly_stored.erase(std::unique(newly_stored.begin(), newly_stored.end()), newly_stored.end());
    for (NodeId leaf : newly_stored) saved -= bytes_of(graph_[leaf]);
    return !chains_.empty() && saved * operations_per_byte_ > operations;
  }

  /// Removes from groups what nothing needs any more, and groups without nodes.
  void prune() {
    stored_ = stored_nodes(graph_, fusion_);
    for (NodeId id = graph_.size(); id-- > 0;) {
      const int group = fusion_.group_of[id];
      if (group < 0 || stored_[id] || !(is_elementwise(graph_[id]) || is_iota(graph_[id]))) continue;
      const bool is_read = std::any_of(readers_[id].begin(), readers_[id].end(), [&](const Reader& reader) {
        return fusion_.group_of[reader.node] == group && reader.group == group;
      });
      if (is_read) continue;
      std::erase(fusion_.groups[static_cast<size_t>(group)].nodes, id);
      fusion_.group_of[id] = -1;
    }
    std::vector<int> position;
    int count = 0;
    for (const Group& group : fusion_.groups) position.push_back(group.nodes.empty() ? -1 : count++);
    std::erase_if(fusion_.groups, [](const Group& group) { return group.nodes.empty(); });
    for (int& group : fusion_.group_of) group = group < 0 ? group : position[static_cast<size_t>(group)];
  }

  const Graph& graph_;
  Fusion& fusion_;
  const double operations_per_byte_;
  std::vector<bool> stored_;
  std::vector<std::vector<Reader>> readers_;   // per node
  std::vector<std::pair<int, Chain>> chains_;  // by group, of the node that is looked at
};

}  // namespace

void compute_again(const Graph& graph, Fusion& fusion, const DeviceTraits& device, const OnRecompute& on_decision) {
  if (fusion.groups.size() > 1) AgainSearch(graph, fusion, device.operations_per_byte).run(on_decision);
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
