#include "graph/fuse.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

#include "base/run_watch.h"
#include "graph/cost.h"
#include "graph/domain.h"
#include "graph/dump.h"
#include "graph/passes/passes.h"

namespace tsl::graph {

namespace {

/// Operations that are surely repeated by each kernel that needs the result, rather than stored.
constexpr double kSourceOperations = 16;

bool fusable(const Node& node) { return !node.is_input && fuses(node.def()); }

bool is_reduction(const Node& node) { return !node.is_input && tsl::is_reduction(node.def()); }

/// Returns the shape of the loops that a node runs in: for a reduction, that of its operand.
const Shape& loop_shape(const Node& node) { return is_reduction(node) ? node.args[0].layout.shape : node.shape; }

bool reads_in_order(const Layout& layout) { return layout.offset.same(0) && layout.is_contiguous(); }

Dims pick(const Dims& loops, const LoopFlags& reduced, bool which) {
  Dims out;
  for (int i = 0; i < loops.rank(); ++i) {
    if (reduced[i] == which) out.push_back(loops[i]);
  }
  return out;
}

/// Copies per-loop flags to a refinement of the loops.
LoopFlags split_flags(const Dims& loops, const LoopFlags& flags, const Dims& finer) {
  LoopFlags out;
  const Ints axes = axes_of(loops, finer);
  for (size_t i = 0; i < axes.size(); ++i) out[i] = flags[axes[i]];
  return out;
}

/// The readers of each node, in order; a node that reads another twice occurs twice.
class Readers {
 public:
  Readers(const Graph& graph, std::pmr::memory_resource* memory) : end_(graph.size() + 1, memory), all_(memory) {
    for_each(graph, [&](NodeId read, NodeId) { ++end_[read + 1]; });
    std::partial_sum(end_.begin(), end_.end(), end_.begin());
    all_.resize(end_.back());
    for_each(graph, [&](NodeId read, NodeId reader) { all_[end_[read]++] = reader; });
  }
  std::span<const NodeId> of(NodeId id) const {
    const uint32_t begin = id == 0 ? 0 : end_[id - 1];
    return {all_.data() + begin, end_[id] - begin};
  }

 private:
  template <class Visit> static void for_each(const Graph& graph, Visit&& visit) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      for (const Arg& arg : graph[id].args) {
        if (arg.is_tensor()) visit(arg.node, id);
      }
    }
  }

  std::pmr::vector<uint32_t> end_;  // end of a node's readers in all_
  std::pmr::vector<NodeId> all_;
};

class Fuser {
 public:
  Fuser(const Graph& graph, bool explain, const ResidentRows& resident, std::pmr::memory_resource* memory)
      : graph_(graph),
        explain_(explain),
        resident_(resident),
        memory_(memory),
        result_(memory),
        visited_(memory),
        readers_(graph, memory),
        newest_(memory),
        saved_(memory),
        stack_(memory) {
    result_.group_of.assign(graph.size(), -1);
    result_.level.assign(graph.size(), Level::full);
    groups().reserve(graph.size() - graph.inputs().size());
    newest_.reserve(groups().capacity());
  }

  Fusion run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      poll_stop();
      if (!graph_[id].is_input) assign_group(id);
    }
    merge_siblings();
    join_rows();
    order_groups();
    return std::move(result_);
  }

 private:
  /// How the loops of two groups match: they are equal; one group's loops are the rows of the other; `a` is reduced to
  /// rows that `b` reduces again; or `b` has one element and uses totals of `a`.
  enum class Fit : uint8_t { same, second_on_rows, first_on_rows, second_reduces_rows, second_on_totals };

  void assign_group(NodeId id) {
    if (graph_[id].is_result()) return join_producer(id);
    const int own = start_group(id);
    if (groups()[own].is_op) return;
    int joined = own;
    for (const Arg& arg : graph_[id].args) {
      if (!arg.is_tensor()) continue;
      const int producer = result_.group_of[arg.node];
      if (producer < 0 || producer == joined || groups()[producer].is_op) continue;
      if (const char* reason = try_merge(producer, joined)) {
        note(id, arg.node, reason);
      } else {
        joined = producer;
      }
    }
  }

  /// Adds a result to the group of the op that has it: its kernel writes all results.
  void join_producer(NodeId id) {
    const int group = result_.group_of[graph_[id].args[0].node];
    groups()[group].nodes.push_back(id);
    result_.group_of[id] = group;
    newest_[group] = id;
  }

  int start_group(NodeId id) {
    const Node& node = graph_[id];
    Group group(memory_);
    group.nodes.push_back(id);
    group.loops = without_ones(loop_shape(node));
    group.is_op = !fusable(node);
    if (is_reduction(node)) {
      group.has_reduction = true;
      const Ints axes = axes_of(loop_shape(node), group.loops);
      for (size_t i = 0; i < axes.size(); ++i) group.reduced[i] = node.attrs.axes.contains(axes[i]);
      group.rows_stay = node.op == Op::argmax || node.op == Op::argmin;  // indices need the whole row
      result_.level[id] = Level::row;
    }
    groups().push_back(std::move(group));
    newest_.push_back(id);
    result_.group_of[id] = static_cast<int>(groups().size()) - 1;
    return result_.group_of[id];
  }

  /// Merges group `b` into `a`, or returns the reason why it cannot.
  const char* try_merge(int a, int b) {
    if (groups()[a].nodes.size() + groups()[b].nodes.size() > kMaxGroupNodes) return "the group is full";
    if (indirect_path(a, b) || indirect_path(b, a)) return "another kernel must run in between";
    const char* reason = "their loops differ";
    for (Fit fit :
         {Fit::same, Fit::second_on_rows, Fit::first_on_rows, Fit::second_reduces_rows, Fit::second_on_totals}) {
      std::optional<Group> merged = propose(groups()[a], groups()[b], fit);
      if (!merged) continue;
      set_levels(groups()[a], groups()[b], fit);
      const char* illegal = check_edges(*merged, a, b);
      if (!illegal) {
        commit(a, b, std::move(*merged));
        return nullptr;
      }
      restore_levels(groups()[a], groups()[b]);
      reason = illegal;
    }
    return reason;
  }

  /// Returns the merged group without its nodes, or nothing if the loops do not fit.
  std::optional<Group> propose(const Group& a, const Group& b, Fit fit) const {
    Group merged(memory_);
    merged.has_reduction = a.has_reduction || b.has_reduction;
    merged.rows_stay = a.rows_stay || b.rows_stay;
    merged.has_totals = a.has_totals || b.has_totals || fit == Fit::second_reduces_rows;
    if (fit == Fit::second_on_totals) {
      if (!a.has_totals || b.has_reduction || b.loops.rank() > 0) return std::nullopt;
      merged.loops = a.loops;
      merged.reduced = a.reduced;
      return merged;
    }
    if (fit == Fit::second_reduces_rows) {
      const bool reduces_all = b.has_reduction && b.reduced.count() == static_cast<size_t>(b.loops.rank());
      if (!a.has_reduction || a.has_totals || !reduces_all || b.has_totals || b.rows_stay || !b.loops.rank())
        return std::nullopt;
      if (!cut_kept(a, b.loops, merged)) return std::nullopt;
      return merged;
    }
    if (fit == Fit::same) {
      std::optional<Dims> loops = refine(a.loops, b.loops);
      if (!loops) return std::nullopt;
      const LoopFlags from_a = split_flags(a.loops, a.reduced, *loops);
      const LoopFlags from_b = split_flags(b.loops, b.reduced, *loops);
      if (a.has_reduction && b.has_reduction && from_a != from_b) return std::nullopt;
      merged.loops = *loops;
      merged.reduced = a.has_reduction ? from_a : from_b;
      return merged;
    }
    const Group& rows = fit == Fit::second_on_rows ? a : b;
    const Group& flat = fit == Fit::second_on_rows ? b : a;
    if (!rows.has_reduction || flat.has_reduction) return std::nullopt;
    if (!cut_kept(rows, flat.loops, merged)) return std::nullopt;
    return merged;
  }

  /// Refines the kept loops of `rows` by `other`, which has the same elements as its rows.
  bool cut_kept(const Group& rows, const Dims& other, Group& out) const {
    const Dims kept = pick(rows.loops, rows.reduced, false);
    std::optional<Dims> finer = refine(kept, other);
    if (!finer) return false;
    const Ints axes = axes_of(kept, *finer);
    int kept_axis = 0;
    for (int i = 0; i < rows.loops.rank(); ++i) {
      if (rows.reduced[i]) {
        if (out.loops.rank() == kMaxRank) return false;
        out.reduced.set(out.loops.rank());
        out.loops.push_back(rows.loops[i]);
        continue;
      }
      for (size_t k = 0; k < axes.size(); ++k) {
        if (axes[k] != kept_axis) continue;
        if (out.loops.rank() == kMaxRank) return false;
        out.loops.push_back((*finer)[static_cast<int>(k)]);
      }
      ++kept_axis;
    }
    return true;
  }

  void set_levels(const Group& a, const Group& b, Fit fit) {
    saved_.clear();
    for (NodeId id : a.nodes) saved_.push_back(result_.level[id]);
    for (NodeId id : b.nodes) saved_.push_back(result_.level[id]);
    if (fit == Fit::second_on_rows)
      for (NodeId id : b.nodes) result_.level[id] = Level::row;
    if (fit == Fit::first_on_rows)
      for (NodeId id : a.nodes) result_.level[id] = Level::row;
    if (fit == Fit::second_on_totals)
      for (NodeId id : b.nodes) result_.level[id] = Level::total;
    if (fit == Fit::second_reduces_rows) {
      for (NodeId id : b.nodes) result_.level[id] = result_.level[id] == Level::full ? Level::row : Level::total;
    }
  }

  /// Undoes set_levels().
  void restore_levels(const Group& a, const Group& b) {
    size_t i = 0;
    for (NodeId id : a.nodes) result_.level[id] = saved_[i++];
    for (NodeId id : b.nodes) result_.level[id] = saved_[i++];
  }

  /// Checks every edge between the two groups; sets `merged.rows_stay` if a full-level node reads a row-level one.
  const char* check_edges(Group& merged, int a, int b) {
    for (int side : {a, b}) {
      const int other = side == a ? b : a;
      if (groups()[side].nodes.back() < groups()[other].nodes.front()) continue;  // older: cannot read it
      for (NodeId id : groups()[side].nodes) {
        for (size_t i = 0; i < graph_[id].args.size(); ++i) {
          const Arg& arg = graph_[id].args[i];
          if (!arg.is_tensor() || result_.group_of[arg.node] != other) continue;
          if (const char* illegal = check_edge(merged, id, i)) return illegal;
        }
      }
    }
    if (merged.rows_stay && count_of(pick(merged.loops, merged.reduced, true)) > longest_row(merged, a, b)) {
      return "a row is too long to stay in cache";
    }
    return nullptr;
  }

  int64_t longest_row(const Group& merged, int a, int b) const {
    int along = 0, across = 0;
    for (int group : {a, b}) {
      for (NodeId id : result_.groups[static_cast<size_t>(group)].nodes) count_operands(merged, id, along, across);
    }
    bool is_contiguous = merged.loops.rank() > 0 && merged.reduced[merged.loops.rank() - 1];
    if (along != across) is_contiguous = along > across;
    return is_contiguous ? resident_.neighbours : resident_.apart;
  }

  /// Counts the operands of a node that other groups compute or memory has, that have other elements for each row,
  /// and are contiguous along a row or across rows.
  void count_operands(const Group& merged, NodeId id, int& along, int& across) const {
    for (const Arg& arg : graph_[id].args) {
      if (!arg.is_tensor() || result_.group_of[arg.node] == result_.group_of[id]) continue;
      const Layout& layout = source_of(arg).layout;
      const std::optional<Dims> cut = refine(without_ones(layout.shape), merged.loops);
      if (!cut || !same(*cut, merged.loops)) continue;
      const Dims strides = split_strides(layout, merged.loops);
      int neighbours = -1;                   // the loop along which elements are neighbours in memory
      bool differs = false, varies = false;  // from row to row, and within a row
      for (int i = 0; i < strides.rank(); ++i) {
        if (strides[i].hint() == 1) neighbours = i;
        if (strides[i].hint() != 0) (merged.reduced[i] ? varies : differs) = true;
      }
      if (neighbours >= 0 && differs && varies) ++(merged.reduced[neighbours] ? along : across);
    }
  }

  /// Returns what an operand is computed from element by element, as compute_again() may do: the first operand of each
  /// step that is read in order.
  const Arg& source_of(const Arg& from) const {
    const Arg* arg = &from;
    for (double operations = 0;;) {
      const Node& node = graph_[arg->node];
      if (node.is_input || node.is_result() || !is_elementwise(node.def()) || !reads_all_in_order(graph_, *arg)) break;
      const auto next = std::find_if(node.args.begin(), node.args.end(), [&](const Arg& operand) {
        return operand.is_tensor() && count_of(operand.layout.shape) == count_of(arg->layout.shape);
      });
      if (next == node.args.end()) break;
      operations += operations_of(node.op, graph_[next->node].dtype, node.dtype);
      if (operations > kSourceOperations) break;
      arg = &*next;
    }
    return *arg;
  }

  const char* check_edge(Group& merged, NodeId consumer, size_t index) {
    const Node& node = graph_[consumer];
    const Arg& arg = node.args[index];
    const Level from = result_.level[arg.node];
    const Level to = reads_at(consumer);
    if (node.def().traits.fuses_as == FusesAs::take && index == 0) return "indexed elements must be in memory";
    if (from == to) {
      return reads_in_order(arg.layout) && count_of(arg.layout.shape) == count_of(graph_[arg.node].shape)
                 ? nullptr
                 : "it is read in another order";
    }
    if (from == Level::full) return "it is read once a row, but not reduced";
    if (is_reduction(node)) return "a reduction of a reduction";
    if (from == Level::total || to == Level::total) return "it needs the totals before the rows are done";
    if (!is_row_broadcast(merged, arg.layout)) return "it is not broadcast along the reduced axes";
    merged.rows_stay = true;
    return nullptr;
  }

  /// Returns the level of a node's operands: a reduction reads one level further in than it writes.
  Level reads_at(NodeId id) const {
    const Level level = result_.level[id];
    if (!is_reduction(graph_[id])) return level;
    return level == Level::total ? Level::row : Level::full;
  }

  static bool is_row_broadcast(const Group& merged, const Layout& layout) {
    if (!layout.offset.same(0)) return false;
    std::optional<Dims> cut = refine(layout.shape, merged.loops);
    if (!cut || cut->rank() != merged.loops.rank()) return false;
    const Dims strides = split_strides(layout, merged.loops);
    int64_t expected = 1;
    for (int i = merged.loops.rank() - 1; i >= 0; --i) {
      if (merged.reduced[i]) {
        if (strides[i].hint() != 0) return false;
        continue;
      }
      if (strides[i].hint() != expected) return false;
      expected *= merged.loops[i].hint();
    }
    return true;
  }

  void commit(int a, int b, Group merged) {
    Group& into = groups()[a];
    Group& from = groups()[b];
    const auto count = static_cast<ptrdiff_t>(into.nodes.size());
    merged.nodes = std::move(into.nodes);
    merged.nodes.insert(merged.nodes.end(), from.nodes.begin(), from.nodes.end());
    const auto second = merged.nodes.begin() + count;
    if (second[-1] > second[0]) std::inplace_merge(merged.nodes.begin(), second, merged.nodes.end());
    for (NodeId id : from.nodes) result_.group_of[id] = a;
    from.nodes.clear();
    into = std::move(merged);
    newest_[a] = std::max(newest_[a], newest_[b]);
    tell_readers(a);
  }

  /// Updates `newest_` of all groups that depend on `group`.
  void tell_readers(int group) {
    stack_ = {group};
    while (!stack_.empty()) {
      const int g = stack_.back();
      stack_.pop_back();
      for (NodeId id : groups()[g].nodes) {
        for (NodeId reader : readers_.of(id)) {
          const int waiting = result_.group_of[reader];
          if (waiting < 0 || newest_[waiting] >= newest_[g]) continue;
          newest_[waiting] = newest_[g];
          stack_.push_back(waiting);
        }
      }
    }
  }

  /// Whether there is a path from group `from` to group `to` through a third group.
  bool indirect_path(int from, int to) {
    visited_.assign(groups().size(), false);
    const NodeId oldest = groups()[from].nodes.front();
    stack_.clear();
    auto push_producers = [&](int group) {
      for (NodeId id : groups()[group].nodes) {
        for (const Arg& arg : graph_[id].args) {
          if (!arg.is_tensor()) continue;
          const int producer = result_.group_of[arg.node];
          if (producer < 0 || producer == group || visited_[producer]) continue;
          if (producer == from && group == to) continue;  // the direct edge does not count
          if (newest_[producer] < oldest) continue;
          visited_[producer] = true;
          stack_.push_back(producer);
        }
      }
    };
    push_producers(to);
    while (!stack_.empty()) {
      const int group = stack_.back();
      stack_.pop_back();
      if (group == from) return true;
      push_producers(group);
    }
    return false;
  }

  /// Merges groups that read the same tensor over the same loops, so that it is read once.
  void merge_siblings() {
    constexpr size_t kMaxReaders = 8;  // more would make this quadratic
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const std::span<const NodeId> all = readers_.of(id), nodes = all.first(std::min(all.size(), kMaxReaders));
      if (nodes.size() < 2 || count_of(graph_[id].shape) <= 1) continue;
      for (size_t i = 1; i < nodes.size(); ++i) {
        const int a = result_.group_of[nodes[0]], b = result_.group_of[nodes[i]];
        if (a == b || groups()[a].is_op || groups()[b].is_op) continue;
        const Node& x = graph_[nodes[0]];
        const Node& y = graph_[nodes[i]];
        if (same(loop_shape(x), loop_shape(y))) try_merge(std::min(a, b), std::max(a, b));
      }
    }
  }

  /// Merges groups whose results only one other group reads, once per row, if they were grouped before that group had
  /// rows.
  void join_rows() {
    if (std::none_of(groups().begin(), groups().end(), [](const Group& g) { return g.has_reduction; })) return;
    std::pmr::vector<NodeId> reader(groups().size(), kNoNode, memory_);
    std::pmr::vector<bool> has_several(groups().size(), false, memory_);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (const Arg& arg : graph_[id].args) {
        if (!arg.is_tensor() || result_.group_of[arg.node] < 0) continue;
        const int producer = result_.group_of[arg.node];
        if (producer == result_.group_of[id]) continue;
        if (reader[producer] == kNoNode) reader[producer] = id;
        else if (result_.group_of[reader[producer]] != result_.group_of[id]) has_several[producer] = true;
      }
    }
    for (size_t g = 0; g < groups().size(); ++g) {
      if (reader[g] == kNoNode || has_several[g] || groups()[g].nodes.empty() || groups()[g].is_op ||
          groups()[g].has_reduction)
        continue;
      const int rows = result_.group_of[reader[g]];
      if (!groups()[rows].is_op && groups()[rows].has_reduction) try_merge(static_cast<int>(g), rows);
    }
  }

  /// Orders groups by dependencies. Producers have older nodes, so visiting groups by their newest node keeps the
  /// recursion shallow.
  void order_groups() {
    std::pmr::vector<int> by_age(memory_);
    by_age.reserve(groups().size());
    for (int g = 0; g < static_cast<int>(groups().size()); ++g) {
      if (!groups()[g].nodes.empty()) by_age.push_back(g);
    }
    std::sort(by_age.begin(), by_age.end(),
              [&](int x, int y) { return groups()[x].nodes.back() < groups()[y].nodes.back(); });
    std::pmr::vector<Group> ordered(memory_);
    ordered.reserve(by_age.size());
    std::pmr::vector<int> position(groups().size(), kUnvisited, memory_);
    for (int g : by_age) visit(g, position, ordered);
    for (int& g : result_.group_of) {
      if (g >= 0) g = position[g];
    }
    groups() = std::move(ordered);
  }

  /// Appends a group to `ordered`, after all groups that it reads.
  void visit(int g, std::pmr::vector<int>& position, std::pmr::vector<Group>& ordered) {
    if (position[g] >= 0) return;
    if (position[g] == kOpen) throw std::logic_error("fusion: groups wait for each other\n" + dump(graph_, nullptr));
    position[g] = kOpen;
    for (NodeId id : groups()[g].nodes) {
      for (const Arg& arg : graph_[id].args) {
        const int producer = arg.is_tensor() ? result_.group_of[arg.node] : -1;
        if (producer >= 0 && producer != g) visit(producer, position, ordered);
      }
    }
    position[g] = static_cast<int>(ordered.size());
    ordered.push_back(std::move(groups()[g]));
  }

  void note(NodeId consumer, NodeId producer, const char* reason) {
    if (!explain_) return;
    result_.decisions.push_back({consumer, producer, reason});
  }

  static constexpr int kUnvisited = -1, kOpen = -2;

  std::pmr::vector<Group>& groups() { return result_.groups; }

  const Graph& graph_;
  bool explain_;
  const ResidentRows resident_;
  std::pmr::memory_resource* memory_;
  Fusion result_;
  std::pmr::vector<bool> visited_;
  Readers readers_;
  std::pmr::vector<NodeId> newest_;  // per group: the newest node of the group and of all groups it depends on
  std::pmr::vector<Level> saved_;
  std::pmr::vector<int> stack_;  // groups still to visit
};

}  // namespace

Fusion fuse(const Graph& graph, bool explain, const ResidentRows& resident, std::pmr::memory_resource* memory) {
  return Fuser(graph, explain, resident, memory).run();
}

}  // namespace tsl::graph
