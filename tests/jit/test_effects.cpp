// Effects in regions: they are traced, and performed once and in order.
#include "catch.h"
#include "support/session.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

/// Returns the traces and kernels of 20 further calls of `f(i)`.
std::string further_calls(const std::string& function) {
  Session s;
  return s.output("@compile\n" + function + R"(
for i in 1..4 { f(i) }
let before = counters()
for i in 4..24 { f(i) }
print(counters().traces - before.traces, counters().kernels - before.kernels)
)");
}

}  // namespace

TEST_CASE("functions that use files, the clock or lists of elements are replayed", "[effects]") {
  const std::string x = "  let y = exp(ones([4]) * 0.5 + 1.0)\n";
  const std::string z = "  let z = exp(y * 0.5 + 1.0)\n  return z\n}\n";
  CHECK(further_calls("fn f(k) {\n" + x + "  let t = clock()\n" + z) == "0 40\n");
  CHECK(further_calls("fn f(k) {\n" + x + "  let n = counters().kernels\n" + z) == "0 40\n");
  CHECK(further_calls("fn f(k) {\n" + x + "  let l = y.tolist()\n  if l[0] < 0.0 { return nil }\n" + z) == "0 40\n");
  CHECK(further_calls("fn f(k) {\n" + x + "  save(\"/tmp/tsl_effects.npy\", y)\n" + z) == "0 40\n");
  CHECK(further_calls("fn f(k) {\n" + x + "  write_text(\"/tmp/tsl_effects.txt\", f\"step {k}\")\n" + z) == "0 40\n");
}

TEST_CASE("a file that changes is another input, and no effect happens twice", "[effects]") {
  Session s;
  CHECK(s.output(R"(
let path = "/tmp/tsl_effects_changing.txt"
@compile
fn f(x) {
  let text = read_text(path)
  write_text(path, text + "x")
  if sum(x) > 3.0 { return -len(text) }
  return len(text)
}
write_text(path, "")
var found = []
for i in 0..6 { found += [f(ones([1]) * i)] }
print(found)
write_text(path, "")
print(f(ones([1])), f(ones([1])), f(ones([1]) * 9.0))
)") == "[0, 1, 2, 3, -4, -5]\n0 1 -2\n");
}

TEST_CASE("an effect that fails is raised where it stands", "[effects]") {
  const std::string program = R"(
@compile
fn f(x, ok) {
  print("first", ok)
  let text = read_text(if ok > 0 { "/proc/self/comm" } else { "/nowhere" })
  print("second", sum(x))
  return len(text) > 0
}
for i in 0..8 {
  try { print(f(ones([2]) * i, i % 3)) } catch e { print(e.kind, e.message, e.line) }
}
f(ones([2]), 0)
)";
  CHECK(disagreement(program) == "");
  CHECK(outcome(program, Tier::annotated, 1).find("error[io] line 5: ") != std::string::npos);
}
