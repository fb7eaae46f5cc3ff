// Tests the C++ header over the C API. It must not see the library's own headers, whose names are others.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "catch.h"
#include "tsl/tsl.hpp"

TEST_CASE("a call from C++ converts numbers, strings and spans", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.run("fn f(x) = x * 2.0 + 1.0\nfn name(a, b) = f\"{a}/{b}\"\nfn total(x) = sum(x)").value();
  CHECK(engine.call<double>("f", 20.5).value() == 42);
  CHECK(engine.call<std::string>("name", "a", true).value() == "a/true");
  const std::vector<float> numbers = {1, 2, 3};
  CHECK(engine.call<tsl::Tensor>("total", numbers).value().read<float>().value() == std::vector<float>{6});
  CHECK_FALSE(engine.call<double>("name", 1, 2));
  CHECK_FALSE(engine.call<double>("missing"));
}

TEST_CASE("an error in C++ has the script's message and place", "[api]") {
  auto engine = tsl::Engine::create().value();
  const auto result = engine.run("let a = 1\nerror(\"no\")", "demo");
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == TSL_USER);
  CHECK(result.error().name == "user-error");
  CHECK(result.error().message == "no");
  CHECK(result.error().file == "demo");
  CHECK(result.error().line == 2);
  CHECK(tsl::Engine::create({.device = "cuda"}).error().kind == TSL_DEVICE);
  CHECK(tsl::Value().as<double>().error().kind == TSL_MISUSE);
  CHECK(tsl::Value().as<double>().error().name == "misuse");
}

TEST_CASE("lambdas are functions of scripts, and their exceptions errors", "[api]") {
  std::string printed;
  auto engine = tsl::Engine::create({.output = [&](std::string_view text) { printed += text; }}).value();
  int calls = 0;
  engine.def("plus(a: float | int, b: float | int)", [&calls](double a, double b) { return ++calls, a + b; }).value();
  engine.def("note(text: str)", [&printed](const std::string& text) { printed += text; }).value();
  engine.def("fails()", []() -> double { throw std::runtime_error("a reason"); }).value();
  engine
      .def("doubled(x: f32[n])",
           [](const tsl::Tensor& x) {
             auto numbers = x.read<float>().value();
             for (float& each : numbers) each *= 2;
             return numbers;
           })
      .value();
  CHECK(engine.run("plus(1, 2.5)").value().as<double>().value() == 3.5);
  engine.def("length(text: str)", [](std::string_view text) { return text.size(); }).value();
  CHECK(engine.get("length").value().as<std::string_view>().error().kind == TSL_MISUSE);
  CHECK(engine.run("length(\"ab\" + \"cd\")").value().as<int>().value() == 4);
  engine.run("note(\"hello \")\nprint(doubled(ones([2])).tolist())").value();
  CHECK(printed == "hello [2.0, 2.0]\n");
  CHECK(engine.run("fails()").error().message == "a reason");
  CHECK(engine.run("plus(\"a\", 1)").error().kind == TSL_TYPE);
  CHECK(calls == 1);
  engine.def("call(f: fn)", [&engine](const tsl::Value& f) { return engine.call(f).value(); }).value();
  const tsl::Error ended = engine.run("try { call(fn() = exit(3)) } catch e { }").error();  // which no script catches
  CHECK((ended.kind == TSL_EXIT && ended.exit_code == 3));
}

namespace {

struct Counter {
  explicit Counter(int* alive) : alive(alive) { ++*alive; }
  ~Counter() { --*alive; }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  int* alive;
  int count = 0;
};

}  // namespace

TEST_CASE("objects of C++ are values of scripts, and are deleted with the last reference", "[api]") {
  int alive = 0;
  {
    auto engine = tsl::Engine::create().value();
    CHECK(engine.make(std::make_unique<Counter>(&alive)).error().kind == TSL_MISUSE);  // its type is not defined yet
    CHECK(alive == 0);
    engine.type<Counter>("Counter").value();
    engine.type<std::string>("Text").value();
    engine.def("counter()", [&alive] { return std::make_unique<Counter>(&alive); }).value();
    engine.def("next(c: Counter)", [](Counter* c) { return ++c->count; }).value();
    engine.def("current(c: any)", [](const Counter* c) { return c->count; }).value();
    engine.run("let c = counter()\nnext(c)\nnext(c)").value();
    CHECK(engine.get("c").value().foreign<Counter>().value()->count == 2);
    CHECK(engine.get("c").value().foreign<std::string>().error().kind == TSL_MISUSE);
    CHECK(engine.run("current(c)").value().as<int>().value() == 2);
    CHECK(engine.run("next(1)").error().kind == TSL_TYPE);
    CHECK(engine.run("\ncurrent(1)").error().line == 2);
    CHECK(alive == 1);
    engine.run("for i in 0..10 { next(counter()) }").value();
    CHECK(alive == 1);
    engine.set("given", engine.make(std::make_unique<Counter>(&alive)).value()).value();
    CHECK(engine.run("next(given)").value().as<int>().value() == 1);
    CHECK(alive == 2);
  }
  CHECK(alive == 0);
}

TEST_CASE("values are counted, and engines move", "[api]") {
  auto first = tsl::Engine::create().value();
  tsl::Value list = first.run("[1, [2, \"three\"], {four: 4}]").value();
  const tsl::Value copy = list;
  list = tsl::Value();
  CHECK(copy.size() == 3);
  CHECK(copy[1].value()[1].value().as<std::string>().value() == "three");
  CHECK(copy[2].value()["four"].value().as<int>().value() == 4);
  CHECK(copy[2].value()["five"].error().kind == TSL_NAME);
  tsl::Engine second = std::move(first);
  CHECK(copy.text() == "[1, [2, \"three\"], {four: 4}]");
  second = tsl::Engine::create().value();  // ends the engine of the values
  CHECK(copy.size() == 0);
}

TEST_CASE("wrapped spans are read without a copy", "[api]") {
  auto engine = tsl::Engine::create().value();
  std::vector<double> numbers = {1, 2, 3, 4, 5, 6};
  const tsl::Tensor x = engine.wrap(std::span(numbers), {2, 3}).value();
  const void* data = nullptr;
  REQUIRE(tsl_tensor_map(engine.handle(), x.handle(), &data) == TSL_OK);
  CHECK(data == numbers.data());
  engine.run("fn rows(x: f64[n, m]) = sum(x, axis: 1)").value();
  CHECK(engine.call<tsl::Tensor>("rows", x).value().read<double>().value() == std::vector<double>{6, 15});
  CHECK(engine.wrap(std::span(numbers), {2, 2}).error().kind == TSL_SHAPE);
}

TEST_CASE("results are viewed without a copy, with their strides", "[api]") {
  auto engine = tsl::Engine::create().value();
  const auto x = engine.run("arange(6, dtype: f32).reshape([2, 3])").value().as<tsl::Tensor>().value();
  auto view = x.view<float>().value();
  CHECK(view.rank() == 2);
  CHECK(view.extent(1) == 3);
  CHECK(view(1, 2) == 5);
  const auto turned =
      engine.run("arange(6, dtype: f32).reshape([2, 3]).transpose(0, 1)").value().as<tsl::Tensor>().value();
  auto columns = turned.view<float>().value();
  CHECK(columns(2, 1) == 5);
  CHECK_FALSE(columns.is_contiguous());
  CHECK(turned.span<float>().error().kind == TSL_VALUE);
  CHECK(x.view<double>().error().kind == TSL_TYPE);

  CHECK(engine.run("~zeros([1], dtype: u64)").value().as<tsl::Tensor>().value().read<uint64_t>().value() ==
        std::vector<uint64_t>{UINT64_MAX});
  engine.run("fn same(x) = x").value();
  const std::vector<uint16_t> small = {1, 65535};
  CHECK(engine.call<tsl::Tensor>("same", small).value().read<uint16_t>().value() == small);
  const std::vector<uint32_t> wide = {1, 4294967295u};
  CHECK(engine.call<tsl::Tensor>("same", wide).value().read<uint32_t>().value() == wide);
  auto span = engine.run("ones([4], dtype: i32) * 3").value().as<tsl::Tensor>().value().span<int32_t>().value();
  engine.run("zeros([4], dtype: i32)").value();  // the span keeps its memory from being used again
  int total = 0;
  for (const int32_t each : span) total += each;
  CHECK(total == 12);
}

TEST_CASE("tensors of C++ go to other frameworks and come back", "[api]") {
  auto engine = tsl::Engine::create().value();
  std::vector<float> numbers = {1, 2, 3};
  const tsl::Tensor x = engine.wrap(std::span(numbers), {3}).value();
  const tsl::Tensor y = tsl::Tensor::from_dlpack(engine.handle(), x.to_dlpack().value()).value();
  CHECK(y.view<float>().value().data() == numbers.data());
  CHECK(tsl::Tensor::from_dlpack(engine.handle(), nullptr).error().kind == TSL_MISUSE);
}

TEST_CASE("modules, logs and reports of C++ are texts", "[api]") {
  std::string logged;
  auto engine =
      tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE,
                           .diagnostics = [&](std::string_view text) { logged += text; },
                           .logs = "graph",
                           .load_module = [](std::string_view name, std::string_view) -> std::optional<std::string> {
                             if (name != "rules") return std::nullopt;
                             return "@compile\nfn rule(x) = x * 2.0";
                           }})
          .value();
  engine.explain().value();
  engine.start_profile().value();
  CHECK(engine.start_profile().error().kind == TSL_MISUSE);
  engine.run("import rules\nfor i in 0..3 { rules.rule(ones([4])) }").value();
  CHECK(engine.stop_profile().value().find("rule") != std::string::npos);
  CHECK(engine.explain().value().find("rule") != std::string::npos);
  CHECK(logged.find("[graph] rule:") != std::string::npos);
  CHECK(engine.run("import others").error().kind == TSL_IO);
}

TEST_CASE("a host shows how far a loop is", "[api]") {
  std::string line;
  tsl::Engine engine = tsl::Engine::create({.progress = [&line](std::string_view text) { line += text; }}).value();
  engine.run("for i in progress(0..3) { i }").value();
  CHECK(line.find("3/3") != std::string::npos);
  CHECK(line.ends_with("\n"));
}

TEST_CASE("C++ asks about sources that are being written", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.run("fn scaled(x, by) = x * by").value();
  CHECK(engine.check("scaled(1, 2)").value() == "[]");
  CHECK(engine.check("scaled(1)", "a.tsl").value().find("\"file\": \"a.tsl\"") != std::string::npos);
  CHECK(engine.complete("scal", 4).value().find("\"text\":\"scaled\"") != std::string::npos);
  CHECK(engine.complete("scal", 5).error().kind == TSL_MISUSE);
  CHECK_FALSE(engine.is_complete("scaled(").value());
  CHECK(engine.format("let x=1").value() == "let x = 1\n");
  CHECK(engine.format("let", "b.tsl").error().file == "b.tsl");
  CHECK(engine.run("ones([2])").value().display() == "f32[2] on cpu\n[1. 1.]");
}

TEST_CASE("lists, tuples and records are made of values of C++", "[api]") {
  auto engine = tsl::Engine::create().value();
  CHECK(engine.list(1, 2.5, "a", true, nullptr).value().text() == "[1, 2.5, \"a\", true, nil]");
  CHECK(engine.tuple().value().text() == "()");
  CHECK(engine.make(std::tuple(1, std::string("b"))).value().text() == "(1, \"b\")");
  CHECK(engine.make(std::vector<std::string>{"a", "b"}).value().text() == "[\"a\", \"b\"]");
  CHECK(engine.make(std::vector<std::vector<std::string>>{{"a"}, {}}).value().text() == "[[\"a\"], []]");
  CHECK(engine.make(std::map<std::string, int>{{"a", 1}, {"b", 2}}).value().text() == "{a: 1, b: 2}");
  const tsl::Value inner = engine.list(1).value();
  CHECK(engine.record(tsl::named("a", inner), tsl::named("b", std::vector<float>{1, 2})).value().text() ==
        "{a: [1], b: f32[2] [1. 2.]}");
  CHECK(engine.record(tsl::named("a", 1), tsl::named("a", 2)).error().kind == TSL_VALUE);
  CHECK(engine.list(std::string("\xff")).error().kind == TSL_VALUE);
  CHECK(engine.make(UINT64_MAX).error().kind == TSL_VALUE);
  engine.run("fn first(xs) = xs[0]").value();
  CHECK(engine.call<int>("first", std::tuple(7, 8)).value() == 7);
  engine.def("pair(n: int)", [](int n) { return std::vector<std::string>{"n", std::to_string(n)}; }).value();
  CHECK(engine.run("pair(3)").value().text() == "[\"n\", \"3\"]");
}

TEST_CASE("maps are made and read in C++", "[api]") {
  auto engine = tsl::Engine::create().value();
  const tsl::Value map = engine.make(std::map<int, std::string>{{1, "a"}, {2, "b"}}).value();
  CHECK(map.text() == "[1: \"a\", 2: \"b\"]");
  CHECK(map.kind() == TSL_KIND_MAP);
  CHECK(map.size() == 2);
  CHECK(map.key(1).value().as<int64_t>().value() == 2);
  CHECK(map[1].value().as<std::string>().value() == "b");
  CHECK(map.at(engine.make(1).value()).value().as<std::string>().value() == "a");
  CHECK(map.at(engine.make(3).value()).error().kind == TSL_INDEX);
  CHECK(engine.map(std::map<std::string, int>{{"a", 1}}).value().text() == "[\"a\": 1]");
  CHECK(engine.make(std::map<double, int>{{std::nan(""), 1}}).error().kind == TSL_TYPE);
}

TEST_CASE("arguments are given by name", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.run("fn f(a, b = 10, c = 100) = a - b + c").value();
  CHECK(engine.call<int>("f", 1, tsl::named("c", 0)).value() == -9);
  CHECK(engine.call<int>("f", tsl::named("c", 0), tsl::named("a", 5), tsl::named("b", 1)).value() == 4);
  CHECK(engine.call<int>("f", tsl::named("a", 1), 2).error().kind == TSL_MISUSE);
  CHECK(engine.call<int>("f", 1, tsl::named("d", 2)).error().kind == TSL_TYPE);
}

TEST_CASE("a tensor of rank 0 is a number", "[api]") {
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
  engine.run("@compile\nfn mean_of(x) = mean(x)").value();
  CHECK(engine.call<double>("mean_of", std::vector<float>{1, 2}).value() == 1.5);
  CHECK(engine.run("tensor(3)").value().as<int>().value() == 3);
  CHECK(engine.run("tensor(3)").value().as<double>().value() == 3);
  CHECK(engine.run("tensor(true)").value().as<bool>().value());
  CHECK(engine.run("tensor(2.5)").value().as<int>().error().kind == TSL_MISUSE);
  CHECK(engine.run("tensor([2.5])").value().as<double>().error().kind == TSL_MISUSE);
  CHECK(engine.run("tensor(3)").value().kind() == TSL_KIND_TENSOR);
}

TEST_CASE("an error of C++ has calls, hints and notes", "[api]") {
  auto engine = tsl::Engine::create().value();
  const auto result = engine.run("fn inner(x) = x.lenght\nfn outer(x) {\n  inner(x)\n}\nouter({length: 1})", "calls");
  REQUIRE_FALSE(result);
  const tsl::Error& error = result.error();
  REQUIRE(error.frames.size() == 2);
  CHECK(error.frames[0].function == "outer");
  CHECK(error.frames[0].line == 3);
  CHECK(error.frames[1].function == "<main>");
  CHECK(error.frames[1].file == "calls");
  REQUIRE_FALSE(error.hints.empty());
  CHECK(error.hints[0].find("length") != std::string::npos);
  tsl_string none = {nullptr, 0};
  CHECK(tsl_get_hint(engine.handle(), error.hints.size(), &none) == TSL_MISUSE);
  CHECK(tsl_get_note(engine.handle(), error.notes.size(), &none) == TSL_MISUSE);
  auto with_files = tsl::Engine::create({.capabilities = TSL_ALLOW_FILES}).value();
  CHECK_FALSE(with_files.run("import missing_module").error().notes.empty());
}

TEST_CASE("wrapped memory has an end", "[api]") {
  int released = 0;
  const auto release = [&released] { ++released; };
  std::vector<float> numbers = {1, 2, 3, 4};
  auto engine = tsl::Engine::create().value();
  {
    const tsl::Tensor x = engine.wrap(std::span(numbers), {4}, TSL_READ_ONLY, release).value();
    CHECK(released == 0);
  }
  CHECK(released == 1);
  CHECK(engine.wrap(std::span(numbers), {5}, TSL_READ_ONLY, release).error().kind == TSL_SHAPE);
  CHECK(released == 2);

  SECTION("nothing else refers to it") {
    tsl::Tensor x = engine.wrap(std::span(numbers), {4}, TSL_READ_ONLY, release).value();
    engine.unwrap(std::move(x)).value();
    CHECK(released == 3);
  }
  SECTION("variables, views, closures and other handles get a copy") {
    tsl::Tensor x = engine.wrap(std::span(numbers), {2, 2}, TSL_READ_ONLY, release).value();
    const tsl::Tensor other = x;
    engine.set("x", x).value();
    engine.run("let row = x[1]\nlet turned = x.transpose(0, 1)\nfn held() = sum(x)").value();
    const auto view = engine.get("row").value().as<tsl::Tensor>().value();
    engine.unwrap(std::move(x)).value();
    CHECK(released == 3);
    numbers.assign(4, -1);
    CHECK(engine.run("[x.tolist(), row.tolist(), turned.tolist(), held().item()]").value().text() ==
          "[[[1.0, 2.0], [3.0, 4.0]], [3.0, 4.0], [[1.0, 3.0], [2.0, 4.0]], 10.0]");
    CHECK(other.read<float>().value() == std::vector<float>{1, 2, 3, 4});
    CHECK(view.read<float>().value() == std::vector<float>{3, 4});
    engine.run("var y = x\ny[0, 0] = 9.0").value();
    CHECK(numbers[0] == -1);
    CHECK(engine.unwrap(other).error().kind == TSL_MISUSE);  // it has none any more
  }
  SECTION("compiled functions go on with the copy") {
    auto compiling = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
    compiling.run("@compile\nfn f(x) = x * 2.0 + 1.0\nvar w = nil\n@compile\nfn g(x) = x * w").value();
    tsl::Tensor x = compiling.wrap(std::span(numbers), {4}, TSL_READ_ONLY, release).value();
    compiling.set("w", x).value();
    for (int i = 0; i < 3; ++i) compiling.run("f(w)\ng(w)").value();
    compiling.unwrap(std::move(x)).value();
    numbers.assign(4, -1);
    CHECK(compiling.run("f(w).tolist()").value().text() == "[3.0, 5.0, 7.0, 9.0]");
    CHECK(compiling.run("g(w).tolist()").value().text() == "[1.0, 4.0, 9.0, 16.0]");
  }
  SECTION("a native function gives its argument back") {
    tsl::Tensor x = engine.wrap(std::span(numbers), {4}, TSL_READ_ONLY, release).value();
    engine.def("end(x: f32[n])", [&](const tsl::Tensor& given) { engine.unwrap(given).value(); }).value();
    engine.set("x", x).value();
    x = tsl::Tensor();
    CHECK(engine.run("end(x)\nx.tolist()").value().text() == "[1.0, 2.0, 3.0, 4.0]");
    CHECK(released == 3);
  }
  SECTION("not while another framework has its address") {
    tsl::Tensor x = engine.wrap(std::span(numbers), {4}, TSL_READ_ONLY, release).value();
    tsl::Tensor y = tsl::Tensor::from_dlpack(engine.handle(), x.to_dlpack().value()).value();
    CHECK(engine.unwrap(x).error().kind == TSL_MISUSE);
    CHECK(released == 2);
    engine.unwrap(std::move(y)).value();
    engine.unwrap(std::move(x)).value();
    CHECK(released == 3);
  }
  SECTION("no memory of the program") {
    CHECK(engine.unwrap(engine.run("ones([2])").value().as<tsl::Tensor>().value()).error().kind == TSL_MISUSE);
    const std::vector<float> none;
    tsl::Tensor empty = engine.wrap(std::span(none), {0}, TSL_READ_ONLY, release).value();
    engine.set("empty", empty).value();
    engine.unwrap(std::move(empty)).value();
    CHECK(released == 3);
  }
}

TEST_CASE("strides of C++ stay within the span", "[api]") {
  auto engine = tsl::Engine::create().value();
  std::vector<double> numbers = {1, 2, 3, 4, 5, 6};
  const auto wrapped = [&](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return engine.wrap(std::span(numbers), shape, TSL_READ_ONLY, nullptr, strides);
  };
  CHECK(wrapped({2, 2}, {3, 1}).value().read<double>().value() == std::vector<double>{1, 2, 4, 5});
  CHECK(wrapped({2, 3}, {0, 1}).value().read<double>().value() == std::vector<double>{1, 2, 3, 1, 2, 3});
  CHECK(wrapped({2, 3}, {4, 1}).error().kind == TSL_MISUSE);
  CHECK(wrapped({2, 2}, {-1, 1}).error().kind == TSL_MISUSE);
  CHECK(wrapped({2, 3}, {1}).error().kind == TSL_SHAPE);
}

TEST_CASE("results are written into arrays of C++", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.run("fn twice(x: f32[n, m]) = (x * 2.0).transpose(0, 1)").value();
  std::vector<float> in = {1, 2, 3, 4, 5, 6}, out(6);
  const tsl::Tensor x = engine.wrap(std::span(in), {2, 3}).value();
  engine.call_into(std::span(out), {3, 2}, "twice", x).value();
  CHECK(out == std::vector<float>{2, 8, 4, 10, 6, 12});
  CHECK(engine.call_into(std::span(out), {2, 3}, "twice", x).error().kind == TSL_SHAPE);
  CHECK(engine.call_into(std::span(out), {7}, "twice", x).error().kind == TSL_SHAPE);
  std::vector<double> wide(6);
  CHECK(engine.call_into(std::span(wide), {3, 2}, "twice", x).error().kind == TSL_TYPE);
  tsl_tensor_type type = {};
  type.dtype = TSL_DTYPE_F32;
  type.rank = 2;
  type.shape[0] = 3;
  type.shape[1] = 2;
  type.strides[0] = 1;
  type.strides[1] = 3;
  type.is_strided = true;
  const auto y = engine.call("twice", x).value();
  REQUIRE(tsl_tensor_read_into(engine.handle(), y.handle(), &type, out.data()) == TSL_OK);
  CHECK(out == std::vector<float>{2, 4, 6, 8, 10, 12});  // in columns
  type.strides[0] = 0;
  CHECK(tsl_tensor_read_into(engine.handle(), y.handle(), &type, out.data()) == TSL_MISUSE);
}

TEST_CASE("a native function may declare its result", "[api]") {
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
  int count = 3;
  engine.def("made(x: f32[n]) -> f32[n]", [&](const tsl::Tensor&) { return std::vector<float>(count, 1.0f); }).value();
  engine.def("number(x: int) -> int | nil", [](int x) { return x * 0.5; }).value();
  CHECK(engine.run("made(ones([3])).tolist()").value().text() == "[1.0, 1.0, 1.0]");
  engine.run("@compile\nfn f(x) = made(x) + 1.0").value();
  CHECK(engine.run("f(ones([3])).tolist()").value().text() == "[2.0, 2.0, 2.0]");
  count = 2;
  const tsl::Error shape = engine.run("\nmade(ones([3]))").error();
  CHECK(shape.kind == TSL_SHAPE);
  CHECK(shape.message.find("from the result") != std::string::npos);
  CHECK(shape.line == 2);
  CHECK(engine.run("f(ones([3]))").error().kind == TSL_SHAPE);
  CHECK(engine.run("number(3)").error().kind == TSL_TYPE);
  CHECK(engine.def("wrong(x) ->", [](int) {}).error().kind == TSL_SYNTAX);
}

TEST_CASE("an error of a signature shows it, with a caret", "[api]") {
  auto engine = tsl::Engine::create().value();
  const auto error = [&](std::string_view signature) { return engine.def(signature, [](int) {}).error(); };
  const tsl::Error unknown = error("scale(x: f33[n])");
  CHECK(unknown.file == "<signature>");
  CHECK(unknown.line == 1);
  CHECK(unknown.column == 10);
  CHECK(unknown.text.find("   1 | scale(x: f33[n])\n     |          ^") != std::string::npos);
  CHECK(error("scale(x: f32[n]").text.find("1 | scale(x: f32[n]\n") != std::string::npos);
  CHECK(error("scale(x: int = y)").text.find("     |                ^\n") != std::string::npos);
  CHECK(error("sum(x)").text.find("   1 | sum(x)\n     | ^^^\n") != std::string::npos);
  CHECK(error("").kind == TSL_SYNTAX);
}

namespace {

double halve(double x) { return x / 2; }

}  // namespace

TEST_CASE("plain functions, optionals, vectors and sets are parameters and results in C++", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine.def("halve(x: float | int)", &halve).value();
  engine.def("or_one(x: float | nil)", [](std::optional<double> x) { return x.value_or(1); }).value();
  engine.def("none_if(x: int, y: int)", [](int x, int y) { return x == y ? std::optional<int>() : x; }).value();
  engine.def("total(x)", [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }).value();
  engine.def("joined(x: list)", [](const std::vector<std::string>& x) { return x.at(0) + x.at(1); }).value();
  engine
      .def("common(a: map, b: map)",
           [](const std::set<std::string>& a, const std::set<std::string>& b) {
             std::set<std::string> both;
             std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
             return both;
           })
      .value();
  CHECK(engine.run("halve(3.0)").value().as<double>().value() == 1.5);
  CHECK(engine.run("[or_one(nil), or_one(2.0)]").value().as<std::vector<double>>().value() ==
        std::vector<double>{1, 2});
  CHECK(engine.run("none_if(2, 2)").value().kind() == TSL_KIND_NIL);
  CHECK(engine.run("none_if(2, 3)").value().as<std::optional<int>>().value() == 2);
  CHECK(engine.run("total(f64([1.0, 2.0])) + total([3, 4.5]) + total((1,))").value().as<double>().value() == 11.5);
  CHECK(engine.run("joined([\"a\", \"b\"])").value().as<std::string>().value() == "ab");
  const auto both = engine.run("common([\"a\": 1, \"b c\": 2], [\"b c\": 1, \"d\": 2])");
  CHECK(both.value().text() == "[\"b c\": true]");
  CHECK(engine.run("total(tensor([1.0]))").error().message == "the tensor has another dtype");
  CHECK(engine.run("total(ones([2, 2]))").error().message == "a vector is made of a tensor of one axis");
  CHECK(engine.run("joined([1, 2])").error().kind == TSL_USER);
  CHECK(engine.run("5").value().as<std::vector<int>>().error().kind == TSL_MISUSE);
  CHECK(engine.run("5").value().as<std::set<int>>().error().kind == TSL_TYPE);
}

TEST_CASE("a lambda with other parameters than its signature is refused where it is defined", "[api]") {
  auto engine = tsl::Engine::create().value();
  const auto two = [](double a, double b) { return a + b; };
  CHECK(engine.def("f(a: float)", two).error().message == "the lambda has 2 parameters, and its signature asks for 1");
  CHECK(engine.def("f()", two).error().kind == TSL_TYPE);
  for (const char* signature : {"a(a: str = \"x, y)\", b: int = 1)", "b(a: f32[n, m], b: f32[m] = 1.0) -> f32[n, m]",
                                "c( a , b, )", "d(a = nil, b: str = \"\\\",\")"})
    CHECK(engine.def(signature, two));
  CHECK(engine.def("no signature", two).error().kind == TSL_SYNTAX);
}

TEST_CASE("grad passes a function in C++ with a derivative", "[api]") {
  auto engine = tsl::Engine::create().value();
  engine
      .def(
          "twice(x: f32[n])",
          [](const tsl::Tensor& x) {
            auto numbers = x.read<float>().value();
            for (float& each : numbers) each *= 2;
            return numbers;
          },
          [](const tsl::Tensor&, const tsl::Tensor&, const tsl::Tensor& grad) {
            auto numbers = grad.read<float>().value();
            for (float& each : numbers) each *= 2;
            return numbers;
          },
          "twice x")
      .value();
  const auto gradient = engine.run("grad(fn(x) = sum(twice(x) * x))(tensor([1.0, 3.0]))").value();
  CHECK(gradient.as<std::vector<float>>().value() == std::vector<float>{4, 12});
  const auto wrong = [](double, double) { return 1.0; };
  CHECK(engine
            .def(
                "g(x: float)", [](double x) { return x; }, wrong)
            .error()
            .message == "the derivative has 2 parameters, and its signature asks for 3");
}

TEST_CASE("tasks run where a program in C++ runs them", "[api]") {
  size_t tasks = 0;
  tsl::Config config;
  config.threads = 2;
  config.run_tasks = [&tasks](uint32_t count, const std::function<void(uint32_t)>& task) {
    for (uint32_t i = 0; i < count; ++i, ++tasks) task(i);
  };
  auto engine = tsl::Engine::create(std::move(config)).value();
  CHECK(engine.run("sum(ones([1000000]) * 2.0).item()").value().as<double>().value() == 2e6);
  CHECK(tasks > 0);
}
