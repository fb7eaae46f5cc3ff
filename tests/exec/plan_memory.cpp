// Tests the memory of a plan over several runs, with inputs that move, stay, and are donated or not.
#include <algorithm>
#include <memory>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "exec/plan_memory.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;
using exec::PlanMemory;

namespace {

constexpr int64_t kCount = 8;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }

 private:
  uint64_t state_;
};

float* elements(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); }

/// Makes a tensor that starts at element `offset` of its memory, filled with a number.
Tensor filled(Allocator& allocator, int64_t offset, float number) {
  Layout layout = Layout::contiguous({kCount});
  layout.offset = offset;
  Tensor tensor(DType::f32, layout, allocator.allocate((kCount + offset) * sizeof(float)));
  std::fill_n(elements(tensor), kCount, number);
  return tensor;
}

bool holds(const Tensor& tensor, float number) {
  return std::all_of(elements(tensor), elements(tensor) + kCount, [&](float x) { return x == number; });
}

/// Makes a + b and b * c, each of which may reuse an operand's memory.
Graph two_outputs() {
  Graph graph;
  const NodeId a = input(graph, {kCount}), b = input(graph, {kCount}), c = input(graph, {kCount});
  const NodeId sum = add(graph, Op::add, {read(graph, a), read(graph, b)});
  const NodeId product = add(graph, Op::mul, {read(graph, sum), read(graph, c)});
  give(graph, sum);
  give(graph, product);
  return graph;
}

}  // namespace

TEST_CASE("what a plan keeps of the last run's memory follows its inputs and who gives them up", "[memory]") {
  cpu::CpuBackend backend(1);
  const auto executable = backend.prepare(compile(two_outputs()));
  PlanMemory memory(executable->plan(), backend.allocator());
  Random random(7);
  const auto below = [&](uint64_t n) { return (random.next() >> 33) % n; };
  std::vector<Tensor> inputs(3), others(3);  // others: further references to the same elements
  char donated[3] = {};
  std::vector<std::byte*> before;
  int taken = 0, stayed = 0;
  for (int round = 0; round < 400; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      if (round == 0 || below(3) == 0) inputs[i] = filled(backend.allocator(), below(4) == 0 ? 2 : 0, 0);
      std::fill_n(elements(inputs[i]), kCount, static_cast<float>(1 + below(9)));
      if (below(3) == 0) donated[i] = !donated[i];
      if (below(3) == 0) others[i] = below(3) == 0 ? inputs[i].with_layout(inputs[i].layout()) : Tensor();
    }
    const float a = *elements(inputs[0]), b = *elements(inputs[1]), c = *elements(inputs[2]);
    const std::span<const char> flags = below(5) ? std::span<const char>(donated) : std::span<const char>();
    const auto is_free = [&](size_t i) { return !flags.empty() && donated[i] && inputs[i]->storage->use_count() == 1; };
    const bool may_take[] = {is_free(0), is_free(1), is_free(2)};

    const uint64_t epoch = memory.address_epoch();
    memory.bind(inputs, flags);
    const std::vector<std::byte*> places(memory.addresses(), memory.addresses() + executable->plan().buffers.size());
    CHECK((memory.address_epoch() == epoch) == (round > 0 && places == before));
    stayed += memory.address_epoch() == epoch;
    before = places;
    std::vector<Tensor> outputs(2);
    memory.make_outputs(inputs, {}, outputs);
    memory.release();
    for (size_t o = 0; o < 2; ++o) {
      REQUIRE(places[executable->plan().outputs[o].buffer] == outputs[o].data());
      for (size_t i = 0; i < 3; ++i) {
        if (outputs[o]->storage != inputs[i]->storage) continue;
        CHECK((may_take[i] && inputs[i].layout().offset.hint() == 0));
        ++taken;
      }
    }
    CHECK(outputs[0]->storage != outputs[1]->storage);

    outputs.assign(2, Tensor());
    CHECK(!executable->run(inputs, flags, {}, outputs));
    CHECK(holds(outputs[0], a + b));
    CHECK(holds(outputs[1], (a + b) * c));
    const float numbers[] = {a, b, c};
    for (size_t i = 0; i < 3; ++i) CHECK((may_take[i] || holds(inputs[i], numbers[i])));
  }
  CHECK(taken > 50);
  CHECK(stayed > 20);
}

TEST_CASE("an output that views an input starts where the input and the view say", "[memory]") {
  cpu::CpuBackend backend(1);
  Graph graph;
  const NodeId a = input(graph, {kCount});
  Layout tail = Layout::contiguous({kCount - 3});
  tail.offset = 3;
  graph.outputs.push_back({a, tail});
  const auto executable = backend.prepare(compile(std::move(graph)));
  for (const int64_t offset : {0, 2, 5}) {
    const std::vector<Tensor> inputs = {filled(backend.allocator(), offset, 1)};
    for (int64_t i = 0; i < kCount; ++i) elements(inputs[0])[i] = static_cast<float>(i);
    std::vector<Tensor> outputs(1);
    CHECK(!executable->run(inputs, {}, {}, outputs));
    CHECK(outputs[0]->storage == inputs[0]->storage);
    CHECK(elements(outputs[0])[0] == 3);
  }
}

TEST_CASE("a temporary that is kept has the same memory in each run, and shares it with none") {
  cpu::CpuBackend backend(1);
  Graph graph;
  const NodeId x = input(graph, {kCount, kCount});
  const NodeId sum = reduce(graph, Op::sum, reduce(graph, Op::sum, x, 0), 1);
  give(graph, add(graph, Op::add, {read(graph, x), spread(graph, sum, {kCount, kCount})}));
  const Plan plan = graph::compile(std::move(graph));
  const auto is_temporary = [](const Buffer& buffer) { return buffer.kind == Buffer::Kind::temporary; };
  const auto found = std::find_if(plan.buffers.begin(), plan.buffers.end(), is_temporary);
  REQUIRE(found != plan.buffers.end());
  const auto kept = static_cast<size_t>(found - plan.buffers.begin());
  PlanMemory memory(plan, backend.allocator());
  memory.keep(static_cast<uint32_t>(kept));
  const Tensor in(DType::f32, Layout::contiguous({kCount, kCount}),
                  backend.allocator().allocate(kCount * kCount * sizeof(float)));
  memory.bind({&in, 1}, {});
  std::byte* const address = memory.addresses()[kept];
  REQUIRE(address);
  for (size_t b = 0; b < plan.buffers.size(); ++b) CHECK((b == kept || memory.addresses()[b] != address));
  memory.release();
  const Ref<Storage> other = backend.allocator().allocate(bytes_of(*found));
  CHECK(other->data() != address);
  memory.bind({&in, 1}, {});
  CHECK(memory.addresses()[kept] == address);
  memory.release();
}

TEST_CASE("a donated input is updated in place before a product of a library", "[memory]") {
  const Shape square{8, 8};
  Graph graph;
  const NodeId p = input(graph, square);
  const NodeId updated = add(graph, Op::add, {read(graph, p), number(1)});
  give(graph, updated);
  give(graph, add(graph, Op::matmul, {read(graph, updated), read(graph, updated)}));
  cpu::CpuBackend backend(1);
  const auto executable = backend.prepare(compile(std::move(graph)));
  REQUIRE(executable->plan().launches.size() == 2);
  CHECK(PlanMemory(executable->plan(), backend.allocator()).first_overwriting() == 0);
  Tensor in(DType::f32, Layout::contiguous(square), backend.allocator().allocate(64 * sizeof(float)));
  std::fill_n(elements(in), 64, 2.0f);
  const std::byte* const memory = in.data();
  const char donated[] = {1};
  Tensor outputs[2];
  REQUIRE_FALSE(executable->run({&in, 1}, donated, {}, outputs));
  CHECK(outputs[0].data() == memory);
  CHECK(elements(outputs[0])[63] == 3);
  CHECK(elements(outputs[1])[63] == 72);
}

TEST_CASE("a plan without donors overwrites no input", "[memory]") {
  Graph graph;
  const NodeId x = input(graph, {kCount});
  give(graph, add(graph, Op::exp, {read(graph, x)}));
  give(graph, x);
  cpu::CpuBackend backend(1);
  const auto executable = backend.prepare(compile(std::move(graph)));
  CHECK(PlanMemory(executable->plan(), backend.allocator()).first_overwriting() == executable->plan().launches.size());
}
