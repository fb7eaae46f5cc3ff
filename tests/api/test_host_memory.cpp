// Memory of the process while scripts make long texts and many names under a limit of host memory.
#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <malloc.h>

#include "api/api.h"
#include "catch.h"

namespace tsl::api_test {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kMostGrowth = 1024 * kMiB;  // a sanitizer keeps what was freed
#else
constexpr uint64_t kMostGrowth = 160 * kMiB;
#endif

/// Returns a number of bytes that the system tells of this process.
uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != name + ":") continue;
    uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes << 10;
  }
  return 0;
}

/// Returns by how much the process grows at most while body() runs.
template <class Body> uint64_t peak_growth(Body&& body) {
  malloc_trim(0);
  const uint64_t before = status_bytes("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
  body();
  return status_bytes("VmHWM") - std::min(status_bytes("VmHWM"), before);
}

void ignore(void*, tsl_string) {}

void limit(tsl_config& config) {
  config.threads = 1;
  config.capabilities = TSL_ALLOW_COMPILE;
  config.memory_limit = 64 * kMiB;
  config.host_memory_limit = 64 * kMiB;
  config.output = ignore;
}

}  // namespace

TEST_CASE("a text under construction counts towards the limit of host memory", "[api][limits]") {
  const char* const programs[] = {
      "str([\"x\" * 1000000] * 3000)",
      "repr([\"x\" * 1000000] * 3000)",
      "print([\"x\" * 1000000] * 3000, 1)",
      "let s = [\"x\" * 1000000] * 3000\nf\"{s}\"",
      "join(([\"x\" * 1000000] * 3000), \",\")",
      "(\"a\" * 10000).replace(\"a\", \"x\" * 300000)",
      "(\"x\" * 1000000) * 200",
      "let s = \"x\" * 40000000\nf\"{s}{s}{s}{s}{s}{s}{s}{s}\"",
      "let s = \"x\" * 40000000\nf\"{s:>10}\"",
      "let s = \"x\" * 40000000\ns + s",
      "let a = [0] * 3000000\na + a",
      "{k: [\"\\n\" * 1000000] * 3000} |> str",
      "error([\"x\" * 1000000] * 3000)",
      "assert(false, [\"x\" * 1000000] * 3000)",
  };
  Fixture t(limit);
  for (const char* source : programs) {
    INFO(source);
    CHECK(peak_growth([&] { CHECK(t.run(std::string("try { ") + source + " } catch e { }") == TSL_LIMIT); }) <
          kMostGrowth);
    INFO(t.message());
    CHECK(t.message().find("bytes for strings, lists and records") != std::string::npos);
    CHECK(t.text(t.eval("len(\"x\" * 10000000)")) == "10000000");
  }
}

TEST_CASE("print writes a long text piece by piece", "[api][limits]") {
  uint64_t printed = 0;
  Fixture t([&](tsl_config& config) {
    limit(config);
    config.output = [](void* user, tsl_string text) { *static_cast<uint64_t*>(user) += text.length; };
    config.user = &printed;
  });
  CHECK(peak_growth([&] { CHECK(t.run("print([\"x\" * 1000000] * 300)\nprint(\"x\" * 40000000)") == TSL_OK); }) <
        kMostGrowth);
  CHECK(printed == 300 * 1'000'002 + 2 * 299 + 2 + 1 + 40'000'001);
}

TEST_CASE("the text of a result keeps the limit and the deadline", "[api][limits]") {
  Fixture t([](tsl_config& config) {
    limit(config);
    config.time_limit = 5;
  });
  const tsl_value value = t.eval("[\"x\" * 1000000] * 3000");
  tsl_string text = {};
  CHECK(peak_growth([&] { CHECK(tsl_to_text(t.engine, value, &text) == TSL_LIMIT); }) < kMostGrowth);
  CHECK(t.text(t.eval("[1, 2]")) == "[1, 2]");
}

TEST_CASE("names that no record and no code holds are freed", "[api][limits]") {
  const char* const uses[] = {
      "has(r, key)",
      "key in r",
      "try { r[key] } catch e { }",
      "var s = {}\ns[key] = i",
      "var s = {a: 1}\ns[key] = i\ns[key + \"b\"] = i\nr = s",
  };
  const auto program = [](const std::string& use, const std::string& end) {
    return "let long = \"x\" * 1000\nvar r = {a: 1}\nfor i in 0..30000 {\nlet key = long + str(i) + \"" + end + "\"\n" +
           use + " }\nr = nil";
  };
  Fixture t(limit);
  for (const char* use : uses) {
    INFO(use);
    CHECK(t.run(program(use, "first")) == TSL_OK);  // takes what such a run takes at a time
    CHECK(peak_growth([&] { CHECK(t.run(program(use, "second")) == TSL_OK); }) < 8 * kMiB);
  }
  const tsl_value record = t.eval("{a: 1}");
  const std::string name(1000, 'x');
  CHECK(peak_growth([&] {
          tsl_value value = {0};
          for (int i = 0; i < 30'000; ++i) {
            CHECK(tsl_get(t.engine, str(name + std::to_string(i)), &value) != TSL_OK);
            CHECK(tsl_get_field(t.engine, record, str(name + std::to_string(i)), &value) != TSL_OK);
          }
        }) < 8 * kMiB);
}

TEST_CASE("names that records hold count towards the limit of host memory", "[api][limits]") {
  Fixture t(limit);
  for (int i = 0; i < 5; ++i) {
    CHECK(peak_growth([&] {
            CHECK(t.run("let long = \"x\" * 10000\nvar r = {}\nvar i = 0\n"
                        "try { while true { i += 1\nr[long + str(i)] = i } } catch e { }") == TSL_LIMIT);
          }) < kMostGrowth);
    CHECK(t.run("var r = nil") == TSL_OK);
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
}

TEST_CASE("compiled plans that were used least recently are evicted by their bytes", "[api][limits]") {
  Fixture t(limit);
  const std::string function = "@compile\nfn f(x) {\nvar y = x\nfor i in 0..300 {\ny = sin(y) * 1.01\n}\nreturn y\n}\n";
  CHECK(t.run(function + "var n = 3\nf(ones([n]))\nf(ones([n + 1]))\nlet first = f(ones([2]))") == TSL_OK);
  CHECK(peak_growth([&] {
          for (int i = 0; i < 60; ++i) CHECK(t.run("n += 1\nf(ones([n]))") == TSL_OK);
        }) < 64 * kMiB);
  CHECK(t.text(t.eval("(f(ones([2])) == first).all().item()")) == "true");
}

TEST_CASE("texts that cannot be read are not kept", "[api][limits]") {
  Fixture t(limit);
  const std::string comment = "# " + std::string(1'000'000, 'x') + "\n";
  CHECK(t.run(comment + "let a = ") == TSL_SYNTAX);
  CHECK(peak_growth([&] {
          for (int i = 0; i < 100; ++i) CHECK(t.run(comment + "let a = ") == TSL_SYNTAX);
        }) < 32 * kMiB);
}

TEST_CASE("small values count what they take", "[api][limits]") {
  const char* const programs[] = {
      "while true { all += [x[1:]] }",
      "while true { all += [zeros([0])] }",
      "while true { all += [tensor(1.0)] }",
      "while true { all += [dict([])] }",
      "while true { all += [0..1] }",
      "while true { let k = i\nall += [fn() = k]\ni += 1 }",
      "while true { all += [vjp(fn(y) = sin(y) * y, x)] }",
      "while true { all += [grad(fn(y) = sum(y))] }",
      "split(expand(tensor(1.0), [10_000_000]), 1)",
      "stack([x] * 1_000_000)",
      "concat([x] * 1_000_000)",
      "str(expand(tensor(1.5), [4_000_000]), full: true)",
      "value_and_grad(fn(x) { var y = x\nwhile true { y = y + x }\nreturn sum(y) })(x)",
      "@compile\nfn f(x) { var y = [x]\nwhile true { y += [y[-1] * 2] }\nreturn y }\nf(x)",
      "while true { all += [[]] }",
      "while true { all += [{}] }",
  };
  Fixture t(limit);
  for (const char* program : programs) {
    INFO(program);
    CHECK(peak_growth([&] {
            CHECK(t.run("var all = []\nvar i = 0\nlet x = ones([10])\n" + std::string(program)) == TSL_LIMIT);
          }) < kMostGrowth);
    INFO(t.message());
    CHECK(t.run("all = nil") == TSL_OK);
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
}

TEST_CASE("the tree of a text counts while it is read", "[api][limits]") {
  constexpr size_t kBytes = 1'000'000;
  const char* const lines[] = {"x = 1\n",         "f(\n",          "-",    "a + ", "1,",
                               "[[1], {a: 2}], ", "fn f(n) = n\n", "# \n", "\"\" "};
  Fixture t(limit);
  for (const std::string line : lines) {
    INFO(line);
    std::string text;
    while (text.size() < kBytes) text += line;
    CHECK(peak_growth([&] { CHECK(t.run(text) != TSL_MEMORY); }) < kMostGrowth);
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
  std::string text = "let a = [";
  while (text.size() < 60'000) text += "1, ";
  CHECK(t.run(text + "]") == TSL_OK);
}

TEST_CASE("the trees of modules count, also while what they import runs", "[api][limits]") {
  // "m1" imports "m2", and so on up to 200, before its own lines; others have many lines.
  const auto load = [](void*, tsl_string name, tsl_string, tsl_write found, void* to) {
    const std::string which = text_of(name);
    const bool is_number = which.front() == 'm';
    std::string text = is_number && which != "m200" ? fmt::format("import m{}\n", std::stoi(which.substr(1)) + 1) : "";
    const size_t bytes = text.size() + (is_number ? 100'000 : 2'000'000);
    while (text.size() < bytes) text += "if true {}\n";
    found(to, {text.data(), text.size()});
    return true;
  };
  Fixture t([&](tsl_config& config) {
    limit(config);
    config.load_module = load;
  });
  for (const char* program : {"import large", "import m1"}) {
    INFO(program);
    CHECK(peak_growth([&] { CHECK(t.run(program) == TSL_LIMIT); }) < kMostGrowth);
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
}

TEST_CASE("functions that make many parts keep the limit of host memory", "[api][limits]") {
  const char* const programs[] = {
      "array_split(arange(10), 9223372036854775807)", "array_split(zeros([0]), 1_000_000_000)",
      "unstack(expand(ones([1]), [100_000_000]))",    "chunk(expand(ones([1]), [100_000_000]), 100_000_000)",
      "split(expand(ones([1]), [100_000_000]), 1)",   "list(0..9223372036854775807)",
      "(\"a,\" * 10_000_000).split(\",\")",           "expand(ones([1]), [100_000_000]).tolist()",
  };
  Fixture t(limit);
  for (const char* program : programs) {
    INFO(program);
    CHECK(peak_growth([&] { CHECK(t.run(program) == TSL_LIMIT); }) < kMostGrowth);
    INFO(t.message());
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
}

TEST_CASE("what is kept by size is bounded by bytes", "[api][limits]") {
  Fixture t(limit);
  CHECK(peak_growth([&] {
          CHECK(t.run("for i in 0..200 { fft(ones([200_003 + 2 * i])) }") == TSL_OK);
          CHECK(t.run("for i in 0..200 { irfft(ones([100_001 + i, 2])) }") == TSL_OK);
        }) < kMostGrowth);
  CHECK(peak_growth([&] { CHECK(t.run("let x = ones([60_000])\nfor i in 0..60_000 { exp(x[:i]) }") == TSL_OK); }) <
        kMostGrowth / 4);
  CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
}

TEST_CASE("after a limit the next text has room to free what took the memory", "[api][limits]") {
  const char* const programs[] = {
      "while true { all += [1] }",
      "all = \"x\"\nwhile true { all += all }",
      "all = map(fn(i) = i, 0..100_000_000)",
      "while true { all += [ones([1])] }",
      "var m = dict([])\nwhile true { m[i] = i\ni += 1 }",
      "var r = {}\nwhile true { r[str(i)] = i\ni += 1 }",
  };
  Fixture t(limit);
  for (const char* program : programs) {
    INFO(program);
    CHECK(t.run("var all = []\nvar i = 0\n" + std::string(program)) == TSL_LIMIT);
    INFO(t.message());
    CHECK(t.text(t.eval("1 + 1")) == "2");
    CHECK(t.run("all = nil\nvar m = nil\nvar r = nil") == TSL_OK);
    CHECK(t.text(t.eval("len(\"x\" * 40000000)")) == "40000000");
  }
}

}  // namespace tsl::api_test
