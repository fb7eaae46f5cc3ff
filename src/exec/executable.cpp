#include "exec/executable.h"

namespace tsl::exec {

Error describe(const RunError& error, const graph::Graph& graph) {
  const graph::Node& node = graph[error.node];
  Error out;
  out.span = node.span;
  if (node.def().op_class == OpClass::elementwise) {
    out.kind = ErrorKind::value;
    out.message = "integer division by zero";
    return out;
  }
  out.kind = ErrorKind::index;
  const Layout& source = node.args[0].layout;
  const int axis = static_cast<int>(node.attrs.batch);
  out.message =
      fmt::format("index {} is out of range for axis {} with extent {}", error.value, axis, source.shape[axis].hint());
  return out;
}

}  // namespace tsl::exec
