// Tests engines of the C API: running, limits, permissions, errors, handles that are none.
#include <chrono>
#include <functional>
#include <thread>

#include <nlohmann/json.hpp>

#include "api.h"

using namespace tsl::api_test;

TEST_CASE("a function of a script is called with the host's numbers", "[api]") {
  Fixture t;
  t.eval("fn f(x) = x * 2.0 + 1.0");
  const tsl_value x = t.number(20.5);
  tsl_value y = {0};
  REQUIRE(tsl_call(t.engine, t.get("f"), &x, 1, &y) == TSL_OK);
  double number = 0;
  REQUIRE(tsl_get_float(t.engine, y, &number) == TSL_OK);
  CHECK(number == 42);
}

TEST_CASE("a call with numbers makes no handles", "[api]") {
  Fixture t;
  t.eval(
      "fn f(a, b = 2.0) = a - b\nfn whole() = 7\nfn alone(x) = tensor(x)\nfn text(x) = \"a\"\nfn count(...xs) = "
      "len(xs)");
  const double numbers[] = {20.5, 0.5};
  double result = 0;
  REQUIRE(tsl_call_numbers(t.engine, t.get("f"), numbers, 2, &result) == TSL_OK);
  CHECK(result == 20);
  CHECK(tsl_call_numbers(t.engine, t.get("f"), numbers, 1, &result) == TSL_OK);
  CHECK(result == 18.5);
  CHECK(tsl_call_numbers(t.engine, t.get("whole"), nullptr, 0, &result) == TSL_OK);
  CHECK(result == 7);
  CHECK(tsl_call_numbers(t.engine, t.get("alone"), numbers, 1, &result) == TSL_OK);
  CHECK(result == 20.5);
  CHECK(tsl_call_numbers(t.engine, t.get("alone"), numbers, 1, nullptr) == TSL_OK);
  const std::vector<double> many(100, 1.0);
  CHECK(tsl_call_numbers(t.engine, t.get("count"), many.data(), many.size(), &result) == TSL_OK);
  CHECK(result == 100);
  CHECK(tsl_call_numbers(t.engine, t.get("text"), numbers, 1, &result) == TSL_MISUSE);
  CHECK(tsl_call_numbers(t.engine, t.get("f"), numbers, 0, &result) == TSL_TYPE);
  CHECK(tsl_call_numbers(t.engine, t.get("f"), nullptr, 1, &result) == TSL_MISUSE);
  CHECK(tsl_call_numbers(t.engine, t.get("f"), numbers, 1001, &result) == TSL_MISUSE);
}

TEST_CASE("arguments may be given by name", "[api]") {
  Fixture t;
  t.eval("fn f(a, b = 1.0, c = 2.0) = [a, b, c]");
  const tsl_value args[] = {t.number(5), t.number(7)};
  const tsl_string name = str("c");
  tsl_value result = {0};
  REQUIRE(tsl_call_named(t.engine, t.get("f"), args, 2, &name, 1, &result) == TSL_OK);
  CHECK(t.text(result) == "[5.0, 1.0, 7.0]");
}

TEST_CASE("variables of the host are visible in later runs, and of runs in the host", "[api]") {
  Fixture t;
  REQUIRE(tsl_set(t.engine, str("rate"), t.number(0.5)) == TSL_OK);
  CHECK(t.text(t.eval("rate * 4.0")) == "2.0");
  REQUIRE(tsl_set(t.engine, str("rate"), t.number(2)) == TSL_OK);
  CHECK(t.text(t.eval("rate = rate + 1.0; rate")) == "3.0");
  CHECK(t.text(t.get("rate")) == "3.0");
  tsl_value missing = {0};
  CHECK(tsl_get(t.engine, str("speed"), &missing) == TSL_NAME);
  CHECK(tsl_set(t.engine, str("x = 1; y"), t.number(2)) == TSL_NAME);
  CHECK(tsl_set(t.engine, str("while"), t.number(2)) == TSL_SYNTAX);
}

TEST_CASE("an assigned variable is seen by a compiled function", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  REQUIRE(tsl_set(t.engine, str("rate"), t.number(1)) == TSL_OK);
  t.eval("@compile\nfn f(x) = x * rate");
  for (const double rate : {1.0, 1.0, 3.0, 4.0}) {
    REQUIRE(tsl_set(t.engine, str("rate"), t.number(rate)) == TSL_OK);
    CHECK(t.text(t.eval("f(ones([2])).tolist()[0]")) == (rate == 1 ? "1.0" : rate == 3 ? "3.0" : "4.0"));
  }
}

TEST_CASE("what scripts print goes to the host", "[api]") {
  Fixture t;
  t.eval("print(\"hello\", 3)");
  CHECK(t.printed == "hello 3\n");
}

TEST_CASE("an error has its kind, place and calls", "[api]") {
  Fixture t;
  CHECK(t.run("fn inner(x) {\n  return x @ ones([3, 3])\n}\nfn outer(x) = inner(x)\nouter(ones([2, 2]))") == TSL_SHAPE);
  tsl_error error = {};
  REQUIRE(tsl_get_error(t.engine, &error) == TSL_OK);
  CHECK(error.kind == TSL_SHAPE);
  CHECK(text_of(error.file) == "test");
  CHECK(error.line == 2);
  CHECK(error.column == 12);  // the operator
  CHECK(error.end_column > error.column);
  REQUIRE(error.frames >= 2);
  tsl_frame frame = {};
  REQUIRE(tsl_get_frame(t.engine, 0, &frame) == TSL_OK);
  CHECK(text_of(frame.function) == "outer");
  CHECK(frame.line == 4);
  CHECK(tsl_get_frame(t.engine, error.frames, &frame) == TSL_MISUSE);
  tsl_string text = {};
  REQUIRE(tsl_get_error_text(t.engine, &text) == TSL_OK);
  CHECK(text_of(text).find("--> test:2:12") != std::string::npos);
  tsl_string name = {};
  REQUIRE(tsl_get_error_name(t.engine, &name) == TSL_OK);
  CHECK(text_of(name) == "matmul-mismatch");
  REQUIRE(tsl_get_error_json(t.engine, &text) == TSL_OK);
  const auto json = nlohmann::json::parse(text_of(text));
  CHECK(json["kind"] == "shape");
  CHECK(json["name"] == "matmul-mismatch");
  CHECK(json["line"] == 2);
  CHECK(json["frames"][0]["function"] == "outer");
}

TEST_CASE("of a thousand calls and more, JSON lists the innermost and the outermost", "[api]") {
  Fixture t;
  REQUIRE(t.run("fn f(n) { if n == 0 { error(\"end\") }\n  return 1 + f(n - 1) }\nfn outer() = f(1500)\nouter()") ==
          TSL_USER);
  tsl_string text = {};
  REQUIRE(tsl_get_error_json(t.engine, &text) == TSL_OK);
  const auto frames = nlohmann::json::parse(text_of(text))["frames"];
  REQUIRE(frames.size() == 1000);
  CHECK(frames[0]["function"] == "f");
  CHECK(frames[998]["function"] == "outer");
  CHECK(frames[999]["function"] == "<main>");
}

TEST_CASE("exit() of a script ends its run and not the process", "[api]") {
  Fixture t;
  CHECK(t.run("fn f() { try { exit(7) } catch e { } }\nprint(1)\nf()\nprint(2)") == TSL_EXIT);
  CHECK(t.printed == "1\n");
  int32_t code = 0;
  REQUIRE(tsl_get_exit_code(t.engine, &code) == TSL_OK);
  CHECK(code == 7);
  tsl_string name = {};
  REQUIRE(tsl_get_error_name(t.engine, &name) == TSL_OK);
  CHECK(text_of(name) == "program-exit");
  CHECK(t.run("error(\"no\")") == TSL_USER);
  REQUIRE(tsl_get_exit_code(t.engine, &code) == TSL_OK);
  CHECK(code == 0);
  CHECK(tsl_get_exit_code(t.engine, nullptr) == TSL_MISUSE);
  CHECK(t.run("exit()") == TSL_EXIT);
}

TEST_CASE("an engine without capabilities reaches nothing of the world around it", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = 0; });
  for (const char* call : {"input()", "read_text(\"-\")", "read_lines(\"-\")", "read_lines(\"/etc/passwd\")", "now()",
                           "env(\"PATH\")", "exists(\"/\")", "list_files()", "append_text(\"/tmp/tsl_no\", \"\")",
                           "load(\"x.csv\")", "sleep(0.01)", "mkdir(\"/tmp/tsl_no\")"}) {
    INFO(call);
    CHECK(t.run(call) == TSL_IO);
    CHECK(t.message().find("the host program does not allow") != std::string::npos);
  }
  CHECK(t.run("eprint(1)\nfrom_json(to_json([1, parse_time(\"2024-01-31\")]))") == TSL_OK);
}

TEST_CASE("the name of an error is there without an engine, and for misuse", "[api]") {
  Fixture t;
  tsl_string name = {};
  REQUIRE(tsl_get_error_name(t.engine, &name) == TSL_OK);
  CHECK(name.length == 0);  // no call has failed
  tsl_kind kind = TSL_KIND_NIL;
  CHECK(tsl_get_kind(t.engine, {0}, &kind) == TSL_MISUSE);
  REQUIRE(tsl_get_error_name(t.engine, &name) == TSL_OK);
  CHECK(text_of(name) == "misuse");
  tsl_config config;
  tsl_config_init(&config);
  config.device = tsl_str("tpu");
  tsl_engine none = {0};
  REQUIRE(tsl_engine_create(&config, &none) == TSL_DEVICE);
  REQUIRE(tsl_get_error_name({0}, &name) == TSL_OK);
  CHECK(text_of(name) == "unknown-device");
  CHECK(tsl_get_error_name(t.engine, nullptr) == TSL_MISUSE);
}

TEST_CASE("handles that are null, released or foreign are refused", "[api]") {
  Fixture t, other;
  tsl_kind kind = TSL_KIND_NIL;
  CHECK(tsl_get_kind(t.engine, {0}, &kind) == TSL_MISUSE);
  const tsl_value value = t.number(1);
  CHECK(tsl_get_kind(other.engine, value, &kind) == TSL_MISUSE);
  CHECK(tsl_get_kind(t.engine, value, nullptr) == TSL_MISUSE);
  CHECK(tsl_get_kind(t.engine, {value.id ^ 1}, &kind) == TSL_MISUSE);
  REQUIRE(tsl_release(t.engine, value) == TSL_OK);
  CHECK(tsl_get_kind(t.engine, value, &kind) == TSL_MISUSE);
  CHECK(tsl_release(t.engine, value) == TSL_MISUSE);
  CHECK(t.message().find("released") != std::string::npos);
  const tsl_value next = t.number(2);  // in the same slot
  CHECK(next.id != value.id);
  CHECK(tsl_get_kind(t.engine, value, &kind) == TSL_MISUSE);
  CHECK(tsl_release(t.engine, {0}) == TSL_OK);
}

TEST_CASE("engines that are null or destroyed are refused", "[api]") {
  tsl_engine engine = {0};
  CHECK(tsl_run(engine, str("a"), str("1"), nullptr) == TSL_MISUSE);
  REQUIRE(tsl_engine_create(nullptr, &engine) == TSL_OK);
  REQUIRE(tsl_engine_destroy(engine) == TSL_OK);
  CHECK(tsl_engine_destroy(engine) == TSL_MISUSE);
  CHECK(tsl_interrupt(engine) == TSL_MISUSE);
  CHECK(tsl_engine_create(nullptr, nullptr) == TSL_MISUSE);
  tsl_error error = {};
  REQUIRE(tsl_get_error({0}, &error) == TSL_OK);
  CHECK(text_of(error.message) == "'engine' is a null pointer");
}

TEST_CASE("a configuration is checked", "[api]") {
  tsl_engine engine = {0};
  tsl_config config = {};
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);  // no size
  tsl_config_init(&config);
  config.struct_size = sizeof config + 8;
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);
  tsl_config_init(&config);
  config.capabilities = 1u << 20;
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);
  tsl_config_init(&config);
  config.time_limit = -1;
  CHECK(tsl_engine_create(&config, &engine) == TSL_MISUSE);
  tsl_config_init(&config);
  config.device = str("cuda");  // without TSL_ALLOW_GPU
  CHECK(tsl_engine_create(&config, &engine) == TSL_DEVICE);
  CHECK(engine.id == 0);
}

TEST_CASE("without capabilities, scripts reach no files, no clock and no GPU", "[api]") {
  Fixture t;
  for (const char* source :
       {"load(\"a.npy\")", "save(\"a.npy\", ones([2]))", "read_text(\"/etc/passwd\")", "write_text(\"a\", \"b\")",
        "import \"./a.tsl\" as a", "import missing", "clock()", "bench(fn() = 1)"}) {
    INFO(source);
    CHECK(t.run(source) == TSL_IO);
    CHECK(t.message().find("the host program does not allow") == 0);
  }
  CHECK(t.run("ones([2]).to(\"cuda\")") == TSL_DEVICE);
  CHECK(t.run("import nn\nnn.relu(ones([2]))") == TSL_OK);
}

TEST_CASE("with capabilities, scripts reach files and the clock", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_FILES | TSL_ALLOW_CLOCK; });
  CHECK(t.run("clock()") == TSL_OK);
  CHECK(t.run("load(\"there is no such file.npy\")") == TSL_IO);
  CHECK(t.message().find("does not allow") == std::string::npos);
}

TEST_CASE("a run ends at its limits, which no script can catch, and the engine remains usable", "[api]") {
  SECTION("steps") {
    Fixture t([](tsl_config& config) { config.step_limit = 1000; });
    CHECK(t.run("while true { try { while true { } } catch e { } }") == TSL_LIMIT);
    CHECK(t.run("fn f(n) = if n == 0 { 0 } else { f(n - 1) }\nf(2000)") == TSL_LIMIT);
    CHECK(t.text(t.eval("var n = 0\nfor i in 0..900 { n += 1 }\nn")) == "900");
    CHECK(t.text(t.eval("for i in 0..900 { n += 1 }\nn")) == "1800");  // each run has its own
  }
  SECTION("time") {
    Fixture t([](tsl_config& config) { config.time_limit = 0.05; });
    const auto begin = std::chrono::steady_clock::now();
    CHECK(t.run("while true { }") == TSL_LIMIT);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    CHECK(t.text(t.eval("1 + 1")) == "2");
  }
  SECTION("memory") {
    Fixture t([](tsl_config& config) { config.memory_limit = 1 << 20; });
    CHECK(t.run("zeros([1000, 1000])") == TSL_MEMORY);
    CHECK(t.run("zeros([100, 1000])") == TSL_OK);
  }
  SECTION("source") {
    Fixture t([](tsl_config& config) { config.source_limit = 10; });
    CHECK(t.run("1 + 1 + 1 + 1") == TSL_LIMIT);
    CHECK(t.run("1 + 1") == TSL_OK);
  }
}

TEST_CASE("another thread interrupts a run", "[api]") {
  Fixture t;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tsl_interrupt(t.engine);
  });
  CHECK(t.run("while true { try { while true { } } catch e { } }") == TSL_INTERRUPT);
  other.join();
  CHECK(t.text(t.eval("1 + 1")) == "2");
}

TEST_CASE("an engine is refused to a second thread while it runs", "[api]") {
  Fixture t;
  std::atomic<bool> is_running{false};
  tsl_define(
      t.engine, str("hold()"), str(""),
      [](tsl_engine engine, void* user, const tsl_value*, size_t, tsl_value*) {
        *static_cast<std::atomic<bool>*>(user) = true;
        tsl_status status = TSL_OK;
        std::thread([&] { status = tsl_run(engine, str("b"), str("1"), nullptr); }).join();
        return status == TSL_MISUSE ? TSL_OK : tsl_fail(engine, TSL_USER, str("two threads"));
      },
      &is_running, nullptr);
  CHECK(t.run("hold()") == TSL_OK);
  CHECK(is_running);
}
