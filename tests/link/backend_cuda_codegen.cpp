// Code generation needs neither a driver nor the toolkit's headers.
#include "backend/cuda/codegen/generate.h"
#include "graph/compile.h"

using namespace tsl;

int main() {
  const Layout layout = Layout::contiguous({4});
  graph::Graph graph;
  const graph::NodeId x = graph.add_input(DType::f32, layout);
  graph::Arg arg;
  arg.node = x;
  arg.layout = layout;
  const graph::NodeId y = graph.add(op_def(Op::neg), {arg}, {}, {DType::f32, layout.shape}, {}, 0);
  graph.outputs = {{y, layout}};
  const graph::Plan plan = graph::compile(std::move(graph));
  return cuda::generate(plan.kernels[0], plan, true).kernels.size() == 1 ? 0 : 1;
}
