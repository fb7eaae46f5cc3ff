// Tests the entries of a prompt.
#include "support/session.h"

using tsl::Failure;
using tsl::Session;
using tsl::to_repr;

namespace {

std::string line(Session& s, const std::string& text) {
  try {
    return to_repr(s.engine, s.engine.run_line(text));
  } catch (const Failure& failure) { return "error: " + failure.error().message; }
}

}  // namespace

TEST_CASE("entries see what earlier ones declared") {
  Session s;
  CHECK(line(s, "var x = 1") == "nil");
  CHECK(line(s, "fn f() = x") == "nil");
  CHECK(line(s, "x = 5") == "nil");
  CHECK(line(s, "f() + x") == "10");
  CHECK(line(s, "let x = \"new\"") == "nil");
  CHECK(line(s, "(x, f())") == "(\"new\", 5)");
  CHECK(line(s, "x = 2") == "error: 'x' is declared with 'let' and cannot be assigned to");
  CHECK(line(s, "var l = [1]; l += [2]") == "nil");
  CHECK(line(s, "l[0] = 7; l") == "[7, 2]");
  CHECK(line(s, "for i in 0..3 { l += [i] }") == "nil");
  CHECK(line(s, "l") == "[7, 2, 0, 1, 2]");
}

TEST_CASE("`use` counts for the entries that follow") {
  Session s;
  CHECK(line(s, "fn before() = zeros([1]).dtype") == "nil");
  CHECK(line(s, "use f64") == "nil");
  CHECK(line(s, "(zeros([1]).dtype, tensor(0.1).dtype, before())") == "(f64, f64, f32)");
  CHECK(line(s, "fn after() = zeros([1]).dtype") == "nil");
  CHECK(line(s, "zeros([").find("error: ") == 0);
  CHECK(line(s, "use f16") == "error: use takes f64 or f32, not f16");
  CHECK(line(s, "default_dtype()") == "f64");
  CHECK(line(s, "use f32\n(default_dtype(), after())") == "(f32, f64)");
  CHECK(line(s, "default_dtype()") == "f32");
}

TEST_CASE("a failed entry leaves the prompt usable and variables intact") {
  Session s;
  CHECK(line(s, "var x = [1, 2]") == "nil");
  CHECK(line(s, "fn boom(l) { var m = l; m[0] = 9; error(\"boom\") }") == "nil");
  CHECK(line(s, "x = boom(x)") == "error: boom");
  CHECK(line(s, "x[9] = 1").find("error: ") == 0);
  CHECK(line(s, "x") == "[1, 2]");
  CHECK(line(s, "let y = 3; error(\"later\")") == "error: later");
  CHECK(line(s, "y") == "3");
  CHECK(line(s, "let z = error(\"never\")") == "error: never");
  CHECK(line(s, "z").find("error: unknown name 'z'") == 0);
  CHECK(line(s, "1 +").find("error: ") == 0);
  CHECK(line(s, "x + [3]") == "[1, 2, 3]");
}
