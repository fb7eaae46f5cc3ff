// Errors of ops on elements, raised later than their op ran: the program shows what it shows where nothing is deferred.
// The pretended GPU computes at once, and says what has failed when it is asked.
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "support/pretend_gpu.h"
#include "support/random_programs.h"
#include "support/session.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

constexpr Tier kDeferringTiers[] = {Tier::eager, Tier::annotated, Tier::everything};

/// Makes an engine that defers errors of pretended GPUs, and counts that.
EngineOptions deferring(DeferralCounts& counts, bool guarded = true) {
  EngineOptions options;
  options.device = "cuda";
  options.threads = 1;
  options.defer_errors = true;
  options.open_backend = [&counts, guarded](Device gpu, exec::Backend& host) -> std::unique_ptr<exec::Backend> {
    return std::make_unique<PretendGpu>(gpu, host, guarded, &counts);
  };
  return options;
}

EngineOptions on_cpu() {
  EngineOptions options;
  options.device = "cpu";
  return options;
}

/// Returns what a program prints, and its error as a user sees it.
std::string shown(const std::string& program, Tier tier, EngineOptions options) {
  options.compile_annotated = tier != Tier::eager;
  options.compile_all = tier == Tier::everything;
  Session session(std::move(options));
  try {
    session.engine.run("program.tsl", program);
  } catch (const Failure& failure) { session.printed += render(failure.error(), session.engine.sources()); }
  return session.printed;
}

/// Checks that all tiers show the same as the interpreter on the CPU. Returns that.
std::string check(const std::string& program) {
  const std::string expected = shown(program, Tier::eager, on_cpu());
  for (Tier tier : kDeferringTiers) {
    DeferralCounts counts;
    CAPTURE(static_cast<int>(tier), program);
    CHECK(shown(program, tier, deferring(counts)) == expected);
  }
  return expected;
}

// Calls of `pick` fail when `i` is in `bad`.
const std::string kPickByIndex = R"(
let x = arange(10)
let good = tensor([1, 2])
let bad = tensor([3, 12])
fn inner(i) = x[i] + 1
@compile
fn pick(i) {
  let y = inner(i)
  return y * 2
}
for i in 0..3 { pick(good) }
)";

/// Returns the deferred runs and the waits for them in a program.
DeferralCounts counted(const std::string& program, Tier tier) {
  DeferralCounts counts;
  shown(program, tier, deferring(counts));
  return counts;
}

}  // namespace

TEST_CASE("a loop of calls that may fail is waited for once", "[deferred]") {
  const std::string program = kPickByIndex + "print(\"begin\")\nfor i in 0..100 { pick(good) }\nprint(\"end\")\n";
  for (Tier tier : kDeferringTiers) {
    CAPTURE(static_cast<int>(tier));
    const DeferralCounts counts = counted(program, tier);
    CHECK(counts.runs >= 100);
    CHECK(counts.waits <= 4);  // before the first trace, after the second loop, and where sizes or traces are new
  }
  DeferralCounts none;
  EngineOptions waiting = deferring(none);
  waiting.defer_errors = false;
  shown(program, Tier::annotated, waiting);
  CHECK(none.runs == 0);
}

TEST_CASE("a deferred error has its line and its calls, and comes before what follows it", "[deferred]") {
  const std::string text = check(kPickByIndex + R"(
fn run() {
  for i in 0..6 {
    let y = pick(if i == 3 { bad } else { good })
    let z = y + 1
  }
  print("not reached")
}
print("start")
run()
print("nor this")
)");
  CHECK(text.starts_with("start\nerror[index]: index 12 is out of range for axis 0 with extent 10\n"));
  CHECK(text.find("called from pick") != std::string::npos);
  CHECK(text.find("reached") == std::string::npos);
}

TEST_CASE("the first of several deferred errors is raised, whatever its place in the plan", "[deferred]") {
  const std::string text = check(R"(
let x = arange(10)
@compile
fn two(i, j) {
  let a = x[i]
  return a + x[j]
}
let good = tensor([1]); let first = tensor([77]); let second = tensor([88])
for i in 0..3 { two(good, good) }
two(good, second)
two(first, good)
two(first, second)
)");
  CHECK(text.find("index 88") != std::string::npos);
}

TEST_CASE("prints of a region and between regions keep their order before a deferred error", "[deferred]") {
  check(kPickByIndex + R"(
@compile
fn noisy(i) {
  print("before")
  let y = x[i]
  print("after")
  return y
}
for i in 0..3 { noisy(good) }
pick(good)
print("between")
noisy(bad)
print("not this")
)");
  check(kPickByIndex + "pick(bad)\nprint(\"not this\")\n");
  check(kPickByIndex + "print(pick(bad))\n");
  check(kPickByIndex + "pick(bad)\n");
}

TEST_CASE("a try catches the errors raised in it, with the variables of then", "[deferred]") {
  check(kPickByIndex + R"(
var seen = 0
for i in 0..5 {
  try {
    seen = seen + 1
    pick(if i % 2 == 1 { bad } else { good })
    seen = seen + 10
  } catch e { print(e.kind, e.line, e.message) }
}
print(seen)
)");
}

TEST_CASE("a try does not catch an error of before it", "[deferred]") {
  const std::string text = check(kPickByIndex + R"(
fn work() {
  pick(bad)
  try {
    let y = pick(good)
    print(y)
  } catch e { print("caught", e.kind) }
  try { zeros([2]) + zeros([3]) } catch e { print("caught", e.kind) }
}
work()
)");
  CHECK(text.find("caught") == std::string::npos);
}

TEST_CASE("another error that comes later does not hide a deferred one", "[deferred]") {
  check(kPickByIndex + "pick(bad)\nlet y = zeros([2]) + zeros([3])\n");
  check(kPickByIndex + "pick(bad)\nunknown(3)\n");
  check(kPickByIndex + "let y = pick(bad)\nif y[0].item() > 0 { print(\"positive\") }\n");
  check(kPickByIndex + "let y = pick(bad)\nlet z = y.tolist()\nprint(len(z))\n");
  check(kPickByIndex + "let y = pick(bad)\nlet z = y.to(\"cpu\")\nlet w = zeros([2]) + zeros([3])\n");
  check(kPickByIndex + "pick(bad)\nlet t = clock()\nlet w = zeros([2]) + zeros([3])\n");
}

TEST_CASE("a region that is traced first raises the error of a run before it", "[deferred]") {
  check(kPickByIndex + R"(
@compile
fn other(y) {
  print("not this")
  return y + y[tensor([0])]
}
let y = pick(bad)
other(y)
)");
}

TEST_CASE("ops on the gradient's tape and integer divisions are deferred alike", "[deferred]") {
  check(R"(
let table = ones([10, 4])
fn loss(table, i) = sum(table[i] * 2.0)
let step = grad(loss)
for i in 0..4 { step(table, tensor([i, i + 7])) }
print("not this")
)");
  check(R"(
@compile
fn divide(a, b) = a // b + 1
for i in 0..6 { divide(tensor([7, 8]), tensor([1, 4 - i])) }
print("not this")
)");
}

TEST_CASE("a loop without an end ends at its deferred error", "[deferred]") {
  const std::string text = check(kPickByIndex + R"(
var n = 0
while true {
  pick(if n == 20 { bad } else { good })
  n = n + 1
}
)");
  CHECK(text.find("index 12") != std::string::npos);
}

TEST_CASE("random programs with deferred errors show what the interpreter shows on the CPU", "[deferred][random]") {
  constexpr uint64_t kPrograms = 150;
  uint32_t deferred = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const std::string program = to_text(random_program(seed));
    const std::string expected = outcome(program, Tier::eager, on_cpu());
    for (Tier tier : kDeferringTiers) {
      DeferralCounts counts;
      CAPTURE(static_cast<int>(tier), program);
      CHECK(outcome(program, tier, deferring(counts, false)) == expected);
      deferred += counts.runs;
    }
  }
  CHECK(deferred > kPrograms);
}
