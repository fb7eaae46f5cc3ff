// Tests --check-nan: the op that is blamed, and what is not blamed.
#include "support/session.h"

using namespace tsl;

namespace {

struct Blamed {
  std::string message;
  uint32_t line;
  std::vector<std::string> notes;
};

Blamed blamed(const std::string& program, bool compile_all = false) {
  EngineOptions options;
  options.check_nan = true;
  options.compile_all = compile_all;
  options.warnings = Warnings::off;
  Session s(options);
  const Error e = s.error(program);
  CHECK(e.kind() == ErrorKind::value);
  return {e.message, s.line_of(e), e.notes};
}

void check_quiet(const std::string& program) {
  INFO(program);
  EngineOptions options;
  options.check_nan = true;
  Session s(options);
  s.output(program);
}

}  // namespace

TEST_CASE("the first op that makes a NaN or an infinity is named, with its inputs", "[nan]") {
  const Blamed log = blamed("let x = tensor([1.0, 0.0, 2.0])\nlet y = log(x)\nprint(y * 2.0)");
  CHECK(log.message == "`log` makes an infinity out of inputs that have none: 1 of 3 elements of f32[3]");
  CHECK(log.line == 2);
  CHECK(log.notes == std::vector<std::string>{"input 1: f32[3], from 0 to 2, 0 NaN, 0 infinite"});
  const Blamed root = blamed("let x = tensor([-1.0])\nlet y = [1,\n  sqrt(x) + 1.0]");
  CHECK(root.message == "`sqrt` makes NaN out of inputs that have none: 1 of 1 element of f32[1]");
  CHECK(root.line == 3);
  const Blamed quotient = blamed("let x = zeros([2, 2])\nlet y = x / 0.0");
  CHECK(quotient.notes ==
        std::vector<std::string>{"input 1: f32[2, 2], from 0 to 0, 0 NaN, 0 infinite", "input 2: float 0"});
  CHECK(blamed("let x = f16(tensor([70000.0]))").message.find("`cast` makes an infinity") == 0);
}

TEST_CASE("compiled code is checked op by op", "[nan]") {
  const std::string program =
      "@compile\nfn f(x) {\n  let y = x * 2.0\n  let z = log(y)\n  return z + 1.0\n}\n"
      "for i in [2, 1, 0] {\n  print(f(ones([2]) * i))\n}";
  CHECK(blamed(program).line == 4);
  CHECK(blamed(program, true).line == 4);
}

TEST_CASE("in a backward pass, the op that is differentiated is named", "[nan]") {
  const Blamed root =
      blamed("fn loss(x) {\n  let y = sqrt(x)\n  return sum(y)\n}\nlet g = grad(loss)(tensor([0.0, 1.0]))");
  CHECK(root.line == 2);
  CHECK(root.message.find("in the backward pass of this, makes an infinity") != std::string::npos);
}

TEST_CASE("infinities of the program and what follows from them are not blamed", "[nan]") {
  check_quiet("let m = full([2], -float(\"inf\"))\nprint(m + 1.0, m * 2.0, exp(m), max(m))");
  check_quiet("let x = tensor([1.0, float(\"nan\")])\nprint(x + 1.0, x * x, sum(x))");
  check_quiet("print(where(tensor([true, false]), tensor([1.0, 2.0]), -float(\"inf\")))");
  check_quiet("print(softmax(where(tensor([true, false]), tensor([1.0, 2.0]), -float(\"inf\"))))");
  check_quiet("let q = randn([1, 1, 4, 8])\nprint(sum(attention(q, q, q, is_causal: true)))");
  check_quiet("let x = randn([2, 3, 8, 8])\nprint(sum(max_pool2d(x, 2)), logsumexp(x), zeros([0]) / 0.0)");
  // But a NaN from infinities is.
  CHECK(blamed("let m = full([2], float(\"inf\"))\nlet d = m - m").message.find("`sub` makes NaN") == 0);
}

TEST_CASE("no try of the program catches what the check finds", "[nan]") {
  CHECK(blamed("try { let y = log(zeros([1])) } catch e { print(e.message) }").line == 1);
}

TEST_CASE("results are the same with the check", "[nan]") {
  const std::string program =
      "@compile\nfn step(w, x) {\n  let g = grad(fn(w) = mean(square(x @ w)))(w)\n  return w - g * 0.1\n}\n"
      "seed(3)\nvar w = randn([4, 2])\nlet x = randn([8, 4])\nfor i in 0..5 { w = step(w, x) }\nprint(w)";
  EngineOptions checked;
  checked.check_nan = true;
  CHECK(Session(checked).output(program) == Session().output(program));
}
