#include "graph/plan_steps.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/run_watch.h"
#include "graph/domain.h"

namespace tsl::graph {

namespace {

constexpr size_t kMaxNameOps = 6;  // a kernel's name lists at most this many ops

/// Returns the dtype of an elementwise op's operands (see DTypeRule).
DType operand_dtype(const Graph& graph, const Node& node) {
  const DTypeRule rule = node.def().dtype_rule;
  if (node.op != Op::cast && rule != DTypeRule::compare && rule != DTypeRule::predicate) return node.dtype;
  const auto tensor = std::find_if(node.args.begin(), node.args.end(), [](const Arg& arg) { return arg.is_tensor(); });
  return graph[tensor->node].dtype;
}

/// Builds the kernel of one fused group.
class KernelBuilder {
 public:
  /// `register_of` has an element for every node of the plan's graph.
  KernelBuilder(const Plan& plan, const Fusion& fusion, int group, const std::pmr::vector<int>& buffer_of,
                std::pmr::vector<Reg>& register_of)
      : graph_(plan.graph),
        fusion_(fusion),
        group_(fusion.groups[group]),
        group_id_(group),
        buffer_of_(buffer_of),
        register_of_(register_of) {}

  Kernel build() {
    for (int i = 0; i < group_.loops.rank(); ++i) {
      (group_.reduced[i] ? kernel_.reduced : kernel_.kept).push_back(group_.loops[i]);
    }
    kernel_.kind = !group_.has_reduction ? Template::pointwise : group_.rows_stay ? Template::row : Template::reduce;
    size_t operands = 0;
    for (NodeId id : group_.nodes) operands += graph_[id].args.size();
    kernel_.program.reserve(2 * group_.nodes.size() + operands);  // an op and perhaps a store for each
    kernel_.buffers.reserve(group_.nodes.size() + operands);
    for (NodeId id : group_.nodes) emit_node(id);
    for (NodeId id : group_.nodes) {
      if (buffer_of_[id] >= 0) emit_store(id);
    }
    kernel_.nodes.assign(group_.nodes.begin(), group_.nodes.end());
    kernel_.nodes.insert(kernel_.nodes.end(), made_again_.begin(), made_again_.end());
    std::sort(kernel_.nodes.begin(), kernel_.nodes.end());
    if (kernel_.name.empty()) kernel_.name = name_of(graph_[group_.nodes[0]]);  // a fill, which is no instruction
    return std::move(kernel_);
  }

 private:
  void emit_node(NodeId id) {
    const Node& node = graph_[id];
    switch (node.def().traits.fuses_as) {
      case FusesAs::source: emit_source(id); break;
      case FusesAs::reduction: emit_reduction(id); break;
      case FusesAs::take: emit_take(id); break;
      case FusesAs::elementwise: emit_map(id); break;
      case FusesAs::nothing: break;  // never part of a fused group
    }
  }

  void emit_map(NodeId id) {
    const Node& node = graph_[id];
    if (node.has_parts()) return emit_parts(id);
    const Level level = fusion_.level[id];
    const DType dtype = operand_dtype(graph_, node);
    Reg regs[3] = {0, 0, 0};
    for (size_t i = 0; i < node.args.size(); ++i) {
      const bool condition = node.op == Op::where && i == 0;
      regs[i] = operand(node.args[i], level, condition ? DType::boolean : dtype);
    }
    if (node.op == Op::copy) {
      register_of_[id] = regs[0];
      return;
    }
    Instr instr{Instr::Kind::map};
    instr.level = level;
    instr.op = node.op;
    instr.dtype = node.dtype;
    instr.operand_dtype = dtype;
    instr.a = regs[0];
    instr.b = regs[1];
    instr.c = regs[2];
    define(id, instr);
  }

  /// Emits a choice between parts: each replaces the value of those before it.
  void emit_parts(NodeId id) {
    const Node& node = graph_[id];
    const Level level = fusion_.level[id];
    Reg value = 0;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const std::optional<Reg> inside = predicate(node.shape, node.parts.within[i], level);
      const Reg own = operand(node.args[i], level, node.dtype, inside);
      if (i == 0 || !inside) {
        value = own;
        continue;
      }
      Instr choice{Instr::Kind::choose};
      choice.level = level;
      choice.dtype = choice.operand_dtype = node.dtype;
      choice.a = *inside;
      choice.b = own;
      choice.c = value;
      value = push(choice);
    }
    register_of_[id] = value;
    if (node.parts.made_from != Op::copy) add_name(id);
  }

  /// Emits a test of the loops' index; none if there are no bounds.
  std::optional<Reg> predicate(const Shape& shape, const Bounds& bounds, Level level) {
    std::optional<Reg> inside;
    for (const Bound& bound : bounds) {
      Layout steps{shape, {}, 0};
      for (int64_t step : bound.steps) steps.strides.push_back(step);
      Instr instr{Instr::Kind::part};
      instr.level = level;
      instr.dtype = instr.operand_dtype = DType::boolean;
      instr.map = map_of(steps, level);
      instr.low = bound.low;
      instr.high = bound.high;
      instr.is_guarded = inside.has_value();
      instr.a = inside.value_or(0);
      inside = push_once(instr);
    }
    return inside;
  }

  void emit_source(NodeId id) {
    const Node& node = graph_[id];
    if (node.op == Op::fill) {
      register_of_[id] = scalar(node.args[0], node.dtype, fusion_.level[id]);
      return;
    }
    Instr instr = source(id, Layout::contiguous(node.shape), fusion_.level[id]);
    define(id, instr);
  }

  /// Returns the instruction that computes a view of a source.
  Instr source(NodeId id, const Layout& view, Level level) const {
    const Node& node = graph_[id];
    Instr instr{Instr::Kind::generate};
    instr.level = level;
    instr.op = node.op;
    instr.dtype = instr.operand_dtype = node.dtype;
    instr.map = map_of(view, level);
    instr.scalar = node.args[0].scalar;
    instr.symbol = node.args[0].symbol;
    instr.scalar2 = node.args[1].scalar;
    instr.symbol2 = node.args[1].symbol;
    instr.node = id;
    return instr;
  }

  void emit_reduction(NodeId id) {
    const Node& node = graph_[id];
    Instr instr{Instr::Kind::reduce};
    instr.level = fusion_.level[id];
    const Level from = instr.level == Level::total ? Level::row : Level::full;
    instr.op = node.op;
    instr.operand_dtype = graph_[node.args[0].node].dtype;
    instr.a = at_level(operand(node.args[0], from, instr.operand_dtype), from);
    const ReduceRule rule = node.def().reduce_rule;
    if (rule == ReduceRule::logic && instr.operand_dtype != DType::boolean) {
      instr.a = cast(instr.a, from, instr.operand_dtype, DType::boolean);
      instr.operand_dtype = DType::boolean;
    }
    instr.dtype = rule == ReduceRule::total ? accumulator_of(instr.operand_dtype) : node.dtype;
    define(id, instr);
    if (instr.dtype != node.dtype) register_of_[id] = cast(register_of_[id], instr.level, instr.dtype, node.dtype);
  }

  void emit_take(NodeId id) {
    const Node& node = graph_[id];
    const Layout& source = node.args[0].layout;
    const Layout& index = node.args[1].layout;
    const int batch = static_cast<int>(node.attrs.batch);
    Layout index_over_result{node.shape, {}, index.offset};
    Layout source_over_result{node.shape, {}, source.offset};
    for (int i = 0; i < node.shape.rank(); ++i) {
      const bool in_rest = i >= index.rank();
      index_over_result.strides.push_back(in_rest ? Dim(0) : index.strides[i]);
      if (i < batch) source_over_result.strides.push_back(source.strides[i]);
      else if (in_rest) source_over_result.strides.push_back(source.strides[batch + 1 + (i - index.rank())]);
      else source_over_result.strides.push_back(0);
    }
    Instr instr{Instr::Kind::gather};
    instr.level = fusion_.level[id];
    instr.op = node.op;
    instr.dtype = instr.operand_dtype = node.dtype;
    Arg index_arg = node.args[1];
    index_arg.layout = index_over_result;
    instr.a = operand(index_arg, instr.level, DType::i64);
    instr.buffer = use_buffer(node.args[0].node);
    instr.map = map_of(source_over_result, instr.level);
    instr.index_stride = source.strides[batch];
    instr.index_extent = source.shape[batch];
    instr.from_start = node.attrs.from_start;
    define(id, instr);
  }

  void emit_store(NodeId id) {
    const Node& node = graph_[id];
    Instr instr{Instr::Kind::store};
    instr.level = fusion_.level[id];
    instr.dtype = instr.operand_dtype = node.dtype;
    instr.a = register_of_[id];
    instr.map = map_of(Layout::contiguous(node.shape), instr.level);
    kernel_.buffers.push_back(static_cast<uint32_t>(buffer_of_[id]));
    instr.buffer = static_cast<uint32_t>(kernel_.buffers.size()) - 1;
    instr.node = id;
    ++kernel_.written;
    kernel_.program.push_back(instr);
  }

  /// Returns the register of an operand, which is read only where the predicate `guard` holds, if there is one.
  Reg operand(const Arg& arg, Level level, DType dtype, std::optional<Reg> guard = {}) {
    if (!arg.is_tensor()) return scalar(arg, dtype, level);
    if (fusion_.group_of[arg.node] == group_id_) return register_of_[arg.node];
    if (fusion_.computes(group_id_, arg.node)) {
      if (graph_[arg.node].op != Op::iota) return again(arg.node);
      note_again(arg.node);
      return push_once(source(arg.node, arg.layout, level));
    }
    Instr instr{Instr::Kind::load};
    instr.level = level;
    instr.dtype = instr.operand_dtype = graph_[arg.node].dtype;
    instr.buffer = use_buffer(arg.node);
    instr.map = map_of(arg.layout, level);
    instr.is_guarded = guard.has_value();
    instr.a = guard.value_or(0);
    instr.node = arg.node;
    return push_once(instr);
  }

  /// Returns the register of a node of another group, which this kernel computes again.
  Reg again(NodeId id) {
    if (note_again(id)) emit_map(id);
    return register_of_[id];
  }
  /// Returns whether the kernel had not computed the node again yet.
  bool note_again(NodeId id) {
    if (std::find(made_again_.begin(), made_again_.end(), id) != made_again_.end()) return false;
    made_again_.push_back(id);
    return true;
  }

  Reg scalar(const Arg& arg, DType dtype, Level level) {
    Instr instr{Instr::Kind::scalar};
    instr.level = level;
    instr.dtype = instr.operand_dtype = dtype;
    instr.scalar = arg.scalar;
    instr.symbol = arg.symbol;
    return push_once(instr);
  }

  /// Adds a load, a number, a predicate or an iota, or returns the register that has its value already.
  Reg push_once(const Instr& instr) {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& other = kernel_.program[r];
      if (other.kind == instr.kind && other.level == instr.level && other.dtype == instr.dtype &&
          other.is_guarded == instr.is_guarded && other.a == instr.a && other.buffer == instr.buffer &&
          same(other.map.strides, instr.map.strides) && other.map.offset.same(instr.map.offset) &&
          other.low == instr.low && other.high == instr.high && other.op == instr.op && other.scalar == instr.scalar &&
          other.symbol == instr.symbol && other.scalar2 == instr.scalar2 && other.symbol2 == instr.symbol2) {
        return r;
      }
    }
    return push(instr);
  }

  /// Returns the register, or one of this level with its value: a copy of a row's value emits no instruction.
  Reg at_level(Reg value, Level level) {
    Instr instr = kernel_.program[value];
    if (instr.level == level) return value;
    if (instr.kind != Instr::Kind::scalar) return cast(value, level, instr.dtype, instr.dtype);
    instr.level = level;
    return push_once(instr);
  }

  Reg cast(Reg value, Level level, DType from, DType to) {
    Instr instr{Instr::Kind::map};
    instr.level = level;
    instr.op = Op::cast;
    instr.operand_dtype = from;
    instr.dtype = to;
    instr.a = value;
    return push(instr);
  }

  /// Converts a layout over a node's shape to a map over this kernel's loops.
  IndexMap map_of(const Layout& layout, Level level) const {
    IndexMap map;
    map.offset = layout.offset;
    if (level == Level::total) {
      for (int i = 0; i < group_.loops.rank(); ++i) map.strides.push_back(0);
      return map;
    }
    if (level == Level::row) {
      map.strides = split_strides(layout, kernel_.kept);
      for (int i = 0; i < kernel_.reduced.rank(); ++i) map.strides.push_back(0);
      return map;
    }
    const Dims strides = split_strides(layout, group_.loops);
    for (bool reduced : {false, true}) {
      for (int i = 0; i < group_.loops.rank(); ++i) {
        if (group_.reduced[i] == reduced) map.strides.push_back(strides[i]);
      }
    }
    return map;
  }

  uint32_t use_buffer(NodeId id) {
    const uint32_t buffer = static_cast<uint32_t>(buffer_of_[id]);
    auto it = std::find(kernel_.buffers.begin(), kernel_.buffers.end(), buffer);
    if (it == kernel_.buffers.end()) it = kernel_.buffers.insert(it, buffer);
    return static_cast<uint32_t>(it - kernel_.buffers.begin());
  }

  void define(NodeId id, Instr& instr) {
    instr.node = id;
    register_of_[id] = push(instr);
    add_name(id);
  }

  void add_name(NodeId id) {
    if (std::count(kernel_.name.begin(), kernel_.name.end(), '_') + 1 >= static_cast<int>(kMaxNameOps)) return;
    if (!kernel_.name.empty()) kernel_.name += '_';
    kernel_.name += name_of(graph_[id]);
  }

  Reg push(const Instr& instr) {
    kernel_.program.push_back(instr);
    return static_cast<Reg>(kernel_.program.size()) - 1;
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const Group& group_;
  int group_id_;
  const std::pmr::vector<int>& buffer_of_;
  Kernel kernel_;
  std::pmr::vector<Reg>& register_of_;  // by node; valid for nodes of the group, and what it computes again
  std::vector<NodeId> made_again_;
};

/// Whether a part is a range of this loop alone, and so, in whole rows, of this and the next loop as one.
bool is_part_of_rows(const Instr& instr, int loop) {
  if (instr.kind != Instr::Kind::part || instr.map.strides[loop].hint() != 1) return false;
  return std::count_if(instr.map.strides.begin(), instr.map.strides.end(), [](Dim d) { return d.hint() != 0; }) == 1;
}

/// Merges neighbouring loops that every map can treat as one.
void collapse(Kernel& kernel, Dims& loops, int first) {
  for (int i = loops.rank() - 2; i >= 0; --i) {
    const int at = first + i;
    const auto whole_rows = [&](const Instr& instr) { return is_part_of_rows(instr, at); };
    const bool mergeable = std::all_of(kernel.program.begin(), kernel.program.end(), [&](const Instr& instr) {
      const Dims& s = instr.map.strides;
      return s.rank() == 0 || s[at].hint() == s[at + 1].hint() * loops[i + 1].hint() || whole_rows(instr);
    });
    if (!mergeable) continue;
    for (Instr& instr : kernel.program) {
      if (!whole_rows(instr)) continue;
      instr.map.strides[at + 1] = 1;
      instr.low *= loops[i + 1].hint();
      instr.high *= loops[i + 1].hint();
    }
    loops[i] = loops[i] * loops[i + 1];
    loops.erase(i + 1);
    for (Instr& instr : kernel.program) {
      if (instr.map.strides.rank() > 0) instr.map.strides.erase(at);
    }
  }
}

class Lowering {
 public:
  Lowering(Plan& plan, const Fusion& fusion, std::pmr::memory_resource* memory)
      : plan_(plan),
        graph_(plan.graph),
        fusion_(fusion),
        buffer_of_(graph_.size(), -1, memory),
        register_of_(graph_.size(), memory) {}

  void run() {
    plan_.buffers.reserve(graph_.inputs().size() + graph_.outputs.size());
    plan_.kernels.reserve(fusion_.groups.size());
    for (uint32_t i = 0; i < graph_.inputs().size(); ++i) { add_buffer(graph_.inputs()[i], Buffer::Kind::input, i); }
    make_outputs();
    make_temporaries();
    for (size_t g = 0; g < fusion_.groups.size(); ++g) {
      poll_stop();
      lower_group(static_cast<int>(g));
    }
  }

 private:
  void add_buffer(NodeId id, Buffer::Kind kind, uint32_t index) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = index;
    buffer.node = id;
    buffer.dtype = graph_[id].dtype;
    buffer.count = element_count(graph_[id].shape);
    buffer_of_[id] = static_cast<int>(plan_.buffers.size());
    plan_.buffers.push_back(buffer);
  }

  void make_outputs() {
    uint32_t count = 0;
    for (const Output& out : graph_.outputs) {
      if (buffer_of_[out.node] < 0) add_buffer(out.node, Buffer::Kind::output, count++);
      plan_.outputs.push_back({static_cast<uint32_t>(buffer_of_[out.node]), out.layout, graph_[out.node].dtype});
    }
  }

  /// Gives memory to nodes that other groups read; `take` also needs its first operand in memory.
  void make_temporaries() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      const int group = fusion_.group_of[id];
      if (group < 0) continue;
      const bool is_op = fusion_.groups[group].is_op;
      if (is_op && !node.has_results() && buffer_of_[id] < 0) {
        add_buffer(id, Buffer::Kind::temporary, 0);  // kept even if unused: its error may be needed
      }
      if (!node.is_result()) store_operands(id, group);
    }
    for (size_t group = 0; group < fusion_.groups.size(); ++group) {
      for (NodeId id : fusion_.groups[group].again) store_operands(id, static_cast<int>(group));
    }
  }

  void store_operands(NodeId id, int group) {
    for (const Arg& arg : graph_[id].args) {
      if (!arg.is_tensor() || buffer_of_[arg.node] >= 0) continue;
      if (!fusion_.computes(group, arg.node)) add_buffer(arg.node, Buffer::Kind::temporary, 0);
    }
  }

  void lower_group(int g) {
    const Group& group = fusion_.groups[g];
    if (!group.is_op) {
      Kernel kernel = KernelBuilder(plan_, fusion_, g, buffer_of_, register_of_).build();
      collapse(kernel, kernel.reduced, kernel.kept.rank());
      collapse(kernel, kernel.kept, 0);
      plan_.kernels.push_back(std::move(kernel));
      return;
    }
    const NodeId id = group.nodes[0];
    switch (graph_[id].def().traits.writes_into) {
      case WritesInto::copies_of_operands:
        if (graph_[id].op == Op::concat) lower_concat(id);
        else lower_assign(id);
        break;
      case WritesInto::copy_of_first:
        add_copy(id, graph_[id].args[0], Layout::contiguous(graph_[id].shape));
        [[fallthrough]];
      case WritesInto::fresh:
      case WritesInto::fresh_or_first: add_op(group); break;
    }
  }

  void lower_assign(NodeId id) {
    add_copy(id, graph_[id].args[0], Layout::contiguous(graph_[id].shape));
    add_copy(id, graph_[id].args[1], graph_[id].attrs.view);
  }

  void lower_concat(NodeId id) {
    const Node& node = graph_[id];
    const int axis = static_cast<int>(node.attrs.axis);
    Layout target = Layout::contiguous(node.shape);
    for (const Arg& arg : node.args) {
      target.shape = arg.layout.shape;
      add_copy(id, arg, target);
      target.offset = target.offset + target.strides[axis] * arg.layout.shape[axis];
    }
  }

  /// Adds a kernel that writes an operand of node `id` into a part of its buffer.
  void add_copy(NodeId id, const Arg& arg, const Layout& target) {
    Kernel kernel;
    const Dims loops = without_ones(target.shape);
    kernel.kept = loops;
    Instr value{arg.is_tensor() ? Instr::Kind::load : Instr::Kind::scalar};
    value.dtype = value.operand_dtype = graph_[id].dtype;
    value.node = id;
    value.scalar = arg.scalar;
    value.symbol = arg.symbol;
    if (arg.is_tensor()) {
      kernel.buffers.push_back(static_cast<uint32_t>(buffer_of_[arg.node]));
      value.map = {split_strides(arg.layout, loops), arg.layout.offset};
    }
    Instr store = value;
    store.kind = Instr::Kind::store;
    store.a = 0;
    store.buffer = static_cast<uint32_t>(kernel.buffers.size());
    store.map = {split_strides(target, loops), target.offset};
    kernel.buffers.push_back(static_cast<uint32_t>(buffer_of_[id]));
    kernel.written = 1;
    kernel.program = {value, store};
    kernel.nodes = {id};
    kernel.name = graph_[id].def().name;
    collapse(kernel, kernel.kept, 0);
    plan_.kernels.push_back(std::move(kernel));
  }

  /// Adds the kernel of an op, which is the first node of its group; the others are its results.
  void add_op(const Group& group) {
    const NodeId id = group.nodes[0];
    Kernel kernel;
    kernel.kind = Template::op;
    kernel.op_node = id;
    kernel.nodes.assign(group.nodes.begin(), group.nodes.end());
    kernel.name = name_of(graph_[id]);
    for (const Arg& arg : graph_[id].args) {
      if (arg.is_tensor()) kernel.buffers.push_back(static_cast<uint32_t>(buffer_of_[arg.node]));
    }
    for (NodeId node : group.nodes) {
      if (graph_[node].has_results()) continue;
      kernel.buffers.push_back(static_cast<uint32_t>(buffer_of_[node]));
      kernel.results.push_back(graph_[node].result);
    }
    kernel.written = static_cast<uint32_t>(kernel.results.size());
    plan_.kernels.push_back(std::move(kernel));
  }

  Plan& plan_;
  const Graph& graph_;
  const Fusion& fusion_;
  std::pmr::vector<int> buffer_of_;
  std::pmr::vector<Reg> register_of_;
};

}  // namespace

void lower(Plan& plan, const Fusion& fusion, std::pmr::memory_resource* memory) {
  Lowering(plan, fusion, memory).run();
}

}  // namespace tsl::graph
