// The debug check of addresses: what a plan accesses in a run lies in the memory that the run gives it.
#include "exec/address_check.h"

#include <stdexcept>

#include "backend/cpu/backend.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// x[i : i + 4] + 1 of x: f32[8], where i is a symbol.
struct Slices {
  SymbolTable symbols;
  const Symbol* start = symbols.input(Scalar::of(int64_t{2}));
  cpu::CpuBackend backend{1};

  Plan plan() const {
    Graph graph;
    Arg part = read(graph, input(graph, {8}));
    part.layout = slice(part.layout, 0, 0, 4, 1);
    part.layout.offset = start;
    give(graph, add(graph, Op::add, {part, number(1)}));
    return compile(std::move(graph));
  }

  /// Runs the plan with i = `at` on a tensor that begins `skipped` elements after its memory.
  void run(int64_t at, int64_t count = 8, int64_t skipped = 0) {
    Layout layout = Layout::contiguous({8});
    layout.offset = skipped;
    const Tensor in(DType::f32, layout, backend.allocator().allocate((count + skipped) * sizeof(float)));
    const Scalar value = Scalar::of(at);
    Tensor out;
    backend.prepare(plan())->run({&in, 1}, {}, {&value, 1}, {&out, 1});
  }
};

}  // namespace

TEST_CASE("a run stops before it accesses what lies outside its memory", "[addresses]") {
  REQUIRE(exec::checks_addresses());  // in all tests
  Slices slices;
  CHECK_NOTHROW(slices.run(0));
  CHECK_NOTHROW(slices.run(4));
  CHECK_NOTHROW(slices.run(-3, 8, 3));
  const auto message = Catch::Contains("accesses elements 1000 to 1003 of buffer b0, which has 0 to ");
  CHECK_THROWS_WITH(slices.run(1000), message);
  CHECK_THROWS_AS(slices.run(-1), std::logic_error);
  CHECK_THROWS_AS(slices.run(-4, 8, 3), std::logic_error);
}

TEST_CASE("an operand of a library call stays within its layout", "[addresses]") {
  Layout layout = Layout::contiguous({2, 3, 4});
  CHECK_NOTHROW(exec::check_library_operand(layout, {0, 23}));
  CHECK_THROWS_AS(exec::check_library_operand(layout, {0, 24}), std::logic_error);
  layout = slice(layout, 1, 2, 3, -1);
  CHECK_NOTHROW(exec::check_library_operand(layout, {-8, 15}));
  CHECK_THROWS_AS(exec::check_library_operand(layout, {0, 23}), std::logic_error);
  CHECK_THROWS_AS(exec::check_library_operand(Layout::contiguous({0, 4}), {0, 0}), std::logic_error);
}
