#include "catch.h"
#include "syntax/habits.h"
#include "syntax/parsed.h"
#include "syntax/parser.h"

using namespace tsl;
using namespace tsl::test;

namespace {

/// Returns "line: message" of each error that reading a text finds.
std::vector<std::string> errors_of(const std::string& text) {
  SourceMap sources;
  Interner names;
  const uint32_t id = sources.add("t.tsl", text);
  ResolveOptions options;
  options.is_builtin = [](Name name) { return *name == "print"; };
  std::vector<std::string> errors;
  const auto add = [&](const Error& error) {
    errors.push_back(fmt::format("{}: {}", sources.get(id).line_of(error.span.begin), error.message));
  };
  try {
    parse_resolved(sources, id, names, options);
  } catch (const Failure& failure) {
    add(failure.error());
    for (const Error& other : failure.error().others) add(other);
  }
  return errors;
}

using Errors = std::vector<std::string>;

}  // namespace

TEST_CASE("five independent errors are five") {
  CHECK(errors_of("fn f(x) {\n  retrun 5\n}\nlet a = 1 +* 2\nprint(nosuch)\nif a = 1 { print(b) }\nlet c = (1, 2") ==
        Errors{"2: expected a new line or ';' after 'retrun', found '5'",
               "4: expected an expression after '+', found '*'", "6: expected '{' after 'a', found '='",
               "7: expected ')' to close '(' opened at line 7, found the end of the text", "5: unknown name 'nosuch'",
               "6: unknown name 'b'"});
}

TEST_CASE("what follows from an error is no error") {
  CHECK(errors_of("for i, j in r { print(i) }\nprint(1)").size() == 1);             // i is declared in what is skipped
  CHECK(errors_of("fn f(x y) {\n  return x\n}").size() == 1);                       // a return in no function
  CHECK(errors_of("for i in 1:3 {\n  if i { break }\n}").size() == 1);              // a break in no loop
  CHECK(errors_of("let a = $ + $\nprint(a)").size() == 1);                          // on the same line
  CHECK(errors_of("switch a {\n  case 1: b()\n  case 2: c()\n}").size() == 1);      // within the block
  CHECK(errors_of("if a == 1 {\n} elif a {\n} else {\n}\nlet a = 1").size() <= 2);  // behind a repaired block
  CHECK(errors_of("x = 1\nprint(x)\nprint(x)") == Errors{"1: 'x' is not declared"});
}

TEST_CASE("a bracket that is not closed ends where the indentation says") {
  CHECK(errors_of("fn f(x) {\n  let y = (1 + 2\n  return y\n}\nlet a = [1, 2\nlet b = 3\nprint(c)") ==
        Errors{"3: expected ',' or ')' to close '(' opened at line 2, found 'return'",
               "6: expected ',' or ']' to close '[' opened at line 5, found 'let'", "7: unknown name 'c'"});
}

TEST_CASE("a missing brace is reported where the indentation says that it is missing") {
  CHECK(errors_of("fn f(x) {\n  if x {\n    print(1)\n}\n\nfn g() {\n  return 1\n}\n") ==
        Errors{"4: expected '}' to close '{' opened at line 2"});
  CHECK(errors_of("fn f(x) {\n  print(x)\n\nfn g() {\n  return 1\n}\nprint(a)") ==
        Errors{"4: expected '}' to close '{' opened at line 1", "7: unknown name 'a'"});
  CHECK(errors_of("if true {\nprint(1)\n}\nif true {\n  print(1)\n") ==
        Errors{"5: expected '}' to close '{' opened at line 4, found the end of the text"});
}

TEST_CASE("at most twenty errors are shown") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "let = 1\n";
  CHECK(errors_of(text).size() == 20);
}

TEST_CASE("garbage is read to its end") {
  for (const char* text :
       {"}", "}}}}", "{{{{", "((((", "'", "\"", "f\"{", "`", "}\n{\n)\n(\n]\n[", "if\nif\nif", "try {\n}\ntry {\n}",
        "a b c\n} else {\nd e f", "fn f(\n\n\n", "@", "@compile", "\xE2\x80\x9C"}) {
    CHECK(!errors_of(text).empty());
  }
}

TEST_CASE("a habit is recognized where it is at fault") {
  CHECK(habit_hint("print(sum(x, axis=0))", 0, 17) == "a named argument is written with a colon: `axis: …`");
  CHECK(habit_hint("let x = y'", 0, 9) == "the transpose is a field: `y.T`");
  CHECK(habit_hint("retrun x", 0, 7) == "did you mean 'return'?");
  CHECK(habit_hint("let y = (1 + 2\nreturn y", 0, 15).empty());
}
