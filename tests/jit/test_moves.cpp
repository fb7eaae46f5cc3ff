// Updates of a value with one owner happen in place: the storage remains the same.
#include "support/session.h"
#include "value/builtin.h"

using tsl::Engine;
using tsl::EngineOptions;
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

TEST_CASE("finding a code point, a key or the end of a list takes constant time") {
  // Each of these takes minutes if a step looks at all that there is.
  const std::string text = "var t = \"abcd\" * 75000\nvar n = 0\n";
  const std::string wide = "var t = \"aä東d\" * 75000\nvar n = 0\n";
  for (const std::string& make : {text, wide}) {
    CHECK(is_linear(make + "for i in 0..len(t) { if t[i] == \"d\" { n += 1 } }\nassert(n == 75000)"));
    CHECK(is_linear(make +
                    "var i = 0\nwhile i < len(t) { if t[i:i + 2] == \"da\" { n += 1 }; i += 1 }\nassert(n == 74999)"));
  }
  CHECK(is_linear("var t = \"\"\nfor i in 0..300000 { t += \"ä\"; assert(t[-1] == \"ä\" and len(t) == i + 1) }"));
  CHECK(is_linear("assert(reversed(\"aä\" * 1000000)[:2] == \"äa\")"));
  CHECK(is_linear("var r = {}\nfor i in 0..400000 { r[str(i)] = i }\nfor i in 0..400000 { assert(r[str(i)] == i) }"));
  CHECK(is_linear("var l = [1] * 400000\nvar n = 0\nwhile len(l) > 0 { n += l[-1]; l = l[:-1] }\nassert(n == 400000)"));
  CHECK(
      is_linear("var r = {}\nfor i in 0..200000 { r[str(i)] = i }\nsave(\"/tmp/tsl_test_moves.json\", r)\n"
                "assert(load(\"/tmp/tsl_test_moves.json\") == r)"));
}

TEST_CASE("x = f(x) needs no memory beside x, from the first call on") {
  // Every step would need a second tensor of 4 MB.
  const auto peak = [](const std::string& script, bool compile_all) {
    EngineOptions options;
    options.compile_all = compile_all;
    Session s(options);
    INFO(script);
    return std::stod(s.eval("var p = ones([1000000])\n" + script + "\np.sum()\ncounters().memory_peak / 4e6"));
  };
  for (const bool compile_all : {false, true}) {
    CHECK(peak("p = p * 2.0 + 1.0", compile_all) < 1.1);
    CHECK(peak("fn f(x) = x * 2.0 + 1.0\nfor i in 0..3 { p = f(p) }", compile_all) < 1.1);
    CHECK(peak("fn f(x) = x * 2.0 + 1.0\np = f(p)", compile_all) < 1.1);
    CHECK(peak("@compile fn f(x) = x * 2.0 + 1.0\np = f(p)", compile_all) < 1.1);
    CHECK(peak("@compile fn f(r) = {w: r.w * 2.0 + 1.0, n: r.n + 1}\nvar r = {w: p, n: 1}\np = 0\nr = f(r)\np = r.w",
               compile_all) < 1.1);
    CHECK(peak("@compile fn f(x) {\n if x[0] > 5.0 { return x }\n return x * 2.0\n}\np = f(p)", compile_all) < 1.1);
  }
  CHECK(peak("p = -p", false) < 1.1);
  CHECK(peak("p += 1.0", false) < 1.1);
  CHECK(peak("p = 1.0 - p", false) < 1.1);
  CHECK(peak("p = p + tensor(1.0)", false) < 1.1);
  CHECK(peak("p = p ** 2", false) < 1.1);
  CHECK(peak("p = relu(exp(p))", false) < 1.1);
  CHECK(peak("p = maximum(p, 0.5)", false) < 1.1);
  CHECK(peak("p = clamp(p, 0.0, 0.5)", false) < 1.1);
  CHECK(peak("let c = p > 2.0\np = where(c, p, 0.5)", false) < 1.3);  // and the condition, a byte each
  CHECK(peak("for i in 0..3 { p = p * 2.0 + 1.0 }", true) < 1.1);
  CHECK(peak("var r = {w: p, n: 0}\np = 0\nfor i in 0..3 { r = {w: r.w * 2.0, n: r.n + 1} }\np = r.w", true) < 1.1);
  CHECK(peak("let q = p\np = p * 2.0\np = p + q", false) > 1.9);  // q holds the old one
}

TEST_CASE("an operand that is read again keeps its elements") {
  for (const bool compile_all : {false, true}) {
    EngineOptions options;
    options.compile_all = compile_all;
    Session s(options);
    const auto eval = [&](const std::string& script) { return s.eval("var p = tensor([4, 6])\n" + script); };
    CHECK(eval("let q = p; p = p * 2; (p, q).map(fn(t) = t.tolist())") == "[[8, 12], [4, 6]]");
    CHECK(eval("try { p = p // tensor([1, 0]) } catch e { }; p.tolist()") == "[4, 6]");
    CHECK(eval("try { p = p + ones([3]) } catch e { }; p.tolist()") == "[4, 6]");
    CHECK(eval("fn f(x) { let y = x + 1; return (x, y) }; f(p).map(fn(t) = t.tolist())") == "[[4, 6], [5, 7]]");
    CHECK(eval("p = p * p; p.tolist()") == "[16, 36]");
    CHECK(eval("let l = [p, p]; let m = maximum(l, 5); (l, m).map(fn(t) = t[0].tolist())") == "[[4, 6], [5, 6]]");
    CHECK(eval("let v = p[0:1]; p = p + 1; (v, p).map(fn(t) = t.tolist())") == "[[4], [5, 7]]");
    CHECK(eval("let g = grad(fn(x) { var y = x * 2.0; y = y * y; return y.sum() }); g(f32(p)).tolist()") ==
          "[32.0, 48.0]");
    CHECK(eval("for i in 0..3 { if i == 1 { p = p * 2 } }; p.tolist()") == "[8, 12]");
    CHECK(eval("var q = p; for i in 0..3 { (p, q) = (q, p + 1) }; (p, q).map(fn(t) = t.tolist())") ==
          "[[5, 7], [6, 8]]");
    CHECK(eval("var n = 0; for i in 0..4 { try { p = p + 1; if i == 2 { p = p // 0 } } catch e { n += 1 } }; "
               "(p.tolist(), n)") == "([8, 10], 1)");
    CHECK(eval("let l = [1, 2, 3]; var m = l; m = m[:-1]; (l, m)") == "([1, 2, 3], [1, 2])");
    CHECK(eval("var m = [1, 2, 3, 4]; m = m[1:3]; m = m[:0] + m[5:]; m") == "[]");
  }
}

TEST_CASE("writes to a donated tensor in compiled code happen in place") {
  // A copy for one of the fifty writes would show in the peak.
  for (const char* write : {"x[i * 7] = 0.5", "x[i * 7] = x[i * 7 + 1] * 2.0", "x[i] += 1.0", "x[i:i + 9] = 0.0"}) {
    INFO(write);
    const std::string name = "fn f(x0) {\n var x = x0\n for i in 0..50 { " + std::string(write) + " }\n return x\n}\n";
    Session s;
    const std::string call = "var p = arange(0.0, 1000000.0)\nfor k in 0..3 { p = f(p) }\n";
    CHECK(std::stod(s.eval("@compile " + name + call + "p.sum()\ncounters().memory_peak / 4e6")) < 1.1);
    CHECK(s.eval("@compile " + name + call + "p[:500].tolist()") == s.eval(name + call + "p[:500].tolist()"));
  }
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
