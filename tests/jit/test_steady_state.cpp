// A warm compiled training loop makes no traces, interprets nothing, and takes no memory from the system.
#include <algorithm>
#include <vector>

#include "support/session.h"
#include "value/runtime.h"
#include "vm/interpreter.h"

using namespace tsl;

namespace {

/// The resources used up to the end of a step.
struct Spent {
  uint64_t system_allocations, live_bytes, cached_bytes;
  size_t log_size;
  uint32_t traces;
};

/// Runs a program that prints a line at the end of each step.
class Training {
 public:
  explicit Training(const std::string& program, size_t counted_from = 0, bool compile_all = true)
      : engine_(options(compile_all)) {
    engine_.log = [this](std::string_view text) { log += text; };
    engine_.output = [this, counted_from](std::string_view text) {
      lines.emplace_back(text);
      const Allocator::Stats stats = engine_.runtime().allocator().stats();
      // Reading the number of the next trace also advances it.
      const uint32_t traces = engine_.runtime().next_trace_id() - static_cast<uint32_t>(steps.size());
      steps.push_back({stats.system_allocations, stats.live_bytes, stats.cached_bytes, log.size(), traces});
      if (steps.size() == counted_from) engine_.interpreter().set_step_limit(~uint64_t{0});
    };
    engine_.run("training.tsl", program);
    interpreted_steps = engine_.interpreter().steps();
  }

  const Spent& after(size_t step) const { return steps.at(step - 1); }
  /// Returns the number of traces and fallbacks in the log.
  size_t logged() const {
    size_t count = 0;
    for (size_t at = log.find("[recompiles]"); at != std::string::npos; at = log.find("[recompiles]", at + 1)) ++count;
    return count;
  }

  std::vector<Spent> steps;
  std::vector<std::string> lines;
  std::string log;
  uint64_t interpreted_steps = 0;  // calls and iterations in the interpreter after `counted_from`

 private:
  static EngineOptions options(bool compile_all) {
    EngineOptions options;
    options.compile_all = compile_all;
    options.threads = 2;
    options.log_topics = "recompiles";
    return options;
  }
  Engine engine_;
};

/// Returns a classifier of `count` random points; the caller appends its training.
std::string classifier(int count) {
  return "import nn\nimport optim\nseed(3)\nlet count = " + std::to_string(count) + R"(
let x = randn([count, 12])
let y = i64(sum(x, axis: -1) > 0.0)
fn model(p, x: f32[b, 12]) -> f32[b, 2] = nn.relu(x @ p.w1 + p.b1) @ p.w2 + p.b2
fn loss(p, x, y) = nn.cross_entropy(model(p, x), y)
fn step(p, opt, x, y, lr) {
  let (l, g) = value_and_grad(loss)(p, x, y)
  let (p2, opt2) = optim.adam(p, optim.clip_grad_norm(g, 1.0), opt, lr: lr)
  return (p2, opt2, l)
}
var p = {w1: nn.kaiming([12, 16]), b1: zeros([16]), w2: nn.kaiming([16, 2]), b2: zeros([2])}
var opt = optim.adam_init(p)
var l = 0.0
)";
}

}  // namespace

TEST_CASE("from the third step on, training takes nothing but the work itself", "[steady]") {
  // The learning rate differs each time, the loss is read and printed, and random numbers are drawn.
  const Training training(classifier(64) + R"(
for i in 0..100 {
  (p, opt, l) = step(p, opt, x + 0.01 * randn([count, 12]), y, 1e-2 * (1.0 - i / 100))
  print(f"{i} {l:.6f}")
}
)",
                          3);
  REQUIRE(training.steps.size() == 100);
  const Spent &early = training.after(3), &late = training.after(100);
  CHECK(late.system_allocations == early.system_allocations);
  CHECK(late.live_bytes == early.live_bytes);
  CHECK(late.traces == early.traces);
  CHECK(late.log_size == early.log_size);
  CHECK(training.interpreted_steps == 0);
  CHECK(early.log_size > 0);  // the first step was traced, and the log said so
  CHECK(training.lines.front() != training.lines.back());
}

TEST_CASE("the counts that the tests here rely on do change when they should", "[steady]") {
  // The number of stored values grows, and with it a list that the body reads.
  const Training training(
      "var kept = []\nfor i in 0..8 {\n  kept = kept + [randn([1000 * (i + 1)])]\n  let last = kept[-1]\n"
      "  print(\"step\")\n}\n",
      3);
  REQUIRE(training.steps.size() == 8);
  CHECK(training.after(8).system_allocations > training.after(3).system_allocations);
  CHECK(training.after(8).traces > training.after(3).traces);
  CHECK(training.after(8).log_size > training.after(3).log_size);
}

TEST_CASE("a function with reads and branches runs without the interpreter, too", "[steady]") {
  const Training training(R"(
@compile
fn solve(x) {
  var y = x
  var n = 0
  while max(abs(y)) > 0.01 {
    y = y * 0.5
    n += 1
  }
  print("solved")
  return (y, n)
}
let x = randn([100])
for i in 0..100 { let (y, n) = solve(x) }
)",
                          3);
  REQUIRE(training.steps.size() == 100);
  CHECK(training.after(100).system_allocations == training.after(3).system_allocations);
  CHECK(training.after(100).traces == training.after(3).traces);
  CHECK(training.after(100).log_size == training.after(3).log_size);
  CHECK(training.interpreted_steps == 0);
}

TEST_CASE("100 epochs take no more memory than the second", "[steady]") {
  // 100 points in batches of 32: the last batch of each epoch is smaller.
  const Training training(classifier(100) + R"(
for epoch in 0..100 {
  for (xb, yb) in nn.batches(x, y, size: 32, shuffle: true) { (p, opt, l) = step(p, opt, xb, yb, 1e-2) }
  print(f"{l:.4f}")
}
)");
  REQUIRE(training.steps.size() == 100);
  const Spent &second = training.after(2), &last = training.after(100);
  CHECK(last.live_bytes <= second.live_bytes);
  CHECK(last.live_bytes + last.cached_bytes <= second.live_bytes + second.cached_bytes);
  CHECK(last.system_allocations == second.system_allocations);
}

TEST_CASE("a smaller last batch costs one trace more", "[steady]") {
  // 25 epochs of 4 steps: 32, 32, 32 and 4 points.
  const Training training(classifier(100) + R"(
@compile
fn update(p, opt, x, y) = step(p, opt, x, y, 1e-2)
for epoch in 0..25 {
  for (xb, yb) in nn.batches(x, y, size: 32, shuffle: true) {
    (p, opt, l) = update(p, opt, xb, yb)
    print("step")
  }
}
)",
                          0, false);
  REQUIRE(training.steps.size() == 100);
  INFO(training.log);
  CHECK(training.logged() <= 2);
  CHECK(training.after(100).traces <= training.after(1).traces + 1);
}
