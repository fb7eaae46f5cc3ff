// Tests counters(): exact numbers where they depend on what is compiled.
#include "support/session.h"

using namespace tsl;

namespace {

/// Returns how much `work` adds to a counter such as `kernels`, after `before` has run.
std::string added(const std::string& counter, const std::string& before, const std::string& work, bool compile) {
  EngineOptions options;
  options.compile_annotated = compile;
  Session session(options);
  return session.eval("@compile\nfn chain(a, b) = exp(a * b + a) * 2.0\nlet x = rand([10])\nlet y = rand([20])\n" +
                      before + "\nlet start = counters()\n" + work + "\ncounters()." + counter + " - start." + counter);
}

}  // namespace

TEST_CASE("kernels are counted as they are launched") {
  CHECK(added("kernels", "", "let z = chain(x, x)", false) == "4");
  CHECK(added("kernels", "", "let z = chain(x, x)", true) == "1");
  CHECK(added("kernels", "for i in 0..3 { chain(x, x) }", "for i in 0..10 { chain(x, x) }", true) == "10");
}

TEST_CASE("traces are counted, and those for other circumstances") {
  CHECK(added("traces", "", "chain(x, x)\nchain(x, x)", false) == "0");
  CHECK(added("traces", "", "chain(x, x)\nchain(x, x)", true) == "1");
  CHECK(added("retraces", "", "chain(x, x)\nchain(x, x)", true) == "0");
  CHECK(added("traces", "chain(x, x)", "chain(f64(x), x)\nchain(f64(x), x)", true) == "1");
  CHECK(added("retraces", "chain(x, x)", "chain(f64(x), x)\nchain(f64(x), x)", true) == "1");
}

TEST_CASE("parts of an extent that has varied are not traced again for other extents") {
  for (const char* parts : {"roll(x, 3, axis: 1)", "split(x, [x.shape[1] // 2, (x.shape[1] + 1) // 2], axis: 1)",
                            "split(x, (x.shape[1] + 2) // 3, axis: 1)"}) {
    CAPTURE(parts);
    const std::string function = std::string("@compile\nfn f(x) = ") + parts + "\n";
    CHECK(added("traces", function + "f(ones([2, 13]))\nf(ones([2, 14]))",
                "for n in [15, 16, 17, 18] { f(ones([2, n])) }", true) == "0");
  }
}

TEST_CASE("a warm program copies nothing and takes no memory from the system") {
  const std::string warm = "for i in 0..5 { chain(x, x) }", run = "for i in 0..100 { chain(x, x) }";
  for (const char* counter : {"bytes_to_device", "bytes_to_host", "bytes_on_device", "driver_allocations",
                              "kernels_compiled", "kernels_from_disk", "memory", "traces"}) {
    CAPTURE(counter);
    CHECK(added(counter, warm, run, true) == "0");
  }
}

TEST_CASE("memory in use is what tensors hold") {
  const int64_t bytes = std::stoll(added("memory", "", "let kept = zeros([1000])", true));
  CHECK(bytes >= 4000);
  CHECK(bytes < 4000 * 3 / 2);
}

TEST_CASE("memory counts what tensors asked for, not the blocks that hold it") {
  // Blocks of some megabytes are up to a sixteenth larger, and no process may have touched that.
  const int64_t elements = 4'300'000;
  const std::string bytes = added("memory", "", fmt::format("let kept = zeros([{}])", elements), true);
  CHECK(std::stoll(bytes) == elements * 4);
  const std::string peak = added("memory_peak", "", fmt::format("var kept = zeros([{}]); kept = 0", elements), true);
  CHECK(std::stoll(peak) <= elements * 4);
  CHECK(std::stoll(peak) > elements * 4 - 10'000);
}
