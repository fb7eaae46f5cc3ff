// What a profile records of a GPU: which kernels and copies ran, when, and for which launch of which plan.
#include "backend/cuda/driver/work_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <map>
#include <numeric>

#include "backend/cpu/backend.h"
#include "backend/cuda/backend.h"
#include "backend/cuda/driver/moves.h"
#include "backend/cuda/libraries/libraries.h"
#include "backend/cuda/plans/executable.h"
#include "graph/compile.h"
#include "support/build.h"
#include "support/gpu.h"

#if __has_include(<cupti_activity.h>)
#include <cupti_activity.h>
#endif

using namespace tsl;
using namespace tsl::cuda;
using exec::ActivityKind;
using exec::Executable;
using exec::Timeline;

// ---- Attribution: needs no GPU -----------------------------------------------------------------------------------

namespace {

const std::string kAdd = "k_add", kMul = "k_mul", kLibrary = "nvjet";

GpuRecord kernel(const std::string& name, uint64_t node = 0, uint32_t graph = 0) {
  GpuRecord record;
  record.name = &name;
  record.node = node;
  record.graph = graph;
  return record;
}

GpuRecord graph_kernel(const std::string& name, uint32_t number) { return kernel(name, uint64_t{7} << 32 | number, 7); }

WorkCall graph_call(GraphNodes nodes) {
  WorkCall call;
  call.nodes = std::make_shared<const GraphNodes>(std::move(nodes));
  return call;
}

using Ids = std::vector<Timeline::Id>;

}  // namespace

TEST_CASE("all work of a single launch is its activity's") {
  WorkCall call;
  call.activity = 5;
  GpuRecord fill = kernel(kAdd);
  fill.kind = GpuRecord::Kind::fill;
  fill.name = nullptr;
  const GpuRecord records[] = {kernel(kLibrary), fill, kernel(kLibrary)};
  CHECK(attribute(call, records) == Ids{5, 5, 5});
}

TEST_CASE("kernels of a graph belong to their nodes, also several of one name, in any order of time") {
  const WorkCall call = graph_call({{10, kAdd}, {11, kMul}, {12, kAdd}});
  const GpuRecord records[] = {graph_kernel(kAdd, 2), graph_kernel(kAdd, 0), graph_kernel(kMul, 1)};
  CHECK(attribute(call, records) == Ids{12, 10, 11});
}

TEST_CASE("the nodes of child graphs follow those of the graph") {
  // A kernel, a product, a kernel, an event; then the product's two kernels and a fill.
  const WorkCall call = graph_call({{10, kAdd}, {}, {12, kAdd}, {}, {11, ""}, {11, ""}, {11, ""}});
  GpuRecord fill = graph_kernel(kAdd, 5);
  fill.kind = GpuRecord::Kind::fill;
  fill.name = nullptr;
  const GpuRecord records[] = {graph_kernel(kLibrary, 4), graph_kernel(kAdd, 2), fill, graph_kernel(kLibrary, 6),
                               graph_kernel(kAdd, 0)};
  CHECK(attribute(call, records) == Ids{11, 12, 11, 11, 10});
}

TEST_CASE("if the numbers of nodes do not fit, kernels are found by name, and the others are libraries'") {
  const WorkCall call = graph_call({{10, kAdd}, {}, {12, kAdd}, {13, kMul}, {}, {11, ""}, {14, ""}});
  const GpuRecord records[] = {graph_kernel(kMul, 30), graph_kernel(kAdd, 29), graph_kernel(kAdd, 21),
                               graph_kernel(kLibrary, 25), graph_kernel(kLibrary, 27)};
  CHECK(attribute(call, records) == Ids{13, 12, 10, 11, 14});
}

TEST_CASE("a kernel that no call names is unknown, not another's") {
  const GpuRecord records[] = {graph_kernel(kLibrary, 0), graph_kernel(kAdd, 1)};
  CHECK(attribute(graph_call({{10, kAdd}, {11, kMul}}), records) == Ids{kNoActivity, 10});
  CHECK(attribute(WorkCall{}, records) == Ids{kNoActivity, kNoActivity});
}

#if __has_include(<cupti_activity.h>)
TEST_CASE("CUPTI's records have the fields that TSL reads where it reads them") {
#define TSL_SAME(ours, our_field, theirs, their_field)                      \
  CHECK(offsetof(cupti::ours, our_field) == offsetof(theirs, their_field)); \
  CHECK(sizeof(cupti::ours::our_field) == sizeof(theirs::their_field))
  using Kernel = CUpti_ActivityKernel10;
  TSL_SAME(KernelRecord, start, Kernel, start);
  TSL_SAME(KernelRecord, end, Kernel, end);
  TSL_SAME(KernelRecord, context, Kernel, contextId);
  TSL_SAME(KernelRecord, correlation, Kernel, correlationId);
  TSL_SAME(KernelRecord, name, Kernel, name);
  TSL_SAME(KernelRecord, node, Kernel, graphNodeId);
  TSL_SAME(KernelRecord, graph, Kernel, graphId);
  TSL_SAME(CopyRecord, copy_kind, CUpti_ActivityMemcpy6, copyKind);
  TSL_SAME(CopyRecord, bytes, CUpti_ActivityMemcpy6, bytes);
  TSL_SAME(CopyRecord, start, CUpti_ActivityMemcpy6, start);
  TSL_SAME(CopyRecord, context, CUpti_ActivityMemcpy6, contextId);
  TSL_SAME(CopyRecord, correlation, CUpti_ActivityMemcpy6, correlationId);
  TSL_SAME(CopyRecord, node, CUpti_ActivityMemcpy6, graphNodeId);
  TSL_SAME(CopyRecord, graph, CUpti_ActivityMemcpy6, graphId);
  TSL_SAME(PeerCopyRecord, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
  TSL_SAME(PeerCopyRecord, context, CUpti_ActivityMemcpyPtoP4, contextId);
  TSL_SAME(PeerCopyRecord, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
  TSL_SAME(FillRecord, bytes, CUpti_ActivityMemset4, bytes);
  TSL_SAME(FillRecord, context, CUpti_ActivityMemset4, contextId);
  TSL_SAME(FillRecord, correlation, CUpti_ActivityMemset4, correlationId);
  TSL_SAME(FillRecord, node, CUpti_ActivityMemset4, graphNodeId);
  TSL_SAME(FillRecord, graph, CUpti_ActivityMemset4, graphId);
  TSL_SAME(CorrelationRecord, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
  TSL_SAME(CorrelationRecord, external, CUpti_ActivityExternalCorrelation, externalId);
  TSL_SAME(CorrelationRecord, correlation, CUpti_ActivityExternalCorrelation, correlationId);
#undef TSL_SAME
  CHECK(int{cupti::kMemcpy} == int{CUPTI_ACTIVITY_KIND_MEMCPY});
  CHECK(int{cupti::kMemset} == int{CUPTI_ACTIVITY_KIND_MEMSET});
  CHECK(int{cupti::kDriver} == int{CUPTI_ACTIVITY_KIND_DRIVER});
  CHECK(int{cupti::kRuntime} == int{CUPTI_ACTIVITY_KIND_RUNTIME});
  CHECK(int{cupti::kConcurrentKernel} == int{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  CHECK(int{cupti::kMemcpyPeer} == int{CUPTI_ACTIVITY_KIND_MEMCPY2});
  CHECK(int{cupti::kExternalCorrelation} == int{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  CHECK(int{cupti::kCustom} == int{CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0});
  CHECK(cupti::kForced == uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED});
  CHECK(int{cupti::kHostToDevice} == int{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD});
  CHECK(int{cupti::kDeviceToHost} == int{CUPTI_ACTIVITY_MEMCPY_KIND_DTOH});
}
#endif

// ---- On a GPU, or on the null driver -----------------------------------------------------------------------------

namespace {

struct Recorder : Timeline::Reader {
  std::vector<Timeline::DeviceWork> work;
  std::map<Timeline::Id, int> scopes;  // how often each activity of the host began
  void read(const Timeline&, std::span<const Timeline::Mark> marks,
            std::span<const Timeline::DeviceWork> more) override {
    work.insert(work.end(), more.begin(), more.end());
    for (const Timeline::Mark& mark : marks) ++scopes[mark.id];
  }
};

/// Whether the activity is a kernel's, not a fill: a build with sanitizers fills all memory that it hands out.
bool is_kernel(const exec::Activity& activity) {
  return activity.kind == ActivityKind::kernel && activity.facts.category != Category::copy;
}

/// A profile of one GPU.
struct Profiled {
  cpu::CpuBackend host{2};
  Recorder recorder;
  Timeline timeline{recorder};
  Gpu gpu{0, host, {}};

  explicit Profiled(bool is_on = true) {
    for (const auto rows : kKernelRows) gpu.rows.add(rows(gpu));
    gpu.log.follow(is_on ? &timeline : nullptr);
  }

  Tensor tensor(const Shape& shape) {
    const Tensor out(DType::f32, Layout::contiguous(shape),
                     host.allocator().allocate(static_cast<uint64_t>(element_count(shape).hint()) * 4));
    auto* const floats = reinterpret_cast<float*>(out.data());
    for (int64_t i = 0; i < element_count(shape).hint(); ++i) floats[i] = static_cast<float>(i % 7);
    return move_to_device(gpu, out);
  }
  /// Returns the kernels that finished by their names, with the number of times each ran.
  std::map<std::string, int> count() {
    timeline.flush();
    std::map<std::string, int> out;
    for (const Timeline::DeviceWork& each : recorder.work)
      if (is_kernel(timeline[each.id])) ++out[timeline[each.id].name];
    return out;
  }
  uint64_t bytes(ActivityKind kind) {
    timeline.flush();
    uint64_t out = 0;
    for (const Timeline::DeviceWork& each : recorder.work)
      if (timeline[each.id].kind == kind) out += timeline[each.id].facts.bytes;
    return out;
  }
};

/// Elementwise ops, and reductions of rows and of columns: several kernels.
graph::Graph chain(int64_t rows, int64_t columns) {
  graph::Graph g;
  const Shape shape{rows, columns};
  const graph::NodeId x = graph::input(g, shape), y = graph::input(g, shape);
  const graph::NodeId sum = graph::add(g, Op::add, {graph::read(g, x), graph::read(g, y)});
  const graph::NodeId down = graph::reduce(g, Op::sum, sum, 0);
  const graph::NodeId back = graph::add(g, Op::mul, {graph::read(g, sum), graph::spread(g, down, shape)});
  graph::give(g, graph::reduce(g, Op::sum, back, 0));
  graph::give(g, graph::reduce(g, Op::max, back, 1));
  return g;
}

void run(Executable& plan, const std::vector<Tensor>& inputs, size_t outputs = 2) {
  std::vector<Tensor> out(outputs);
  REQUIRE_FALSE(plan.run(inputs, {}, {}, out));
}

}  // namespace

TEST_CASE("each kernel of a plan is in the profile as often as it ran, by the name that it has", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  const std::vector<Tensor> inputs = {profiled.tensor({300, 200}), profiled.tensor({300, 200})};
  const auto plan = prepare_plan(profiled.gpu, graph::compile(chain(300, 200)));
  const std::vector<exec::LoadedKernel> kernels = plan->kernels();
  REQUIRE(kernels.size() >= 2);
  std::map<std::string, int> expected;
  for (const exec::LoadedKernel& kernel : kernels) {
    INFO(kernel.name);
    CHECK(kernel.name.substr(0, 2) == "k_");
    CHECK(kernel.launch < plan->plan().launches.size());
    CHECK(kernel.blocks >= 1);
    CHECK(kernel.threads >= 32);
    CHECK(kernel.registers >= 0);
    CHECK(kernel.spilled >= 0);
    CHECK(kernel.shared >= 0);
    CHECK(kernel.occupancy > 0);
    CHECK(kernel.occupancy <= 1);
    expected[kernel.name] += 5;
  }
  const uint64_t before = exec::now_in_ticks();
  for (int i = 0; i < 5; ++i) run(*plan, inputs);
  CHECK(profiled.count() == expected);
  const uint64_t after = exec::now_in_ticks();
  for (const Timeline::DeviceWork& each : profiled.recorder.work) {
    if (!is_kernel(profiled.timeline[each.id])) continue;
    CHECK(each.begin >= before);
    CHECK(each.begin <= each.end);
    CHECK(each.end <= after);
    CHECK(profiled.timeline[each.id].facts.bytes > 0);
    CHECK(profiled.timeline[each.id].device == name_of(profiled.gpu.device));
  }
}

TEST_CASE("copies are in the profile with their bytes", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  const Tensor small = profiled.tensor({100}), large = profiled.tensor({1 << 20});
  CHECK(profiled.bytes(ActivityKind::to_device) == 400 + (4 << 20));
  CHECK(profiled.bytes(ActivityKind::to_host) == 0);
  move_to_host(profiled.gpu, large);
  CHECK(profiled.bytes(ActivityKind::to_host) == 4 << 20);
}

TEST_CASE("a profile may end, and another begin, between runs of a plan", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled(false);
  const std::vector<Tensor> inputs = {profiled.tensor({64, 64}), profiled.tensor({64, 64})};
  const auto plan = prepare_plan(profiled.gpu, graph::compile(chain(64, 64)));
  const auto count = static_cast<int>(plan->kernels().size());
  const auto total = [](const std::map<std::string, int>& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0,
                           [](int sum, const auto& each) { return sum + each.second; });
  };
  for (int i = 0; i < 3; ++i) run(*plan, inputs);  // the graph exists before the profile
  profiled.gpu.log.follow(&profiled.timeline);
  for (int i = 0; i < 3; ++i) run(*plan, inputs);
  CHECK(total(profiled.count()) == 3 * count);
  profiled.gpu.log.follow(nullptr);
  run(*plan, inputs);
  CHECK(total(profiled.count()) == 3 * count);
  {
    Recorder recorder;
    Timeline other(recorder);
    profiled.gpu.log.follow(&other);
    run(*plan, inputs);
    run(*plan, inputs);
    other.flush();
    CHECK(std::count_if(recorder.work.begin(), recorder.work.end(),
                        [&](const auto& each) { return is_kernel(other[each.id]); }) == 2 * count);
    for (const Timeline::DeviceWork& each : recorder.work) CHECK(other[each.id].facts.bytes > 0);
    run(*plan, inputs);
  }  // the timeline ends while it is followed
  run(*plan, inputs);
  CHECK(total(profiled.count()) == 3 * count);
}

TEST_CASE("operands that are not aligned have kernels of their own in the profile", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  graph::Graph g;
  const graph::NodeId x = graph::input(g, {100'000});
  graph::give(g, graph::add(g, Op::exp, {graph::read(g, x)}));
  const auto plan = prepare_plan(profiled.gpu, graph::compile(std::move(g)));
  const Tensor all = profiled.tensor({100'004});
  Layout first = Layout::contiguous({100'000}), second = first;
  second.offset = 1;
  for (int i = 0; i < 3; ++i) run(*plan, {all.with_layout(first)}, 1);
  const std::string vectorized = plan->kernels().at(0).name;
  for (int i = 0; i < 3; ++i) run(*plan, {all.with_layout(second)}, 1);
  const std::string scalar = plan->kernels().at(0).name;
  CHECK(vectorized != scalar);
  CHECK(profiled.count() == std::map<std::string, int>{{vectorized, 3}, {scalar, 3}});
}

TEST_CASE("a profile of many launches takes them in pieces", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  graph::Graph g;
  const graph::NodeId x = graph::input(g, {100});
  graph::give(g, graph::add(g, Op::exp, {graph::read(g, x)}));
  const auto plan = prepare_plan(profiled.gpu, graph::compile(std::move(g)));
  const Tensor input = profiled.tensor({100});
  constexpr int kRuns = 10'000;
  for (int i = 0; i < kRuns; ++i) run(*plan, {input}, 1);
  CHECK(profiled.count() == std::map<std::string, int>{{plan->kernels().at(0).name, kRuns}});
}

TEST_CASE("without CUPTI, one line says that events time the kernels", "[cuda][profile]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  profiled.gpu.log.follow(nullptr);
  profiled.gpu.log.follow(&profiled.timeline);
  if (!profiled.gpu.log.times_each_call()) {
    CHECK(profiled.timeline.notes().empty());
  } else {
    REQUIRE(profiled.timeline.notes().size() == 1);
    CHECK_THAT(profiled.timeline.notes()[0], Catch::StartsWith("kernels are timed by CUDA events"));
  }
}

// ---- On a GPU ----------------------------------------------------------------------------------------------------

namespace {

graph::Graph products(int64_t n) {
  graph::Graph g;
  const graph::NodeId x = graph::input(g, {n, n}), y = graph::input(g, {n, n});
  const auto multiply = [&](graph::NodeId a, graph::NodeId b) {
    return g.add(op_def(Op::matmul), {graph::read(g, a), graph::read(g, b)}, {}, {DType::f32, {n, n}}, Span{},
                 g.size());
  };
  const graph::NodeId p = multiply(x, y);
  const graph::NodeId t = graph::add(g, Op::tanh, {graph::read(g, p)});
  const graph::NodeId q = multiply(t, y);
  graph::give(g, graph::add(g, Op::exp, {graph::read(g, q)}));
  return g;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the moments in which any kernel of a sorted list runs: kernels of a graph may overlap.
uint64_t busy_ticks(const std::vector<Timeline::DeviceWork>& work) {
  uint64_t busy = 0, until = 0;
  for (const Timeline::DeviceWork& each : work) {
    busy += each.end - std::min(each.end, std::max(each.begin, until));
    until = std::max(until, each.end);
  }
  return busy;
}

}  // namespace

TEST_CASE("products of cuBLASLt are attributed, one by one and in graphs", "[cuda][profile][real]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  const std::vector<Tensor> inputs = {profiled.tensor({512, 512}), profiled.tensor({512, 512})};
  const auto plan = prepare_plan(profiled.gpu, graph::compile(products(512)));
  std::map<std::string, int> expected;
  for (const exec::LoadedKernel& kernel : plan->kernels()) expected[kernel.name] += 6;
  CHECK(expected["matmul (cuBLASLt)"] == 12);
  for (int i = 0; i < 6; ++i) run(*plan, inputs, 1);
  CHECK(profiled.count() == expected);
  for (const Timeline::DeviceWork& each : profiled.recorder.work) {
    const exec::Activity& activity = profiled.timeline[each.id];
    if (activity.name != "matmul (cuBLASLt)" || profiled.gpu.log.times_each_call()) continue;
    CHECK(activity.kernel.name != activity.name);
    CHECK(activity.kernel.name.substr(0, 2) != "k_");
  }
}

TEST_CASE("an operand that cuBLASLt cannot take is copied by a plan that is made once", "[cuda][profile][real]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  const Timeline::Id generate = profiled.timeline.of(ActivityKind::generate);
  const auto generated = [&] { return profiled.timeline.flush(), profiled.recorder.scopes[generate]; };
  graph::Graph g;
  const graph::NodeId x = graph::input(g, {64, 64}), y = graph::input(g, {64, 128});
  graph::Arg every_second = graph::read(g, y);
  every_second.layout = slice(every_second.layout, 1, 0, 64, 2);
  graph::give(g, g.add(op_def(Op::matmul), {graph::read(g, x), every_second}, {}, {DType::f32, {64, 64}}, Span{}, 2));
  const std::vector<Tensor> inputs = {profiled.tensor({64, 64}), profiled.tensor({64, 128})};
  const int before = generated();
  const auto plan = prepare_plan(profiled.gpu, graph::compile(std::move(g)));
  const int after = generated();
  CHECK(after > before);
  run(*plan, inputs, 1);
  for (int i = 0; i < 4; ++i) run(*plan, inputs, 1);
  CHECK(generated() == after);
}

TEST_CASE("the times of long kernels in graphs are those of CUDA events around them", "[cuda][profile][real]") {
  TSL_NEEDS_GPU();
  Profiled profiled;
  constexpr int64_t kRows = 16384, kColumns = 8192;
  constexpr int kRuns = 20;
  const std::vector<Tensor> inputs = {profiled.tensor({kRows, kColumns}), profiled.tensor({kRows, kColumns})};
  const auto plan = prepare_plan(profiled.gpu, graph::compile(chain(kRows, kColumns)));
  for (int i = 0; i < 3; ++i) run(*plan, inputs);
  const Driver& driver = profiled.gpu.device.driver();
  CUevent begin = nullptr, end = nullptr;
  driver.cuEventCreate(&begin, CU_EVENT_DEFAULT);
  driver.cuEventCreate(&end, CU_EVENT_DEFAULT);
  // The least of several: other processes that use the GPU add time between kernels, which events count.
  double kernels = 0, events = INFINITY;
  for (int i = 0; i < 5; ++i) {
    profiled.timeline.flush();
    profiled.recorder.work.clear();
    run(*plan, inputs);  // so that the GPU is busy when the first event is recorded
    driver.cuEventRecord(begin, profiled.gpu.device.stream());
    for (int j = 0; j < kRuns; ++j) run(*plan, inputs);
    driver.cuEventRecord(end, profiled.gpu.device.stream());
    profiled.timeline.flush();
    float milliseconds = 0;
    REQUIRE(driver.cuEventElapsedTime(&milliseconds, begin, end) == CUDA_SUCCESS);
    if (milliseconds >= events) continue;
    events = milliseconds;
    std::vector<Timeline::DeviceWork> work = profiled.recorder.work;
    std::sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    work.erase(work.begin(), work.begin() + static_cast<ptrdiff_t>(work.size() / (kRuns + 1)));  // of the first run
    const auto ticks = static_cast<double>(profiled.timeline.ticks_at(1'000'000'000) - profiled.timeline.ticks_at(0));
    kernels = static_cast<double>(busy_ticks(work)) / ticks * 1e3;
  }
  std::cout << "[profile] kernels " << kernels << " ms, events " << events << " ms\n";
  CHECK(std::abs(kernels - events) < 0.02 * events);
}

TEST_CASE("what a profile costs", "[cuda][profile][real][alone]") {
  TSL_NEEDS_GPU();
  Profiled profiled(false);
  for (const int64_t rows : {64, 2048, 16384}) {
    const std::vector<Tensor> inputs = {profiled.tensor({rows, 4096}), profiled.tensor({rows, 4096})};
    const auto plan = prepare_plan(profiled.gpu, graph::compile(chain(rows, 4096)));
    const int runs = rows > 10'000 ? 200 : 3000;
    const auto time = [&] {
      for (int i = 0; i < 20; ++i) run(*plan, inputs);
      profiled.gpu.device.synchronize();
      return seconds_of([&] {
               for (int i = 0; i < runs; ++i) run(*plan, inputs);
               profiled.gpu.device.synchronize();
             }) /
             runs;
    };
    // The least of several: other processes that use the GPU only add time.
    double off = INFINITY, on = INFINITY, flush = INFINITY;
    for (int i = 0; i < 5; ++i) {
      profiled.gpu.log.follow(nullptr);
      off = std::min(off, time());
      profiled.gpu.log.follow(&profiled.timeline);
      on = std::min(on, time());
      flush = std::min(flush, seconds_of([&] { profiled.timeline.flush(); }) / runs);
    }
    std::cout << "[profile] " << rows << " rows, " << plan->kernels().size() << " kernels: " << off * 1e6
              << " us a run, profiled " << on * 1e6 << " us (and " << flush * 1e6 << " us for the flush)\n";
    if (off > 1e-3) CHECK(on + flush < 1.05 * off);
  }
}
