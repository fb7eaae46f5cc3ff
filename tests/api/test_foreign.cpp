// Tests values of the host program that scripts pass on.
#include <memory>

#include "api.h"

using namespace tsl::api_test;

namespace {

struct Body {
  double mass = 0;
  int* released = nullptr;
};

const char body_type = 0, texture_type = 0;

void release(void* data) {
  const std::unique_ptr<Body> body(static_cast<Body*>(data));
  ++*body->released;
}

/// body(mass: float): a new value of the host.
tsl_status make_body(tsl_engine engine, void* user, const tsl_value* arguments, size_t, tsl_value* result) {
  auto body = std::make_unique<Body>();
  tsl_get_float(engine, arguments[0], &body->mass);
  body->released = static_cast<int*>(user);
  return tsl_new_foreign(engine, &body_type, body.release(), release, result);
}

/// mass_of(b): the mass of a Body.
tsl_status mass_of(tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
  void* data = nullptr;
  const tsl_status status = tsl_get_foreign(engine, arguments[0], &body_type, &data);
  if (status != TSL_OK) return status;
  return tsl_new_float(engine, static_cast<Body*>(data)->mass, result);
}

struct WithBodies : Fixture {
  explicit WithBodies(uint32_t capabilities = 0)
      : Fixture([=](tsl_config& config) {
          config.capabilities = capabilities;
          config.diagnostics = nullptr;
        }) {
    REQUIRE(tsl_define_type(engine, &body_type, str("Body")) == TSL_OK);
    REQUIRE(tsl_define_type(engine, &texture_type, str("Texture")) == TSL_OK);
    define("body(mass: float)", make_body);
    define("mass(b: Body)", mass_of);
    define("any_mass(b: any)", mass_of);
    define("texture()", [](tsl_engine owner, void*, const tsl_value*, size_t, tsl_value* result) {
      return tsl_new_foreign(owner, &texture_type, nullptr, nullptr, result);
    });
  }
  void define(std::string_view signature, tsl_native function) const {
    REQUIRE(tsl_define(engine, str(signature), str(""), function, const_cast<int*>(&released), nullptr) == TSL_OK);
  }
  std::string shown(std::string_view source) { return text(eval(source)); }

  int released = 0;
};

uint32_t line_of(tsl_engine engine) {
  tsl_error error = {};
  tsl_get_error(engine, &error);
  return error.line;
}

}  // namespace

TEST_CASE("scripts pass on values of the host, which come back as they went", "[api]") {
  WithBodies t;
  CHECK(t.shown("let b = body(2.5)\n[mass(b), mass([b, {of: b}][1].of)]") == "[2.5, 2.5]");
  CHECK(t.shown("[type(b), type(texture()), f\"{b}\", str([b])]") ==
        "[\"Body\", \"Texture\", \"<Body>\", \"[<Body>]\"]");
  CHECK(t.shown("let other = body(2.5)\n[b == b, b == other, b != other, [b] == [b], b == 1, b == texture()]") ==
        "[true, false, true, true, false, false]");
  tsl_kind kind = TSL_KIND_NIL;
  void* data = nullptr;
  const tsl_value b = t.get("b");
  CHECK(tsl_get_kind(t.engine, b, &kind) == TSL_OK);
  CHECK(kind == TSL_KIND_FOREIGN);
  CHECK(tsl_get_foreign(t.engine, b, nullptr, &data) == TSL_OK);
  CHECK(static_cast<Body*>(data)->mass == 2.5);
}

TEST_CASE("annotations and signatures name types of the host", "[api]") {
  WithBodies t;
  CHECK(t.shown("fn heavy(b: Body | nil) -> float = if b == nil { 0.0 } else { mass(b) * 2.0 }\n"
                "[heavy(nil), heavy(body(3.0))]") == "[0.0, 6.0]");
  CHECK(t.run("let one = 1\nmass(one)") == TSL_TYPE);
  CHECK(t.message() == "'b' of mass must be a Body, not int 1");
  CHECK(line_of(t.engine) == 2);
  CHECK(t.run("\n\nheavy(texture())") == TSL_TYPE);
  CHECK(t.message() == "'b' of heavy must be a Body or nil, not Texture");
  CHECK(line_of(t.engine) == 3);
  CHECK(t.run("fn wrong() -> Body = texture()\n\nwrong()") == TSL_TYPE);
  CHECK(t.run("\nany_mass(texture())") == TSL_USER);
  CHECK(t.message() == "the host's function any_mass failed with status 1: 'value' is Texture, not Body");
  CHECK(line_of(t.engine) == 2);
  CHECK(t.run("fn f(x: Nothing) = x") == TSL_NAME);
  CHECK(t.run("fn f(x: Body[n]) = x") == TSL_TYPE);
  t.eval("help(mass)");
  CHECK(t.printed.find("mass(b: Body)") == 0);
}

TEST_CASE("values of the host are no data", "[api]") {
  WithBodies t(TSL_ALLOW_FILES);
  for (const char* source : {"body(1.0) + 1", "body(1.0)[0]", "body(1.0)()", "tensor([body(1.0)])",
                             "for each in body(1.0) { }", "if body(1.0) { }", "body(1.0) < body(2.0)"}) {
    INFO(source);
    CHECK(t.run(std::string("\n") + source) == TSL_TYPE);
    CHECK(t.message().find("Body") != std::string::npos);
    CHECK(line_of(t.engine) == 2);
  }
  CHECK(t.run("body(1.0).mass") == TSL_NAME);
  CHECK(t.run("save(\"/tmp/tsl_api_foreign.json\", [body(1.0)])") != TSL_OK);
  CHECK(t.message().find("JSON has no Body") != std::string::npos);
}

TEST_CASE("a type of the host has a name and an address of its own", "[api]") {
  Fixture t;
  CHECK(tsl_define_type(t.engine, &body_type, str("Body")) == TSL_OK);
  CHECK(tsl_define_type(t.engine, &body_type, str("Other")) == TSL_MISUSE);
  CHECK(tsl_define_type(t.engine, nullptr, str("Other")) == TSL_MISUSE);
  for (const char* taken : {"Body", "int", "f32", "bool", "tensor", "any", "fn"}) {
    INFO(taken);
    CHECK(tsl_define_type(t.engine, &texture_type, str(taken)) == TSL_NAME);
  }
  for (const char* wrong : {"", "a b", "1a", "A | B", "A[n]", "A = 1", "A, y: B", "A) = 1", "\"A\"", "\xff", "let"}) {
    INFO(wrong);
    CHECK(tsl_define_type(t.engine, &texture_type, str(wrong)) == TSL_SYNTAX);
  }
  CHECK(tsl_define_type(t.engine, &texture_type, str("Texture")) == TSL_OK);
}

TEST_CASE("a value of the host is released once, when nothing refers to it", "[api]") {
  int released = 0;
  {
    WithBodies t;
    t.eval("body(1.0)\nnil");
    CHECK(t.released == 1);
    t.eval("var b = body(1.0)\nvar all = [b, b, {of: (b, 1..2)}]\nfn keep() = all");
    CHECK(t.released == 1);
    t.eval("b = nil\nall = nil");
    CHECK(t.released == 2);
    CHECK(t.run("error(f\"{body(1.0)}\")") == TSL_USER);
    CHECK(t.released == 3);
    t.eval("b = body(2.0)");
    const tsl_value held = t.get("b");
    t.eval("b = nil");
    CHECK(t.released == 3);
    tsl_release(t.engine, held);
    CHECK(t.released == 4);

    const auto fresh = [&] { return new Body{1, &released}; };
    tsl_value value = {0};
    CHECK(tsl_new_foreign(t.engine, nullptr, fresh(), release, &value) == TSL_MISUSE);
    CHECK(tsl_new_foreign(t.engine, &released, fresh(), release, &value) == TSL_MISUSE);
    CHECK(tsl_new_foreign(t.engine, &body_type, fresh(), release, nullptr) == TSL_MISUSE);
    CHECK(tsl_new_foreign({0}, &body_type, fresh(), release, &value) == TSL_MISUSE);
    CHECK(released == 4);
    CHECK(tsl_new_foreign(t.engine, &body_type, fresh(), release, &value) == TSL_OK);
    CHECK(tsl_set(t.engine, str("kept"), value) == TSL_OK);
    CHECK(released == 4);
  }
  CHECK(released == 5);  // with the engine
}

TEST_CASE("a wrong handle or type of a value is an error", "[api]") {
  WithBodies t;
  void* data = nullptr;
  const tsl_value b = t.eval("body(1.0)");
  CHECK(tsl_get_foreign(t.engine, b, &body_type, nullptr) == TSL_MISUSE);
  CHECK(tsl_get_foreign(t.engine, b, &texture_type, &data) == TSL_MISUSE);
  CHECK(t.message() == "'value' is Body, not Texture");
  CHECK(tsl_get_foreign(t.engine, b, &data, &data) == TSL_MISUSE);
  CHECK(tsl_get_foreign(t.engine, t.number(1), nullptr, &data) == TSL_MISUSE);
  CHECK(t.message() == "'value' is float, not one of the host's");
  CHECK(tsl_get_foreign(t.engine, {0}, nullptr, &data) == TSL_MISUSE);
  CHECK(data == nullptr);
}

namespace {

/// Runs a program with and without compiling, and returns what it prints if that is the same; else both.
std::string printed(std::string_view program, int* released = nullptr) {
  std::string out[2];
  for (const uint32_t capabilities : {uint32_t{0}, uint32_t{TSL_ALLOW_COMPILE}}) {
    WithBodies t(capabilities);
    const tsl_status status = t.run(program);
    std::string& to = out[capabilities != 0];
    to = t.printed + (status == TSL_OK ? "" : t.message());
    if (released) *released = t.released;
  }
  return out[0] == out[1] ? out[0] : out[0] + "compiled: " + out[1];
}

std::string explained(WithBodies& t) {
  tsl_string text = {nullptr, 0};
  REQUIRE(tsl_explain(t.engine, {0}, &text) == TSL_OK);
  return text_of(text);
}

}  // namespace

TEST_CASE("compiled code takes each value of a type, and keeps none", "[api]") {
  WithBodies t(TSL_ALLOW_COMPILE);
  explained(t);
  t.eval("@compile\nfn f(b: Body, x) {\n  let y = x * 2.0\n  print(mass(b))\n  return (y + mass(b), b)\n}");
  t.eval("fn call(i) {\n  let b = body(1.0 * i)\n  let (y, same) = f(b, ones([2]))\n  print(y.tolist(), same == b)\n}");
  std::string expected;
  for (int i = 1; i <= 8; ++i) {
    t.eval("call(" + std::to_string(i) + ")");
    expected += std::to_string(i) + ".0\n[" + std::to_string(i + 2) + ".0, " + std::to_string(i + 2) + ".0] true\n";
    CHECK(t.released == i);
  }
  CHECK(t.printed == expected);
  CHECK(explained(t).find("7 of 8 runs are from plans") != std::string::npos);
}

TEST_CASE("compiled code depends on which values of the host are the same", "[api]") {
  const std::string f = "@compile\nfn f(a, b, x) = if a == b { x * 2.0 } else { x + 10.0 }\n";
  const std::string show = "fn show(a, b) = print(f(a, b, ones([1])).tolist())\nlet p = body(1.0)\nlet q = body(1.0)\n";
  CHECK(printed(f + show +
                "for i in 0..3 { show(p, q)\n show(q, p)\n show(p, p)\n show(q, q)\n show(p, texture()) }") == [] {
    std::string out;
    for (int i = 0; i < 3; ++i) out += "[11.0]\n[11.0]\n[2.0]\n[2.0]\n[11.0]\n";
    return out;
  }());
  CHECK(printed("@compile\nfn f(all, x) = if all[0] in all[1:] { x } else { -x }\n"
                "let p = body(1.0)\nlet q = body(2.0)\n"
                "for i in 0..3 { print(f([p, q, p], ones([1])).tolist(), f([p, q], ones([1])).tolist()) }") ==
        "[1.0] [-1.0]\n[1.0] [-1.0]\n[1.0] [-1.0]\n");
}

TEST_CASE("compiled code makes values of the host at each run, and releases them", "[api]") {
  int released = 0;
  const std::string make =
      "@compile\nfn f(x, m) {\n  let b = body(m)\n  let y = x * mass(b)\n  if sum(y) > 100.0 { return [y, nil] }\n"
      "  return [y, b]\n}\n";
  CHECK(printed(make + "var last = nil\nfor i in 0..6 {\n  let (y, b) = f(ones([2]), 1.0 * i)\n"
                       "  print(y.tolist(), mass(b), b == last)\n  last = b\n}",
                &released) ==
        "[0.0, 0.0] 0.0 false\n[1.0, 1.0] 1.0 false\n[2.0, 2.0] 2.0 false\n[3.0, 3.0] 3.0 false\n"
        "[4.0, 4.0] 4.0 false\n[5.0, 5.0] 5.0 false\n");
  CHECK(released == 5);  // but the last one
  CHECK(printed(make + "for i in 0..6 { print(f(ones([2]), 100.0)[0].tolist()) }", &released).size() == 6 * 15);
  CHECK(released == 6);
}

TEST_CASE("values of the host survive errors, aborts and assignments in compiled code", "[api]") {
  // An error in a native function, caught inside.
  CHECK(printed("@compile\nfn f(b, x) {\n  let y = x + 1.0\n  try { return y * any_mass(b) } catch e { return -y }\n}\n"
                "for i in 0..3 { print(f(body(2.0), ones([1])).tolist(), f(texture(), ones([1])).tolist()) }") ==
        "[4.0] [-2.0]\n[4.0] [-2.0]\n[4.0] [-2.0]\n");
  // The trace is aborted by a text of a whole tensor, and goes on with the values.
  CHECK(printed("@compile\nfn f(b, x) {\n  let all = [b, {of: b}]\n  let n = len(f\"{x * 2.0}\")\n"
                "  return [mass(all[1].of), n, all[0]]\n}\n"
                "for i in 0..3 {\n  let b = body(1.0 * i)\n  let (m, n, same) = f(b, ones([3]))\n"
                "  print(m, n, same == b)\n}") == "0.0 17 true\n1.0 17 true\n2.0 17 true\n");
  // A variable that is captured and assigned; the error at the end has its line.
  CHECK(printed("var last = nil\n@compile\nfn f(b, x) {\n  let before = last\n  last = b\n"
                "  return [before == nil, before == b, x * mass(b)]\n}\nlet p = body(2.0)\n"
                "for b in [p, p, body(3.0), p] {\n  let (none, same, y) = f(b, ones([1]))\n"
                "  print(none, same, y.tolist(), last == b)\n}\nf(1, ones([1]))") ==
        "true false [2.0] true\nfalse true [2.0] true\nfalse false [3.0] true\nfalse false [2.0] true\n"
        "'b' of mass must be a Body, not int 1");
  // Gradients of a function that is given one.
  CHECK(printed("@compile\nfn slope(b, x) = grad(fn(y) = sum(y * y * mass(b)))(x)\n"
                "for i in 1..4 { print(slope(body(1.0 * i), ones([2])).tolist()) }") ==
        "[2.0, 2.0]\n[4.0, 4.0]\n[6.0, 6.0]\n");
}
