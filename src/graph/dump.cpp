#include "graph/dump.h"

#include <fmt/format.h>

#include "base/number_text.h"

namespace tsl::graph {

namespace {

std::string dump_layout(const Layout& layout, const Shape& shape) {
  if (same(layout.shape, shape) && layout.is_contiguous() && layout.offset.hint() == 0) return "";
  return fmt::format("{{{} strides {} + {}}}", to_string(layout.shape), to_string(layout.strides),
                     layout.offset.hint());
}

/// Formats an operand. Also works for invalid graphs: a node that does not exist has no shape.
std::string dump_read(const Graph& graph, NodeId id, const Layout& layout) {
  return fmt::format("%{}{}", id, id < graph.size() ? dump_layout(layout, graph[id].shape) : "");
}

std::string dump_buffer(const Kernel& kernel, uint32_t index) {
  return index < kernel.buffers.size() ? fmt::format("b{}", kernel.buffers[index]) : "b?";
}

std::string dump_map(const IndexMap& map) { return fmt::format("{} + {}", to_string(map.strides), map.offset.hint()); }

std::string dump_scalar(Scalar scalar, const Symbol* symbol) {
  if (symbol) return fmt::format("s{}", symbol->id);
  return scalar.type == ScalarType::real ? number_text(scalar.real) : fmt::format("{}", scalar.as_integer());
}

std::string dump_guard(const Instr& instr) { return instr.is_guarded ? fmt::format(" if r{}", instr.a) : ""; }

std::string dump_instr(const Kernel& kernel, const Instr& instr) {
  const char* level = instr.level == Level::row ? "row " : instr.level == Level::total ? "total " : "";
  const std::string type = fmt::format("{}{}", level, name_of(instr.dtype));
  switch (instr.kind) {
    case Instr::Kind::load:
      return fmt::format("{} = load {} [{}]{}", type, dump_buffer(kernel, instr.buffer), dump_map(instr.map),
                         dump_guard(instr));
    case Instr::Kind::scalar: return fmt::format("{} = {}", type, dump_scalar(instr.scalar, instr.symbol));
    case Instr::Kind::map: {
      std::string args = fmt::format("r{}", instr.a);
      if (op_def(instr.op).arity > 1) args += fmt::format(", r{}", instr.b);
      if (op_def(instr.op).arity > 2) args += fmt::format(", r{}", instr.c);
      return fmt::format("{} = {}({})", type, op_def(instr.op).name, args);
    }
    case Instr::Kind::reduce: return fmt::format("{} = reduce {}(r{})", type, op_def(instr.op).name, instr.a);
    case Instr::Kind::gather:
      return fmt::format("{} = gather {} [{} + r{} * {}]", type, dump_buffer(kernel, instr.buffer), dump_map(instr.map),
                         instr.a, instr.index_stride.hint());
    case Instr::Kind::generate:
      return fmt::format("{} = {}({}, {}) [{}]", type, op_def(instr.op).name, dump_scalar(instr.scalar, instr.symbol),
                         dump_scalar(instr.scalar2, instr.symbol2), dump_map(instr.map));
    case Instr::Kind::part:
      return fmt::format("{} = part {} <= {} < {}{}", type, instr.low, to_string(instr.map.strides), instr.high,
                         dump_guard(instr));
    case Instr::Kind::choose: return fmt::format("{} = choose(r{}, r{}, r{})", type, instr.a, instr.b, instr.c);
    case Instr::Kind::store:
      return fmt::format("store {} [{}] = r{}", dump_buffer(kernel, instr.buffer), dump_map(instr.map), instr.a);
  }
  return "";
}

const char* name_of(Template kind) {
  switch (kind) {
    case Template::pointwise: return "pointwise";
    case Template::row: return "row";
    case Template::reduce: return "reduce";
    case Template::op: return "op";
  }
  return "";
}

/// Formats the axes that the node names: ", [1]".
std::string dump_axes(const Node& node) {
  const Attrs& attrs = node.attrs;
  if (node.op == Op::fold_windows) return fmt::format(", [{},{},{}]", attrs.axis, attrs.step, attrs.dilation);
  if (attrs.conv) {
    return fmt::format(", stride [{}] dilation [{}] padding [{}] [{}] groups {}", fmt::join(attrs.conv->stride, ","),
                       fmt::join(attrs.conv->dilation, ","), fmt::join(attrs.conv->low, ","),
                       fmt::join(attrs.conv->high, ","), attrs.conv->groups);
  }
  switch (node.def().traits.axis) {
    case AxisUse::axes: return attrs.axes.empty() ? "" : fmt::format(", [{}]", fmt::join(attrs.axes, ","));
    case AxisUse::axis: return fmt::format(", [{}]", attrs.axis);
    case AxisUse::batch: return fmt::format(", [{}]", attrs.batch);
    case AxisUse::none: break;
  }
  return "";
}

/// Formats the bounds of an operand that is a part: " where 1 <= [0, 1] < 5".
std::string dump_part(const Node& node, size_t operand) {
  std::string text;
  if (operand >= node.parts.within.size()) return text;
  for (const Bound& bound : node.parts.within[operand]) {
    text += fmt::format("{} {} <= [{}] < {}", text.empty() ? " where" : " and", bound.low, fmt::join(bound.steps, ", "),
                        bound.high);
  }
  return text;
}

std::string dump_op(const Node& node) {
  if (node.is_input) return "input";
  return node.op < Op::count_ ? name_of(node) : "?";
}

}  // namespace

std::string dump(const Graph& graph, NodeId id, const SourceMap* sources) {
  const Node& node = graph[id];
  std::string args;
  for (size_t i = 0; i < node.args.size(); ++i) {
    const Arg& arg = node.args[i];
    if (!args.empty()) args += ", ";
    if (arg.is_tensor()) args += dump_read(graph, arg.node, arg.layout);
    else if (arg.symbol) args += fmt::format("s{}", arg.symbol->id);
    else if (arg.scalar.type == ScalarType::real) args += number_text(arg.scalar.real);
    else args += fmt::format("{}", arg.scalar.as_integer());
    args += dump_part(node, i);
  }
  if (!node.is_input && node.op < Op::count_) args += dump_axes(node);
  if (node.is_result()) args += fmt::format(", {}", node.result);
  std::string text =
      fmt::format("  %{} = {}({}) : {}{}", id, dump_op(node), args, name_of(node.dtype), to_string(node.shape));
  if (sources && node.span.valid()) text += fmt::format("  # {}", sources->location(node.span));
  return text;
}

std::string dump(const Graph& graph, const SourceMap* sources) {
  std::string text;
  for (NodeId id = 0; id < graph.size(); ++id) text += dump(graph, id, sources) + '\n';
  std::string outputs;
  for (const Output& out : graph.outputs) {
    if (!outputs.empty()) outputs += ", ";
    outputs += dump_read(graph, out.node, out.layout);
  }
  return text + fmt::format("  return {}\n", outputs);
}

std::string dump(const Graph& graph, const Fusion& fusion, const SourceMap* sources) {
  std::string text =
      fmt::format("{} ops in {} groups\n", fusion.level.size() - graph.inputs().size(), fusion.groups.size());
  for (const Group& group : fusion.groups) {
    const char* kind = group.is_op ? "op" : group.rows_stay ? "row" : group.has_reduction ? "reduce" : "pointwise";
    text += fmt::format("  {} {}:", kind, to_string(group.loops));
    for (NodeId id : group.nodes) {
      text += fmt::format(" {}", name_of(graph[id]));
      if (sources && graph[id].span.valid()) text += fmt::format("({})", sources->location(graph[id].span));
    }
    text += '\n';
  }
  for (const FusionDecision& d : fusion.decisions) {
    text += fmt::format("  %{} {} does not join %{} {}: {}\n", d.consumer, name_of(graph[d.consumer]), d.producer,
                        name_of(graph[d.producer]), d.reason);
  }
  return text;
}

std::string dump(const Kernel& kernel) {
  std::string text = fmt::format("{} {} kept {} reduced {}\n", name_of(kernel.kind), kernel.name,
                                 to_string(kernel.kept), to_string(kernel.reduced));
  for (size_t i = 0; i < kernel.program.size(); ++i) {
    const Instr& instr = kernel.program[i];
    const bool defines = instr.kind != Instr::Kind::store;
    text += fmt::format("      {}{}\n", defines ? fmt::format("r{}: ", i) : "", dump_instr(kernel, instr));
  }
  return text;
}

std::string dump(const Plan& plan) {
  std::string text = fmt::format("{} kernels in {} launches, {} buffers, arena {} bytes\n", plan.kernels.size(),
                                 plan.launches.size(), plan.buffers.size(), plan.arena_bytes);
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].alias_of != b) text += fmt::format("  b{} aliases b{}\n", b, plan.buffers[b].alias_of);
  }
  for (const std::vector<uint32_t>& launch : plan.launches) {
    const std::string table = launch.size() > 1 ? fmt::format("multi-tensor launch of {}: ", launch.size()) : "";
    const uint32_t first = launch.empty() ? ~0u : launch[0];
    text += fmt::format("  k{} {}{}", first, table, first < plan.kernels.size() ? dump(plan.kernels[first]) : "?\n");
  }
  return text;
}

}  // namespace tsl::graph
