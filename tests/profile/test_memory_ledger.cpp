// Tests who is said to hold memory: at the peak, over time, and when there is none left.
#include <algorithm>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "backend/cpu/memory.h"
#include "profile/memory_ledger.h"
#include "support/contains.h"
#include "support/pretend_gpu.h"
#include "support/session.h"

using namespace tsl;
using report::DeviceMemory;
using report::MemoryHolder;
using report::MemorySamples;

namespace {

EngineOptions profiled_run(bool compile_all = false) {
  EngineOptions options;
  options.profile = true;
  options.compile_all = compile_all;
  return options;
}

/// Returns the lines of the table of memory in a profile of a program.
std::string memory_of(Session& s, const std::string& program) {
  s.output(program);
  const std::string text = s.engine.profile_text("test.tsl", false);
  const size_t begin = text.find("memory at the peak");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

/// Returns the line of a table that has a part, without repeated spaces.
std::string row(const std::string& table, const std::string& part) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!contains(line, part)) continue;
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  return "";
}

/// Memory of blocks that are asked for by ops "a", "b" and so on.
struct Blocks {
  cpu::CachingAllocator cache;
  DeviceMemory memory{cache, [] { return Origin(); }, 100};
  Ref<Storage> make(const char* what, uint64_t bytes) { return cache.allocate(bytes, {.what = what}); }
  /// Formats the holders at the peak: "a 100/2, b 50/1".
  std::string peak() const {
    std::string text = std::to_string(memory.peak()) + ":";
    for (const MemoryHolder& holder : memory.at_peak())
      text += fmt::format(" {} {}/{}", holder.what, holder.at_peak.bytes, holder.at_peak.blocks);
    return text;
  }
};

}  // namespace

TEST_CASE("who held memory at the peak is known exactly, whatever comes after it", "[memory]") {
  Blocks t;
  Ref<Storage> a = t.make("a", 100);
  {
    const Ref<Storage> b = t.make("b", 1000), again = t.make("b", 50);
    CHECK(t.peak() == "1150: b 1050/2 a 100/1");
  }
  CHECK(t.peak() == "1150: b 1050/2 a 100/1");
  a = nullptr;
  const Ref<Storage> c = t.make("c", 1149);
  CHECK(t.peak() == "1150: b 1050/2 a 100/1");
  const Ref<Storage> d = t.make("a", 2);
  CHECK(t.peak() == "1151: c 1149/1 a 2/1");
  CHECK(t.memory.peak() == t.cache.stats().peak_bytes);
}

TEST_CASE("a peak within a peak is one of its own, and counts for the outer one", "[memory]") {
  Blocks t;
  { const Ref<Storage> a = t.make("a", 500); }
  const DeviceMemory::Peak small = t.memory.begin_peak();
  { const Ref<Storage> b = t.make("b", 300); }
  CHECK(t.peak() == "300: b 300/1");
  t.memory.end_peak(small);
  CHECK(t.peak() == "500: a 500/1");
  const DeviceMemory::Peak large = t.memory.begin_peak();
  { const Ref<Storage> b = t.make("b", 700); }
  t.memory.end_peak(large);
  CHECK(t.peak() == "700: b 700/1");
}

TEST_CASE("what was allocated before it was watched is a row of its own", "[memory]") {
  cpu::CachingAllocator cache;
  Ref<Storage> before = cache.allocate(1000);
  DeviceMemory memory(
      cache, [] { return Origin(); }, 0);
  const Ref<Storage> after = cache.allocate(10, {.what = "a"});
  REQUIRE(memory.at_peak().size() == 2);
  CHECK(memory.at_peak()[0].at_peak.bytes == 1000);
  before = nullptr;
  CHECK(memory.live() == 10);
  CHECK(memory.peak() == 1010);
}

TEST_CASE("samples are bounded, and keep the peak and the end", "[memory]") {
  constexpr size_t kMost = 1000;
  MemorySamples samples(kMost);
  uint64_t ticks = 0;
  for (uint64_t i = 0; i < 10 * kMost; ++i) samples.add(ticks += 1500, i == 777 ? 1'000'000 : i % 100);
  samples.add(ticks + 1, 42);
  CHECK(samples.all().size() <= kMost);
  CHECK(samples.all().size() > kMost / 8);
  uint64_t most = 0, last_at = 0;
  for (const MemorySamples::Sample& sample : samples.all()) {
    most = std::max(most, sample.most);
    CHECK(sample.most_at >= last_at);
    CHECK(sample.last_at >= sample.most_at);
    last_at = sample.last_at;
  }
  CHECK(most == 1'000'000);
  CHECK(samples.all().back().last == 42);
}

TEST_CASE("the memory at the peak names line, op and variable", "[memory]") {
  Session s(profiled_run());
  const std::string table = memory_of(s,
                                      "let small = ones([1024])\n"
                                      "fn f(x) {\n"
                                      "  let big = x @ x\n"
                                      "  let params = { w1: big * 2.0, l: [big + 1.0] }\n"
                                      "  let s = sum(big)\n"
                                      "  return s + sum(params.w1 + params.l[0])\n"
                                      "}\n"
                                      "let x = ones([512, 512])\n"
                                      "print(f(x) > 0.0)\n"
                                      "print(counters().memory_peak)\n"
                                      "print(x[0, 0], small[0])");
  INFO(table);
  CHECK(row(table, "test.tsl:3") == "1.0 MiB 1 test.tsl:3 matmul big");
  CHECK(row(table, "test.tsl:4") == "1.0 MiB 1 test.tsl:4 mul params.w1");
  CHECK(row(table, "params.l[0]") == "1.0 MiB 1 test.tsl:4 add params.l[0]");
  CHECK(row(table, "test.tsl:8") == "1.0 MiB 1 test.tsl:8 fill x");
  CHECK(row(table, "test.tsl:1 ") == "4.0 KiB 1 test.tsl:1 fill small");
  const size_t line = s.printed.find('\n') + 1;
  CHECK(contains(table, "memory at the peak of cpu: " + describe_bytes(std::stoull(s.printed.substr(line)))));
}

TEST_CASE("compiled code's outputs have their lines, and its arena its region", "[memory]") {
  Session s(profiled_run());
  const std::string table = memory_of(s,
                                      "@compile\n"
                                      "fn f(x) {\n"
                                      "  let y = sum(x @ x, axis: 0)\n"
                                      "  return (x @ (x * y)) @ x\n"
                                      "}\n"
                                      "let x = ones([256, 256])\n"
                                      "let out = f(x)\n"
                                      "let more = out[0, 0] + 1.0\n"
                                      "print(out[0, 1])");
  INFO(table);
  CHECK(contains(row(table, "arena"), "arena in f:2#0"));
  CHECK(row(table, "matmul in f:2#0") == "256.0 KiB 1 test.tsl:4 matmul in f:2#0 out");
}

TEST_CASE("profile(f) has a peak of its own", "[memory]") {
  EngineOptions options;
  Session s(options);
  std::string log;
  s.engine.log = [&log](std::string_view text) { log += text; };
  s.output(
      "let before = ones([1000, 1000])\nlet after = profile(fn() = ones([64, 64]) + before[0, 0])\n"
      "print(sum(after))");
  INFO(log);
  CHECK(contains(log, "memory at the peak of cpu: 3.8 MiB"));
  CHECK(row(log, "in use before") == "3.8 MiB in use before");
  CHECK(contains(row(log, "16.0 KiB"), "test.tsl:2 fill"));
}

TEST_CASE("the counter of memory in a trace ends at what is live", "[memory]") {
  EngineOptions options = profiled_run();
  options.trace_events = 1000;
  Session s(options);
  s.output("var x = ones([1000])\nfor i in 0..100 { x = x * 2.0 + 1.0 }\nfn keep() = x\nprint(counters().memory)");
  const std::string path = "memory_trace.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  std::remove(path.c_str());
  uint64_t last = 0, most = 0;
  double at = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    CHECK(event["name"] == "memory of cpu");
    const double ts = event["ts"];
    CHECK(ts >= at);
    at = ts;
    last = event["args"]["bytes"];
    most = std::max(most, last);
  }
  CHECK(std::to_string(last) + "\n" == s.printed);
  CHECK(most >= 8000);
}

TEST_CASE("an error for lack of memory names who holds it and what asked", "[memory]") {
  EngineOptions options;
  options.device = "cpu";
  options.backend.memory_limit = 8 << 20;
  Session s(options);
  const Error error = s.error(
      "let params = { w1: ones([1024, 512]), w2: ones([512, 512]) }\n"
      "fn f(x) {\n"
      "  let y = x * 2.0\n"
      "  return [y + 1.0, y - 1.0,\n"
      "          y @ y, x]\n"
      "}\n"
      "let big = f(ones([512, 1024])[:, :512])\n");
  INFO(render(error, s.engine.sources()));
  CHECK(contains(error.message, "out of memory: 1.0 MiB asked for"));
  REQUIRE(error.notes.size() >= 4);
  CHECK(error.notes[0] == "1.0 MiB asked for by `matmul`: f32[512, 512]");
  CHECK(error.notes[1] == "3.0 MiB in `params` (test.tsl:1): 2 tensors, of which params.w1 is f32[1024, 512]");
  CHECK(error.notes[2] == "2.0 MiB in `x` (test.tsl:2): f32[512, 512]");
  CHECK(error.notes[3] == "1.0 MiB in `y` (test.tsl:3): f32[512, 512]");
  CHECK(s.line_of(error) == 5);
}

TEST_CASE("memory without a variable is that of ops, if a profile is on", "[memory]") {
  EngineOptions options = profiled_run();
  options.device = "cpu";
  options.backend.memory_limit = 8 << 20;
  const std::string program =
      "fn f(x) {\n  return [x + 1.0, x * 2.0,\n          ones([1000, 2000])]\n}\nf(ones([1024, 512]))";
  Session s(options);
  const std::vector<std::string> known = s.error(program).notes;
  INFO(fmt::format("{}", fmt::join(known, "\n")));
  REQUIRE(known.size() == 4);
  CHECK(known[1] == "4.0 MiB in values without a variable");
  CHECK(known[2] == "  2.0 MiB of it made by add (test.tsl:2)");
  CHECK(known[3] == "  2.0 MiB of it made by fill (test.tsl:5)");  // x * 2.0 overwrites it
  options.profile = false;
  Session other(options);
  const std::vector<std::string> unknown = other.error(program).notes;
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[1] == "4.0 MiB in values without a variable; run with --profile to see what made them");
}

TEST_CASE("each device has its own peak", "[memory]") {
  EngineOptions options = profiled_run();
  options.open_backend = [](Device device, exec::Backend& host) {
    return std::make_unique<PretendGpu>(device, host, false);
  };
  Session s(options);
  s.output("let x = ones([1000])\nlet y = x.to(\"cpu\") * 2.0\nlet z = x + 1.0\nprint(y[0] + z.to(\"cpu\")[0])");
  const std::string text = s.engine.profile_text("test.tsl", false);
  INFO(text);
  CHECK(contains(text, "memory at the peak of cpu: "));
  CHECK(contains(text, "memory at the peak of cuda:0: "));
  CHECK(contains(row(text.substr(text.find("peak of cuda:0")), "test.tsl:1"), "3.9 KiB 1 test.tsl:1 fill x"));
}
