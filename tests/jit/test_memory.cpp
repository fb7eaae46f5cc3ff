// Running out of memory: raises an error with sizes and the line everywhere, and the program continues.
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/error_names.h"
#include "support/cuda_device.h"
#include "support/pretend_gpu.h"
#include "support/session.h"

using namespace tsl;

namespace {

/// Makes aligned allocations fail: those of threads' working space.
std::atomic<bool> is_refused{false};

struct Refused {
  Refused() { is_refused = true; }
  ~Refused() { is_refused = false; }
};

}  // namespace

void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const size_t unit = static_cast<size_t>(alignment);
  return is_refused ? nullptr : std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }

namespace {

constexpr uint64_t kLimit = uint64_t{4} << 20;

Session limited(const std::string& device, bool compile_all = false) {
  EngineOptions options;
  options.device = device;
  options.backend.memory_limit = kLimit;
  options.threads = 1;
  options.compile_all = compile_all;
  return Session(options);
}

void check_error(Session& session, const std::string& program, uint32_t line) {
  INFO(program);
  const Error error = session.error(program);
  INFO(error.message);
  CHECK(error.kind() == ErrorKind::memory);
  CHECK(error.message.find("out of memory: ") == 0);
  CHECK(error.message.find(" asked for, ") != std::string::npos);
  CHECK(error.message.find("limit 4.0 MiB") != std::string::npos);
  CHECK(session.line_of(error) == line);
}

/// Uses tensors after an error, and checks how much memory they take.
const std::string kStillWell = "assert(sum(ones([1000])).item() == 1000.0)\n";

void check_eager(const std::string& device) {
  Session session = limited(device);
  check_error(session, "let x = ones([1000])\nlet y = x + 1\nlet z = ones([2000, 1000])\n", 3);
  check_error(session, "let x = ones([1100])\nlet y = reshape(x, [-1, 1])\nlet z = sum(x * y * 2.0)", 3);
  CHECK(session.output(kStillWell + "try { ones([2000, 1000]) } catch e { print(e.kind) }\n" + kStillWell) ==
        "memory\n");
  // Allocates 3 MiB four times, then other sizes: freed blocks make room.
  CHECK(session.output("for n in [786432, 786432, 786432, 400000, 900000, 786432] { print(sum(ones([n])).item()) }") ==
        "786432.0\n786432.0\n786432.0\n400000.0\n900000.0\n786432.0\n");
}

/// Checks tensors that are too large during a trace, and for sizes in a replay.
void check_compiled(const std::string& device) {
  const std::string outer = "@compile\nfn outer(x) {\n  let y = x + 1\n  return reshape(y, [-1, 1]) * y\n}\n";
  Session session = limited(device);
  check_error(session, outer + "let x = ones([2000])\nouter(x)", 4);
  check_error(session, outer + "let x = ones([30])\nfor i in 0..5 { outer(x) }\nouter(ones([2000]))", 4);
  check_error(session, outer + "for n in [30, 40, 50, 2000] { outer(ones([n])) }", 4);
  CHECK(session.output(outer + R"(
let before = counters().memory
for n in [3, 4, 2000, 5, 2000, 3] {
  try { print(sum(outer(ones([n]))).item()) } catch e { print(e.kind) }
}
print(counters().memory == before)
)") == "36.0\n64.0\nmemory\n100.0\nmemory\n36.0\ntrue\n");
}

/// Checks that a loop's body has its effects up to the error, and none after it.
void check_loop(const std::string& device) {
  for (bool compile_all : {false, true}) {
    Session session = limited(device, compile_all);
    CHECK(session.output(R"(
var (v, w, kept) = (ones([100]), ones([100]), nil)
try {
  for n in [10, 10, 10, 2000000, 10] {
    v = v * 2.0
    kept = ones([n])
    w = w * 2.0
  }
} catch e { print(e.kind) }
print(v[0].item(), w[99].item(), kept.shape)
)") == "memory\n16.0 8.0 (10,)\n");
  }
}

/// A GPU on which plans of several ops run out of memory when they may overwrite donated inputs, or always.
class FailingGpu : public PretendGpu {
 public:
  FailingGpu(Device device, exec::Backend& host, bool is_final, bool always = false)
      : PretendGpu(device, host, false), is_final_(is_final), always_(always) {}
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override {
    return std::make_unique<Failing>(PretendGpu::prepare(std::move(plan)), is_final_, always_);
  }

 private:
  class Failing : public exec::Executable {
   public:
    Failing(std::unique_ptr<exec::Executable> plan, bool is_final, bool always)
        : plan_(std::move(plan)), is_final_(is_final), always_(always) {}
    exec::RunError run(exec::Inputs inputs, std::span<const char> donated, std::span<const Scalar> symbols,
                       std::span<Tensor> outputs) override {
      if ((always_ || !donated.empty()) && plan().graph.size() - plan().graph.inputs().size() > 1) {
        Error error{ErrorName::out_of_memory, "no memory half-way", {}, {}, {}};
        error.is_final = is_final_;
        throw Failure(std::move(error));
      }
      return plan_->run(inputs, donated, symbols, outputs);
    }
    const graph::Plan& plan() const override { return plan_->plan(); }

   private:
    std::unique_ptr<exec::Executable> plan_;
    bool is_final_, always_;
  };

  bool is_final_, always_;
};

/// Checks that a compiled region without enough memory is interpreted, and then needs no more memory than eager code:
/// there is room for two tensors, not for three.
void check_interpreted(const std::string& device) {
  Session session = limited(device);
  CHECK(session.output(R"(
@compile
fn body(x) {
  let y = cumsum(x, 0)
  return cumsum(y, 0)
}
var x = ones([393216])
for i in 0..3 { x = body(x) }
print(x[2].item())
)") == "28.0\n");
  Session all = limited(device, true);
  CHECK(all.output(R"(
var x = ones([393216])
for i in 0..3 {
  x = cumsum(x, 0)
  x = cumsum(x, 0)
}
print(x[2].item())
)") == "28.0\n");
}

}  // namespace

TEST_CASE("out of memory on the CPU: interpreted, traced, replayed") {
  check_eager("cpu");
  check_compiled("cpu");
  check_loop("cpu");
  check_interpreted("cpu");
}

TEST_CASE("an op of the CPU that finds no memory for what it needs on the way gives back the rest") {
  Session session = limited("cpu");
  CHECK(session.output(R"(
let x = ones([600, 512])
let before = counters().memory
for op in [fn() = cumsum(x.reshape([-1, 8]), axis: 0), fn() = argsort(x, axis: 0)] {
  try { op() } catch e { print(e.kind) }
  print(counters().memory == before)
}
print(x.shape)
)") == "memory\ntrue\nmemory\ntrue\n(600, 512)\n");
}

TEST_CASE(
    "memory that an op of the CPU does not find on one of its threads is an error with the line, and everything goes "
    "on") {
  EngineOptions options;
  options.device = "cpu";
  options.threads = 4;
  for (const bool compile_all : {false, true}) {
    options.compile_all = compile_all;
    Session session(options);
    // No kernel makes x, which is a view of one element.
    const std::string program =
        "@compile\nfn f(x) {\n  let y = x + 1.0\n  return softmax(y)\n}\n"
        "let x = expand(tensor([[1.0]]), [64, 131072])\n";
    {
      const Refused refused;
      const Error eager = session.error(program + "softmax(x)"), compiled = session.error(program + "f(x)");
      CHECK(eager.kind() == ErrorKind::memory);
      CHECK(compiled.kind() == ErrorKind::memory);
      CHECK(session.line_of(eager) == 7);
      CHECK(session.line_of(compiled) == 3);
      const std::string caught =
          "var y = nil\nfor op in [f, softmax] { try { y = op(x) } catch e { print(e.kind, e.line) } }\nprint(y)\n";
      CHECK(session.output(program + caught) == "memory 3\nmemory 8\nnil\n");
    }
    CHECK(session.output(program + "print(f(x).shape, softmax(x).shape, sum(x).item())\n") ==
          "(64, 131072) (64, 131072) 8388608.0\n");
  }
}

TEST_CASE("out of memory in a compiled region: interpreted, unless what it was given is lost") {
  for (const bool is_final : {false, true}) {
    EngineOptions options;
    options.device = "cuda";
    options.open_backend = [=](Device gpu, exec::Backend& host) {
      return std::make_unique<FailingGpu>(gpu, host, is_final);
    };
    Session session(options);
    const std::string program = R"(
@compile
fn f(x) = x * 2.0 + 1.0
var x = f(ones([2]))
try { x = f(x) } catch e { print("caught") }
print(x.tolist())
)";
    if (is_final) CHECK(session.error_text(program) == "memory: no memory half-way");
    else CHECK(session.output(program) == "[7.0, 7.0]\n");
  }
}

TEST_CASE("when a trace cannot be computed, variables are what they were before") {
  for (const std::string tail :
       {"return total", "return total[0].item() > 0", "return tolist(total)", "error(\"own\")"}) {
    for (const bool is_loop : {false, true}) {
      CAPTURE(tail, is_loop);
      EngineOptions options;
      options.device = "cuda";
      options.compile_all = is_loop;
      options.open_backend = [](Device gpu, exec::Backend& host) {
        return std::make_unique<FailingGpu>(gpu, host, true, true);
      };
      Session session(options);
      session.engine.run_line("var (total, y) = (ones([2]), ones([2]))");
      session.engine.run_line(std::string(is_loop ? "" : "@compile\n") +
                              "fn f(x) {\n  total = total * 2.0 + x\n  y = total\n  " + tail + "\n}");
      const std::string call = is_loop ? "for i in 0..3 { y = f(ones([2])) }" : "f(ones([2]))";
      for (int i = 0; i < 2; ++i) {
        CHECK_THROWS_WITH(session.engine.run_line(call), "no memory half-way");
        session.printed.clear();
        session.engine.run_line("print(total.tolist(), y.tolist())");
        CHECK(session.printed == "[1.0, 1.0] [1.0, 1.0]\n");
      }
    }
  }
}

TEST_CASE("running out of memory during a trace records no trace path") {
  class FullGpu : public PretendGpu {
   public:
    FullGpu(Device device, exec::Backend& host, int& refusals) : PretendGpu(device, host, false), refusals_(refusals) {}
    Tensor to_device(const Tensor& tensor) override {
      if (refusals_ > 0 && refusals_-- > 0) fail(ErrorName::out_of_memory, "full");
      return PretendGpu::to_device(tensor);
    }

   private:
    int& refusals_;
  };
  const std::string program = R"(
var count = zeros([1])
fn place(x) {
  var y = x
  try { y = x.to("cuda") } catch e { print(e.kind) }
  return y
}
fn f(x) {
  count = count + 1.0
  print("begins")
  return place(x * sum(x).item()) + 1.0
}
for i in 0..3 { print(f(ones([4])).device, count[0].item()) }
)";
  const std::string moved = "begins\ncuda:0 2.0\nbegins\ncuda:0 3.0\n";
  for (const bool compile_all : {false, true}) {
    int refusals = compile_all ? 2 : 1;  // the trace, and the interpreted run after it
    EngineOptions options;
    options.device = "cpu";
    options.compile_all = compile_all;
    options.open_backend = [&](Device gpu, exec::Backend& host) {
      return std::make_unique<FullGpu>(gpu, host, refusals);
    };
    Session session(options);
    CHECK(session.output(program) == "begins\nmemory\ncpu 1.0\n" + moved);
    CHECK(refusals == 0);
  }
}

TEST_CASE("out of memory on a GPU: interpreted, traced, replayed", "[cuda][alone]") {
  TSL_NEEDS_GPU();
  check_eager("cuda");
  check_compiled("cuda");
  check_loop("cuda");
  check_interpreted("cuda");
}

TEST_CASE("regions let go of functions that nobody can call any more, and of what these hold") {
  Session s;
  // A local function with captures, one as an argument, and a pullback, new ones each time.
  const std::string grown = s.output(R"(
@compile
fn apply(f, x) = f(x)
fn one(n) {
  let data = ones([n])
  @compile
  fn scaled(x) = x * sum(data)
  let (value, pullback) = vjp(fn(x) = x * x, ones([n]))
  return (scaled(ones([2])), apply(fn(x) = x + sum(data), ones([2])), apply(pullback, data)[0])
}
for i in 0..3 { one(1000) }
let few = counters().memory
for i in 0..6 { one(1000) }
let more = counters().memory
for i in 0..40 { let data = ones([1000]); apply(fn(x) = x + sum(data), ones([2])) }
print(more - few, counters().memory <= more)
)");
  CHECK(grown == "0 true\n");
}

TEST_CASE("a region that falls back during a trace evicts the trace path") {
  Session s;
  // f is referenced by the segment before the read, whose path ends where the closure escapes.
  CHECK(s.output(R"(
@compile
fn apply(f, x) {
  let n = int(float(sum(f(x))))
  let y = x * n
  return fn() = y
}
fn all_ways() {
  let data = ones([100000])
  let f = fn(y) = y + sum(data)
  for n in 0..40 { apply(f, ones([1]) * n) }
}
let before = counters()
all_ways()
print(counters().memory - before.memory < 100000, counters().retraces - before.retraces)
)") == "true 1\n");
}

TEST_CASE("a region with too many trace paths evicts the least used one") {
  Session s;
  // Each trace path holds a constant, tensor([len(tag)]).
  CHECK(s.output(R"(
@compile
fn f(x, tag) {
  let table = tensor([len(tag)])
  return (x * 2.0 + 1.0).sum() + table.expand([100]).sum()
}
var tags = []
for i in 0..40 { tags += [f"t{i}"] }
let x = ones([100])
for tag in tags { f(x, tag) }
let full = counters()
for i in 0..20 { for tag in tags { f(x, tag) } }
print(counters().memory <= full.memory, counters().traces - full.traces)
# A tag that has no trace path gets one, and is then replayed.
for i in 0..2100 { f(x, "hot") }
let before = counters()
for i in 0..100 { f(x, "hot") }
print(counters().traces - before.traces, counters().kernels - before.kernels)
)") == "true 2\n0 100\n");
}

TEST_CASE("what has fallen back is traced again after a while") {
  Session s;
  // The first three calls make closures that outlive them.
  CHECK(s.output(R"(
@compile
fn f(x, k) {
  if k < 3 { return fn() = x }
  return (x * k + 1.0).sum()
}
for i in 0..3 { f(ones([4]), i) }
for i in 3..40 { f(ones([4]), i) }
let before = counters()
for i in 40..140 { f(ones([4]), i) }
print(counters().traces - before.traces, counters().kernels - before.kernels)
)") == "0 200\n");
  EngineOptions options;
  options.compile_all = true;
  Session loops(options);
  CHECK(loops.output(R"(
let x = ones([4])
for i in 0..100 {
  let y = x * i + 1.0
  if i == 0 { len(f"{y}") }
}
print(counters().traces)
)") == "2\n");
}

TEST_CASE("what cannot be traced is tried ever less often") {
  Session s;
  CHECK(s.output(R"(
@compile
fn f(x) { let y = x * 2.0; return fn() = y }
for i in 0..100 { f(ones([2])) }
print(counters().traces)
for i in 0..10000 { f(ones([2])) }
print(counters().traces)
)") == "2\n8\n");
}

TEST_CASE("a rare path that cannot be traced leaves the others compiled") {
  Session s;
  CHECK(s.output(R"(
@compile
fn f(x, k) {
  let y = (x * k + 1.0).sum()
  if k % 50 == 0 { return fn() = y }
  return y
}
for i in 1..60 { f(ones([4]), i) }
let before = counters()
for i in 61..100 { f(ones([4]), i) }
print(counters().traces - before.traces, counters().kernels - before.kernels)
)") == "0 78\n");
}

TEST_CASE("trace paths of a loop release the variables of finished calls") {
  EngineOptions options;
  options.compile_all = true;
  Session s(options);
  // The function is interpreted, so its loop is a region. A closure captures a new variable in each call.
  const std::string grown = s.output(R"(
fn one(n) {
  var data = ones([n])
  let scaled = fn(x) = x * sum(data)
  len(f"{data}")
  for i in 0..3 { data = data + i }
}
for i in 0..3 { one(1000) }
let few = counters()
for i in 0..20 { one(1000) }
print(counters().retraces > few.retraces, counters().memory <= few.memory)
)");
  CHECK(grown == "true true\n");
}

TEST_CASE("trace paths that end in an error count") {
  Session s;
  CHECK(s.output(R"(
@compile
fn fails(x, n) {
  let digits = len(f"{n}")
  if sum(x) > 0.0 { error(f"{n} has {digits} digits") }
  return digits
}
var failed = 0
for n in 0..100 {
  try { fails(ones([2]), n) } catch e { failed += 1 }
}
print(failed, counters().traces)
)") == "100 33\n");
}

TEST_CASE("each new function is a new trace path, although those of dead functions are evicted") {
  Session s;
  CHECK(s.output(R"(
@compile
fn apply(f, x) = f(x)
let before = counters()
for i in 0..40 { let d = ones([3]); apply(fn(x) = x + sum(d), ones([2])) }
print(counters().traces - before.traces, counters().retraces - before.retraces)
)") == "32 31\n");
}
