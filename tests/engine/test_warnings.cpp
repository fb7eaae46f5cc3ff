// Tests warnings: each once for a line, and what a host receives.
#include <algorithm>

#include "support/session.h"

using namespace tsl;

namespace {

/// Returns the warnings of a script, as "line: message", one per line.
std::string warned(const std::string& program, bool compile_all = false) {
  EngineOptions options;
  options.compile_all = compile_all;
  Session s(options);
  std::string text;
  s.engine.show_warning = [&](const Error& warning) {
    text += std::to_string(s.line_of(warning)) + ": " + warning.message + "\n";
  };
  s.output(program);
  return text;
}

constexpr const char* kUnused = "this value is not used, and computing it has no effect\n";

}  // namespace

TEST_CASE("builtins without effects are known to have none", "[warnings]") {
  CHECK(warned("let x = ones([2])\nexp(x)\nf32(x)\nsoftmax(x)\nsorted([2, 1])\nprint(x)") ==
        std::string("2: ") + kUnused + "3: " + kUnused + "4: " + kUnused + "5: " + kUnused);
  CHECK(warned("let x = [1]\nmap(print, x)\nassert(true)\nseed(1)\nhelp(len)\nx.len()\n0") == "");
}

TEST_CASE("a host receives warnings in the log, unless it takes them itself", "[warnings]") {
  Session s;
  std::string log;
  s.engine.log = [&](std::string_view text) { log += text; };
  s.output("fn f(x) { x }\nf(1)");
  CHECK(log.rfind("warning: this value is not used", 0) == 0);
}

TEST_CASE("a line is warned about once", "[warnings]") {
  Session s;
  int count = 0;
  s.engine.show_warning = [&](const Error&) { ++count; };
  s.output("1 + 1\n0");
  s.output("1 + 1\n0");
  CHECK(count == 1);
}

TEST_CASE("of the prompt's entries, only what functions and loops drop is warned about", "[warnings]") {
  Session s;
  int count = 0;
  s.engine.show_warning = [&](const Error&) { ++count; };
  s.engine.run_line("1 + 1\n0");
  s.engine.run_line("let x = 1\nx; x\nif x > 0 { x } else { 0 }\nx");
  s.engine.run_line("fn f(x) = x\nfn g(x) { return x }\nfn h(x) { print(x) }");
  CHECK(count == 0);
  s.engine.run_line("fn f(x) { x + 1 }");
  CHECK(count == 1);
  s.engine.run_line("let g = fn(x) { if x { 1 } else { f(x) } }");
  CHECK(count == 2);
  s.engine.run_line("for i in 0..2 { i + 1 }");
  CHECK(count == 3);
}

TEST_CASE("warnings as errors stop a program, which cannot catch them", "[warnings]") {
  EngineOptions options;
  options.warnings = Warnings::error;
  Session s(options);
  CHECK(s.error_text("print(1)\n1 + 1\n0") ==
        std::string("warning: ") + "this value is not used, and computing it has no effect");
  CHECK(s.printed == "");
}

TEST_CASE("a result that compiled code computes for nothing is named, once for a line", "[warnings]") {
  const std::string function = "@compile\nfn f(x) {\n  let d = exp(x) * 2.0 + x\n  return x * 3.0\n}\n";
  CHECK(warned(function + "let y = [f(ones([2])), f(ones([2])), f(ones([3]))]") ==
        "3: the result of `add` is unused\n");
  CHECK(warned("fn f(x) = exp(x)\nlet x = ones([2])\nfor i in 0..3 {\n  f(x)\n}", true) ==
        "1: the result of `exp` is unused\n");
  CHECK(
      warned("@compile\nfn f(x) {\n  let s = (x * 2.0).sum().item()\n  let d = x + 1.0\n  return s\n}\nf(ones([2]))") ==
      "4: the result of `add` is unused\n");
}

TEST_CASE("results that are unused for a good reason are not named", "[warnings]") {
  const auto is_quiet = [](const std::string& program) {
    INFO(program);
    CHECK(warned(program) == "");
    CHECK(warned(program, true) == "");
  };
  is_quiet("@compile\nfn f(x) {\n  let (v, i) = topk(x, 2)\n  return i\n}\nf(ones([3]))");
  is_quiet("@compile\nfn f(x) = grad(fn(x) = sum(x * x + 1.0))(x)\nf(ones([3]))");
  is_quiet(
      "@compile\nfn f(x, y) {\n  let (l, g) = value_and_grad(fn(p) = sum(p.a * p.b))({a: x, b: y})\n  return g.a\n}\n"
      "f(ones([3]), ones([3]))");
  is_quiet("@compile\nfn f(x) {\n  let z = zeros([len(x)])\n  return z.shape\n}\nf(ones([3]))");
  is_quiet(
      "@compile\nfn f(x) {\n  try {\n    let y = x + 1.0\n    error(\"no\")\n    return y\n  } catch e { return x "
      "}\n}\n"
      "f(ones([3]))");
  is_quiet("import nn\n@compile\nfn f(x) = nn.layer_norm(x, nn.layer_norm_init(3))\nlet y = 0");
}

TEST_CASE("a function with @compile that falls back is named, with the reason and its line", "[warnings]") {
  const std::string reads = "fn f(x) {\n  let t = x.tolist()\n  let s = f\"{x}\"\n  return len(s)\n}\n";
  CHECK(warned("@compile\n" + reads + "for i in 0..3 { f(ones([2])) }") ==
        "5: f has @compile, but this is interpreted: the host reads a whole tensor\n");
  CHECK(warned(reads + "for i in 0..3 { f(ones([2])) }", true) == "");  // nobody has asked for this function
  const std::string fills =
      "@compile\nfn g(n) {\n  var y = zeros([9])\n  for i in 0..n { y[i % 9] = i }\n  return y\n}\n";
  CHECK(warned(fills + "g(1000)") == "");
  CHECK(warned(fills + "g(1100)") ==
        "4: g has @compile, but this is interpreted: it writes too many single elements\n");
}

TEST_CASE("calls that fit none of a function's many traces are named, once, with what differs", "[warnings]") {
  const std::string text =
      warned("@compile\nfn f(x, name) = x * len(name)\nfor i in 0..90 { f(ones([2]), f\"name {i}\") }");
  INFO(text);
  CHECK(text.find("3: f has @compile, but calls that fit none of its traces are interpreted for a while: it was traced "
                  "32 times, the last time since name was \"name 30\", is \"name 31\"") == 0);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("a function that is compiled for ever new sizes is named once", "[warnings]") {
  const std::string sizes = "@compile\nfn f(x) = x * 2.0 + 1.0\nfor i in 2..N { f(ones([i, 3])) }";
  const auto with = [&](const char* count) { return warned(std::string(sizes).replace(sizes.find('N'), 1, count)); };
  CHECK(with("60") == "");
  CHECK(with("90") == "3: f has @compile, but it is compiled again and again: its tensors had more than 64 sizes\n");
}

TEST_CASE("a function with @compile whose gradient is recorded outside of compiled code is named", "[warnings]") {
  const std::string loss = "@compile\nfn loss(w) = sum(w * w)\n";
  CHECK(warned(loss + "for i in 0..3 { grad(loss)(ones([2])) }") ==
        "3: loss has @compile, but this is interpreted: code that is not compiled differentiates it\n");
  CHECK(warned(loss + "@compile\nfn step(w) = w - grad(loss)(w)\nfor i in 0..3 { step(ones([2])) }") == "");
}

TEST_CASE("a profile does not advise @compile to a function that has it", "[warnings]") {
  EngineOptions options;
  options.profile = true;
  Session s(options);
  s.engine.show_warning = [](const Error&) {};
  s.output(
      "@compile\nfn loss(w) {\n  var y = w\n  for i in 0..200 { y = y * 1.5 + 1.0 }\n  return sum(y)\n}\n"
      "for i in 0..20 { grad(loss)(ones([2])) }");
  const std::string text = s.engine.profile_text("test.tsl", false);
  INFO(text);
  CHECK(text.find("loss has @compile, but this is interpreted: code that is not compiled differentiates it "
                  "(test.tsl:7)") != std::string::npos);
  CHECK(text.find("which @compile or --compile would fuse") == std::string::npos);
}

TEST_CASE("a host read that is replayed often is named", "[warnings]") {
  const std::string program =
      "@compile\nfn f(x) {\n  let s = (x * 2.0).sum().item()\n  return x * s\n}\nlet x = ones([2])\n";
  CHECK(warned(program + "for i in 0..900 { let _ = f(x) }") == "");
  CHECK(warned(program + "for i in 0..1100 { let _ = f(x) }") ==
        "3: compiled code has waited here 1000 times for the host to read a number\n");
  CHECK(warned("var x = ones([2])\nvar s = 0.0\nfor i in 0..1100 {\n  x = x * 1.0\n  s += x.sum().item()\n}", true) ==
        "5: compiled code has waited here 1000 times for the host to read a number\n");
}

TEST_CASE("warnings about compiled code stop a program in error mode", "[warnings]") {
  EngineOptions options;
  options.warnings = Warnings::error;
  const auto fails = [&](const std::string& program) {
    Session s(options);
    return s.error_text(program);
  };
  CHECK(fails("@compile\nfn f(x) {\n  let d = exp(x)\n  return x\n}\ntry { f(ones([2])) } catch e { print(1) }") ==
        "warning: the result of `exp` is unused");
  CHECK(fails("@compile\nfn f(x) {\n  let s = f\"{x}\"\n  return len(s)\n}\nf(ones([2]))") ==
        "warning: f has @compile, but this is interpreted: the host reads a whole tensor");
  CHECK(fails("@compile\nfn f(x) = x * x.sum().item()\nfor i in 0..1100 { let _ = f(ones([2])) }") ==
        "warning: compiled code has waited here 1000 times for the host to read a number");
}

TEST_CASE("a loss or a score over all pairs of a column and a vector is named, once for a line", "[warnings]") {
  const auto warning = [](const std::string& op) {
    return "3: `" + op +
           "` of a column [n, 1] and a vector [n] is a matrix [n, n], which is then reduced to one number\n";
  };
  for (const bool compile_all : {false, true}) {
    CHECK(warned("let x = ones([8, 3])\nfn loss(w, y) {\n  let d = x @ w - y\n  return mean(square(d))\n}\n"
                 "for i in 0..3 { print(loss(ones([3, 1]), ones([8]))) }",
                 compile_all) == warning("sub"));
    CHECK(warned("let labels = arange(8)\nlet scores = ones([8, 4])\n"
                 "let hit = argmax(scores, axis: 1, keepdims: true) == labels\nprint(mean(f32(hit)))",
                 compile_all) == warning("eq"));
    // Pairs of the program, which the library reduces.
    CHECK(warned("import optim\nlet d = ones([4, 1]) - ones([4])\nlet l = norm(d)\nprint(l)\n", compile_all) ==
          std::string("2") + warning("sub").substr(1));
    CHECK(warned("import nn\nlet scale = 0.5\nlet g = fn(w) = sum(abs(arange(4) * w[:, nil] * scale))\n"
                 "print(grad(g)(ones([4])))",
                 compile_all) == warning("mul"));
  }
}

TEST_CASE("broadcasts that are meant are not named", "[warnings]") {
  for (const char* program : {
           "let x = arange(8, dtype: f32)\nprint(mean(x[:, nil] - x[nil]))",
           "let x = arange(8, dtype: f32)\nprint((x[:, nil] - x).shape, sum(x[:, nil] - x, axis: 0).shape)",
           "let x = ones([8, 3])\nlet n = sum(x * x, axis: 1, keepdims: true)\n"
           "print(sum(exp(n + sum(x * x, axis: 1) - 2.0 * x @ x.T), axis: 1).shape)",
           "let x = ones([8, 1])\nprint(mean(x * ones([8, 8])), mean(x - ones([8, 1])), mean(x + ones([1])))",
           "let x = ones([1, 1])\nprint(mean(x - ones([1])))",
           "let start = randint(0, 5, [8, 1])\nprint(zeros([40])[start + arange(8)].sum())",
           // Pairs that the library makes.
           "print(sum(eye(3)), mean(eye(4)), sum(tril(ones([3, 3]))), sum(triu(ones([3, 3]))))",
           "print(sum(one_hot(arange(3), 3)), sum(outer(ones([3]), ones([3]))))",
           "import nn\nprint(sum(nn.leaky_relu(ones([4, 1]), ones([4]))))",
           "print(sum(attention(ones([3, 3]), ones([3, 3]), ones([3, 3]), is_causal: true)))",
       }) {
    INFO(program);
    CHECK(warned(program) == "");
    CHECK(warned(program, true) == "");
  }
}
