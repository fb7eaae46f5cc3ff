#include "exec/executable.h"

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

Error describe(const RunError& error, const graph::Graph& graph) {
  const graph::Node& node = graph[error.node];
  Error out = node.def().traits.failure.value->describe(error.value, node.args[0].layout, node.attrs);
  out.span = node.span;
  return out;
}

}  // namespace tsl::exec
