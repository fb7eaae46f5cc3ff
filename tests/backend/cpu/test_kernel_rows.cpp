// Compares all rows of the table of kernels that run a product: of small integers, whose sums are exact in any order.
#include <cstdlib>
#include <random>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "exec/op_kernel.h"
#include "graph/compile.h"
#include "kernel_fixture.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

struct DrawnProduct {
  int64_t batch, m, k, n;
  Graph graph() const {
    Graph g;
    const NodeId a = input(g, {batch, m, k}), b = input(g, {batch, k, n});
    give(g, g.add(op_def(Op::matmul), {read(g, a), read(g, b)}, {}, {DType::f32, {batch, m, n}}, Span{}, g.size()));
    return g;
  }
};

std::vector<float> drawn_numbers(std::mt19937& random, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  for (float& each : out) each = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return out;
}

std::vector<float> expected(const DrawnProduct& p, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> out;
  for (int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
    const int64_t column = i % p.n, row = i / p.n, batch = row / p.m;
    float sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += a[static_cast<size_t>(row * p.k + k)] * b[static_cast<size_t>((batch * p.k + k) * p.n + column)];
    out.push_back(sum);
  }
  return out;
}

/// Returns the result of a row, whose name must be that of the kernel that ran.
std::vector<float> result_of(const std::string& row, cpu::Isa isa, const DrawnProduct& p, const std::vector<float>& a,
                             const std::vector<float>& b) {
  setenv("TSL_KERNELS", ("matmul:" + row).c_str(), 1);
  cpu::CpuBackend backend(2, isa);
  unsetenv("TSL_KERNELS");
  const auto executable = backend.prepare(compile(p.graph()));
  CHECK(executable->kernels().at(0).name == "matmul (" + row + ")");
  const auto tensor = [&](const Shape& shape, const std::vector<float>& values) {
    const Tensor out(DType::f32, Layout::contiguous(shape),
                     backend.allocator().allocate(values.size() * sizeof(float)));
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(out.data()));
    return out;
  };
  const Tensor inputs[] = {tensor({p.batch, p.m, p.k}, a), tensor({p.batch, p.k, p.n}, b)};
  Tensor result;
  CHECK_FALSE(executable->run(inputs, {}, {}, {&result, 1}));
  const auto* const data = reinterpret_cast<const float*>(result.data());
  return {data, data + p.batch * p.m * p.n};
}

}  // namespace

TEST_CASE("every row that runs a product computes the same sums of integers") {
  std::mt19937 random(58);
  const auto extent = [&] { return std::vector<int64_t>{1, 2, 8, 9, 15, 16, 17, 33, 64, 100}[random() % 10]; };
  constexpr size_t kDrawn = 40;
  size_t ran = 0;
  for (const cpu::Isa isa : kernel_test::isas()) {
    for (size_t i = 0; i < kDrawn; ++i) {
      const DrawnProduct p{1 + static_cast<int64_t>(random() % 3), extent(), extent() * (i % 10 == 0 ? 12 : 1),
                           extent()};
      CAPTURE(name_of(isa), p.batch, p.m, p.k, p.n);
      const std::vector<float> a = drawn_numbers(random, p.batch * p.m * p.k),
                               b = drawn_numbers(random, p.batch * p.k * p.n);
      cpu::CpuBackend backend(1, isa);
      const Graph graph = p.graph();
      for (const exec::KernelCandidate& row : backend.rows().candidates(graph[2], "own")) {
        if (!row.refusal.empty()) continue;
        CHECK(result_of(row.name, isa, p, a, b) == expected(p, a, b));
        ++ran;
      }
    }
  }
  CHECK(ran >= kernel_test::isas().size() * kDrawn);  // at least one each
}
