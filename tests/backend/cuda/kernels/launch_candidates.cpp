// Launch parameters: what they change in the code, and their texts.
#include "backend/cuda/kernels/launch_candidates.h"

#include <set>

#include "backend/cuda/kernels/generate.h"
#include "graph/compile.h"
#include "support/build.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;
using namespace tsl::graph;

namespace {

Plan product(const Shape& shape, DType dtype = DType::f32) {
  Graph g;
  const NodeId a = input(g, shape, dtype), b = input(g, shape, dtype);
  give(g, add(g, Op::mul, {read(g, a), read(g, b)}));
  return graph::compile(std::move(g));
}

Plan sum(const Shape& shape, int axis) {
  Graph g;
  give(g, reduce(g, Op::sum, input(g, shape), axis, false));
  return graph::compile(std::move(g));
}

Plan softmax(const Shape& shape) {
  Graph g;
  const NodeId x = input(g, shape);
  const NodeId e =
      add(g, Op::exp, {read(g, add(g, Op::sub, {read(g, x), spread(g, reduce(g, Op::max, x, 1), shape)}))});
  give(g, add(g, Op::div, {read(g, e), spread(g, reduce(g, Op::sum, e, 1), shape)}));
  return graph::compile(std::move(g));
}

Plan transposed_sum(int64_t n) {
  Graph g;
  const NodeId a = input(g, {n, n}), b = input(g, {n, n});
  Arg across = read(g, b);
  across.layout = permute(across.layout, std::vector<int>{1, 0});
  give(g, add(g, Op::add, {read(g, a), across}));
  return graph::compile(std::move(g));
}

std::set<std::string> texts(const Plan& plan) {
  std::set<std::string> out;
  for (const LaunchParameters& each : launch_candidates(plan, plan.launches[0])) out.insert(to_string(each));
  return out;
}

}  // namespace

TEST_CASE("the usual launch parameters have an empty text, and others one that is read again") {
  CHECK(to_string(LaunchParameters{}).empty());
  CHECK(parse_launch_parameters("") == LaunchParameters{});
  const LaunchParameters some{.pointwise_threads = 512, .row_threads = 64};
  CHECK(to_string(some) == "pointwise_threads=512 row_threads=64");
  CHECK(parse_launch_parameters(to_string(some)) == some);
  for (const char* text : {"pointwise_threads", "pointwise_threads=", "pointwise_threads=100", "pointwise_threads=-128",
                           "pointwise_threads=128x", "threads=128", "pointwise_threads=256,row_threads=64", " ", "="}) {
    INFO(text);
    CHECK_FALSE(parse_launch_parameters(text));
  }
}

TEST_CASE("the candidates of a launch are those that change its code") {
  CHECK(texts(product({1 << 20})).count("pointwise_threads=256 pointwise_bytes=8") == 1);
  CHECK(texts(product({1 << 20})).count("pointwise_threads=256 pointwise_bytes=2") == 0);  // f32 has 4 bytes
  CHECK(texts(product({1 << 20}, DType::bf16)).count("pointwise_bytes=2") == 1);
  CHECK(texts(product({100})) == std::set<std::string>{"pointwise_threads=64", "pointwise_threads=256",
                                                       "pointwise_threads=512", "pointwise_threads=1024"});
  CHECK(texts(transposed_sum(256)) == std::set<std::string>{"transpose_tile=32"});
  CHECK(texts(softmax({8192, 1024})).count("row_threads=64") == 1);
  CHECK(texts(sum({8192, 1024}, 1)).count("row_threads=64") == 1);
  CHECK(texts(sum({65536, 4096}, 0)).count("resident_threads=512") == 1);
  for (const std::string& text : texts(sum({65536, 4096}, 0))) CHECK(text.find("pointwise") == std::string::npos);
}

TEST_CASE("a launch that writes a part of a tensor, and an op with a kernel of its own, have no candidates") {
  Graph g;
  const NodeId x = input(g, {8, 8});
  Attrs attrs;
  attrs.axis = 0;
  give(g, g.add(op_def(Op::concat), {read(g, x), read(g, x)}, attrs, {DType::f32, {16, 8}}, Span{}, g.size()));
  const Plan parts = graph::compile(std::move(g));
  for (const auto& launch : parts.launches) CHECK(launch_candidates(parts, launch).empty());
  Graph s;
  give(s, s.add(op_def(Op::cumsum), {read(s, input(s, {8, 8}))}, {}, {DType::f32, {8, 8}}, Span{}, s.size()));
  const Plan scan = graph::compile(std::move(s));
  CHECK(launch_candidates(scan, scan.launches[0]).empty());
}

TEST_CASE("kernels with all candidates are launched for all elements, and compile") {
  for (const Plan& plan : {product({1 << 20}), product({100}), transposed_sum(256), softmax({8192, 1024}),
                           softmax({64, 1024}), sum({65536, 4096}, 0), sum({8192, 1024}, 1)}) {
    for (const LaunchParameters& each : launch_candidates(plan, plan.launches[0])) {
      for (const bool vectorized : {true, false}) {
        for (const CudaKernel& cuda_kernel : generate_launch(plan, plan.launches[0], vectorized, each).kernels) {
          INFO(to_string(each) << "\n" << cuda_kernel.source());
          CHECK(cuda_kernel.threads_x * cuda_kernel.threads_y <= 1024);
          CHECK(cuda_kernel.blocks > 0);
          if (plan.kernels[0].kind == Template::pointwise && plan.kernels[0].kept.rank() == 1)
            CHECK(cuda_kernel.blocks * cuda_kernel.threads_x * 16 >= plan.kernels[0].kept[0].hint());
        }
      }
    }
  }
}
