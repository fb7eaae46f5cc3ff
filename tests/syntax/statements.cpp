// Tests declarations, assignments, loops, functions, imports.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

TEST_CASE("declarations") {
  CHECK(tree_of("let x = 1") == "let x = 1");
  CHECK(tree_of("var x = 1") == "var x = 1");
  CHECK(tree_of("let (a, (b, _), c,) = t") == "let (a (b _) c) = t");
  CHECK(tree_of("let _ = f()") == "let _ = (call f)");
  CHECK(syntax_error("let x").message == "expected '=' after 'x', found the end of the text");
  CHECK(syntax_error("let for = 1").hints == "'for' is a keyword");
}

TEST_CASE("assignments") {
  CHECK(tree_of("x = 1") == "x = 1");
  CHECK(tree_of("x[0, 1:] = y") == "(index x 0 1:_:_) = y");
  CHECK(tree_of("p.w[0].b = y") == "(. (index (. p w) 0) b) = y");
  CHECK(tree_of("(p, opt, l) = step(p)") == "(tuple p opt l) = (call step p)");
  CHECK(tree_of("(x[0], p.w, _) = t") == "(tuple (index x 0) (. p w) _) = t");
  for (const char* op : {"+", "-", "*", "/", "//", "%", "**", "@"}) {
    CHECK(tree_of(std::string("x ") + op + "= y") == std::string("x ") + op + "= y");
  }
}

TEST_CASE("what cannot be assigned to") {
  CHECK(syntax_error("1 = x").message == "this cannot be assigned to");
  CHECK(syntax_error("a + b = x").at == "a + b");
  CHECK(syntax_error("f(x) = 1").message == "the result of a call cannot be assigned to");
  CHECK(syntax_error("f(x).y = 1").message == "only a part of a variable can be assigned to");
  CHECK(syntax_error("(a, b) += t").message == "only '=' assigns to a tuple");
  CHECK(syntax_error("[a, b] = t").hints == "several names are assigned as a tuple: (a, b) = …");
  CHECK(syntax_error("(a, 1) = t").at == "1");
  CHECK(syntax_error("a = b = c").message == "expected a new line or ';' after 'b', found '='");
}

TEST_CASE("loops and jumps") {
  CHECK(tree_of("while a { break; continue }") == "while a {break; continue}");
  CHECK(tree_of("for i in 0..3 { f(i) }") == "for i in (.. 0 3) {(call f i)}");
  CHECK(tree_of("for (k, v) in r { }") == "for (k v) in r {}");
  CHECK(tree_of("for {a, b: (c, ...d), ...e} in r { }") == "for {a:a b:(c ...d) ...e} in r {}");
  CHECK(syntax_error("for k, v in r { }").hints == "two names stand in parentheses: `for (k, v) in xs { … }`");
  CHECK(tree_of("fn f() { return }") == "fn f () {return}");
  CHECK(tree_of("fn f() { return\n1 }") == "fn f () {return; 1}");
}

TEST_CASE("try") {
  CHECK(tree_of("try { f() } catch e { print(e.message) }") == "try {(call f)} catch e {(call print (. e message))}");
  CHECK(syntax_error("try { f() }").message == "expected 'catch' or 'finally' after '}', found the end of the text");
  CHECK(tree_of("let a = try { f() } catch e { 1 } finally { g() }") ==
        "let a = try {(call f)} catch e {1} finally {(call g)}");
  CHECK(tree_of("try { f() }\nfinally { g() }") == "try {(call f)} finally {(call g)}");
}

TEST_CASE("functions") {
  CHECK(tree_of("fn f() = 1") == "fn f () {return 1}");
  CHECK(tree_of("fn f(a, ...b) = g(...b, c: 1)") == "fn f (a ...b) {return (call g ...b c:1)}");
  CHECK(syntax_error("fn f(...a, b) = 1").message == "no parameter can follow '...'");
  CHECK(tree_of("fn f(x, k = 2, opts: record) -> f32 { return x }") == "fn f (x k=2 opts:record)->f32 {return x}");
}

TEST_CASE("annotations bind a dimension's name at its first use") {
  CHECK(tree_of("fn f(x: f32[b, 64], y: [b, n], k: int, g: fn) -> f32[b, 10] = x") ==
        "fn f (x:f32[+b 64] y:[b +n] k:int g:fn)->f32[b 10] {return x}");
  CHECK(tree_of("fn f(x: f32[], y: [_, n, n,]) = x") == "fn f (x:f32[] y:[_ +n n]) {return x}");
  CHECK(tree_of("fn f(x: [n], n: int) = x") == "fn f (x:[n] n:int) {return x}");
  const auto parsed = parse_text("fn f(x: [n], n: int) = x");
  const ast::Function& function = *ast::as<ast::FunctionStmt>(parsed->statement(0)).function;
  CHECK(function.parameters[0].annotation->dims[0].variable == function.parameters[1].variable);
  CHECK(syntax_error("fn f(x: [1.5]) = x").message == "a size is a plain int");
}

TEST_CASE("a size is computed, and a type says what a value holds") {
  CHECK(tree_of("fn f(x: f32[..., n, 2 * n + 1, (n - 1) // m], m) = x") ==
        "fn f (x:f32[... +n (+ (* 2 n) 1) (// (- n 1) m)] m) {return x}");
  CHECK(tree_of("fn f(x: [2 * n, n]) = x") == "fn f (x:[(* 2 n) +n]) {return x}");
  CHECK(tree_of("fn f(x: list[int | nil], y: map[str, f32[n]], z: tuple[int, [n]]) = x") ==
        "fn f (x:list(int|nil) y:map(str f32[+n]) z:tuple(int [n])) {return x}");
  CHECK(tree_of("fn f(x: {w: f32[n], in: int | nil}) -> {a: [n]} { }") ==
        "fn f (x:record(w:f32[+n] in:int|nil))->record(a:[n]) {}");
  CHECK(tree_of("fn f(g: fn(f32[n], int) -> f32[], h: fn()) -> fn = g") ==
        "fn f (g:fn(f32[n] int)->f32[] h:fn())->fn {return g}");
  CHECK(tree_of("let f = fn((a, ...b), {c, d: e}, _) = a") == "let f = (fn ((a ...b) {c:c d:e} _) {return a})");
  CHECK(syntax_error("fn f(x: f32[2 * n]) = x").message == "dimension 'n' is not known here");
  CHECK(syntax_error("fn f(x: f32[..., n, ...]) = x").message == "a shape has at most one '...'");
  CHECK(syntax_error("fn f(x: f32[int | nil]) = x").message ==
        "a size is an int, a name, or made of them by '+', '-', '*', '//'");
  CHECK(syntax_error("fn f(x: list[int, str]) = x").message == "a list has one type of items");
  CHECK(syntax_error("fn f(x: map[str]) = x").message == "a map has a type of keys and one of values");
  CHECK(syntax_error("fn f(x: list[2]) = x").message == "a type stands here, not a size");
  CHECK(syntax_error("fn f(x: list[...]) = x").message == "a type stands here, not '...'");
}

TEST_CASE("a type has alternatives, and a number has limits") {
  CHECK(tree_of("fn f(x: int | nil, y: f32[b] | [b, n] | \"a\\\"b\") -> [n] | nil = x") ==
        "fn f (x:int|nil y:f32[+b]|[b +n]|\"a\"b\")->[n]|nil {return x}");
  CHECK(tree_of("fn f(x: int in -1..=2.5 = 1, y: int | nil in 0.., z: float in ..3) { }") ==
        "fn f (x:int in -1..=2.5=1 y:int|nil in 0.. z:float in ..3) {}");
  CHECK(tree_of("let f = fn(x: int |\n nil in\n 0..) = x") == "let f = (fn (x:int|nil in 0..) {return x})");
  for (const char* limits : {"..", "1..1", "2..=1", "0..="}) {
    CHECK(syntax_error("fn f(x: int in " + std::string(limits) + ") = x").message == "no number lies in this range");
  }
  CHECK(syntax_error("fn f(x: int in 1i8..) = x").message == "a limit is a plain number");
  CHECK(syntax_error("fn f(x: int |) = x").message == "expected a type after '|', found ')'");
}

TEST_CASE("attributes") {
  CHECK(tree_of("@compile\nfn f() = 1") == "fn f @compile() () {return 1}");
  CHECK(tree_of("@compile fn f() = 1") == "fn f @compile() () {return 1}");
  CHECK(tree_of("@compile(mode: \"max-autotune\", graphs: \"off\")\n\n@b fn f() = 1") ==
        "fn f @compile(mode:\"max-autotune\" graphs:\"off\") @b() () {return 1}");
  CHECK(tree_of("a @ b\n@compile\nfn f() = x @ y") == "(@ a b)\nfn f @compile() () {return (@ x y)}");
  CHECK(syntax_error("@compile\nlet x = 1").message == "expected 'fn', found 'let'");
}

TEST_CASE("the use of a dtype") {
  CHECK(*parse_text("#!/usr/bin/env tsl\n## Doc.\nuse f64\nlet x = 1")->module->use == "f64");
  CHECK(parse_text("use f32")->module->use != nullptr);
  CHECK(parse_text("let use = 1; use + 1")->module->use == nullptr);
  CHECK(parse_text("fn f(use) { use(1) }; f(use: 2); {use: 1}.use")->module->use == nullptr);
  CHECK(parse_text("let use = [1]\nuse in [use]\nuse\nf64")->module->use == nullptr);
  CHECK(syntax_error("use f16").message == "use takes f64 or f32, not f16");
  CHECK(syntax_error("use f64\nuse f64").message == "a file has one `use`");
  CHECK(syntax_error("1; use f64").message == "`use` stands at the top of a file, before other statements");
  CHECK(syntax_error("if true { use f64 }").message == "`use` stands at the top of a file, before other statements");
}

TEST_CASE("imports") {
  CHECK(tree_of("import nn") == "import nn as nn");
  CHECK(tree_of("import nn as n") == "import nn as n");
  CHECK(tree_of("import \"./util.tsl\" as util") == "import file ./util.tsl as util");
  CHECK(tree_of("import \"./lib/util.tsl\"") == "import file ./lib/util.tsl as util");
  CHECK(tree_of("from nn import linear, relu as r") == "import nn linear>linear relu>r");
  CHECK(tree_of("from \"./a.tsl\" import b") == "import file ./a.tsl b>b");
  CHECK(syntax_error("import \"./my-util.tsl\"").message == "this import needs a name");
}
