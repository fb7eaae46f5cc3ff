// The graph room needs only the tensor room: planning needs no backend.
#include "graph/compile.h"

using namespace tsl;

int main() {
  const Layout layout = Layout::contiguous({2, 3});
  graph::Graph graph;
  const graph::NodeId x = graph.add_input(DType::f32, layout);
  graph::Arg arg;
  arg.node = x;
  arg.layout = layout;
  const graph::NodeId y = graph.add(op_def(Op::neg), {arg}, {}, {DType::f32, layout.shape}, {}, 0);
  graph.outputs = {{y, layout}};
  return graph::compile(std::move(graph)).kernels.size() == 1 ? 0 : 1;
}
