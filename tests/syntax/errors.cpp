// Tests the messages for texts that are not TSL.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

namespace {

struct Case {
  const char* text;
  const char* message;
  const char* at;  // the text under the carets; "" at the end of the text
};

void check(const Case& each) {
  INFO(each.text);
  const Complaint complaint = syntax_error(each.text);
  CHECK(complaint.kind == ErrorKind::syntax);
  CHECK(complaint.message == each.message);
  CHECK(complaint.at == each.at);
}

}  // namespace

TEST_CASE("an expression is missing") {
  const Case cases[] = {
      {"let x =", "expected an expression after '=', found the end of the text", ""},
      {"let x = ;", "expected an expression after '=', found ';'", " "},
      {"1 +* 2", "expected an expression after '+', found '*'", "*"},
      {"f(a, ]", "expected ')' to close '(' opened at line 1, found ']'", "]"},
      {"(a + )", "expected an expression after '+', found ')'", ")"},
      {"let x = while", "expected an expression after '=', found 'while'", "while"},
      {"x[]", "expected an index after '[', found ']'", "]"},
      {"f(,)", "expected an argument after '(', found ','", ","},
      {"[1,,2]", "expected an expression after ',', found ','", ","},
      {"*", "expected a statement, found '*'", "*"},
      {"a\n)", "')' closes nothing", ")"},
      {"else { }", "expected a statement, found 'else'", "else"},
  };
  for (const Case& each : cases) check(each);
}

TEST_CASE("a bracket is not closed") {
  const Case cases[] = {
      {"(a", "expected ')' to close '(' opened at line 1, found the end of the text", ""},
      {"f(a b)", "expected ',' or ')' to close '(' opened at line 1, found 'b'", "b"},
      {"[a\n b]", "expected ',' or ']' to close '[' opened at line 1, found 'b'", "b"},
      {"x[1:2:3:4]", "expected ',' or ']' to close '[' opened at line 1, found ':'", ":"},
      {"let r = {a: 1 b: 2}", "expected ',' or '}' to close '{' opened at line 1, found 'b'", "b"},
      {"(a]", "expected ')' to close '(' opened at line 1, found ']'", "]"},
      {"fn f() {\n let x = 1\n", "expected '}' to close '{' opened at line 1, found the end of the text", "\n"},
  };
  for (const Case& each : cases) check(each);
  CHECK(syntax_error("a\nf(\n  1\nlet x = 2").message ==
        "expected ',' or ')' to close '(' opened at line 2, found 'let'");
  CHECK(syntax_error("a\nf(\n  1\nlet x = 2").line == 4);
}

TEST_CASE("a statement does not end") {
  const Case cases[] = {
      {"a b", "expected a new line or ';' after 'a', found 'b'", "b"},
      {"if a { b c }", "expected a new line or ';' after 'b', found 'c'", "c"},
      {"let x = 1 let y = 2", "expected a new line or ';' after '1', found 'let'", "let"},
      {"return 1, 2", "expected a new line or ';' after '1', found ','", ","},
      {"while a { } b", "expected a new line or ';' after '}', found 'b'", "b"},
  };
  for (const Case& each : cases) check(each);
}

TEST_CASE("a name, type, key or block is missing") {
  const Case cases[] = {
      {"let 3 = x", "expected a name or '(' after 'let', found '3'", "3"},
      {"let (a, 3) = t", "expected a name after ',', found '3'", "3"},
      {"fn f(x, 3) = 1", "expected a parameter's name after ',', found '3'", "3"},
      {"fn f(x: ) = 1", "expected a type after ':', found ')'", ")"},
      {"fn f() -> = 1", "expected a type after '->', found '='", "="},
      {"fn f(x: f32[,]) = 1", "expected a size or a name after '[', found ','", ","},
      {"fn f(x)\n", "expected '{' or '=' after ')', found the end of the text", "\n"},
      {"let r = {1: 2}", "expected a key after '{', found '1'", "1"},
      {"x.3", "expected a new line or ';' after 'x', found '.3'", ".3"},
      {"if x\n{ }", "expected '{' after 'x', found the end of the line", "\n"},
      {"if x { } else y", "expected '{' or 'if' after 'else', found 'y'", "y"},
      {"while true f()", "expected '{' after 'true', found 'f'", "f"},
      {"for i of x { }", "expected 'in' after 'i', found 'of'", "of"},
      {"try { } catch { }", "expected a name after 'catch', found '{'", "{"},
      {"import 3", "expected a module's name or path after 'import', found '3'", "3"},
      {"from nn import *", "expected a name after 'import', found '*'", "*"},
      {"a not b", "expected 'in' after 'not', found 'b'", "b"},
      {"@ x\n", "expected 'fn' after 'x', found the end of the text", "\n"},
  };
  for (const Case& each : cases) check(each);
}

TEST_CASE("habits of other languages get a note") {
  CHECK(syntax_error("if x = 1 { }").hints == "'==' compares, '=' assigns");
  CHECK(syntax_error("a && b").hints == "write `and`: `a and b`");
  CHECK(syntax_error("a || b").hints == "write `or`: `a or b`");
  CHECK(syntax_error("if a { }\nelif b { }").hints == "write `else if`: `} else if x { … }`");
  CHECK(syntax_error("def f(x) { }").hints == "functions are declared with 'fn': `fn f(x) { … }`");
  CHECK(syntax_error("const x = 1").hints ==
        "names are declared with 'let', or with 'var' if they change: `let x = …`");
  CHECK(syntax_error("let t = 1, 2").hints == "a tuple is written in parentheses: (a, b)");
}

TEST_CASE("the first error in the text is the one reported, lexical or not") {
  CHECK(syntax_error("a b\n\"open").message == "expected a new line or ';' after 'a', found 'b'");
  CHECK(syntax_error("\"open\na b").message == "unterminated string");
}

TEST_CASE("a text is incomplete if it ends where it could go on") {
  for (const char* text :
       {"f(", "[1,", "let x =", "a +", "fn f() {", "fn f() {\n  let x = 1\n", "try { }", "@compile", "\"\"\"open\n",
        "f\"\"\"open {x}\n", "if a { } else", "let r = {a: 1,\n", "fn f(x)", "x |>", "for i in"}) {
    INFO(text);
    CHECK(is_incomplete(text));
  }
  for (const char* text : {"", "a", "f()", "let x = 1\n", "\"open", "f\"open", "f\"{x", "f(]", "a b", "let x = ;",
                           "\xFF", "if a { }", "# (", "\"(\""}) {
    INFO(text);
    CHECK_FALSE(is_incomplete(text));
  }
}
