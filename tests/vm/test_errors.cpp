// Tests errors: their positions, what catches them, and that no value is lost.
#include <functional>

#include "base/error_names.h"
#include "support/session.h"

using tsl::Error;
using tsl::ErrorKind;
using tsl::ErrorName;
using tsl::Session;

TEST_CASE("an error has a place and the calls that led to it") {
  Session s;
  const Error e = s.error("fn g(x) {\n  return x.nothing\n}\nfn f(x) = g(x)\n\nf({a: 1})\n");
  CHECK(s.line_of(e) == 2);
  REQUIRE(e.called_from.size() == 2);
  CHECK(e.called_from[0].function == "f");
  CHECK(s.engine.sources().location(e.called_from[0].span) == "test.tsl:4");
  CHECK(e.called_from[1].function == "<main>");
  CHECK(s.engine.sources().location(e.called_from[1].span) == "test.tsl:6");
}

TEST_CASE("words of other languages are told ours") {
  Session s;
  const auto note = [&](const char* code) {
    const Error e = s.error(code);
    return e.hints.empty() ? "" : e.hints[0];
  };
  CHECK(note("var l = [1]\nl.append(2)") == "`xs += [v]` appends");
  CHECK(note("ones([2, 3]).view(6)") == "did you mean 'reshape'?");
  CHECK(note("ones([2, 3]).reshap(6)") == "did you mean 'reshape'?");
  CHECK(note("ones([2, 3]).t()") == "the transpose is a field: `x.T`");
  CHECK(note("ones([2, 3]).numel()") == "`x.size` is the number of elements of a tensor");
  CHECK(note("ones([2, 3]).numel") == "`x.size` is the number of elements of a tensor");
  CHECK(note("ones([2, 3]).dim()") == "`x.rank` is the number of axes of a tensor, and so is `len(x.shape)`");
  CHECK(note("ones([2, 3]).double()") == "`f64(x)` converts a tensor");
  CHECK(note("dropout(ones([3]))") == "it is in the module nn: `import nn`, and write `nn.dropout`");
  CHECK(note("clip_grad_norm(1, 2)") == "it is in the module optim: `import optim`, and write `optim.clip_grad_norm`");
  CHECK(note("ones([2, 3]).trasnpose()") == "did you mean 'transpose'?");
  CHECK(note("print(ones(2, 3))") == "a shape is one list: `ones([2, 3])`");
  CHECK(note("nn.relu(1)") == "it is a module: import nn");
}

TEST_CASE("arguments that do not fit are the caller's fault") {
  Session s;
  const Error arity = s.error("fn f(a) = a\nfn g() = f(1, 2)\ng()");
  CHECK(s.line_of(arity) == 2);
  const Error kind = s.error("fn f(a: int) = a\n\nf(\"x\")");
  CHECK(s.line_of(kind) == 3);
  CHECK(kind.message == "'a' of f must be an int, not str \"x\"");
  CHECK(s.error_text("fn f(a: list, g: fn, r: record) = a\nf([], len, 1)") ==
        "type: 'r' of f must be a record, not int 1");
  CHECK(s.error_text("fn f(k: int = \"x\") = k\nf()") == "type: 'k' of f must be an int, not str \"x\"");
  CHECK(s.error_text("fn f() -> int = \"x\"\nf()") == "type: the result of f must be an int, not str \"x\"");
  CHECK(s.eval("fn f(x: float) -> float = x\nf(2)") == "2");
  CHECK(s.error_text("fn f(x: f32[b]) = x\nf(1)") == "type: 'x' of f must be f32[b], not int 1");
  CHECK(s.error_text("fn f(x: nosuch) = x").find("name: unknown type 'nosuch'") == 0);
}

TEST_CASE("try catches, and gives kind, name, message and line") {
  Session s;
  CHECK(s.eval("var r = nil\ntry {\n  error(\"boom\")\n} catch e { r = (e.kind, e.message, e.line) }\nr") ==
        "(\"user\", \"boom\", 3)");
  CHECK(s.eval("fn f() { try { return g() } catch e { return e.kind } }\nfn g() = [1][5]\nf()") == "\"index\"");
  const auto name_of_error = [&](const std::string& code) {
    return s.eval("var n = \"none\"; try { " + code + " } catch e { n = e.name }; n");
  };
  CHECK(name_of_error("[1][5]") == "\"index-out-of-range\"");
  CHECK(name_of_error("ones([2]) + ones([3])") == "\"shape-mismatch\"");
  CHECK(name_of_error("1 // 0") == "\"division-by-zero\"");
  CHECK(name_of_error("error(\"no\")") == "\"user-error\"");
  CHECK(name_of_error("error(\"no\", kind: \"shape\")") == "\"raised-shape\"");
  CHECK(s.eval("var l = []; for i in 0..3 { try { if i == 1 { error(\"x\") }; l += [i] } catch e { l += [-1] } }; l") ==
        "[0, -1, 2]");
  CHECK(s.eval("var n = 0; for i in 0..5 { try { if i == 3 { break }; continue } catch e { }; n = 99 }; n") == "0");
  CHECK(s.eval("var r = 0; try { try { error(\"a\") } catch e { error(e.message + \"b\") } } catch e { r = e.message "
               "}; r") == "\"ab\"");
  CHECK(s.eval("fn f() { try { error(\"x\") } catch e { return 1 }; return 2 }\nf()") == "1");
  CHECK(s.eval("var r = 0; try { map(fn(x) = error(\"in map\"), [1]) } catch e { r = e.message }; r") == "\"in map\"");
}

TEST_CASE("a failed statement leaves every variable as it was") {
  Session s;
  const std::string head = "fn boom(l) { var m = l; m[0] = 99; error(\"boom\") }\nvar x = [1, 2]\n";
  CHECK(s.eval(head + "try { x = boom(x) } catch e { }\nx") == "[1, 2]");
  CHECK(s.eval(head + "try { x[7] = 5 } catch e { }\nx") == "[1, 2]");
  CHECK(s.eval(head + "try { x += boom(x) } catch e { }\nx") == "[1, 2]");
  CHECK(s.eval(head + "try { x[boom(x)] = 1 } catch e { }\nx") == "[1, 2]");
  CHECK(s.eval(head + "try { (x, x) = (boom(x), 1) } catch e { }\nx") == "[1, 2]");
  CHECK(s.eval(head + "fn f() { var y = x; try { y = boom(y) } catch e { return y }; return 0 }\nf()") == "[1, 2]");
  CHECK(s.eval(head + "for i in 0..3 { try { x = if i == 1 { boom(x) } else { x + [i] } } catch e { } }\nx") ==
        "[1, 2, 0, 2]");
  CHECK(s.eval("var p = {w: [1, 2]}; try { p.w[5] = 1 } catch e { }; try { p.nope.x = 1 } catch e { }; p.w") ==
        "[1, 2]");
  CHECK(s.eval("var p = {w: [1]}; fn f() { p.w[9] = 1 }\ntry { f() } catch e { }; p.w") == "[1]");
  CHECK(s.eval("var x = true; try { x = false and error(\"e\") } catch e { }; x") == "false");
  CHECK(s.eval("var x = false; try { x = true and error(\"e\") } catch e { }; x") == "false");
}

TEST_CASE("a program that cannot print ends, and the engine goes on") {
  for (const char* how : {"@compile\n", ""}) {
    Session s;
    const std::string program = std::string(how) + R"(fn f(x) {
  var y = x * 2
  try {
    print(y)
    y = y + 1
    if y[0] > 2 { print(y) }
  } catch e {
    y = y * 1000
  }
  if y[1] > 3 { y = y + 0 }
  return y
}
var z = f(tensor([1.0, 2.0]))
z = f(z)
)";
    const std::function<void(std::string_view)> print = s.engine.output;
    for (int after : {0, 1, 2, 3, 3, 2, 1, 0}) {
      int printed = 0;
      s.engine.output = [&](std::string_view text) {
        if (printed++ == after) tsl::fail(ErrorName::cannot_write_file, "the pipe is closed");
        print(text);
      };
      CHECK_THROWS_WITH(s.engine.run("test.tsl", program), "the pipe is closed");
    }
    s.engine.output = print;
    CHECK(s.output(program + "print(z.tolist())\n").find("[7.0, 11.0]\n") != std::string::npos);
  }
}

TEST_CASE("whatever comes out of what writes, variables hold values after it") {
  const std::string head = "total = total + x\n  print(total)\n  total = total + x\n  ";
  for (const std::string tail :
       {"error(\"own\")", "return x[0].item() > 0", "return tolist(x)", "return x", "fn g() = x\n  return g"}) {
    for (const bool is_loop : {false, true}) {
      for (const int how : {0, 1, 2, 3}) {
        if (how >= 2 && tail == "error(\"own\")") continue;  // logs nothing more
        CAPTURE(tail, is_loop, how);
        tsl::EngineOptions options;
        options.compile_all = is_loop;
        options.log_topics = how >= 2 ? "recompiles,guards" : "";
        Session s(options);
        s.engine.log = [](std::string_view) {};
        const auto throwing = [&](std::string_view text) {
          if (how >= 2 && text.find("first call") != std::string::npos) return;  // before the trace
          if (how % 2 == 0) tsl::fail(ErrorName::cannot_write_file, "closed");
          throw std::runtime_error("closed");
        };
        const std::function<void(std::string_view)> print = s.engine.output;
        s.engine.run_line("var total = zeros([2])\n");
        s.engine.run_line((is_loop ? "fn f(x) {\n  " : "@compile\nfn f(x) {\n  ") + head + tail + "\n}\n");
        (how < 2 ? s.engine.output : s.engine.log) = throwing;
        const std::string body = is_loop ? "for i in 0..2 { y = f(ones([2])) }" : "f(ones([2]))";
        const std::string call = "var y = zeros([2])\ntry { " + body + " } catch e { nil }\n";
        CHECK_THROWS_WITH(s.engine.run_line(call), "closed");
        s.engine.output = print;
        s.engine.log = [](std::string_view) {};
        s.printed.clear();
        s.engine.run_line("print(sum(total).item() in [0.0, 4.0], sum(total + 1.0).item() >= 2.0)");
        CHECK(s.printed == "true true\n");
        if (tail == "return x") {
          s.engine.run_line("total = zeros([2])\nf(ones([2]))\nprint(sum(total).item())");
          CHECK(s.printed.find("\n4.0\n") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("what writes cannot run a program: a compiled function may be in the middle of its run") {
  Session s;
  const std::string program = R"(
@compile
fn f(x) {
  print(x)
  if sum(x) > 1 { print(x * 2) }
  return x + 1
}
)";
  const std::string twice = program + "print(f(ones([3])))\nprint(f(ones([3])))\n";
  const std::string expected = s.output(twice);
  const tsl::Value f = s.engine.run("f.tsl", program + "f(ones([3]))\nf(ones([3]))\nf");
  std::vector<tsl::Value> args = {s.engine.run("x.tsl", "ones([3])")};
  const std::function<void(std::string_view)> print = s.engine.output;
  int refused = 0;
  s.engine.output = [&](std::string_view text) {
    CHECK_THROWS_WITH(s.engine.call(f, args),
                      "the engine cannot run a program while it writes what another one prints or logs");
    CHECK_THROWS_AS(s.engine.run("nested.tsl", "1"), tsl::Failure);
    ++refused;
    print(text);
  };
  CHECK(s.output(twice) == expected);
  CHECK(refused == 6);
  s.engine.output = print;
  CHECK(s.output(twice) == expected);
}

TEST_CASE("recursion without end is an error, and the engine goes on") {
  Session s;
  const Error e = s.error("fn f(n) = 1 + f(n + 1)\nf(0)");
  CHECK(e.kind() == ErrorKind::limit);
  const std::string shown = render(e, s.engine.sources());
  CHECK(shown.find("more …") != std::string::npos);
  CHECK(shown.size() < 2000);
  CHECK(s.eval("1 + 1") == "2");
  CHECK(s.eval("fn f(n) = 1 + f(n + 1)\nvar r = 0; try { f(0) } catch e { r = e.kind }; r") == "\"limit\"");
  CHECK(s.eval("fn f(n) = if n == 0 { 0 } else { 1 + f(n - 1) }\nf(100000)") == "100000");
}

TEST_CASE("what a function has too much of is named") {
  Session s;
  std::string items = "0";
  for (int i = 0; i < 70000; ++i) items += ",1";
  CHECK(s.error_text("let x = [" + items + "]") ==
        "limit: too many variables, or parts of one expression, in one function");
}

TEST_CASE("recursion through builtins ends before the stack does") {
  Session s;
  const Error e = s.error("fn f(n) = map(fn(x) = f(x + 1), [n])\nf(0)");
  CHECK(e.kind() == ErrorKind::limit);
  CHECK(s.eval("fn depth(n) = if n == 0 { 0 } else { map(fn(x) = depth(x), [n - 1])[0] + 1 }\ndepth(100)") == "100");
}

TEST_CASE("an interrupt ends any loop and cannot be caught") {
  Session s;
  s.engine.watch.interrupt();
  CHECK(s.error("while true { }").kind() == ErrorKind::interrupt);
  CHECK_FALSE(s.engine.watch.is_interrupted());
  s.engine.watch.interrupt();
  CHECK(s.error("var n = 0; for i in 0..10 { try { n += 1 } catch e { } }").kind() == ErrorKind::interrupt);
  s.engine.watch.interrupt();
  CHECK(s.error("fn f(n) = f(n)\nf(1)").kind() == ErrorKind::interrupt);
  CHECK(s.eval("1") == "1");
}

TEST_CASE("values nested without bound go away without recursion") {
  Session s;
  CHECK(s.eval("var l = []; for i in 0..1000000 { l = [l] }; l = 0; l") == "0");
  CHECK(s.eval("var r = nil; for i in 0..1000000 { r = {next: r} }; r = 0; r") == "0");
  CHECK(s.eval("fn wrap(f) = fn() = f\nvar f = 0; for i in 0..300000 { f = wrap(f) }; f = 0; f") == "0");
}
