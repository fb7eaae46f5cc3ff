#include "exec/constant_launches.h"

#include <algorithm>
#include <span>

namespace tsl::exec {

using graph::Buffer;
using graph::Kernel;
using graph::Node;
using graph::NodeId;
using graph::Plan;

namespace {

/// Whether the node's own numbers are the same in each run.
bool has_constant_numbers(const Node& node) {
  bool is_constant = true;
  const auto add = [&](const Dim& size) { is_constant &= size.symbol() == nullptr; };
  node.attrs.for_each_size(add);
  add(node.attrs.view.offset);
  for (const graph::Arg& arg : node.args) {
    is_constant &= arg.symbol == nullptr;
    if (arg.is_tensor()) add(arg.layout.offset);
  }
  return is_constant;
}

/// Per node: whether it is computed from constants alone. A node that may fail is not, since each run reports it.
std::vector<bool> constant_nodes(const graph::Graph& graph) {
  std::vector<bool> is_constant(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    is_constant[id] = !node.is_input && !node.may_fail() && has_constant_numbers(node) &&
                      std::all_of(node.args.begin(), node.args.end(),
                                  [&](const graph::Arg& arg) { return !arg.is_tensor() || is_constant[arg.node]; });
  }
  return is_constant;
}

/// Per buffer: whether it is a temporary that one kernel writes, and no other changes.
std::vector<bool> written_once(const Plan& plan) {
  std::vector<uint32_t> writers(plan.buffers.size());
  for (const Kernel& kernel : plan.kernels) {
    for (uint32_t b : written_by(kernel)) ++writers[b];
  }
  std::vector<bool> out(plan.buffers.size());
  // bounded: the buffers of a plan
  for (size_t b = 0; b < out.size(); ++b) out[b] = writers[b] == 1 && plan.buffers[b].kind == Buffer::Kind::temporary;
  return out;
}

}  // namespace

ConstantLaunches find_constant_launches(const Plan& plan, uint64_t most_bytes) {
  ConstantLaunches out;
  out.is_constant.resize(plan.launches.size());
  const std::vector<bool> is_constant_node = constant_nodes(plan.graph);
  const std::vector<bool> may_keep = written_once(plan);
  std::vector<bool> is_kept(plan.buffers.size());  // written by a constant launch
  const auto is_constant = [&](uint32_t k) {
    const Kernel& kernel = plan.kernels[k];
    const std::span<const uint32_t> written = written_by(kernel), all = kernel.buffers;
    const std::span<const uint32_t> read = all.first(all.size() - written.size());
    return kernel.kind != graph::Template::op &&  // some run on the host, or in a library
           std::all_of(kernel.nodes.begin(), kernel.nodes.end(), [&](NodeId id) { return is_constant_node[id]; }) &&
           std::all_of(read.begin(), read.end(), [&](uint32_t b) { return is_kept[b]; }) &&
           std::all_of(written.begin(), written.end(), [&](uint32_t b) { return may_keep[b]; });
  };
  for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
    const std::vector<uint32_t>& kernels = plan.launches[launch];
    if (!std::all_of(kernels.begin(), kernels.end(), is_constant)) continue;
    uint64_t bytes = out.bytes;
    for (uint32_t k : kernels) {
      for (uint32_t b : written_by(plan.kernels[k])) bytes += bytes_of(plan.buffers[b]);
    }
    if (bytes > most_bytes) continue;
    out.is_constant[launch] = true;
    out.bytes = bytes;
    for (uint32_t k : kernels) {
      for (uint32_t b : written_by(plan.kernels[k])) {
        is_kept[b] = true;
        out.buffers.push_back(b);
      }
    }
  }
  return out;
}

}  // namespace tsl::exec
