#include "report/plan_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/dump.h"
#include "graph/kernel_facts.h"
#include "report/graph_json.h"

namespace tsl::report {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Dims& dims) {
  Json out = Json::array();
  for (Dim d : dims) out.push_back(d.hint());
  return out;
}

const char* name_of(graph::Buffer::Kind kind) {
  switch (kind) {
    case graph::Buffer::Kind::input: return "input";
    case graph::Buffer::Kind::output: return "output";
    case graph::Buffer::Kind::temporary: return "temporary";
  }
  return "";
}

const char* name_of(graph::Template kind) {
  switch (kind) {
    case graph::Template::pointwise: return "pointwise";
    case graph::Template::row: return "row";
    case graph::Template::reduce: return "reduce";
    case graph::Template::op: return "op";
  }
  return "";
}

Json buffer_json(const graph::Plan& plan, const graph::Buffer& buffer) {
  Json out{{"kind", name_of(buffer.kind)},    {"dtype", tsl::name_of(buffer.dtype)},
           {"elements", buffer.count.hint()}, {"alias_of", buffer.alias_of},
           {"offset", buffer.offset},         {"first_launch", buffer.first},
           {"last_launch", buffer.last}};
  if (buffer.node == graph::kNoNode) return out;
  const graph::Node& node = plan.graph[buffer.node];
  out["shape"] = json_of(node.shape);
  if (node.is_input) out["strides"] = json_of(node.input_layout.strides);
  return out;
}

Json kernel_json(const graph::Plan& plan, const graph::Kernel& kernel) {
  Json out{{"name", kernel.name},          {"template", name_of(kernel.kind)},
           {"kept", json_of(kernel.kept)}, {"reduced", json_of(kernel.reduced)},
           {"buffers", kernel.buffers},    {"written", kernel.written}};
  if (kernel.op_node != graph::kNoNode) out["op"] = graph::dump(plan.graph, kernel.op_node, nullptr);
  out["program"] = graph::dump(kernel);
  return out;
}

/// Formats an object with a line for each of its values; lists have a line for each element.
std::string by_lines(const Json& json, int depth = 2) {
  if (depth == 0 || !json.is_structured() || json.empty()) return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += text.empty() ? "\n" : ",\n";
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += by_lines(value, depth - 1);
  }
  return json.is_object() ? "{" + text + "\n}" : "[" + text + "\n]";
}

}  // namespace

std::string plan_json(const exec::Executable& executable) {
  const graph::Plan& plan = executable.plan();
  Json out{{"specialisation", plan.options.name},
           {"graphs", plan.options.graphs},
           {"fast_numerics", plan.options.fast_numerics},
           {"autotune", plan.options.autotune},
           {"arena_bytes", plan.arena_bytes}};
  out["resident_rows"] = {plan.device.resident.neighbours, plan.device.resident.apart};
  out["operations_per_byte"] = plan.device.operations_per_byte;
  out["has_clusters"] = plan.device.has_clusters;
  out["ops_allocate"] = plan.device.ops_allocate;
  for (const graph::Buffer& buffer : plan.buffers) out["buffers"].push_back(buffer_json(plan, buffer));
  for (const graph::Kernel& kernel : plan.kernels) out["kernels"].push_back(kernel_json(plan, kernel));
  out["launches"] = plan.launches;
  for (const exec::LoadedKernel& kernel : executable.kernels()) {
    const graph::KernelFacts facts = graph::facts_of(plan, plan.launches[kernel.launch]);
    out["loaded"].push_back({{"symbol", kernel.name},
                             {"launch", kernel.launch},
                             {"blocks", kernel.blocks},
                             {"threads", kernel.threads},
                             {"choice", kernel.choice},
                             {"category", name_of(facts.category)},
                             {"bytes", facts.bytes},
                             {"flops", facts.flops}});
  }
  out.update(graph_json(plan.graph));
  return by_lines(out) + "\n";
}

std::string graphviz_of(const graph::Graph& graph, const graph::Fusion& fusion, const std::string& name) {
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"monospace\"];\n", name);
  const auto label = [&](graph::NodeId id) {
    const graph::Node& node = graph[id];
    return fmt::format("n{} [label=\"{}\\n{}{}\"{}];\n", id, node.is_input ? "input" : graph::name_of(node),
                       tsl::name_of(node.dtype), to_string(node.shape), node.is_input ? ", style=dashed" : "");
  };
  for (graph::NodeId id : graph.inputs()) text += "  " + label(id);
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    text += fmt::format("  subgraph cluster_{} {{\n", g);
    for (graph::NodeId id : fusion.groups[g].nodes) text += "    " + label(id);
    text += "  }\n";
  }
  for (graph::NodeId id = 0; id < graph.size(); ++id) {
    for (const graph::Arg& arg : graph[id].args) {
      if (arg.is_tensor()) text += fmt::format("  n{} -> n{};\n", arg.node, id);
    }
  }
  return text + "}\n";
}

}  // namespace tsl::report
