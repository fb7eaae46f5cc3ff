// How a program controls what is compiled: `whole: true`, @interpret, recompile() and wait().
#include <vector>

#include "catch.h"
#include "support/session.h"

using namespace tsl;

namespace {

/// Returns the error of a call of `f(ones([4]))`, as "line: message", with its hints; f has `whole: true`.
std::string split(const std::string& body, EngineOptions options = {}) {
  Session s(std::move(options));
  const Error e = s.error("@compile(whole: true)\nfn f(x) {\n" + body + "\n}\nlet y = f(ones([4]))\n");
  CHECK(e.kind() == ErrorKind::limit);
  CHECK(e.is_final);
  std::string text = std::to_string(s.line_of(e)) + ": " + e.message + "\n";
  for (const std::string& hint : e.hints) text += "= " + hint + "\n";
  for (const RelatedPlace& place : e.related)
    text += std::to_string(s.engine.sources().get(place.span.source).line_of(place.span.begin)) + ": " + place.text;
  return text;
}

/// Returns how many of the functions' calls and loops became regions: the traces of a program.
std::string traces(const std::string& program, bool compile_all = false) {
  EngineOptions options;
  options.compile_all = compile_all;
  Session s(options);
  return s.output(program + "\nprint(counters().traces)\n");
}

}  // namespace

TEST_CASE("what splits a function that must be whole is an error at its line", "[whole]") {
  CHECK(split("  let n = sum(x)\n  if n > 2.0 { return x }\n  return x * 2.0") ==
        "4: f has `whole: true`, but is split here: the host reads a number\n"
        "= `where(condition, a, b)` chooses between tensors without a read; read numbers after the call\n"
        "4: computed here");
  CHECK(split("  print(\"start\")\n  let t = clock()\n  return x * t") ==
        "4: f has `whole: true`, but is split here: the host does this between two pieces\n"
        "= call it before or after f\n");
  CHECK(split("  let w = x * 2.0\n  return len(f\"{w}\")") ==
        "4: f has `whole: true`, but is interpreted: the host reads a whole tensor\n"
        "= move this out of f, or leave out `whole: true`\n");
  CHECK(split("  let y = x * 2.0\n  return fn() = y") ==
        "6: f has `whole: true`, but is interpreted: it makes a closure that outlives it\n"
        "= move this out of f, or leave out `whole: true`\n");
  CHECK(split("  var y = x\n  for i in 0..20001 { y = y + 1.0 }\n  return y")
            .find("4: f has `whole: true`, but is split here: it has too many ops for one piece\n") == 0);
}

TEST_CASE("a whole function that is compiled in one piece gives what it gives without", "[whole]") {
  const std::string body = "fn f(x, k) {\n  print(k)\n  let y = where(x > 1.0, x * k, x)\n  return sum(y)\n}\n";
  const std::string calls = "for k in 1..4 { print(f(arange(4) * 1.0, k)) }";
  CHECK(traces("@compile(whole: true)\n" + body + calls) == traces("@compile\n" + body + calls));
}

TEST_CASE("a whole function within another one, or in a loop, must be whole there, too", "[whole]") {
  const std::string inner = "@compile(whole: true)\nfn inner(x) = if sum(x) > 1.0 { x } else { -x }\n";
  for (const bool compile_all : {false, true}) {
    EngineOptions options;
    options.compile_all = compile_all;
    Session s(options);
    const std::string expected = "inner has `whole: true`, but is split here: the host reads a number";
    CHECK(s.error(inner + "@compile\nfn outer(x) = inner(x) * 2.0\nouter(ones([3]))").message == expected);
    CHECK(s.error(inner + "for i in 0..3 { inner(ones([3])) }").message == expected);
    // What the caller reads splits the caller only.
    CHECK(
        s.output(
            "@compile(whole: true)\nfn twice(x) = x * 2.0\n@compile\nfn g(x) {\n  if sum(x) > 1.0 { return twice(x) }\n"
            "  return x\n}\nprint(g(ones([2])), g(zeros([2])))") == "f32[2]\n[2. 2.] f32[2]\n[0. 0.]\n");
  }
}

TEST_CASE("a whole function that would be interpreted is an error, unless nothing is compiled", "[whole]") {
  const std::string f = "@compile(whole: true)\nfn f(x) = sum(x * x)\n";
  Session s;
  CHECK(s.error(f + "grad(f)(ones([3]))").message ==
        "f has `whole: true`, but is interpreted: code that is not compiled differentiates it");
  CHECK(s.output(f + "@compile\nfn g(x) = grad(f)(x)\nprint(g(ones([2])))") == "f32[2]\n[2. 2.]\n");
  const Error many = s.error(
      "@compile(whole: true)\nfn h(x, name) = if name == \"\" { x } else { x + 1.0 }\n"
      "for i in 0..40 { h(ones([2]), str(i)) }");
  CHECK(many.message == "h has `whole: true`, but is interpreted: this call fits none of its many traces");
  CHECK_THROWS_AS(s.eval("@compile(whole: true)\nfn k(x) {\n  try { return x.tolist() } catch e { return nil }\n}\n"
                         "try { k(ones([2])) } catch e { nil }"),
                  Failure);  // no `try` catches it
  EngineOptions nothing;
  nothing.compile_annotated = false;
  Session eager(nothing);
  CHECK(eager.output("@compile(whole: true)\nfn f(x) = if sum(x) > 1.0 { 1 } else { 2 }\nprint(f(ones([2])))") ==
        "1\n");
}

TEST_CASE("an error of the program in a whole function stays what it is", "[whole]") {
  Session s;
  CHECK(s.error_text("@compile(whole: true)\nfn f(x, i) = take(x, i, 0) * 2.0\nf(ones([3]), tensor([5]))") ==
        "index: index 5 is out of range for axis 0 with extent 3");
  CHECK(s.error_text("@compile(whole: true)\nfn f(x) = x + ones([2])\nf(ones([3]))").find("shape: ") == 0);
}

TEST_CASE("what a function with @interpret calls is not compiled, and what calls it is interpreted", "[interpret]") {
  const std::string inner = "@compile\nfn inner(x) = x * 2.0\n";
  const std::string outer =
      "fn outer(x) {\n  var y = x\n  for i in 0..3 { y = inner(y) }\n  return map(inner, [y])[0]\n}\n";
  const std::string calls = "for i in 0..4 { outer(ones([2])) }";
  CHECK(traces(inner + outer + calls) == "1\n");
  CHECK(traces(inner + "@interpret\n" + outer + calls) == "0\n");
  CHECK(traces(inner + "@interpret\n" + outer + "outer(ones([2]))", true) == "0\n");
  // A region that calls it ends there, once in a while, and the rest of its caller is interpreted.
  const std::string caller =
      "@compile\nfn caller(x) {\n  let y = exp(x) * 2.0\n  let z = outer(y)\n  return z + y\n}\n";
  const std::string run = "for i in 0..20 { caller(ones([2])) }";
  CHECK(traces(inner + "@interpret\n" + outer + caller + run) == "1\n");
}

TEST_CASE("recompile() has functions traced again", "[recompile]") {
  const std::string f = "@compile\nfn f(x) = x * 2.0\n@compile\nfn g(x) = x + 1.0\n";
  const std::string both = "f(ones([2]))\ng(ones([2]))\n";
  CHECK(traces(f + both + both) == "2\n");
  CHECK(traces(f + both + "recompile(f)\n" + both) == "3\n");
  CHECK(traces(f + both + "recompile()\n" + both + both) == "4\n");
  CHECK(traces(f + both + "recompile(print)\n" + both) == "2\n");
  // A call that recompiles itself is interpreted from there on, and traced again afterwards.
  Session s;
  CHECK(s.output("@compile\nfn f(x, again) {\n  let y = x * 2.0\n  if again { recompile(f) }\n  return y + 1.0\n}\n"
                 "for again in [false, true, false, false] { print(f(ones([1]), again).item()) }") ==
        "3.0\n3.0\n3.0\n3.0\n");
  std::string log;
  EngineOptions options;
  options.log_topics = "recompiles";
  Session logged(options);
  logged.engine.log = [&](std::string_view text) { log += text; };
  logged.output(f + both + "recompile(f)\n" + both);
  CHECK(log.find("f (test.tsl:2): recompile() was called") != std::string::npos);
}

TEST_CASE("a function that was traced too often is traced at once after recompile()", "[recompile]") {
  const std::string h =
      "@compile\nfn h(x, name) = if name == \"\" { x } else { x + 1.0 }\n"
      "for i in 0..40 { h(ones([2]), str(i)) }\n";
  CHECK(traces(h) == "32\n");
  CHECK(traces(h + "recompile(h)\nh(ones([2]), \"new\")") == "33\n");
}

TEST_CASE("wait() is an effect of a compiled function", "[recompile]") {
  Session s;
  CHECK(s.output("@compile\nfn f(x) {\n  let y = x * 2.0\n  wait()\n  return y + 1.0\n}\n"
                 "for i in 0..3 { print(f(ones([1])).item()) }\nprint(counters().traces, wait())") ==
        "3.0\n3.0\n3.0\n1 nil\n");
}
