// Which trace paths a region keeps, seen in what it launches: a replay of `f` launches one kernel, the interpreter
// four.
#include "catch.h"
#include "support/session.h"

using namespace tsl;

namespace {

/// Returns the output of a program that may call f(x, name) and kernels_of(name).
std::string output_with_names(const std::string& program) {
  Session s;
  return s.output(R"(
@compile
fn f(x, name) { return exp(x * 2.0 + 1.0) + len(name) }
let x = rand([10])
fn kernels_of(name) {
  let before = counters().kernels
  let y = f(x, name)
  return counters().kernels - before
}
)" + program);
}

}  // namespace

TEST_CASE("of too many trace paths the one replayed longest ago goes, and one replayed often stays") {
  CHECK(output_with_names(R"(
kernels_of("often")
for i in 0..64 {
  kernels_of(f"name {i}")
  kernels_of("often")
}
print(counters().traces, kernels_of("often"), kernels_of("name 30"), kernels_of("name 0"))
)") == "33 1 1 4\n");
}

TEST_CASE("trace paths that hardly any call fits go, all at once") {
  CHECK(output_with_names(R"(
for i in 0..65 { kernels_of(f"name {i}") }
print(counters().traces, kernels_of("name 64"))
for i in 65..165 { kernels_of(f"name {i}") }
print(counters().traces, kernels_of("name 64"))
)") == "33 1\n33 4\n");
}

TEST_CASE("a trace path for a closure stays as long as the program has the closure") {
  Session s;
  CHECK(s.output(R"(
fn scaled(k) = fn(x) = x * k
let (twice, thrice) = (scaled(2.0), scaled(3.0))
@compile
fn apply(h, x) = h(x) + 1.0
for i in 0..3 { print(apply(twice, ones([1])).item(), apply(thrice, ones([1])).item(), counters().traces) }
)") == "3.0 4.0 2\n3.0 4.0 2\n3.0 4.0 2\n");
}

TEST_CASE("a loop body that leaves a pullback as it is replays") {
  EngineOptions options;
  options.compile_all = true;
  Session s(options);
  // `slope` is an output of other iterations; one that assigned it would not be compiled.
  CHECK(s.output(R"(
fn square(x) = sum(x * x)
fn cube(x) = sum(x * x * x)
var slope = grad(square)
var x = ones([4])
for i in 0..20 {
  if i == 100 { slope = grad(cube) }
  x = x - 0.1 * slope(x)
}
let after = counters()
print(after.traces, after.kernels < 40)
)") == "1 true\n");
}
