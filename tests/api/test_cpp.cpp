// Tests the C++ header over the C API. It must not see the library's own headers, whose names are others.
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
  CHECK(result.error().message == "no");
  CHECK(result.error().file == "demo");
  CHECK(result.error().line == 2);
  CHECK(tsl::Engine::create({.device = "cuda"}).error().kind == TSL_DEVICE);
  CHECK(tsl::Value().as<double>().error().kind == TSL_MISUSE);
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
  engine.run("note(\"hello \")\nprint(doubled(ones([2])).tolist())").value();
  CHECK(printed == "hello [2.0, 2.0]\n");
  CHECK(engine.run("fails()").error().message == "a reason");
  CHECK(engine.run("plus(\"a\", 1)").error().kind == TSL_TYPE);
  CHECK(calls == 1);
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
