// The check of shared memory finds values that are overwritten too early, and passes sound plans.
#include <string>
#include <vector>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "exec/sharing_check.h"
#include "graph/compile.h"
#include "graph/spec.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Makes (x x) (y y): the first product waits for the second.
Plan products() {
  Graph graph;
  const NodeId x = input(graph, {4, 4}), y = input(graph, {4, 4});
  const auto product = [&](NodeId a, NodeId b) {
    return graph.add(op_def(Op::matmul), {read(graph, a), read(graph, b)}, {}, {DType::f32, {4, 4}}, Span{},
                     graph.size());
  };
  const NodeId first = product(x, x), second = product(y, y);
  give(graph, product(first, second));
  return compile(std::move(graph));
}

/// Returns the error of a checked run of the plan on numbers, or "".
std::string failure_of(Plan plan) {
  cpu::CpuBackend backend(1);
  enforce_specification(false);  // whose rules name these mistakes before a run
  const auto executable = exec::check_sharing(backend, backend.prepare(std::move(plan)));
  enforce_specification(true);
  std::vector<Tensor> inputs;
  for (const NodeId id : executable->plan().graph.inputs()) {
    const Shape shape = executable->plan().graph[id].shape;
    const int64_t count = element_count(shape).hint();
    inputs.emplace_back(DType::f32, Layout::contiguous(shape),
                        backend.allocator().allocate(static_cast<uint64_t>(count) * sizeof(float)));
    float* elements = reinterpret_cast<float*>(inputs.back().data());
    for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<float>((i + id) % 5) - 1;
  }
  std::vector<Tensor> outputs(1);
  try {
    executable->run(inputs, {}, {}, outputs);
  } catch (const Failure& failure) { return failure.error().message; }
  return "";
}

}  // namespace

TEST_CASE("a sound plan computes the same in memory of its own", "[memory]") { CHECK(failure_of(products()).empty()); }

TEST_CASE("a temporary that is overwritten before it is read for the last time is named", "[memory]") {
  Plan plan = products();
  std::vector<uint32_t> temporaries;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind == Buffer::Kind::temporary) temporaries.push_back(b);
  }
  REQUIRE(temporaries.size() == 2);
  plan.buffers[temporaries[1]].alias_of = temporaries[1];
  plan.buffers[temporaries[1]].offset = plan.buffers[temporaries[0]].offset;
  plan.arena_bytes = 2 * bytes_of(plan.buffers[temporaries[0]]);
  const std::string message = failure_of(std::move(plan));
  CAPTURE(message);
  CHECK(message.find(exec::kWrongSharing) == 0);
  CHECK(message.find("before launch 2") != std::string::npos);
}

TEST_CASE("a result that is computed in memory which its kernel still reads is named", "[memory]") {
  const Shape kLarge{100, 100};  // several tiles
  Graph graph;
  const NodeId x = input(graph, kLarge);
  Arg turned = read(graph, x);
  const int order[] = {1, 0};
  turned.layout = permute(turned.layout, order);
  const NodeId sum = add(graph, Op::add, {read(graph, x), turned});
  const NodeId power =
      graph.add(op_def(Op::matmul), {read(graph, sum), read(graph, x)}, {}, {DType::f32, kLarge}, Span{}, graph.size());
  Arg other = read(graph, power);
  other.layout = permute(other.layout, order);
  give(graph, add(graph, Op::sub, {read(graph, power), other}));
  Plan plan = compile(std::move(graph));
  uint32_t output = 0, read_by_it = 0;
  for (uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind == Buffer::Kind::output) output = b;
    if (plan.buffers[b].node == power) read_by_it = b;
  }
  REQUIRE(plan.buffers[read_by_it].kind == Buffer::Kind::temporary);
  plan.buffers[read_by_it].alias_of = output;
  const std::string message = failure_of(std::move(plan));
  CAPTURE(message);
  CHECK(message.find(exec::kWrongSharing) == 0);
  CHECK(message.find("after launch 2") != std::string::npos);
}
