// Tests what an editor learns from the text of an entry: its end, its indentation, its colours.
#include "catch.h"
#include "prompt/entry_text.h"
#include "prompt/highlight.h"
#include "syntax/tokens.h"

using namespace tsl::prompt;

TEST_CASE("an entry is complete unless the parser expects more") {
  CHECK(is_complete("1 + 2"));
  CHECK(is_complete(""));
  CHECK(is_complete("1 + * 2"));  // an error that more text does not mend
  CHECK_FALSE(is_complete("1 +"));
  CHECK_FALSE(is_complete("fn f() {"));
  CHECK_FALSE(is_complete("f(1,"));
  CHECK(is_complete(":time f(1,"));
  CHECK(is_complete("?f"));
  CHECK(is_complete("f?"));
  CHECK(is_complete("!echo ("));
}

TEST_CASE("documentation waits for its function") {
  CHECK_FALSE(is_complete("## Doubles."));
  CHECK_FALSE(is_complete("## Doubles.\n"));
  CHECK_FALSE(is_complete(">>> ## Doubles."));
  CHECK(is_complete("## Doubles.\nfn twice(x) = 2 * x"));
  CHECK(is_complete("## Nothing follows.\n\n"));
  CHECK(is_complete("# a comment"));
  CHECK(is_complete("### a heading"));
}

TEST_CASE("a name with a question mark asks for help") {
  CHECK(asked_name("twice?") == "twice");
  CHECK(asked_name(" nn.linear?\n") == "nn.linear");
  for (const char* text : {"", "?", "?twice", "f(x)?", "\"why?\"", "a b?", "# why?"}) CHECK(asked_name(text).empty());
}

TEST_CASE("a line is indented by the innermost open bracket") {
  CHECK(indentation_after("let x = 1") == 0);
  CHECK(indentation_after("fn f() {") == 2);
  CHECK(indentation_after("fn f() {\n  if x {") == 4);
  CHECK(indentation_after("fn f() {\n  if x { g(1,") == 4);
  CHECK(indentation_after("fn f() {\n  if x {\n  }") == 2);
  CHECK(indentation_after("fn f() {\n}") == 0);
  CHECK(indentation_after("\"{\"  # {") == 0);
}

TEST_CASE("a semicolon at the end makes an entry quiet") {
  CHECK(is_quiet("x;"));
  CHECK(is_quiet("x ;  # why"));
  CHECK(is_quiet("x  # why\n;"));
  CHECK_FALSE(is_quiet("x"));
  CHECK_FALSE(is_quiet("x; y"));
  CHECK_FALSE(is_quiet("x  # why;"));
  CHECK_FALSE(is_quiet("\";\""));
}

TEST_CASE("an error ends with its line, and the next line has tokens again") {
  const std::string text = "f(] 1\n2";
  const auto tokens = tsl::tokens_of(text);
  REQUIRE(tokens.size() == 4);
  CHECK(tokens[2].kind == tsl::TokenClass::error);
  CHECK(tokens[2].begin == 2);
  CHECK(tokens[2].end == 5);
  CHECK(tokens[3].kind == tsl::TokenClass::number);
}

TEST_CASE("the holes of an f-string are code") {
  const auto tokens = tsl::tokens_of("f\"a{x:.2f}\"");
  std::vector<tsl::TokenClass> kinds;
  for (const auto& token : tokens) kinds.push_back(token.kind);
  using enum tsl::TokenClass;
  CHECK(kinds == std::vector{string, string, opening, name, string, closing, string});
}

TEST_CASE("brackets at the cursor and their partners stand out") {
  const auto is_builtin = [](std::string_view) { return false; };
  const std::string text = "f(g(1))";
  const auto at_end = highlight(text, 7, is_builtin);
  CHECK(at_end[1] == Style::bracket);
  CHECK(at_end[6] == Style::bracket);
  CHECK(at_end[3] == Style::plain);
  CHECK(highlight(text, 0, is_builtin)[1] == Style::plain);
}

TEST_CASE("commands, builtins and literals have colours") {
  const auto is_builtin = [](std::string_view name) { return name == "sum"; };
  const auto styles = highlight(":time sum(\"a\")", 0, is_builtin);
  CHECK(styles[0] == Style::keyword);
  CHECK(styles[6] == Style::builtin);
  CHECK(styles[10] == Style::string);
  CHECK(highlight("!ls sum", 0, is_builtin)[4] == Style::plain);
}

TEST_CASE("a session loses its prompts and its results", "[prompt]") {
  CHECK(without_prompts(">>> 1 + 1") == "1 + 1");
  CHECK(without_prompts(">>> 1 + 1\n2\n") == "1 + 1\n");
  CHECK(without_prompts("  >>> fn f(x) {\n  ...   x\n  ... }\n  >>> f(1)\n  nil") == "fn f(x) {\n  x\n}\nf(1)");
  CHECK(without_prompts(">>> [\n  1,\n... 2]\n[1, 2]") == "[\n  1,\n2]");
  CHECK(without_prompts(">>>\n>>> x") == "\nx");
  for (const char* text : {"", "a\n>>> b", "x = 1\n... ", "\">>> \"", ">> 1"}) CHECK(without_prompts(text) == text);
}

TEST_CASE("a semicolon at the end, and what follows it, are no part of an expression", "[prompt]") {
  CHECK(without_semicolon("x;") == "x");
  CHECK(without_semicolon("x ; # quietly") == "x");
  CHECK(without_semicolon("\";\" + f(x;y)  ") == "\";\" + f(x;y)");
  CHECK(without_semicolon("").empty());
}
