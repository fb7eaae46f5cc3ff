// Launches that are taken out of a plan.
#include "exec/launch_alone.h"

#include <cstring>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "graph/compile.h"
#include "graph/kernel_facts.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;
using namespace tsl::exec;

namespace {

/// Makes elements of f32 that differ.
Tensor numbers(cpu::CpuBackend& backend, const Node& node) {
  const int64_t count = element_count(node.shape).hint();
  Tensor out(DType::f32, node.input_layout, backend.allocator().allocate(static_cast<uint64_t>(count) * 4));
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(out.data())[i] = 0.25f * static_cast<float>(i % 7 - 3);
  return out;
}

/// A product, a softmax of its rows, sums of columns, and a pointwise op on all of it: several launches.
Graph softmax_of_product() {
  Graph graph;
  const NodeId a = input(graph, {12, 4}), b = input(graph, {4, 24});
  std::vector<Arg> operands = {read(graph, a), read(graph, b)};
  const NodeId product = graph.add(op_def(Op::matmul), operands, {}, {DType::f32, {12, 24}}, Span{}, graph.size());
  const NodeId greatest = reduce(graph, Op::max, product, 1);
  const NodeId shifted = add(graph, Op::sub, {read(graph, product), spread(graph, greatest, {12, 24})});
  const NodeId power = add(graph, Op::exp, {read(graph, shifted)});
  const NodeId sum = reduce(graph, Op::sum, power, 1);
  const NodeId share = add(graph, Op::div, {read(graph, power), spread(graph, sum, {12, 24})});
  const NodeId columns = reduce(graph, Op::sum, share, 0);
  give(graph, add(graph, Op::mul, {read(graph, share), spread(graph, columns, {12, 24})}));
  give(graph, columns);
  return graph;
}

}  // namespace

TEST_CASE("the launches of a plan, each run alone, compute what the plan computes") {
  cpu::CpuBackend backend(1);
  const Plan plan = compile(softmax_of_product());
  REQUIRE(plan.launches.size() >= 3);
  std::vector<Tensor> inputs, expected(2);
  for (NodeId id : plan.graph.inputs()) inputs.push_back(numbers(backend, plan.graph[id]));
  backend.prepare(plan)->run(inputs, {}, {}, expected);

  std::vector<Tensor> buffers(plan.buffers.size());
  std::copy(inputs.begin(), inputs.end(), buffers.begin());
  for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
    const LaunchAlone alone = launch_alone(plan, launch);
    CHECK_NOTHROW(verify(alone.plan.graph));
    CHECK_NOTHROW(verify(alone.plan));
    CHECK(unique_name(alone.plan, alone.plan.launches[0]) == unique_name(plan, plan.launches[launch]));
    const size_t reads = alone.plan.graph.inputs().size();
    std::vector<Tensor> operands, results(alone.plan.outputs.size());
    for (size_t i = 0; i < reads; ++i) operands.push_back(buffers[alone.buffers[i]]);
    backend.prepare(alone.plan)->run(operands, {}, {}, results);
    for (size_t i = 0; i < results.size(); ++i) buffers[alone.buffers[reads + i]] = results[i];
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& found = buffers[plan.outputs[i].buffer];
    const size_t bytes = static_cast<size_t>(element_count(expected[i].shape()).hint()) * 4;
    CHECK(std::memcmp(found.data(), expected[i].data(), bytes) == 0);
  }
}

TEST_CASE("the bytes since the last use of a buffer are those of the launches between") {
  const Plan plan = compile(softmax_of_product());
  const auto bytes = [&](uint32_t launch) { return facts_of(plan, plan.launches[launch]).bytes; };
  const uint32_t last = static_cast<uint32_t>(plan.launches.size()) - 1;
  uint64_t all = 0;
  for (uint32_t launch = 1; launch <= last; ++launch) all += bytes(launch);
  const CacheDistances distances(plan);
  CHECK(distances.bytes_since_use(0, 0) == all);  // an input of the first launch: all others of the run before
  const uint32_t product = plan.kernels[plan.launches[0][0]].buffers.back();
  CHECK(distances.bytes_since_use(1, product) == 0);  // just written
  Graph alone;
  give(alone, add(alone, Op::exp, {read(alone, input(alone, {8}))}));
  const Plan single = compile(std::move(alone));
  CHECK(CacheDistances(single).bytes_since_use(0, 0) == 0);
}
