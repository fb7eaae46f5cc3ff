// Tests functions of the host program that scripts call.
#include <functional>

#include <nlohmann/json.hpp>

#include "api.h"

using namespace tsl::api_test;

namespace {

/// scale(x, by): adds up its calls in `user`.
tsl_status scale(tsl_engine engine, void* user, const tsl_value* arguments, size_t count, tsl_value* result) {
  ++*static_cast<int*>(user);
  if (count != 2) return tsl_fail(engine, TSL_USER, str("wrong count"));
  double by = 0;
  tsl_get_float(engine, arguments[1], &by);
  if (by < 0) return tsl_fail(engine, TSL_VALUE, str("a scale is not negative"));
  float x[3] = {};
  const tsl_status status = tsl_tensor_read(engine, arguments[0], x, sizeof x);
  if (status != TSL_OK) return status;
  for (float& each : x) each *= static_cast<float>(by);
  tsl_tensor_type type = {};
  tsl_tensor_get_type(engine, arguments[0], &type);
  type.is_strided = false;
  return tsl_tensor_copy(engine, &type, x, result);
}

struct WithScale : Fixture {
  WithScale() : Fixture([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; }) {
    const tsl_string signature = str("scale(x: f32[n], by: float | int in -10..=1000 = 2.0)");
    REQUIRE(tsl_define(engine, signature, str("scales"), scale, &calls, nullptr) == TSL_OK);
  }
  int calls = 0;
};

}  // namespace

TEST_CASE("scripts call functions of the host", "[api]") {
  WithScale t;
  CHECK(t.text(t.eval("scale(tensor([1.0, 2.0, 3.0])).tolist()")) == "[2.0, 4.0, 6.0]");
  CHECK(t.text(t.eval("scale(by: 3, x: tensor([1.0, 2.0, 3.0])).tolist()")) == "[3.0, 6.0, 9.0]");
  CHECK(t.calls == 2);
  t.eval("help(scale)");
  CHECK(t.printed.find("scale(x: f32[n], by: float") == 0);
}

TEST_CASE("a call that does not fit the signature does not reach the host", "[api]") {
  WithScale t;
  CHECK(t.run("scale(1.0)") == TSL_TYPE);
  CHECK(t.run("scale(ones([2, 2]))") == TSL_SHAPE);
  CHECK(t.run("scale(ones([2]), 1, 2)") == TSL_TYPE);
  CHECK(t.calls == 0);
  const auto pair = [](tsl_engine, void*, const tsl_value*, size_t, tsl_value*) { return TSL_OK; };
  REQUIRE(tsl_define(t.engine, str("pair(a: f32[n, m], b: f32[m, n])"), str(""), pair, nullptr, nullptr) == TSL_OK);
  CHECK(t.run("pair(ones([2, 3]), ones([3, 2]))") == TSL_OK);
  CHECK(t.run("pair(ones([4, 3]), ones([3, 4]))") == TSL_OK);  // each call binds the names anew
  CHECK(t.run("pair(ones([2, 3]), ones([4, 2]))") == TSL_SHAPE);
}

TEST_CASE("an error of the host's function is one of the script, with its line", "[api]") {
  WithScale t;
  CHECK(t.run("let x = ones([3])\nscale(x, -1)") == TSL_VALUE);
  CHECK(t.message() == "a scale is not negative");
  tsl_error error = {};
  tsl_get_error(t.engine, &error);
  CHECK(error.line == 2);
  CHECK(t.text(t.eval("var m = \"\"\ntry { scale(x, -1) } catch e { m = e.message }\nm")) == "a scale is not negative");
  CHECK(t.run("scale(ones([4]))") != TSL_OK);  // the function's own call of the API failed
}

TEST_CASE("no script catches an ending that a function of the host asks for", "[api][limits]") {
  struct Ending {
    tsl_status status;
    bool has_message;
  };
  const auto end = [](tsl_engine engine, void* user, const tsl_value*, size_t, tsl_value*) {
    const auto& ending = *static_cast<Ending*>(user);
    return ending.has_message ? tsl_fail(engine, ending.status, str("over")) : ending.status;
  };
  const char* const programs[] = {
      "try { end() } catch e { }",
      "try { map(fn(i) = end(), [1]) } catch e { error(\"another\") } finally { print(\"caught\") }",
      "while true { try { end() } catch e { continue } finally { break } }",
      "@compile\nfn f(x) { try { end() } catch e { return x }\nreturn x + 1.0 }\nfor i in 0..3 { f(ones([2])) }",
  };
  for (const tsl_status status : {TSL_EXIT, TSL_INTERRUPT, TSL_LIMIT}) {
    for (const bool has_message : {true, false}) {
      Ending ending{status, has_message};
      Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
      REQUIRE(tsl_define(t.engine, str("end()"), str(""), end, &ending, nullptr) == TSL_OK);
      for (const char* program : programs) {
        INFO(status << " " << program);
        CHECK(t.run(program) == status);
        CHECK(t.message() == (has_message ? "over"
                                          : "the host's function end failed with status " + std::to_string(status) +
                                                ": it did not say why"));
        CHECK(t.text(t.eval("1 + 1")) == "2");
      }
      CHECK(t.printed.find("caught") == std::string::npos);
    }
  }
}

TEST_CASE("no function of the host keeps a script running after an ending", "[api][limits]") {
  const auto ignore = [](tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value*) {
    tsl_call(engine, arguments[0], nullptr, 0, nullptr);
    return TSL_OK;
  };
  const char* const programs[] = {
      "while true { try { ignore(fn() { while true { } }) } catch e { } }",
      "ignore(fn() { while true { } })\nwhile true { }",
      "fn deep() { ignore(fn() { while true { } })\nwhile true { } }\nignore(fn() = ignore(deep))\nmap(fn(i) = i, "
      "0..10**9)",
  };
  for (const double seconds : {0.0, 0.05}) {
    Fixture t([&](tsl_config& config) {
      config.time_limit = seconds;
      config.step_limit = seconds > 0 ? 0 : 10'000;
      config.stack_limit = 1 << 20;
    });
    REQUIRE(tsl_define(t.engine, str("ignore(f: fn)"), str(""), ignore, nullptr, nullptr) == TSL_OK);
    for (const char* program : programs) {
      INFO(program);
      CHECK(t.run(program) == TSL_LIMIT);
      CHECK(t.text(t.eval("1 + 1")) == "2");
    }
  }
}

TEST_CASE("compiled functions call the host in the program's order, at each run", "[api]") {
  WithScale t;
  t.eval("@compile\nfn f(x) {\n  let y = scale(x * 2.0)\n  print(\"between\")\n  return scale(y + 1.0) * 10.0\n}");
  for (int i = 1; i <= 5; ++i) {
    CHECK(t.text(t.eval("f(tensor([1.0, 2.0, 3.0])).tolist()")) == "[100.0, 180.0, 260.0]");
    CHECK(t.calls == 2 * i);
  }
  CHECK(t.printed == "between\nbetween\nbetween\nbetween\nbetween\n");
}

TEST_CASE("a native function is a row of the profile, also of compiled code", "[api]") {
  WithScale t;
  const auto rows_of = [&](std::string_view program) {
    REQUIRE(tsl_profile_start(t.engine) == TSL_OK);
    t.eval(program);
    tsl_string text = {nullptr, 0};
    REQUIRE(tsl_profile_stop(t.engine, &text) == TSL_OK);
    std::vector<nlohmann::json> rows;
    const nlohmann::json profile = nlohmann::json::parse(text_of(text));
    for (const auto& row : profile["rows"]) {
      if (row["activity"] == "native functions") rows.push_back(row);
    }
    return rows;
  };
  for (const std::string compiled : {"", "@compile\n"}) {
    const auto rows =
        rows_of("let x = ones([3])\n" + compiled + "fn f(x) = scale(x, 2.0) + scale(x, 3.0)\nfor i in 0..5 { f(x) }\n");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0]["name"] == "scale");
    CHECK(rows[0]["calls"] == 10);
    CHECK(rows[0]["seconds"].get<double>() > 0);
  }
}

TEST_CASE("a function of the host may call the script, also inside compiled code", "[api]") {
  Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
  const auto apply = [](tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
    return tsl_call(engine, arguments[0], &arguments[1], 1, result);
  };
  REQUIRE(tsl_define(t.engine, str("apply(f: fn, x: any)"), str(""), apply, nullptr, nullptr) == TSL_OK);
  t.eval(
      "@compile\nfn inner(x) = x * 3.0\nfn g(x) = inner(x) + 1.0\n"
      "@compile\nfn f(x) { let y = apply(g, x + 1.0)\n return y * 2.0 + apply(inner, x) }");
  for (int i = 0; i < 5; ++i) CHECK(t.text(t.eval("f(tensor([1.0, 2.0])).tolist()")) == "[17.0, 26.0]");
  CHECK(t.run("apply(fn(x) = error(\"inside\"), 1)") == TSL_USER);
  CHECK(t.message() == "inside");
  CHECK(t.run("@compile\nfn h(x) = apply(fn(y) = y + undefined_size(y), x)") == TSL_NAME);
}

TEST_CASE("a definition that fails releases its data", "[api]") {
  Fixture t;
  int released = 0;
  const auto release = [](void* user) { ++*static_cast<int*>(user); };
  CHECK(tsl_define(t.engine, str("sum(x)"), str(""), scale, &released, release) == TSL_NAME);
  CHECK(tsl_define(t.engine, str("no signature"), str(""), scale, &released, release) != TSL_OK);
  CHECK(tsl_define(t.engine, str("\xff()"), str(""), scale, &released, release) == TSL_SYNTAX);
  CHECK(tsl_define(t.engine, str("f()"), str(""), nullptr, &released, release) == TSL_MISUSE);
  CHECK(tsl_define({0}, str("f()"), str(""), scale, &released, release) == TSL_MISUSE);
  CHECK(released == 5);
}

TEST_CASE("an engine is not destroyed by a function that it calls", "[api]") {
  Fixture t;
  const auto destroy = [](tsl_engine engine, void*, const tsl_value*, size_t, tsl_value*) {
    return tsl_engine_destroy(engine) == TSL_MISUSE ? TSL_OK : TSL_INTERNAL;
  };
  REQUIRE(tsl_define(t.engine, str("destroy()"), str(""), destroy, nullptr, nullptr) == TSL_OK);
  CHECK(t.run("destroy()") == TSL_OK);
}

namespace {

/// cube(x) = x³, with the derivative 3x², which adds up its calls in `user`.
tsl_status cube(tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
  float x[3] = {};
  const tsl_status status = tsl_tensor_read(engine, arguments[0], x, sizeof x);
  if (status != TSL_OK) return status;
  for (float& each : x) each = each * each * each;
  const tsl_tensor_type type = {TSL_DTYPE_F32, 1, {3}, {0}, false, 0};
  return tsl_tensor_copy(engine, &type, x, result);
}
tsl_status cube_derivative(tsl_engine engine, void* user, const tsl_value* arguments, size_t count, tsl_value* result) {
  ++*static_cast<int*>(user);
  if (count != 3) return tsl_fail(engine, TSL_USER, str("wrong count"));
  float x[3] = {}, gradient[3] = {};
  tsl_tensor_read(engine, arguments[0], x, sizeof x);
  tsl_tensor_read(engine, arguments[2], gradient, sizeof gradient);
  for (int i = 0; i < 3; ++i) gradient[i] *= 3 * x[i] * x[i];
  const tsl_tensor_type type = {TSL_DTYPE_F32, 1, {3}, {0}, false, 0};
  return tsl_tensor_copy(engine, &type, gradient, result);
}

struct WithCube : Fixture {
  WithCube() : Fixture([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; }) {
    tsl_function function;
    REQUIRE(tsl_function_init(&function) == TSL_OK);
    function.signature = str("cube(x: f32[3])");
    function.call = cube;
    function.derivative = cube_derivative;
    function.user = &derivatives;
    REQUIRE(tsl_define_function(engine, &function) == TSL_OK);
  }
  int derivatives = 0;
};

tsl_status count_calls(tsl_engine engine, void* user, const tsl_value*, size_t, tsl_value* result) {
  return tsl_new_int(engine, ++*static_cast<int*>(user), result);
}

}  // namespace

TEST_CASE("gradients pass the derivative of the host", "[api]") {
  WithCube t;
  t.eval("let x = tensor([1.0, 2.0, 3.0])");
  CHECK(t.text(t.eval("grad(fn(x) = sum(cube(x) * 2.0))(x).tolist()")) == "[6.0, 24.0, 54.0]");
  CHECK(t.text(t.eval("grad(fn(x) = sum(cube(cube(x))))(x).tolist()")) == "[9.0, 2304.0, 59049.0]");
  CHECK(t.derivatives == 3);
  CHECK(t.run("grad(fn(x) = sum(grad(fn(y) = sum(cube(y)))(x)))(x)") == TSL_TYPE);
  t.eval("@compile\nfn slope(x) = grad(fn(y) = sum(cube(y)))(x)");
  for (int i = 0; i < 3; ++i) CHECK(t.text(t.eval("slope(x).tolist()")) == "[3.0, 12.0, 27.0]");
  CHECK(t.text(t.eval("slope(x * 2.0).tolist()")) == "[12.0, 48.0, 108.0]");
}

TEST_CASE("a gradient that reaches the result of a function without a derivative is an error", "[api]") {
  WithCube t;
  REQUIRE(tsl_define(t.engine, str("plain(x: f32[3])"), str(""), cube, nullptr, nullptr) == TSL_OK);
  const auto call = [](tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
    return tsl_call(engine, arguments[0], arguments + 1, 1, result);
  };
  REQUIRE(tsl_define(t.engine, str("apply(f: fn, x: any)"), str(""), call, nullptr, nullptr) == TSL_OK);
  t.eval("let x = tensor([1.0, 2.0, 3.0])");
  for (const char* program : {"grad(fn(x) = sum(plain(x)))(x)", "grad(fn(x) = sum(x + plain(cube(x))))(x)",
                              "@compile\nfn slope(x) = grad(fn(y) = sum(plain(y)))(x)\nslope(x)", "jvp(plain, x, x)"}) {
    CHECK(t.run(program) == TSL_TYPE);
    CHECK(t.message() == "the host's function plain has no derivative");
  }
  // No gradient reaches constants, what is only compared, and what the program itself has computed.
  CHECK(t.text(t.eval("grad(fn(x) = sum(x * plain(stop_gradient(x))))(x).tolist()")) == "[1.0, 8.0, 27.0]");
  CHECK(t.text(t.eval("grad(fn(x) = sum(where(plain(x) > 2.0, x, 0.0)))(x).tolist()")) == "[0.0, 1.0, 1.0]");
  CHECK(t.text(t.eval("grad(fn(x) = sum(plain(ones([3]))) + sum(x))(x).tolist()")) == "[1.0, 1.0, 1.0]");
  CHECK(t.text(t.eval("grad(fn(x) = sum(apply(fn(y) = y * y, x)))(x).tolist()")) == "[2.0, 4.0, 6.0]");
}

TEST_CASE("a derivative of the wrong type is an error", "[api]") {
  Fixture t;
  tsl_function function;
  tsl_function_init(&function);
  function.signature = str("same(x: f32[n], by: any = nil)");
  function.call = [](tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
    return tsl_retain(engine, arguments[0], result);
  };
  function.derivative = [](tsl_engine engine, void*, const tsl_value*, size_t, tsl_value* result) {
    return tsl_new_float(engine, 1, result);
  };
  REQUIRE(tsl_define_function(t.engine, &function) == TSL_OK);
  CHECK(t.run("grad(fn(x) = sum(same(x, 2)))(ones([3]))") == TSL_VALUE);
  CHECK(t.message() == "the derivative of same must return a list of 2 gradients");
  CHECK(t.run("grad(fn(x) = sum(same(x, [1])))(ones([3]))") == TSL_TYPE);
  CHECK(t.text(t.eval("same(ones([2]), [1]).tolist()")) == "[1.0, 1.0]");
}

TEST_CASE("a pure function of constants is called once for a trace, others at each run", "[api]") {
  for (const bool is_pure : {false, true}) {
    Fixture t([](tsl_config& config) { config.capabilities = TSL_ALLOW_COMPILE; });
    int calls = 0;
    tsl_function function;
    tsl_function_init(&function);
    function.signature = str("setting(name: str)");
    function.call = count_calls;
    function.is_pure = is_pure;
    function.user = &calls;
    REQUIRE(tsl_define_function(t.engine, &function) == TSL_OK);
    t.eval("@compile\nfn f(x) = x * setting(\"rate\")\nfor i in 0..6 { f(ones([4])) }");
    CHECK(calls == (is_pure ? 1 : 6));
  }
}

TEST_CASE("functions are described by a struct of a known size", "[api]") {
  Fixture t;
  int released = 0;
  tsl_function function;
  CHECK(tsl_function_init_sized(nullptr, sizeof function) == TSL_MISUSE);
  CHECK(tsl_function_init_sized(&function, 1) == TSL_MISUSE);
  tsl_function_init(&function);
  function.signature = str("f()");
  function.user = &released;
  function.release = [](void* user) { ++*static_cast<int*>(user); };
  CHECK(tsl_define_function(t.engine, &function) == TSL_MISUSE);  // no call
  CHECK(tsl_define_function(t.engine, nullptr) == TSL_MISUSE);
  CHECK(tsl_define_function({0}, &function) == TSL_MISUSE);
  function.call = count_calls;
  function.signature = str("f(");
  CHECK(tsl_define_function(t.engine, &function) == TSL_SYNTAX);
  CHECK(released == 3);
  function.struct_size = sizeof function + 8;
  CHECK(tsl_define_function(t.engine, &function) == TSL_MISUSE);
}
