#include "backend/cuda/plans/host_op.h"

#include "backend/cuda/driver/moves.h"
#include "graph/compile.h"

namespace tsl::cuda {

using exec::RunError;
using graph::Kernel;
using graph::Node;
using graph::Plan;

namespace {

/// Adds a kernel's node to a graph of its own, with the numbers of this run. Copies its operands to the host.
graph::NodeId add_alone(graph::Graph& graph, Gpu& gpu, const Plan& plan, const Kernel& kernel,
                        std::byte* const* addresses, std::span<const Scalar> symbols, std::vector<Tensor>& inputs) {
  const Node& of = plan.graph[kernel.op_node];
  std::vector<graph::Arg> args;
  for (graph::Arg arg : of.args) {
    if (arg.symbol) arg.scalar = symbols[arg.symbol->id];
    arg.symbol = nullptr;
    if (arg.is_tensor()) {
      const DType dtype = plan.graph[arg.node].dtype;
      arg.layout = in_run(arg.layout, symbols);
      std::byte* const buffer = addresses[kernel.buffers[inputs.size()]];
      std::byte* const first = buffer + arg.layout.offset.hint() * static_cast<int64_t>(size_of(dtype));
      inputs.push_back(move_to_host(gpu, borrow(gpu, dtype, arg.layout, first)));
      arg.node = graph.add_input(dtype, arg.layout);
      arg.layout.offset = 0;
    }
    args.push_back(std::move(arg));
  }
  return graph.add(of.def(), std::move(args), of.attrs, {of.dtype, of.shape}, of.span, of.order);
}

}  // namespace

RunError run_on_host(Gpu& gpu, const Plan& plan, const Kernel& kernel, std::byte* const* addresses,
                     std::span<const Scalar> symbols) {
  graph::Graph graph;
  std::vector<Tensor> inputs;
  const graph::NodeId node = add_alone(graph, gpu, plan, kernel, addresses, symbols, inputs);
  const std::span<const uint32_t> written = graph::written_by(kernel);
  for (size_t i = 0; i < written.size(); ++i) {
    const Node& of = plan.graph[plan.buffers[written[i]].node];
    const graph::NodeId result =
        of.is_result() ? graph.add_result(node, kernel.results[i], {of.dtype, of.shape}) : node;
    graph.outputs.push_back({result, Layout::contiguous(of.shape)});
  }
  std::vector<Tensor> results(graph.outputs.size());
  RunError error = gpu.host.prepare(graph::compile(std::move(graph)))->run(inputs, {}, symbols, results);
  if (error) {
    error.node = kernel.op_node;
    return error;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const auto bytes = static_cast<uint64_t>(element_count(results[i].shape()).hint()) * size_of(results[i].dtype());
    if (bytes > 0) gpu.device.copy_to_device(address_of(addresses[written[i]]), results[i].data(), bytes);
  }
  return {};
}

}  // namespace tsl::cuda
