// Updates of a value with one owner happen in place: the storage remains the same.
#include "support/session.h"
#include "value/builtin.h"

using tsl::Engine;
using tsl::Session;
using tsl::Value;

namespace {

/// Runs a script that is quadratic, and takes minutes, if any step copies.
bool is_linear(const std::string& script) {
  Session s;
  s.engine.run("test.tsl", script);
  return true;
}

}  // namespace

TEST_CASE("changing a list in place takes constant time") {
  // Each of these would copy 200000 values 200000 times if one step shared the list: minutes, not milliseconds.
  const std::string make = "var x = [0] * 200000\n";
  CHECK(is_linear(make + "for i in 0..200000 { x[i] = i }"));
  CHECK(is_linear(make + "for i in 0..200000 { x += [i] }"));
  CHECK(is_linear(make + "for i in 0..200000 { x = x + [i] }"));
  CHECK(is_linear(make + "fn set(l, i) { var m = l; m[i] = 1; return m }\nfor i in 0..200000 { x = set(x, i) }"));
  CHECK(is_linear(
      make +
      "fn set(l, i) { var m = l; m[i] = 1; return (m, i) }\nvar n = 0\nfor i in 0..200000 { (x, n) = set(x, i) }"));
  CHECK(is_linear(make + "var p = {w: x}\nx = 0\nfor i in 0..200000 { p.w[i] = 1 }"));
  CHECK(is_linear(make + "var p = {w: [x]}\nx = 0\nfor i in 0..200000 { p.w[0][i] += 1 }"));
  CHECK(is_linear(make + "fn f() { for i in 0..200000 { x[i] = 1; x += [i] } }\nf()"));
  CHECK(is_linear(make + "for i in 0..200000 { try { x[i] = 1 } catch e { print(x) } }"));
  CHECK(
      is_linear(make + "fn f(l) { var i = 0; var m = l; while i < 200000 { m[i] = i; i += 1 }; return m }\nx = f(x)"));
  CHECK(is_linear("var s = \"\"\nfor i in 0..200000 { s += \"abcdefgh\" }"));
}

TEST_CASE("an argument's last use makes the callee its only owner") {
  // owned() returns whether its argument has no other references.
  Session s;
  static constexpr tsl::Builtin kOwned = {"owned", "owned(x)", "",
                                          [](tsl::Context&, tsl::Args args) { return Value(args[0].unique()); }, ""};
  auto native = tsl::make_ref<tsl::BuiltinFunction>();
  native->builtin = &kOwned;
  const Value owned{tsl::Ref<tsl::BuiltinFunction>(native)};
  const auto run = [&](const std::string& body) {
    const Value f = s.engine.run("test.tsl", "fn f(owned) {\n" + body + "\n}\nf");
    Value args[] = {owned};
    return to_repr(s.engine, s.engine.call(f, args));
  };
  CHECK(run("let x = [1]; return owned(x)") == "true");
  CHECK(run("let x = [1]; let r = owned(x); return (r, x)") == "(false, [1])");
  CHECK(run("return owned([1, 2])") == "true");
  CHECK(run("var x = [1]; var r = 0; for i in 0..3 { r = owned(x); x = [i] }; return r") == "true");
  CHECK(run("var x = [1]; var r = 0; for i in 0..3 { r = owned(x) }; return r") == "false");
  CHECK(run("let x = [1]; fn g(y) = owned(y); return g(x)") == "true");
  CHECK(run("let x = [1]; fn g(y, z) = owned(z); return g(x, x)") == "false");
  CHECK(run("let x = [1]; let y = x; return owned(y)") == "true");
  CHECK(run("let x = [1]; if owned(x) { return 1 }; return 2") == "1");
  CHECK(run("let t = ([1], [2]); let (a, b) = t; return (owned(a), owned(b))") == "(true, true)");
  CHECK(run("let p = {w: [1]}; let w = p.w; return owned(w)") == "true");
  // In a try block, a value that is needed after an error is not moved.
  CHECK(run("var x = [1]; var r = 0; try { r = owned(x) } catch e { }; return (r, x)") == "(false, [1])");
  CHECK(run("var x = [1]; var r = 0; try { r = owned(x) } catch e { r = 5 }; return r") == "true");
  CHECK(run("var x = [1]; var r = 0; try { r = owned(x) } catch e { r = x }; return r") == "false");
}
