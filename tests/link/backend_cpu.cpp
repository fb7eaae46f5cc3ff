// The CPU backend runs plans without the language or tracing.
#include "backend/cpu/backend.h"

using namespace tsl;

int main() {
  const Layout layout = Layout::contiguous({4});
  graph::Graph graph;
  graph::Arg one;
  one.scalar = Scalar::of(1.5);
  Attrs attrs;
  attrs.dims = layout.shape;
  const graph::NodeId y = graph.add(op_def(Op::fill), {one}, attrs, {DType::f32, layout.shape}, {}, 0);
  graph.outputs = {{y, layout}};

  cpu::CpuBackend backend(1);
  const auto executable = backend.prepare(graph::compile(std::move(graph)));
  Tensor result;
  if (executable->run({}, {}, {}, {&result, 1})) return 1;
  return reinterpret_cast<const float*>(result.data())[3] == 1.5f ? 0 : 1;
}
