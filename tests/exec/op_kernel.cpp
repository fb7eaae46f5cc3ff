// Tests the table of kernels for ops that are never fused: which row runs a node, and what is said of the others.
#include "exec/op_kernel.h"

#include <cstdlib>

#include "catch.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::exec;

namespace {

struct NamedKernel final : OpKernel {
  explicit NamedKernel(std::string given) : given(std::move(given)) {}
  std::string name() const override { return given; }
  void run(const OpCall&) override {}
  std::string given;
};

KernelRow row(std::string_view name, std::string_view refusal, bool is_installed = true) {
  return {.name = name,
          .ops = {Op::matmul},
          .refusal = [refusal](const graph::Node&) { return refusal; },
          .make =
              [name, is_installed](const graph::Node&) {
                return is_installed ? std::make_unique<NamedKernel>(std::string(name)) : nullptr;
              }};
}

graph::Graph product() {
  graph::Graph graph;
  const graph::NodeId x = graph::input(graph, {2, 2});
  graph::give(graph, graph.add(op_def(Op::matmul), {graph::read(graph, x), graph::read(graph, x)}, {},
                               {DType::f32, {2, 2}}, Span{}, 1));
  return graph;
}

/// Sets TSL_KERNELS while it lives.
struct ForcedKernels {
  explicit ForcedKernels(const char* text) { setenv("TSL_KERNELS", text, 1); }
  ~ForcedKernels() { unsetenv("TSL_KERNELS"); }
};

}  // namespace

TEST_CASE("the first row that is not refused and installed runs a node") {
  const graph::Graph graph = product();
  const graph::Node& node = graph[1];
  KernelRows rows;
  CHECK(rows.find(node) == nullptr);
  CHECK(to_text(rows.candidates(node, "own")) == "own: taken");
  rows.add({row("first", "too small"), row("second", "", false), row("third", ""), row("fourth", "")});
  CHECK(rows.find(node)->name() == "third");
  CHECK(rows.find(graph[0]) == nullptr);  // of another op
  CHECK(to_text(rows.candidates(node, "own")) ==
        "first (too small), second (not installed, or it has no kernel for these sizes), third: taken, fourth");
}

TEST_CASE("no row runs a node of more operands than its memory has places") {
  KernelRow any = row("any", "");
  any.ops = {Op::concat, Op::matmul};
  KernelRows rows;
  rows.add({std::move(any)});
  graph::Graph graph;
  const graph::NodeId x = graph::input(graph, {2, 2});
  std::vector<graph::Arg> operands(kMostOperands, graph::read(graph, x));
  CHECK(rows.find(graph[graph::add(graph, Op::concat, operands)]) != nullptr);
  operands.push_back(graph::read(graph, x));
  const graph::Node& node = graph[graph::add(graph, Op::concat, operands)];
  CHECK(rows.find(node) == nullptr);
  CHECK(to_text(rows.candidates(node, "own")) == "any (of too many operands), own: taken");
}

TEST_CASE("the operands of every op have places, beside a bias and the sum before it") {
  for (const OpDef& op : op_table()) {
    CAPTURE(op.name);
    const bool may_have_one_more = op.op == Op::matmul || is_of_program(op);
    CHECK(op.arity + may_have_one_more <= static_cast<int>(kMostOperands));
  }
}

TEST_CASE("rows that do not run a product are not asked for its epilogue or padding") {
  const graph::Graph graph = product();
  const auto is_asked = [&](std::string_view refusal) {
    KernelRow asked = row("first", refusal);
    asked.has_epilogue = [](const graph::Node&) { return true; };
    asked.padded = [](const graph::Node&) { return std::optional(graph::PaddedProduct()); };
    KernelRows rows;
    rows.add({row("none", "too small"), std::move(asked)});
    CHECK(rows.has_epilogue(graph[1]) == rows.padded(graph[1]).has_value());
    return rows.has_epilogue(graph[1]);
  };
  CHECK(is_asked(""));
  CHECK_FALSE(is_asked("of integers"));
}

TEST_CASE("a call is made by its definition where all rows refuse it") {
  const OpDef& op = op_def(Op::attention);
  const auto why = [&](const char* kernels, std::string_view first, std::string_view second) {
    const ForcedKernels forced(kernels);
    KernelRows rows;
    for (const auto& [name, refusal] : {std::pair("first", first), std::pair("second", second)}) {
      KernelRow made = row(name, "");
      made.ops = {Op::attention};
      made.refuses_call = [refusal = refusal](std::span<const Operand>, const Attrs&, bool is_named) {
        return is_named && refusal == "slow" ? std::string_view() : refusal;
      };
      rows.add({std::move(made)});
    }
    return std::string(rows.no_kernel(op, {}, {}));
  };
  CHECK(KernelRows().no_kernel(op, {}, {}) == "no kernel");
  CHECK(why("", "slow", "") == "");
  CHECK(why("", "slow", "added") == "added");
  CHECK(why("attention:first", "slow", "added") == "");
  CHECK(why("attention:second", "added", "added") == "added");
  CHECK(why("attention:definition", "", "") == "TSL_KERNELS names another one");
  CHECK_THROWS_WITH(why("attention:third", "", ""),
                    "TSL_KERNELS: no kernel of attention is named 'third'; there are first, second, definition");
}

TEST_CASE("TSL_KERNELS names the row of an op") {
  const graph::Graph graph = product();
  const auto rows_with = [](const char* text) {
    const ForcedKernels forced(text);
    KernelRows rows;
    rows.add({row("first", ""), row("second", ""), row("third", "too small")});
    return rows;
  };
  CHECK(rows_with("attention:plain,matmul:second").find(graph[1])->name() == "second");
  CHECK(rows_with("attention:plain").find(graph[1])->name() == "first");
  CHECK(rows_with("matmul:third").find(graph[1])->name() == "first");  // the third does not run the node
  CHECK(to_text(rows_with("matmul:second").candidates(graph[1], "own")) ==
        "first (TSL_KERNELS names another one), second: taken, third (TSL_KERNELS names another one)");
  CHECK_THROWS_WITH(rows_with("matmul:forth").find(graph[1]),
                    "TSL_KERNELS: no kernel of matmul is named 'forth'; there are first, second, third");
  KernelRows rows = rows_with("matmul:second");
  {
    const NamedRow named(rows, op_def(Op::matmul), "first");
    CHECK(rows.find(graph[1])->name() == "first");
  }
  CHECK(rows.find(graph[1])->name() == "second");
  CHECK_THROWS_WITH(rows_with("matmul"), "TSL_KERNELS is 'matmul', and is to name a row for each op: matmul:OpenBLAS");
}
