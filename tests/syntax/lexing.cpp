// Tests literals, comments, newlines and braces.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

TEST_CASE("ints") {
  CHECK(tree_of("42") == "42");
  CHECK(tree_of("1_000_000") == "1000000");
  CHECK(tree_of("0xff") == "255");
  CHECK(tree_of("0XFF_FF") == "65535");
  CHECK(tree_of("0b1010") == "10");
  CHECK(tree_of("0o17") == "15");
  CHECK(tree_of("9223372036854775807") == "9223372036854775807");
  CHECK(tree_of("-9223372036854775808") == "-9223372036854775808");
  CHECK(tree_of("0x7fffffffffffffff") == "9223372036854775807");
}

TEST_CASE("an int that does not fit is an error") {
  for (const char* text :
       {"9223372036854775808", "99999999999999999999", "0x8000000000000000", "- (9223372036854775808)"}) {
    const Complaint complaint = syntax_error(text);
    CHECK(complaint.kind == ErrorKind::syntax);
    CHECK(complaint.message == "this number is too large for an int, which has 64 bits");
  }
  CHECK(syntax_error("-9223372036854775809").at == "9223372036854775809");
}

TEST_CASE("floats") {
  CHECK(tree_of("1.5") == "1.5");
  CHECK(tree_of("1e-3") == "0.001");
  CHECK(tree_of("1E+3") == "1000");
  CHECK(tree_of("1_0.2_5e0_1") == "102.5");
  CHECK(tree_of("1e-400") == "0");
  CHECK(syntax_error("1e400").message == "this number is too large for a float");
}

TEST_CASE("typed literals") {
  CHECK(tree_of("0.1bf16") == "0.1bf16");
  CHECK(tree_of("2i32") == "2i32");
  CHECK(tree_of("1.0f32") == "1f32");
  CHECK(tree_of("2f64") == "2f64");
  CHECK(tree_of("1e3f16") == "1000f16");
  CHECK(tree_of("0xffu8") == "255u8");
  CHECK(tree_of("65535u16") == "65535u16");
  CHECK(tree_of("0xffff_ffffu32") == "4294967295u32");
  CHECK(tree_of("9223372036854775807u64") == "9223372036854775807u64");
  CHECK(syntax_error("65536u16").message == "this number is out of the range of u16");
  CHECK(syntax_error("4294967296u32").message == "this number is out of the range of u32");
  CHECK(syntax_error("9223372036854775808u64").message == "this number is too large for an int, which has 64 bits");
  CHECK(syntax_error("-1u64").message == "this number is out of the range of u64");
  CHECK(syntax_error("18446744073709551616u64").message == "this number is out of the range of u64");
  CHECK(syntax_error("1bool").message == "'bool' is no suffix of a number");
  CHECK(tree_of("-128i8") == "-128i8");
  CHECK(syntax_error("128i8").message == "this number is out of the range of i8");
  CHECK(syntax_error("-1u8").message == "this number is out of the range of u8");
  CHECK(syntax_error("1.5i32").message == "i32 holds no fractions: '1.5i32'");
  CHECK(syntax_error("1.5fp32").message == "'fp32' is no suffix of a number");
  CHECK(syntax_error("1.5fp32").hints == "did you mean 'f32'?");
}

TEST_CASE("malformed numbers are reported whole") {
  CHECK(syntax_error("x + 0x").message == "expected digits after '0x'");
  CHECK(syntax_error("x + 0x").at == "0x");
  CHECK(syntax_error("0b12").message == "'2' is no digit of a base-2 number");
  CHECK(syntax_error("0b2").message == "'2' is no digit of a base-2 number");
  CHECK(syntax_error("1__0").message == "'_' in a number stands between two digits");
  CHECK(syntax_error("1_").message == "'_' in a number stands between two digits");
  CHECK(syntax_error("1e").message == "expected digits in the exponent");
  CHECK(syntax_error("2foo").message == "'foo' is no suffix of a number");
  CHECK(syntax_error("1.").hints == "a float has digits behind its point: `1.0`");
}

TEST_CASE("a point is a range, a field or a fraction") {
  CHECK(tree_of(".5 + a") == tree_of("0.5 + a"));
  CHECK(tree_of("0.. .5") == tree_of("0..0.5"));
  CHECK(tree_of("1..5") == "(.. 1 5)");
  CHECK(tree_of("1..=5") == "(..= 1 5)");
  CHECK(tree_of("1.5..2.5") == "(.. 1.5 2.5)");
  CHECK(tree_of("x.sum") == "(. x sum)");
  CHECK(tree_of("x..y") == "(.. x y)");
  CHECK(tree_of("1.5.sqrt()") == "(call (. 1.5 sqrt))");
}

TEST_CASE("strings") {
  CHECK(tree_of(R"("a\n\t\r\\\"\0b")") == std::string("\"a\n\t\r\\\"\0b\"", 10));
  CHECK(tree_of(R"("\x41\u{e9}\u{1F600}")") == "\"Aé😀\"");
  CHECK(tree_of(R"("\xe9")") == "\"é\"");
  CHECK(tree_of("\"naïve — 日本\"") == "\"naïve — 日本\"");
  CHECK(tree_of("\"# no comment\"") == "\"# no comment\"");
  CHECK(tree_of("\"{no hole}\"") == "\"{no hole}\"");
}

TEST_CASE("bad escapes are errors at the escape") {
  CHECK(syntax_error(R"(let s = "ab\q")").at == R"(\q)");
  CHECK(syntax_error(R"("\q")").message == R"('\q' is no escape)");
  CHECK(syntax_error(R"("\x4g")").message == R"(expected two hexadecimal digits after '\x')");
  CHECK(syntax_error(R"("\u12")").message == R"(expected '\u{...}' with hexadecimal digits)");
  CHECK(syntax_error(R"("\u{110000}")").message == "'110000' is no Unicode code point");
  CHECK(syntax_error(R"("\u{d800}")").message == "'d800' is no Unicode code point");
  CHECK(syntax_error(R"("\u{}")").message == "'' is no Unicode code point");
  CHECK(syntax_error(R"("\é")").message == R"('\é' is no escape)");
}

TEST_CASE("raw strings and strings of several lines") {
  CHECK(tree_of(R"(r"\d\"")") == R"("\d\"")");
  CHECK(tree_of("r\"\"\"\\n\"\"\"") == "\"\\n\"");
  CHECK(tree_of("\"\"\"a\\t\"\r\n b\"\"\"") == "\"a\t\"\n b\"");
  CHECK(tree_of("\"\"\"\"\"\"") == "\"\"");
  CHECK(syntax_error("x = \"\"\"a\"\"\nb").at == "\"\"\"");
  CHECK(syntax_error("r\"\"\"").message == "unterminated string");
  CHECK(syntax_error("f\"\"\"a\n\"\"").message == "unterminated f-string");
  CHECK(syntax_error("\"\"\"\\q\"\"\"").at == "\\q");
}

TEST_CASE("unterminated strings end at the line's end") {
  const Complaint complaint = syntax_error("let s = \"abc\nlet t = 1");
  CHECK(complaint.message == "unterminated string");
  CHECK(complaint.at == "\"abc");
  CHECK(syntax_error("\"abc\\").message == "unterminated string");
  CHECK(syntax_error("\"abc\\\"").message == "unterminated string");
}

TEST_CASE("f-strings") {
  CHECK(tree_of("f\"\"") == "(f)");
  CHECK(tree_of("f\"abc\"") == "(f \"abc\")");
  CHECK(tree_of("f\"loss {l:.4f}!\"") == "(f \"loss \" {l|.4f} \"!\")");
  CHECK(tree_of("f\"{a}{b:>8}\"") == "(f {a|} {b|>8})");
  CHECK(tree_of("f\"{{}} {{{a}}}\"") == "(f \"{} {\" {a|} \"}\")");
  CHECK(tree_of(R"(f"\n\u{41}{a}\"")") == "(f \"\nA\" {a|} \"\"\")");
  CHECK(tree_of("f\"\"\"a\n\"{b}\"\"\"") == "(f \"a\n\"\" {b|})");
  CHECK(tree_of("f\"{a:{w}}\"") == "(f {a|(f {w|})})");
  CHECK(tree_of("f\"{a:>{w}.{p}f}b\"") == "(f {a|(f \">\" {w|} \".\" {p|} \"f\")} \"b\")");
  CHECK(tree_of("f\"{a=} {b = :.2f}\"") == "(f \"a=\" {a|} \" \" \"b = \" {b|.2f})");
  CHECK(tree_of("f\"{a + b * c}\"") == "(f {(+ a (* b c))|})");
}

TEST_CASE("f-strings nest quotes and brackets") {
  CHECK(tree_of(R"(f"{d["key"]}")") == R"((f {(index d "key")|}))");
  CHECK(tree_of(R"(f"{x[1:5]:.2f}")") == "(f {(index x 1:5:_)|.2f})");
  CHECK(tree_of(R"(f"{f"{a}"} b")") == R"((f {(f {a|})|} " b"))");
  CHECK(tree_of(R"(f"{ {a: 1}.a }")") == "(f {(. (record a:1) a)|})");
  CHECK(tree_of(R"(f"{g(k: 1)}")") == "(f {(call g k:1)|})");
  CHECK(tree_of(R"(f"{if a { "}" } else { "{" }}")") == R"((f {(if a {"}"} {"{"})|}))");
  CHECK(tree_of(R"(f"{"}"}")") == R"((f {"}"|}))");
}

TEST_CASE("spans inside f-strings are those of the source") {
  const auto parsed = parse_text("f\"é {abc + d} {e}\"");
  const auto& fstring = ast::as<ast::FStringExpr>(*ast::as<ast::ExprStmt>(parsed->statement(0)).value);
  CHECK(parsed->text(fstring.parts[1].value->span) == "abc + d");
  CHECK(parsed->text(fstring.parts[3].value->span) == "e");
}

TEST_CASE("errors in f-strings") {
  CHECK(syntax_error("f\"abc").message == "unterminated f-string");
  CHECK(syntax_error("f\"abc").at == "f\"abc");
  CHECK(syntax_error("f\"a {x").message == "expected '}' to close '{' in this f-string");
  CHECK(syntax_error("f\"a {x\"").message == "expected '}' to close '{' in this f-string");
  CHECK(syntax_error("f\"a {x\"").at == "{");
  CHECK(syntax_error("f\"{a b}\"").message == "expected '}' to close '{' in this f-string, found 'b'");
  CHECK(syntax_error("f\"{}\"").message == "expected an expression in the braces of the f-string, found '}'");
  CHECK(syntax_error("f\"a } b\"").message == "'}' in an f-string closes nothing");
  CHECK(syntax_error("f\"{a:{w\"").message == "expected '}' to close '{' in this f-string");
  CHECK(syntax_error("f\"{a\n}\"").message == "an f-string must end on the line where it starts");
  CHECK(syntax_error("f\"{a +}\"").message == "expected an expression after '+', found '}'");
  CHECK(syntax_error("f\"{(a}\"").message == "expected ')' to close '(' opened at line 1, found '}'");
}

TEST_CASE("comments, shebang and byte order mark") {
  CHECK(tree_of("#!/usr/bin/env tsl\na # b\n# c\nd") == "a\nd");
  CHECK(tree_of("\xEF\xBB\xBF"
                "a") == "a");
  CHECK(tree_of("").empty());
  CHECK(tree_of("\n\n# only\n").empty());
  CHECK(tree_of("a\r\nb\r\n") == "a\nb");
}

TEST_CASE("unexpected characters") {
  CHECK(syntax_error("a $ b").message == "unexpected character '$'");
  CHECK(syntax_error("let a = 'x'").hints == "strings have double quotes: `\"text\"`");
  CHECK(syntax_error("!a").hints == "write `not`: `not a`");
  CHECK(syntax_error("let a = “x”").message == "unexpected character '“' (U+201C, a curly quote)");
  CHECK(syntax_error("let a = ‘x’").hints == "strings are written with \" quotes");
  CHECK(syntax_error("let a\u00A0= 1").message == "unexpected character '\u00A0' (U+00A0, a no-break space)");
  CHECK(syntax_error("let a\u00A0= 1").hints == "type an ordinary space");
  CHECK(syntax_error("let a = 3 − 2").message == "unexpected character '−' (U+2212, a minus sign)");
  CHECK(syntax_error("let a = 3 − 2").hints == "type the minus of the keyboard, `-`");
  CHECK(syntax_error("let a\u00A0= 1").at == "\u00A0");
  CHECK(syntax_error("a × b").message == "unexpected character '×' (U+00D7, a multiplication sign)");
  CHECK(syntax_error("a § b").message == "unexpected character '§' (U+00A7)");
  CHECK(syntax_error(std::string("a\0b", 3)).message == "unexpected character U+0000");
  CHECK(tree_of("let θ₁ = β_x") == "let θ₁ = β_x");
}

TEST_CASE("invalid UTF-8 is an error at the byte") {
  const Complaint complaint = syntax_error("let a = \"\xFF\"");
  CHECK(complaint.kind == ErrorKind::syntax);
  CHECK(complaint.message == "byte 0xFF is not valid UTF-8");
  CHECK(syntax_error("# \xC0\x80").message == "byte 0xC0 is not valid UTF-8");
  CHECK(syntax_error("# \xED\xA0\x80").message == "byte 0xED is not valid UTF-8");
  CHECK(syntax_error("# \xE2\x82").message == "byte 0xE2 is not valid UTF-8");
}

TEST_CASE("a newline ends a statement") {
  CHECK(tree_of("a\nb") == "a\nb");
  CHECK(tree_of("a\n-b") == "a\n(- b)");
  CHECK(tree_of("a\n(b)") == "a\nb");
  CHECK(tree_of("a\n[b]") == "a\n(list b)");
  CHECK(tree_of("a;b;;c;") == "a\nb\nc");
  CHECK(tree_of(";\n;a") == "a");
  CHECK(tree_of("return_ = 1") == "return_ = 1");
}

TEST_CASE("a line goes on after an operator, comma, '=', ':' and '->'") {
  for (const char* op : {"+", "-",  "*", "/", "//", "%",  "@",   "**",  "==", "!=", "<", "<=",
                         ">", ">=", "&", "|", "^",  "..", "..=", "and", "or", "in", "|>"}) {
    const std::string one_line = std::string("a ") + op + " b";
    const std::string two_lines = std::string("a ") + op + " # comment\n\n  b";
    CHECK(tree_of(two_lines) == tree_of(one_line));
  }
  CHECK(tree_of("not\na") == "(not a)");
  CHECK(tree_of("let a =\n  b") == "let a = b");
  CHECK(tree_of("a +=\n b") == "a += b");
  CHECK(tree_of("fn f(x) ->\n f32 =\n x") == "fn f (x)->f32 {return x}");
  CHECK(tree_of("from nn import a,\n  b") == "import nn a>a b>b");
}

TEST_CASE("a line goes on before '|>' and '.name'") {
  CHECK(tree_of("x\n  |> f\n\n  # comment\n  |> g(1)") == "(pipe g (pipe f x) 1)");
  CHECK(tree_of("x\n  .sum()\n  .abs()") == "(call (. (call (. x sum)) abs))");
  CHECK(tree_of("x\n|> f\ny") == "(pipe f x)\ny");
}

TEST_CASE("newlines inside brackets do not count") {
  CHECK(tree_of("f(\n  a\n  ,\n  b\n)\nc") == "(call f a b)\nc");
  CHECK(tree_of("[\n1,\n2\n]") == "(list 1 2)");
  CHECK(tree_of("let r = {\n  a: 1,\n  b:\n 2\n}\nc") == "let r = (record a:1 b:2)\nc");
  CHECK(tree_of("(a\n+ b)") == "(+ a b)");
}

TEST_CASE("a block inside brackets has statements again") {
  CHECK(tree_of("f(fn(x) {\n  let y = x\n  return y\n}, 2)") == "(call f (fn (x) {let y = x; return y}) 2)");
  CHECK(tree_of("[if a {\n b\n c\n} else {\n d\n}\n, e]") == "(list (if a {b; c} {d}) e)");
}

TEST_CASE("'{' is a record after an operator, a block after an operand") {
  CHECK(tree_of("let a = {x: 1}") == "let a = (record x:1)");
  CHECK(tree_of("f({x: 1}, [{y: 2}])") == "(call f (record x:1) (list (record y:2)))");
  CHECK(tree_of("fn f() { return {x: 1} }") == "fn f () {return (record x:1)}");
  CHECK(tree_of("for k in {x: 1} { k }") == "for k in (record x:1) {k}");
  CHECK(tree_of("if a in {x: 1} { b }") == "(if (in a (record x:1)) {b})");
  CHECK(tree_of("if f(x) { b }") == "(if (call f x) {b})");
  CHECK(tree_of("if x[0] { b }") == "(if (index x 0) {b})");
  CHECK(tree_of("if \"s\" == f\"t\" { b }") == "(if (== \"s\" (f \"t\")) {b})");
  CHECK(tree_of("{x: 1}") == "(record x:1)");
  CHECK(tree_of("fn f() -> fn { }\nfn g() -> f32[2] { }") == "fn f ()->fn {}\nfn g ()->f32[2] {}");
  CHECK(tree_of("fn f() = {x: 1}") == "fn f () {return (record x:1)}");
  CHECK(tree_of("if a { {x: 1} } else { {y: 2} }") == "(if a {(record x:1)} {(record y:2)})");
  CHECK(tree_of("let r = {a: {b: {}}}") == "let r = (record a:(record b:(record)))");
}

TEST_CASE("'else' and 'catch' may stand on the line after '}'") {
  CHECK(tree_of("if a { b }\nelse if c { d }\n\nelse { e }\nf") == "(if a {b} (if c {d} {e}))\nf");
  CHECK(tree_of("try { a }\ncatch e { b }") == "try {a} catch e {b}");
}

TEST_CASE("keywords may be fields") { CHECK(tree_of("x.in.from") == "(. (. x in) from)"); }

TEST_CASE("documentation belongs to the function that follows") {
  const auto parsed =
      parse_text("## Of the module.\n\n## Of f.\n##   Indented.\n@compile\nfn f() = 1\n## Of nothing.\n\nfn g() = 2\n");
  CHECK(parsed->module->doc == "Of the module.");
  CHECK(ast::as<ast::FunctionStmt>(parsed->statement(0)).function->doc == "Of f.\n  Indented.");
  CHECK(ast::as<ast::FunctionStmt>(parsed->statement(1)).function->doc.empty());
}

TEST_CASE("documentation at the top belongs to the module unless a function follows at once") {
  const auto function_first = parse_text("## Of f.\nfn f() = 1");
  CHECK(function_first->module->doc.empty());
  CHECK(ast::as<ast::FunctionStmt>(function_first->statement(0)).function->doc == "Of f.");
  CHECK(parse_text("#!/usr/bin/env tsl\n## Line one\n## line two\nimport nn")->module->doc == "Line one\nline two");
}
