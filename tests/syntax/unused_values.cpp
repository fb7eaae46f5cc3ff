// Tests which expression statements are warned about.
#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

namespace {

/// Returns the texts of the unused values, joined by ' | '; of the builtins, `print` has an effect.
std::string unused(const std::string& text) {
  const auto parsed = resolve_text(text);
  std::string found;
  for (const Error& warning : find_unused_values(*parsed->module, [](Name name) { return *name == "print"; }))
    found += (found.empty() ? "" : " | ") + parsed->text(warning.span);
  return found;
}

std::string hints(const std::string& text) {
  const auto parsed = resolve_text(text);
  std::string found;
  for (const Error& warning : find_unused_values(*parsed->module, [](Name) { return false; }))
    for (const std::string& hint : warning.hints) found += hint;
  return found;
}

}  // namespace

TEST_CASE("an expression whose value is dropped and that has no effect is found") {
  CHECK(unused("let a = 1\na * 2 + a\nprint(a)") == "a * 2 + a");
  CHECK(unused("let a = [1]\na[0]\na\n\"text\"\na.x == 3\nsum(a[0:1])\nprint(a)") ==
        "a[0] | a | \"text\" | a.x == 3 | sum(a[0:1])");
  CHECK(unused("for i in 0..3 {\n  -i\n  f\"{i}\"\n  (i, [i], {a: i}, 0..i)\n}\n1") ==
        "-i | f\"{i}\" | (i, [i], {a: i}, 0..i)");
  CHECK(unused("if true { 1 } else if false { 2 } else { print(3)\n 4 }\n0") == "1 | 2 | 4");
}

TEST_CASE("the last expression of a function is not its value") {
  CHECK(unused("fn f(x) { x + 1 }\nf(1)") == "x + 1");
  CHECK(unused("let f = fn(x) { if x { 1 } else { 2 } }\nf(true)") == "1 | 2");
  CHECK(hints("fn f(x) { x + 1 }") == "a function's value is what it returns: `return …`, or `fn f(x) = …`");
  CHECK(hints("var x = 1\nx == 2\nx") == "`==` compares; an assignment is written with one `=`");
  CHECK(unused("fn f(x) = x + 1\nlet g = fn(x) = x\nf(g(1))") == "");
}

TEST_CASE("values of blocks and scripts are used") {
  CHECK(unused("1 + 2") == "");
  CHECK(unused("let a = if true { 1 } else { print(2)\n 3 }") == "");
  CHECK(unused("fn f(x) { return if x { 1 } else { 2 } }") == "");
}

TEST_CASE("what may have an effect is not found") {
  CHECK(unused("let f = print\nf(1)\nprint(2)\nlet r = {g: print}\nr.g(1)\n[print(1)]\nsum(f(2))\n0") == "");
  CHECK(unused("try {\n  sum([1])[5]\n} catch e { }\n0") == "");
  CHECK(unused("try { let f = fn(x) { x } } catch e { e }\n0") == "x | e");
  CHECK(unused("if true { nil }\n0") == "");
}
