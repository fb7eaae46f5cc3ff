// Tests precedence, association and the forms of expressions.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

TEST_CASE("precedence follows the chapter, loosest first") {
  // Tests each pair of neighbouring levels, with the tighter one on either side.
  CHECK(tree_of("a |> b") == "(pipe b a)");
  CHECK(tree_of("a or b |> c") == "(pipe c (or a b))");
  CHECK(tree_of("a or b and c") == "(or a (and b c))");
  CHECK(tree_of("a and b or c") == "(or (and a b) c)");
  CHECK(tree_of("not a and b") == "(and (not a) b)");
  CHECK(tree_of("a and not b") == "(and a (not b))");
  CHECK(tree_of("not a == b") == "(not (== a b))");
  CHECK(tree_of("a == b | c") == "(== a (| b c))");
  CHECK(tree_of("a | b in c") == "(in (| a b) c)");
  CHECK(tree_of("a | b ^ c") == "(| a (^ b c))");
  CHECK(tree_of("a ^ b & c") == "(^ a (& b c))");
  CHECK(tree_of("a & b .. c") == "(& a (.. b c))");
  CHECK(tree_of("a + 1 ..= b - 1") == "(..= (+ a 1) (- b 1))");
  CHECK(tree_of("a + b * c") == "(+ a (* b c))");
  CHECK(tree_of("a * b + c") == "(+ (* a b) c)");
  CHECK(tree_of("-a * b") == "(* (- a) b)");
  CHECK(tree_of("~a & ~b == c") == "(== (& (~ a) (~ b)) c)");
  CHECK(tree_of("~a ** b") == "(~ (** a b))");
  CHECK(tree_of("not ~-a") == "(not (~ (- a)))");
  CHECK(tree_of("a * -b") == "(* a (- b))");
  CHECK(tree_of("-a ** b") == "(- (** a b))");
  CHECK(tree_of("a ** b.c") == "(** a (. b c))");
  CHECK(tree_of("-a.b") == "(- (. a b))");
  CHECK(tree_of("a ** b[0]") == "(** a (index b 0))");
}

TEST_CASE("operators of one level go from left to right, powers from right to left") {
  CHECK(tree_of("a - b + c") == "(+ (- a b) c)");
  CHECK(tree_of("a / b * c // d % e @ f") == "(@ (% (// (* (/ a b) c) d) e) f)");
  CHECK(tree_of("a ** b ** c") == "(** a (** b c))");
  CHECK(tree_of("a |> b |> c(1)") == "(pipe c (pipe b a) 1)");
  CHECK(tree_of("a | b | c") == "(| (| a b) c)");
}

TEST_CASE("prefix operators inside binary ones") {
  CHECK(tree_of("2 ** -a") == "(** 2 (- a))");
  CHECK(tree_of("2 ** -a * b") == "(* (** 2 (- a)) b)");
  CHECK(tree_of("- - a") == "(- (- a))");
  CHECK(tree_of("+a - +b ** c") == "(- (+ a) (+ (** b c)))");
  CHECK(tree_of("1 + a << b & c .. d") == "(& (<< (+ 1 a) b) (.. c d))");
  CHECK(tree_of("not not a") == "(not (not a))");
  CHECK(tree_of("a == not b") == "(== a (not b))");
  CHECK(tree_of("-a ** -b ** c") == "(- (** a (- (** b c))))");
}

TEST_CASE("parentheses group and leave no trace") {
  CHECK(tree_of("(a + b) * c") == "(* (+ a b) c)");
  CHECK(tree_of("(a == b) == c") == "(== (== a b) c)");
  CHECK(tree_of("((a))") == "a");
}

TEST_CASE("'not in' is the negation of 'in'") {
  CHECK(tree_of("a not in b") == "(not (in a b))");
  CHECK(tree_of("a not in b and c") == "(and (not (in a b)) c)");
}

TEST_CASE("comparisons make chains, `in` and ranges do not") {
  CHECK(tree_of("a < b <= c == d") == "(chain a < b <= c == d)");
  CHECK(tree_of("(a < b) < c") == "(< (< a b) c)");
  CHECK(syntax_error("a == b in c").message == "`in` cannot be chained with other comparisons");
  CHECK(syntax_error("a in b < c").hints == "join two with 'and', or put one in parentheses");
  CHECK(syntax_error("a == b in c").at == "in");
  CHECK(syntax_error("1..2..3").message == "ranges cannot be chained");
  CHECK(tree_of("a < b and b < c") == "(and (< a b) (< b c))");
}

TEST_CASE("tuples") {
  CHECK(tree_of("()") == "(tuple)");
  CHECK(tree_of("(a,)") == "(tuple a)");
  CHECK(tree_of("(a, b)") == "(tuple a b)");
  CHECK(tree_of("(a, b,)") == "(tuple a b)");
}

TEST_CASE("a ':' in brackets makes a map") {
  CHECK(tree_of("let m = [:]") == "let m = (map)");
  CHECK(tree_of("[\"a\": 1, k + 1: [2], ...rest,]") == "(map \"a\":1 (+ k 1):(list 2) ...rest)");
  CHECK(tree_of("[\n  1:\n  [2: 3],\n  ...m\n]\nc") == "(map 1:(map 2:3) ...m)\nc");
  CHECK(syntax_error("[1: 2, 3]").message == "this map has an item without a key");
  CHECK(syntax_error("[1, 3: 2]").message == "this map has an item without a key");
  CHECK(syntax_error("[...a, ...b]").message == "a list takes no '...'");
  CHECK(tree_of("[[1: 2]][0][1:]") == tree_of("([[1: 2]])[0][1:]"));
}

TEST_CASE("lists and records") {
  CHECK(tree_of("[]") == "(list)");
  CHECK(tree_of("[1, [2], 3,]") == "(list 1 (list 2) 3)");
  CHECK(tree_of("let r = {}") == "let r = (record)");
  CHECK(tree_of("let r = {a: 1, \"b c\": 2, d, ...rest,}") == "let r = (record a:1 b c:2 d:d ...rest)");
  CHECK(syntax_error("let r = {a: 1, \"a\": 2}").message == "key 'a' is given twice");
}

TEST_CASE("calls") {
  CHECK(tree_of("f()") == "(call f)");
  CHECK(tree_of("f(a, axis: 0, k: b,)") == "(call f a axis:0 k:b)");
  CHECK(tree_of("f(1)(2)") == "(call (call f 1) 2)");
  CHECK(tree_of("x.sum(axis: 0).y") == "(. (call (. x sum) axis:0) y)");
  CHECK(syntax_error("f(a: 1, 2)").message == "a positional argument cannot follow a named one");
  CHECK(syntax_error("f(a: 1, a: 2)").message == "argument 'a' is given twice");
}

TEST_CASE("a pipe puts its left side first among the arguments") {
  CHECK(tree_of("x |> f") == "(pipe f x)");
  CHECK(tree_of("x |> f(a, k: b)") == "(pipe f x a k:b)");
  CHECK(tree_of("x |> nn.relu") == "(pipe (. nn relu) x)");
  CHECK(tree_of("x |> nn.dense(w)") == "(pipe (. nn dense) x w)");
  CHECK(tree_of("x |> (f(a))") == "(pipe (call f a) x)");
  CHECK(tree_of("x |> fs[0]") == "(pipe (index fs 0) x)");
  CHECK(tree_of("x |> fn(y) = y + 1") == "(pipe (fn (y) {return (+ y 1)}) x)");
  for (const char* text : {"x |> 3", "x |> f + 1", "x |> -f", "x |> [f]", "x |> \"f\""}) {
    CHECK(syntax_error(text).message == "the right side of '|>' must be a function or a call");
  }
}

TEST_CASE("indices") {
  CHECK(tree_of("x[0, 1:5, ::-1, ..., nil]") == "(index x 0 1:5:_ _:_:-1 ... nil)");
  CHECK(tree_of("x[:]") == "(index x _:_:_)");
  CHECK(tree_of("x[:n]") == "(index x _:n:_)");
  CHECK(tree_of("x[a:]") == "(index x a:_:_)");
  CHECK(tree_of("x[a::2]") == "(index x a:_:2)");
  CHECK(tree_of("x[i][j]") == "(index (index x i) j)");
  CHECK(tree_of("x[1..3]") == "(index x (.. 1 3))");
  CHECK(syntax_error("x[..., 0, ...]").message == "an index has at most one '...'");
}

TEST_CASE("lambdas reach as far as they can") {
  CHECK(tree_of("let f = fn(x) = x + 1") == "let f = (fn (x) {return (+ x 1)})");
  CHECK(tree_of("let f = fn(x, k = 2) { return x }") == "let f = (fn (x k=2) {return x})");
  CHECK(tree_of("map(fn(x) = x |> g, xs)") == "(call map (fn (x) {return (pipe g x)}) xs)");
  CHECK(tree_of("a + fn() = b + c") == "(+ a (fn () {return (+ b c)}))");
  CHECK(tree_of("let f = fn() = fn() = 1") == "let f = (fn () {return (fn () {return 1})})");
}

TEST_CASE("if is an expression") {
  CHECK(tree_of("let y = if a { 1 } else if b { 2 } else { 3 }") == "let y = (if a {1} (if b {2} {3}))");
  CHECK(tree_of("let y = if a { 1 } else { 2 } + 3") == "let y = (+ (if a {1} {2}) 3)");
  CHECK(tree_of("f(if a { let t = 1; t } else { 2 })") == "(call f (if a {let t = 1; t} {2}))");
  CHECK(tree_of("if a { }") == "(if a {})");
}

TEST_CASE("spans cover an expression's own text") {
  const auto parsed = parse_text("let y = (a + b) * f(x, k: 1)[0].z");
  const auto& whole = *ast::as<ast::DeclareStmt>(parsed->statement(0)).value;
  CHECK(parsed->text(whole.span) == "(a + b) * f(x, k: 1)[0].z");
  const auto& product = ast::as<ast::BinaryExpr>(whole);
  CHECK(parsed->text(product.op_span) == "*");
  CHECK(parsed->text(product.left->span) == "a + b");
  const auto& field = ast::as<ast::FieldExpr>(*product.right);
  CHECK(parsed->text(field.span) == "f(x, k: 1)[0].z");
  CHECK(parsed->text(field.field_span) == "z");
  const auto& index = ast::as<ast::IndexExpr>(*field.object);
  CHECK(parsed->text(index.items[0].span) == "0");
  const auto& call = ast::as<ast::CallExpr>(*index.object);
  CHECK(parsed->text(call.span) == "f(x, k: 1)");
  CHECK(parsed->text(call.args[1].span) == "k: 1");
}

TEST_CASE("spans are bytes, also beyond ASCII") {
  const auto parsed = parse_text("let β = \"é\"; β + x");
  CHECK(parsed->text(parsed->statement(1).span) == "β + x");
  CHECK(dump(parsed->statement(0)) == "let β = \"é\"");
}
