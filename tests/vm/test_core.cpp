// Tests the meaning of statements and expressions.
#include "support/session.h"

using tsl::Session;

TEST_CASE("arithmetic on host numbers") {
  Session s;
  CHECK(s.eval("1 + 2 * 3") == "7");
  CHECK(s.eval("7 / 2") == "3.5");
  CHECK(s.eval("7 // 2") == "3");
  CHECK(s.eval("-7 // 2") == "-4");
  CHECK(s.eval("-7 % 3") == "2");
  CHECK(s.eval("7 % -3") == "-2");
  CHECK(s.eval("let a = -7; let b = 2; (a // b, a % b)") == "(-4, 1)");
  CHECK(s.eval("2 ** 10") == "1024");
  CHECK(s.eval("-2 ** 2") == "-4");
  CHECK(s.error_text("9223372036854775807 + 1").find("value: 9223372036854775807 + 1 does not fit") == 0);
  CHECK(s.eval("let x = 3.0; x * 2 - 0.5") == "5.5");
  CHECK(s.eval("var n = 5; n //= 2; n **= 3; n") == "8");
  CHECK(s.error_text("let z = 0; 1 // z").find("value: ") == 0);
}

TEST_CASE("operands are evaluated from left to right") {
  Session s;
  const std::string log = "fn t(log, v) { print(log); return v }\n";
  CHECK(s.output(log + "let x = t(1, 10) + t(2, 20) * t(3, 30)") == "1\n2\n3\n");
  CHECK(s.output(log + "let l = [t(1, 0), t(2, 0)]; let r = {a: t(3, 0), b: t(4, 0)}") == "1\n2\n3\n4\n");
  CHECK(s.output(log + "var l = [0, 0]; l[t(1, 0)] = t(2, 5)") == "1\n2\n");
  CHECK(s.output(log + "fn f(a, b) = a - b\nprint(f(b: t(1, 1), a: t(2, 5)))") == "1\n2\n4\n");
  // A variable on the left is read before a block on the right assigns to it.
  CHECK(s.eval("var x = 1; let y = x + if true { x = 10; x } else { 0 }; (x, y)") == "(10, 11)");
  CHECK(s.eval("var x = 1; x += if true { x = 10; 5 } else { 0 }; x") == "6");
}

TEST_CASE("conditions") {
  Session s;
  CHECK(s.eval("if 1 < 2 { \"yes\" } else { \"no\" }") == "\"yes\"");
  CHECK(s.eval("let x = if false { 1 }; x") == "nil");
  CHECK(s.eval("let n = 5; if n < 3 { 1 } else if n < 6 { 2 } else { 3 }") == "2");
  CHECK(s.eval("let a = 2; a > 1 and a < 3") == "true");
  CHECK(s.eval("let a = 2; a < 1 or not (a == 2)") == "false");
  CHECK(s.eval("fn boom() = error(\"boom\"); false and boom()") == "false");
  CHECK(s.eval("fn boom() = error(\"boom\"); true or boom()") == "true");
  CHECK(s.eval("not true or true") == "true");
  CHECK(s.eval("let nan = 0.0 / 0.0; [nan == nan, nan != nan, nan < 1.0, not (nan < 1.0)]") ==
        "[false, true, false, true]");
  CHECK(s.eval("var hits = 0; let nan = 0.0 / 0.0; if nan < 1.0 { hits = 1 } else { hits = 2 }; hits") == "2");
  CHECK(s.error_text("if 1 { 2 }").find("type: ") == 0);
  CHECK(s.error_text("1 and true").find("type: ") == 0);
  CHECK(s.error_text("true and 1").find("type: ") == 0);
}

TEST_CASE("loops") {
  Session s;
  CHECK(s.eval("var s = 0; for i in 0..5 { s += i }; s") == "10");
  CHECK(s.eval("var s = 0; for i in 1..=5 { if i == 2 { continue }; if i == 5 { break }; s += i }; s") == "8");
  CHECK(s.eval("var n = 0; while true { n += 1; if n == 7 { break } }; n") == "7");
  CHECK(s.eval("var n = 0; while n < 3 { n += 1 }; n") == "3");
  CHECK(s.eval("var l = []; for i in 3..0 { l += [i] }; l") == "[]");
  CHECK(s.eval("var l = []; for (a, b) in [(1, 2), (3, 4)] { l += [a * b] }; l") == "[2, 12]");
  CHECK(s.eval("var l = []; for (k, v) in {x: 1, y: 2} { l += [k, v] }; l") == "[\"x\", 1, \"y\", 2]");
  CHECK(s.eval("let r = 2..5; var l = []; for i in r { l += [i] }; l") == "[2, 3, 4]");
  CHECK(s.eval("var n = 0; for i in 9223372036854775806..=9223372036854775807 { n += 1 }; n") == "2");
  CHECK(s.eval("var l = [1, 2]; for x in l { l += [x * 10] }; l") == "[1, 2, 10, 20]");
  CHECK(s.eval("fn f() { for i in 0..10 { for j in 0..10 { if i * j == 42 { return (i, j) } } }; return nil }; f()") ==
        "(6, 7)");
  CHECK(s.error_text("for i in 0..1.5 { }") == "type: a range goes from int to int, not from int to float");
  CHECK(s.error_text("for x in 5 { }").find("type: ") == 0);
}

TEST_CASE("functions") {
  Session s;
  CHECK(s.eval("fn fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }\nfib(20)") == "6765");
  CHECK(s.eval("fn f(a, b = a * 2, c = a + b) = [a, b, c]\n[f(1), f(1, 5), f(1, c: 0)]") ==
        "[[1, 2, 3], [1, 5, 6], [1, 2, 0]]");
  CHECK(s.eval("fn f(x) { if x { return 1 } }\n[f(true), f(false)]") == "[1, nil]");
  CHECK(s.eval("main()\nfn main() = 42") == "nil");
  CHECK(s.eval("let r = main()\nfn main() = helper() + 1\nfn helper() = 41\nr") == "42");
  CHECK(s.eval("fn even(n) = if n == 0 { true } else { odd(n - 1) }\nfn odd(n) = if n == 0 { false } else { even(n - "
               "1) }\neven(10)") == "true");
  CHECK(s.eval("let add = fn(a, b) = a + b; 3 |> add(4)") == "7");
  CHECK(s.eval("let r = {f: fn(x) = x + 1}; r.f(1)") == "2");
  CHECK(s.eval("let r = {f: fn(x, y = 0) = x - y}; r.f(1, y: 5)") == "-4");
  CHECK(s.eval("[3, 4].len()") == "2");
  CHECK(s.error_text("fn f(a) = a\nf()") == "type: f is missing its argument 'a'");
  CHECK(s.error_text("fn f(a) = a\nf(1, 2)") == "type: f takes 1 argument, not 2");
  CHECK(s.error_text("fn f(a) = a\nf(b: 1)") == "type: f has no parameter 'b'");
  CHECK(s.error_text("fn f(a) = a\nf(1, a: 1)") == "type: f is given 'a' twice");
  CHECK(s.error_text("fn f(a, b) = a\nf(1, b: 1, b: 2)") == "syntax: argument 'b' is given twice");
  CHECK(s.error_text("let x = 5; x(1)") == "type: int cannot be called");
  CHECK(s.error_text("let x = 5; x.frobnicate()").find("name: int has no method 'frobnicate'") == 0);
}

TEST_CASE("closures capture variables, not values") {
  Session s;
  CHECK(s.eval("fn counter() { var n = 0; return fn() { n += 1; return n } }\nlet c = counter(); let d = counter(); "
               "[c(), c(), d()]") == "[1, 2, 1]");
  CHECK(s.eval("var fs = []; for i in 0..3 { fs += [fn() = i] }; [fs[0](), fs[1](), fs[2]()]") == "[0, 1, 2]");
  CHECK(s.eval("var fs = []; for i in 0..3 { var k = i * 10; fs += [fn() { k += 1; return k }] }; [fs[0](), fs[0](), "
               "fs[2]()]") == "[1, 2, 21]");
  CHECK(s.eval("var fs = []; for (a, b) in [(1, 2), (3, 4)] { fs += [fn() = a + b] }; [fs[0](), fs[1]()]") == "[3, 7]");
  CHECK(s.eval("fn outer(x) { fn inner() = x * 2; return inner }\nouter(21)()") == "42");
  CHECK(s.eval("fn f(x, g = fn() = x) = g()\n[f(1), f(2, fn() = 9)]") == "[1, 9]");
  CHECK(s.eval("fn f() { fn go(n) = if n == 0 { 0 } else { 1 + go(n - 1) }; return go(10) }\nf()") == "10");
  CHECK(s.eval("fn f(a) { return fn(b) { return fn(c) { return a * 100 + b * 10 + c } } }\nf(1)(2)(3)") == "123");
  CHECK(s.eval("var log = []; fn f() { log += [1]; log[0] += 5 }\nf(); f(); log") == "[11, 1]");
  CHECK(s.eval("fn f() { try { error(\"x\") } catch e { return fn() = e.message } }\nf()()") == "\"x\"");
  CHECK(s.error_text("fn f() = later\nf()\nlet later = 1") == "name: 'later' is used before its declaration has run");
}

TEST_CASE("values are never shared") {
  Session s;
  CHECK(s.eval("var a = [1, 2]; var b = a; b[0] = 9; [a, b]") == "[[1, 2], [9, 2]]");
  CHECK(s.eval("var p = {w: [1, 2]}; let q = p; p.w[0] = 5; [p.w[0], q.w[0]]") == "[5, 1]");
  CHECK(s.eval("var p = {a: {b: [{c: 1}]}}; let q = p; p.a.b[0].c += 41; [p.a.b[0].c, q.a.b[0].c]") == "[42, 1]");
  CHECK(s.eval("fn f(l) { var m = l; m[0] = 9; return m }\nlet a = [1]; let b = f(a); [a, b]") == "[[1], [9]]");
  CHECK(s.eval("var l = [[0]] * 2; l[0][0] = 1; l") == "[[1], [0]]");
  CHECK(s.eval("var s = \"a\"; let t = s; s += \"b\"; [s, t]") == "[\"ab\", \"a\"]");
  CHECK(s.eval("var l = [1]; l += l; l += l; l") == "[1, 1, 1, 1]");
  CHECK(s.eval("var l = [1, 2]; l[0] = l; l") == "[[1, 2], 2]");
  CHECK(s.eval("let l = [0, 0]; var x = l; for i in 0..2 { x[i] = i + 1 }; [l, x]") == "[[0, 0], [1, 2]]");
  CHECK(s.eval("var i = 1; var l = [0, 0]; l[i] = i; l") == "[0, 1]");
}

TEST_CASE("tuples, records and strings") {
  Session s;
  CHECK(s.eval("var (a, b) = (1, 2); (a, b) = (b, a); (a, b)") == "(2, 1)");
  CHECK(s.eval("let (a, (b, c)) = (1, (2, 3)); [a, b, c]") == "[1, 2, 3]");
  CHECK(s.eval("var l = [1, 2]; (l[0], l[1]) = (l[1], l[0]); l") == "[2, 1]");
  CHECK(s.eval("var r = {a: 1}; var x = 0; (r.a, x) = (5, 6); [r.a, x]") == "[5, 6]");
  CHECK(s.eval("let d = {a: 1, b: 2}; let e = {...d, b: 3, c: 4}; (e.a, e.b, e.c, d.b)") == "(1, 3, 4, 2)");
  CHECK(s.eval("let a = 1; f\"{a + 1}: {2.5:.2f}!\"") == "\"2: 2.50!\"");
  CHECK(s.eval("\"ell\" in \"hello\" and 2 in [1, 2] and not (\"z\" in {a: 1})") == "true");
  CHECK(s.error_text("let (a, b) = (1, 2, 3)") == "value: a tuple of 3 cannot be taken apart into 2");
  CHECK(s.error_text("let (a, b) = 5") == "type: cannot take int apart into 2 parts");
  CHECK(s.error_text("let r = {...5}") == "type: '...' takes a record or a map, not int");
}
