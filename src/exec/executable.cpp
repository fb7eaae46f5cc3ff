#include "exec/executable.h"

#include <fmt/format.h>

#include "graph/kernel_facts.h"

namespace tsl::exec {

std::vector<LoadedKernel> Executable::kernels() const {
  std::vector<LoadedKernel> out;
  for (uint32_t launch = 0; launch < plan().launches.size(); ++launch) {
    LoadedKernel& kernel = out.emplace_back();
    kernel.name = graph::unique_name(plan(), plan().launches[launch]);
    kernel.launch = launch;
  }
  return out;
}

std::string to_text(const std::vector<KernelCandidate>& candidates) {
  std::string text;
  for (const KernelCandidate& each : candidates) {  // bounded: by the table of kernels
    if (!text.empty()) text += ", ";
    text += each.name;
    if (each.is_taken) text += ": taken";
    else if (!each.refusal.empty()) text += fmt::format(" ({})", each.refusal);
  }
  return text;
}

std::vector<KernelCandidate> Executable::candidates(uint32_t) const { return {}; }

Error describe(const RunError& error, const graph::Graph& graph) {
  const graph::Node& node = graph[error.node];
  Error out = node.def().traits.failure.value->describe(error.value, node.args[0].layout, node.attrs);
  out.span = node.span;
  return out;
}

}  // namespace tsl::exec
