// Turns concats, pads and index writes into parts, views of parts into parts, and computes parts where they are read.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/domain.h"
#include "graph/fuse.h"
#include "graph/passes/copier.h"
#include "graph/passes/passes.h"

namespace tsl::graph {

namespace {

/// A smaller share of a tensor is better written in place, if the result is needed in memory anyway.
constexpr double kLargeWrite = 0.75;
/// An operand with one in so many elements of the result costs little to compute first.
constexpr int64_t kSmallOperand = 8;
/// Loops at least as long are worth reading along the axis that is contiguous in memory.
constexpr int64_t kLongLoop = 16;
/// A tensor of fewer elements stays in caches. Computing a producer for much more than its part then costs more than
/// storing it: on a CPU, 180 instead of 80 us for a concat of two products of 512 x 512 (November 2026).
constexpr int64_t kCachedElements = int64_t{2} << 20;
constexpr double kLargeShare = 0.75;

/// What reads a node.
struct Readers {
  uint32_t count = 0;   // operands
  uint32_t fusing = 0;  // those of nodes that fuse, or become parts
  uint32_t others = 0;  // those of op kernels
  bool is_output = false;
};

bool is(const Node& node, Op op) { return !node.is_input && node.op == op; }
bool is(const Node& node, FusesAs fuses_as) { return !node.is_input && node.def().traits.fuses_as == fuses_as; }

/// Whether reading along the last axis steps far, and along another to the next element. Kernels read such operands
/// through tiles, but not parts.
bool reads_across(const Layout& layout) {
  const int last = layout.rank() - 1;
  if (last < 1 || std::abs(layout.strides[last].hint()) <= 1 || layout.shape[last].hint() < kLongLoop) return false;
  for (int k = 0; k < last; ++k) {
    if (layout.strides[k].hint() == 1 && layout.shape[k].hint() >= kLongLoop) return true;
  }
  return false;
}

/// Whether bounds divide rows of few elements, which kernels on a CPU would copy one by one.
bool divides_short_rows(const Bounds& bounds, const Shape& shape) {
  const int last = shape.rank() - 1;
  return last >= 0 && shape[last].hint() < kLongLoop && std::any_of(bounds.begin(), bounds.end(), [&](const Bound& b) {
           return b.steps[static_cast<size_t>(last)] != 0;
         });
}

/// An operand of the new graph, and where it stands in the result.
struct Part {
  Arg arg;
  Bounds within;
};

Ints zeros(const Shape& shape) {
  Ints zeros;
  for (int k = 0; k < shape.rank(); ++k) zeros.push_back(0);
  return zeros;
}

/// Appends parts, and removes those that they hide.
void append(std::vector<Part>& parts, std::vector<Part> more) {
  for (Part& part : more) {
    std::erase_if(parts, [&](const Part& before) { return holds(part.within, before.within); });
    parts.push_back(std::move(part));
  }
}

/// Returns the parts of `producer` that a part of a result of shape `shape` reads, as parts of that result; none if
/// the producer has no parts, or the index in it is not linear.
std::vector<Part> parts_of(const Node& producer, const Part& part, const Shape& shape) {
  std::vector<Part> parts;
  if (!producer.has_parts()) return parts;
  const std::optional<IndexFunction> index = index_function(part.arg.layout, part.within, producer.shape);
  if (!index) return parts;
  for (size_t i = 0; i < producer.args.size(); ++i) {
    Bounds within = composed(producer.parts.within[i], *index);
    within.insert(within.end(), part.within.begin(), part.within.end());
    std::optional<Bounds> own = normalized(within, shape);
    if (!own) continue;
    Arg arg = producer.args[i];
    if (arg.is_tensor()) {
      std::optional<Layout> layout = composed(arg.layout, *index, shape);
      if (!layout) return {};
      arg.layout = *layout;
    }
    append(parts, {{std::move(arg), std::move(*own)}});
  }
  return parts;
}

/// Makes a node of parts in place of `like`: a copy, if one operand is the whole. None if there are too many parts, or
/// kernels would read one slowly.
std::optional<Node> node_of_parts(const Node& like, const Shape& shape, std::vector<Part> parts, Op made_from,
                                  bool branches) {
  if (parts.empty() || parts.size() > kMaxParts) return std::nullopt;
  Node node = node_like(like, Op::copy, shape);
  const bool is_copy = parts.size() == 1 && parts[0].within.empty() && parts[0].arg.is_tensor();
  for (Part& part : parts) {
    if (part.arg.is_tensor() && reads_across(part.arg.layout)) return std::nullopt;
    if (!branches && divides_short_rows(part.within, shape)) return std::nullopt;
    if (!is_copy) node.parts.within.push_back(std::move(part.within));
    node.args.push_back(std::move(part.arg));
  }
  if (!is_copy) node.parts.made_from = made_from;
  return node;
}

/// Whether an op may be computed where it is read, also where no part holds the index.
bool may_embed(const Node& node) {
  return is(node, FusesAs::elementwise) && !node.has_parts() && !may_fail(node.def());
}

/// Whether an op may be computed more often than needed.
bool is_cheap(const Node& node) {
  return may_embed(node) && node.op != Op::pow && node.def().dtype_rule != DTypeRule::floating;
}

class PartViews {
 public:
  PartViews(const Graph& graph, bool branches)
      : graph_(graph),
        branches_(branches),
        copier_(graph),
        readers_(graph.size()),
        is_worth_parts_(graph.size(), false) {}

  Graph run() {
    choose_parts();
    for (NodeId id = 0; id < graph_.size(); ++id) {
      std::vector<Part> parts;
      if (is_worth_parts_[id]) parts = is(graph_[id], Op::concat) ? parts_of_concat(id) : parts_of_write(id);
      if (parts.empty() || !add_parts(id, std::move(parts))) keep(id);
    }
    return dead_code(copier_.finish());
  }

 private:
  /// Adds a node to the new graph, and remembers which old one it computes.
  void add(NodeId id, Node&& node) {
    const NodeId made = copier_.add(std::move(node));
    copier_.replace(id, made);
    old_of_.resize(copier_.made().size(), kNoNode);
    if (old_of_[made] == kNoNode) old_of_[made] = id;
  }

  /// Copies a node. Operands that are views of parts become parts; what is read in order fuses as it is.
  void keep(NodeId id) {
    Node node = graph_[id];
    const bool may_view = is(node, FusesAs::elementwise) || is(node, FusesAs::reduction);
    for (Arg& arg : node.args) {
      if (!arg.is_tensor()) continue;
      arg.node = copier_.renamed(arg.node);
      if (may_view) arg = viewed(arg);
    }
    add(id, std::move(node));
  }

  /// Returns an operand in the new graph: a fill as its number.
  Arg renamed(Arg arg) const {
    const Node& producer = graph_[arg.node];
    if (!producer.is_input && producer.op == Op::fill) return producer.args[0];
    arg.node = copier_.renamed(arg.node);
    return arg;
  }

  // ---- Nodes that become parts -------------------------------------------------------------------------

  /// Decides which nodes become parts, readers first.
  void choose_parts() {
    for (const Output& output : graph_.outputs) readers_[output.node].is_output = true;
    for (NodeId id = graph_.size(); id-- > 0;) {
      const Node& node = graph_[id];
      if (is(node, Op::concat)) is_worth_parts_[id] = is_worth_joining(id);
      else if (is(node, Op::assign_view)) is_worth_parts_[id] = is_worth_writing(id);
      const bool fuses_here = is(node, FusesAs::elementwise) || is(node, FusesAs::reduction) || is_worth_parts_[id];
      for (const Arg& arg : node.args) {
        if (!arg.is_tensor()) continue;
        ++readers_[arg.node].count;
        ++(fuses_here ? readers_[arg.node].fusing : readers_[arg.node].others);
      }
    }
  }

  /// Whether a concat's readers fuse with it, or its operands are computed in its kernel.
  bool is_worth_joining(NodeId id) const {
    const std::vector<Arg>& args = graph_[id].args;
    if (args.size() > kMaxParts) return false;
    return readers_[id].fusing > 0 || std::any_of(args.begin(), args.end(), [&](const Arg& arg) {
             const Readers& others = readers_[arg.node];  // so far: those after this concat
             const Node& producer = graph_[arg.node];
             const bool is_embedded =
                 is_cheap(producer) || (branches_ && may_embed(producer) && args.size() <= kMostBranches);
             return is_embedded && others.count == 0 && !others.is_output;
           });
  }

  std::vector<Part> parts_of_concat(NodeId id) const {
    const Node& node = graph_[id];
    const int axis = static_cast<int>(node.attrs.axis);
    std::vector<Part> parts;
    int64_t start = 0;
    for (const Arg& operand : node.args) {
      Part part{renamed(operand), {Bound{zeros(node.shape), start, start}}};
      Bound& bound = part.within[0];
      bound.steps[static_cast<size_t>(axis)] = 1;
      bound.high += operand.layout.shape[axis].hint();
      if (part.arg.is_tensor()) {
        if (operand.layout.offset.symbol()) return {};
        part.arg.layout.shape = node.shape;
        part.arg.layout.offset = operand.layout.offset.hint() - start * operand.layout.strides[axis].hint();
      }
      start = bound.high;
      parts.push_back(std::move(part));
    }
    return parts;
  }

  /// Returns the parts of a write to a box of unit steps: what is written to, then what is written.
  std::vector<Part> parts_of_write(NodeId id) const {
    const Node& node = graph_[id];
    const Layout& view = node.attrs.view;
    if (count_of(view.shape) == 0) return {};
    const std::optional<IndexFunction> place = index_function(view, {}, node.shape);
    if (!place) return {};
    Part written{renamed(node.args[1]), {}};
    Layout& layout = written.arg.layout;
    const Layout value = node.args[1].layout;
    if (value.offset.symbol() || node.args[0].layout.offset.symbol()) return {};
    layout = Layout{node.shape, {}, 0};
    int64_t offset = value.offset.hint();
    for (int k = 0; k < node.shape.rank(); ++k) {
      const Ints& steps = place->steps[static_cast<size_t>(k)];
      const auto moves = std::find_if(steps.begin(), steps.end(), [](int64_t step) { return step != 0; });
      const auto along = static_cast<int>(moves - steps.begin());
      const bool is_fixed = moves == steps.end();
      if (!is_fixed &&
          (*moves != 1 || std::count(steps.begin(), steps.end(), 0) + 1 < static_cast<int64_t>(steps.size())))
        return {};
      const int64_t start = place->start[static_cast<size_t>(k)], stride = is_fixed ? 0 : value.strides[along].hint();
      Bound bound{zeros(node.shape), start, start + (is_fixed ? 1 : view.shape[along].hint())};
      bound.steps[static_cast<size_t>(k)] = 1;
      written.within.push_back(bound);
      layout.strides.push_back(stride);
      offset -= start * stride;
    }
    layout.offset = offset;
    return {{renamed(node.args[0]), {}}, std::move(written)};
  }

  /// Whether a write should not happen in place: its result stays in a kernel, it writes much, or the kernel that
  /// computes what it writes to can write the rest.
  bool is_worth_writing(NodeId id) const {
    const Node& node = graph_[id];
    const Readers& readers = readers_[id];
    if (readers.fusing > 0 && readers.others == 0 && !readers.is_output) return true;
    const bool is_large =
        static_cast<double>(count_of(node.attrs.view.shape)) >= kLargeWrite * static_cast<double>(count_of(node.shape));
    if (is_large && is_cheap(graph_[node.args[1].node])) return true;
    const Node* base = &graph_[node.args[0].node];
    for (size_t writes = 2; writes < kMaxParts && is(*base, Op::assign_view); ++writes)
      base = &graph_[base->args[0].node];
    return is(*base, FusesAs::source) || is(*base, FusesAs::elementwise);
  }

  // ---- Parts of the new graph --------------------------------------------------------------------------

  /// Adds a node of parts for node `id`. Parts of parts are replaced by their own.
  bool add_parts(NodeId id, std::vector<Part> parts) {
    const Node& node = graph_[id];
    if (count_of(node.shape) == 0) return false;
    std::vector<Part> flat;
    for (Part& part : parts) {
      std::optional<Bounds> within = normalized(part.within, node.shape);
      if (!within) continue;
      part.within = std::move(*within);
      std::vector<Part> inner;
      if (part.arg.is_tensor() && may_repeat(part.arg.node))
        inner = parts_of(copier_.made()[part.arg.node], part, node.shape);
      if (inner.empty() || flat.size() + inner.size() + parts.size() - 1 > kMaxParts) inner = {std::move(part)};
      append(flat, std::move(inner));
    }
    std::optional<Node> made = node_of_parts(node, node.shape, std::move(flat), node.op, branches_);
    if (!made) return false;
    add(id, std::move(*made));
    return true;
  }

  /// Whether a node of parts may be computed by each of its readers: it has only one, or needs nothing but memory.
  bool may_repeat(NodeId made) const {
    const Node& node = copier_.made()[made];
    if (!node.has_parts()) return false;
    const NodeId old = old_of_[made];
    if (old != kNoNode && readers_[old].count == 1 && !readers_[old].is_output) return true;
    return std::all_of(node.args.begin(), node.args.end(), [&](const Arg& arg) {
      return !arg.is_tensor() || is_in_memory(arg.node, count_of(node.shape));
    });
  }

  bool is_in_memory(NodeId made, int64_t whole) const {
    const Node& node = copier_.made()[made];
    if (node.is_input || !fuses(node.def()) || is(node, FusesAs::reduction)) return true;
    if (node.has_parts()) return false;
    const NodeId old = old_of_[made];
    if (old != kNoNode && (readers_[old].is_output || readers_[old].others > 0)) return true;
    return kSmallOperand * count_of(node.shape) <= whole;
  }

  /// Returns an operand of the new graph in place of one that is a view of parts.
  Arg viewed(const Arg& arg) {
    const Node& producer = copier_.made()[arg.node];
    const Shape& shape = arg.layout.shape;
    if (reads_all_in_order(copier_.made(), arg) || count_of(shape) == 0) return arg;
    std::vector<Part> inner = parts_of(producer, {arg, {}}, shape);
    if (inner.empty()) return arg;
    std::optional<Node> made = node_of_parts(producer, shape, std::move(inner), producer.parts.made_from, branches_);
    if (!made) return arg;
    if (!made->has_parts()) return made->args[0];  // a view of one operand, of which nothing is computed again
    if (!may_repeat(arg.node)) return arg;
    Arg out = all_of(copier_.add(std::move(*made)), shape);
    old_of_.resize(copier_.made().size(), kNoNode);
    return out;
  }

  const Graph& graph_;
  const bool branches_;
  Copier copier_;
  std::vector<Readers> readers_;
  std::vector<bool> is_worth_parts_;
  std::vector<NodeId> old_of_;  // by new node
};

/// Computes cheap producers of parts in the kernels that read the parts.
class Embedding {
 public:
  Embedding(const Graph& graph, bool branches)
      : graph_(graph),
        branches_(branches),
        copier_(graph),
        copies_(graph.size(), 0),
        is_in_memory_(graph.size(), false),
        is_in_branches_(graph.size(), true),
        fuses_on_(graph.size(), false),
        shares_rows_(graph.size(), false) {}

  Graph run() {
    find_producers();
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!graph_[id].has_parts()) {
        copier_.keep(id);
        continue;
      }
      Node node = graph_[id];
      for (size_t i = 0; i < node.args.size(); ++i) {
        Arg& arg = node.args[i];
        if (!arg.is_tensor()) continue;
        std::optional<Arg> embedded;
        if (copies_[arg.node] > 0) embedded = computed(arg, node.parts.within[i]);
        if (embedded) arg = *embedded;
        else arg.node = copier_.renamed(arg.node);
      }
      copier_.replace(id, copier_.add(std::move(node)));
    }
    return dead_code(copier_.finish());
  }

 private:
  static constexpr int kNever = -1;
  /// The most parts that compute a producer again.
  static constexpr int kMaxCopies = 4;

  /// Finds producers that only parts read, directly or through other such producers; counts the parts. Also finds what
  /// must be in memory.
  void find_producers() {
    if (branches_) find_shared_rows();
    for (const Output& output : graph_.outputs) {
      copies_[output.node] = kNever;
      is_in_memory_[output.node] = true;
    }
    for (NodeId id = graph_.size(); id-- > 0;) {
      const Node& node = graph_[id];
      int& own = copies_[id];
      const bool runs_once = branches_ && is_in_branches_[id] && own == 1;
      if (own > kMaxCopies || !(is_cheap(node) || (may_embed(node) && runs_once)) || shares_rows_[id]) own = kNever;
      const bool is_in_branches =
          node.has_parts() ? !fuses_on_[id] && node.args.size() <= kMostBranches : is_in_branches_[id];
      for (const Arg& arg : node.args) {
        if (!arg.is_tensor()) continue;
        const bool in_order = reads_all_in_order(graph_, arg);
        if (!is_in_branches) is_in_branches_[arg.node] = false;
        if (fuses(node.def())) fuses_on_[arg.node] = true;
        if (!in_order || !fuses(node.def())) is_in_memory_[arg.node] = true;
        if (copies_[arg.node] == kNever) continue;
        const bool fuses_anyway = node.has_parts() && in_order;
        const int more = node.has_parts() ? 1 : own;
        if (fuses_anyway || more <= 0) copies_[arg.node] = kNever;
        else copies_[arg.node] += more;
      }
    }
  }

  /// Finds elementwise nodes that read rows' reductions: with these, they are in one kernel that keeps the rows.
  void find_shared_rows() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      shares_rows_[id] =
          is(node, FusesAs::elementwise) && !node.has_parts() &&
          std::any_of(node.args.begin(), node.args.end(), [&](const Arg& arg) {
            if (!arg.is_tensor()) return false;
            const Node& producer = graph_[arg.node];
            return shares_rows_[arg.node] || (is(producer, FusesAs::reduction) && count_of(producer.shape) > 1);
          });
    }
  }

  /// Computes a producer for every index of its reader, of which only those within the bounds count; none if the index
  /// that the reader reads is not linear.
  std::optional<Arg> computed(const Arg& arg, const Bounds& within) {
    const Shape& shape = arg.layout.shape;
    const auto whole_count = count_of(shape), own = count_within(shape, within);
    if (whole_count < kCachedElements && static_cast<double>(own) < kLargeShare * static_cast<double>(whole_count))
      return std::nullopt;
    Node node = graph_[arg.node];
    const std::optional<IndexFunction> index = index_function(arg.layout, within, node.shape);
    if (!index) return std::nullopt;
    for (Arg& operand : node.args) {
      if (!operand.is_tensor()) continue;
      const std::optional<Layout> layout = composed(operand.layout, *index, shape);
      if (!layout) return std::nullopt;
      operand.layout = *layout;
      std::optional<Arg> embedded;
      if (copies_[operand.node] > 0) embedded = computed(operand, within);
      if (!embedded) embedded = guarded(operand, within);
      if (!embedded) return std::nullopt;
      operand = *embedded;
    }
    node.shape = shape;
    return all_of(copier_.add(std::move(node)), shape);
  }

  /// Reads a tensor within bounds: parts as its operands, unless it is in memory.
  std::optional<Arg> guarded(Arg arg, const Bounds& within) {
    const Node& producer = graph_[arg.node];
    const Shape shape = arg.layout.shape;
    std::vector<Part> parts;
    if (!is_in_memory_[arg.node]) parts = parts_of(producer, {arg, within}, shape);
    if (parts.empty()) parts = {{arg, within}};
    for (Part& part : parts) {
      if (part.arg.is_tensor()) part.arg.node = copier_.renamed(part.arg.node);
    }
    const Op made_from = is_in_memory_[arg.node] ? Op::copy : producer.parts.made_from;
    std::optional<Node> node = node_of_parts(producer, shape, std::move(parts), made_from, branches_);
    if (!node) return std::nullopt;
    if (!node->has_parts()) return node->args[0];
    return all_of(copier_.add(std::move(*node)), shape);
  }

  const Graph& graph_;
  const bool branches_;
  Copier copier_;
  std::vector<int> copies_;  // per node: how many parts compute it; kNever if it is computed as a node of its own
  std::vector<bool> is_in_memory_;
  std::vector<bool> is_in_branches_;  // per node: all parts that read it are branches of a kernel that ends with them
  std::vector<bool> fuses_on_;        // per node: a reader may be in its kernel
  std::vector<bool> shares_rows_;     // per node: what find_shared_rows() finds
};

}  // namespace

Graph view_parts(Graph graph, bool branches) {
  const auto may_become_parts = [&](NodeId id) { return is(graph[id], Op::concat) || is(graph[id], Op::assign_view); };
  NodeId first = 0;
  while (first < graph.size() && !may_become_parts(first)) ++first;
  if (first == graph.size()) return graph;
  return PartViews(graph, branches).run();
}

Graph embed_producers(Graph graph, bool branches) {
  NodeId first = 0;
  while (first < graph.size() && !graph[first].has_parts()) ++first;
  if (first == graph.size()) return graph;
  return Embedding(graph, branches).run();
}

}  // namespace tsl::graph
