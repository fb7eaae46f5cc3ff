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
  Error out;
  out.span = node.span;
  if (node.def().op_class == OpClass::elementwise) {
    out.kind = ErrorKind::value;
    out.message = "integer division by zero";
    out.hints = {"`where(b == 0, 1, b)` keeps zeros out of a divisor"};
    return out;
  }
  out.kind = ErrorKind::index;
  const Layout& source = node.args[0].layout;
  const int axis = static_cast<int>(node.attrs.batch);
  out.message =
      fmt::format("index {} is out of range for axis {} with extent {}", error.value, axis, source.shape[axis].hint());
  if (const int64_t count = source.shape[axis].hint(); count > 0)
    out.hints = {fmt::format("indices go from 0 to {}", count - 1)};
  return out;
}

}  // namespace tsl::exec
