// Tests the canonical text of a tree.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

namespace {

std::string formatted(const std::string& text) { return format(*parse_text(text)->module); }

/// Checks that the formatted text has the same tree, and is unchanged by formatting.
void check_round_trip(const std::string& text) {
  INFO(text);
  const std::string once = formatted(text);
  INFO(once);
  CHECK(tree_of(once) == tree_of(text));
  CHECK(formatted(once) == once);
}

}  // namespace

TEST_CASE("formatting lays out statements") {
  CHECK(formatted("fn f(x:int|nil=nil,p:float in 0.0..=1=1,s:\"a\"|[n] in -1..)->[n]|nil=x") ==
        "fn f(x: int | nil = nil, p: float in 0..=1 = 1, s: \"a\" | [n] in -1..) -> [n] | nil = x\n");
  CHECK(formatted("let   x=1+2*3;x") == "let x = 1 + 2 * 3\nx\n");
  CHECK(formatted("fn f(x,k=2)->f32[b,_]{if x{return k}else if k{g()}else{}}") ==
        "fn f(x, k = 2) -> f32[b, _] {\n  if x {\n    return k\n  } else if k {\n    g()\n  } else { }\n}\n");
  CHECK(formatted("## Doc.\n\n## Of f.\n@compile fn f()=1") == "## Doc.\n\n## Of f.\n@compile\nfn f() = 1\n");
  CHECK(formatted("## Doc.\n\nuse   f64;let x=1") == "## Doc.\n\nuse f64\nlet x = 1\n");
  CHECK(formatted("").empty());
}

TEST_CASE("formatting keeps the tree") {
  const char* const texts[] = {
      "(a + b) * c - (d - e) - -f ** (-g) ** h",
      "(-2) ** 2 + -2 ** 2 - -(2) + (-2).abs()",
      "(a ** b) ** c",
      "fn f(x: f32[..., n, (n + 1) * 2 // (n - 1), n - (n - 1) + 1, n * (2 * n)]) = x",
      "fn f(x: list[int | nil], y: map[str, {w: f32[n], in: \"a\"}] | fn(f32[n], list[int]) -> f32[]) -> tuple[int] = "
      "x",
      "fn f((a, ...b), {c, d: (e, _)} = {c: 1}, _) = a; let {in: x, ...y} = {in: 1, if: 2}",
      "(a, ...b) = t; (...a, (b, c.d)) = t; (...a,) = t",
      "(a < b) == (c > d)",
      "not (a in b) and (a or b)",
      "a not in b == false or (not c)",
      "(1..2)[0]; (a + 1)..=(b)",
      "x |> f |> g(1, k: 2) |> (h(3)) |> fn(y) = y + 1",
      "(x |> f) + 1",
      "(fn(x) = x)(1)",
      "(fn() { a; b })()",
      "(if a { 1 } else { 2 }) + 1",
      "let y = if a { 1 } else if b { 2 } else { 3 }",
      "x[0, 1:5, ::-1, ..., nil, :, a:, :b, a:b:c]",
      "let r = {a: 1, \"b c\": 2, d, ...e, \"if\": 3, \"\": 4}",
      "()",
      "(a,)",
      "(a, b)",
      "[]",
      "[1, 2.0, 1e30, 1e-7, 0.1bf16, 2i32, -3i8, 2f32, true, nil]",
      "\"a\\n\\\"\\\\\\x01{é\"",
      "f\"{x:>{w}.{p + 1}f} {x = :.2f} {y=}\"",
      "f\"{{a}} {x:.2f} {\"q\"} { {a: 1} } {if a { 1 } else { 2 }} {f\"{y}\"}\"",
      "let (a, (b, _), (c,)) = t; var (x, y) = t; let _ = 1",
      "(a, b[0], c.d) = t; a[0] += 1; p.w **= 2; (_, z) = t",
      "while a { break; continue }",
      "for (k, v) in r { print(k) }",
      "try { a } catch e { b }",
      "import nn; import nn as n; import \"./u.tsl\" as u; from nn import a, b as c",
      "@compile(mode: \"x\", k: 1)\nfn f(x: f32[b, 64], y: [b], z: f32[], g: fn = h) -> f32[b] { return }",
      "fn f(x: int|nil = nil, y: f32[b] | \"a\\\"b\" = \"a\", p: float in 0..=1 = 0.5, n: int in -2.5.., m: int in "
      "..3) -> [b] | nil = x",
      "fn f() { fn g() { return 1 }\n let h = fn(x) { let y = x; return y } }",
      "-9223372036854775808",
      "a and b and (c and d) or (e or f)",
      "(a & b) | c ^ d & (e | f)",
      "a @ b @ (c @ d)",
      "a.b.c(1)(2)[3].d",
  };
  for (const char* text : texts) check_round_trip(text);
}
