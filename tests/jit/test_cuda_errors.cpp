// Deferred errors on a GPU. Values and lines need a real one; the null driver counts how often the host waits.
#include <optional>
#include <string>

#include "support/cuda_device.h"
#include "support/session.h"

#ifdef TSL_HAS_CUDA

#include <dlfcn.h>

using namespace tsl;

namespace {

EngineOptions deferring() {
  EngineOptions options;
  options.device = "cuda";
  options.defer_errors = true;
  return options;
}

/// Returns how often the host has waited for the null driver; nothing where the driver is a real one.
std::optional<uint64_t> waits() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
  auto* const count = library ? reinterpret_cast<uint64_t (*)()>(dlsym(library, "null_driver_waits")) : nullptr;
  if (!count) return std::nullopt;
  return count();
}

/// Returns how often the host waits between the two prints of a program.
uint64_t waits_between_prints(const EngineOptions& options, const std::string& program) {
  Session session(options);
  std::vector<uint64_t> at_print;
  session.engine.output = [&](std::string_view) { at_print.push_back(*waits()); };
  session.engine.run("program.tsl", program);
  REQUIRE(at_print.size() == 2);
  return at_print[1] - at_print[0];
}

const std::string kPick = R"(
let x = arange(1000) * 2
@compile
fn pick(i) {
  let y = x[i]
  return y + 1
}
let good = arange(10)
let bad = tensor([3, 4, -1001, 1000])
for i in 0..4 { pick(good); x[good] }
)";

const std::string kRoot = R"(
@compile
fn root(a) {
  let twice = a * 2.0
  return cholesky(twice) + 1.0
}
let good = stack([eye(4), eye(4)])
let bad = stack([eye(4), -eye(4)])
for i in 0..4 { root(good); cholesky(good) }
)";

}  // namespace

TEST_CASE("a hundred calls that may fail wait once", "[cuda][counts]") {
  TSL_NEEDS_GPU();
  if (!waits()) TSL_SKIP("only the null driver counts the waits");
  const std::string compiled = kPick + "print(1)\nfor i in 0..100 { pick(good) }\nprint(2)\n";
  const std::string eager = kPick + "print(1)\nfor i in 0..100 { x[good] }\nprint(2)\n";
  CHECK(waits_between_prints(deferring(), compiled) == 1);
  CHECK(waits_between_prints(deferring(), eager) == 1);
  EngineOptions waiting = deferring();
  waiting.defer_errors = false;
  CHECK(waits_between_prints(waiting, compiled) == 100);
  CHECK(waits_between_prints(waiting, eager) == 100);
  const std::string in_try = kPick + "print(1)\nfor i in 0..10 { try { pick(good) } catch e { print(e) } }\nprint(2)\n";
  CHECK(waits_between_prints(deferring(), in_try) == 10);
}

TEST_CASE("a hundred factorisations of a library wait once", "[cuda][counts]") {
  TSL_NEEDS_GPU();
  if (!waits()) TSL_SKIP("only the null driver counts the waits");
  for (const char* call : {"root(good)", "cholesky(good)"}) {
    const std::string loop = std::string("for i in 0..100 { ") + call + " }";
    CHECK(waits_between_prints(deferring(), kRoot + "print(1)\n" + loop + "\nprint(2)\n") == 1);
  }
}

TEST_CASE("a loop of more runs than the device keeps failures of waits when they are used up", "[cuda][counts]") {
  TSL_NEEDS_GPU();
  if (!waits()) TSL_SKIP("only the null driver counts the waits");
  CHECK(waits_between_prints(deferring(), kPick + "print(1)\nfor i in 0..1000 { pick(good) }\nprint(2)\n") <= 8);
}

TEST_CASE("a deferred error of a GPU has its line, its calls and its place in the output", "[cuda][real]") {
  TSL_NEEDS_GPU();
  for (const char* call : {"pick(if i == 50 { bad } else { good })", "x[if i == 50 { bad } else { good }]"}) {
    Session session(deferring());
    const std::string loop = std::string("for i in 0..100 {\n  let y = ") + call + "\n}\n";
    const Error error = session.error(kPick + "print(\"before\")\n" + loop + "print(\"after\")\n");
    CHECK(session.printed == "before\n");
    CHECK(error.kind() == ErrorKind::index);
    CHECK(error.message == "index -1001 is out of range for axis 0 with extent 1000");
    CHECK(session.line_of(error) == (call[0] == 'p' ? 5u : 13u));
    CHECK(error.called_from.size() == (call[0] == 'p' ? 1u : 0u));
  }
}

TEST_CASE("a deferred error of a library has its line, and the next program runs", "[cuda][real]") {
  TSL_NEEDS_GPU();
  for (const char* call : {"root(if i == 50 { bad } else { good })", "cholesky(if i == 50 { bad } else { good })"}) {
    Session session(deferring());
    const std::string loop = std::string("for i in 0..100 {\n  let y = ") + call + "\n}\n";
    const Error error = session.error(kRoot + "print(\"before\")\n" + loop + "print(\"after\")\n");
    CHECK(session.printed == "before\n");
    CHECK(error.message == "cholesky: matrix 1 of the batch is not positive definite");
    CHECK(session.line_of(error) == (call[0] == 'r' ? 5u : 12u));
  }
}

TEST_CASE("of several failed runs of one plan on a GPU, the first is reported", "[cuda][real]") {
  TSL_NEEDS_GPU();
  Session session(deferring());
  const Error error = session.error(R"(
let x = arange(1000)
@compile
fn two(i, j) {
  let a = x[i]
  return a + x[j]
}
let good = arange(100); let first = arange(100) + 1000; let second = arange(100) + 2000
for i in 0..5 { two(good, good) }
two(good, second)
for i in 0..20 { two(first, good) }
)");
  CHECK(error.message == "index 2000 is out of range for axis 0 with extent 1000");
  CHECK(session.line_of(error) == 6);
}

TEST_CASE("a try on a GPU catches the errors raised in it and no others, and the program goes on", "[cuda][real]") {
  TSL_NEEDS_GPU();
  Session session(deferring());
  CHECK(session.output(kPick + R"(
var calls = 0
for i in 0..4 {
  try {
    calls = calls + 1
    let y = pick(if i % 2 == 1 { bad } else { good })
    calls = calls + 10
    print(y[0].item())
  } catch e { print(e.kind, e.line) }
}
print(calls, sum(pick(good)).item())
)") == "1\nindex 5\n1\nindex 5\n24 100\n");
}

#endif
