// Tests texts that are nested too deeply, and texts that are only long.
#include <chrono>

#include "catch.h"
#include "syntax/parsed.h"

using namespace tsl;
using namespace tsl::test;

namespace {

std::string repeat(const std::string& text, size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

constexpr size_t kMany = 100'000;

}  // namespace

TEST_CASE("what nests too deeply is a limit error with a place") {
  const std::string texts[] = {
      repeat("(", kMany),
      repeat("(", kMany) + "1" + repeat(")", kMany),
      repeat("[", kMany) + repeat("]", kMany),
      "let r = " + repeat("{a: ", kMany),
      repeat("if a {", kMany),
      repeat("while a {\n", kMany),
      repeat("fn f() {", kMany),
      repeat("-", kMany) + "1",
      repeat("not ", kMany) + "a",
      "2" + repeat(" ** 2", kMany),
      repeat("fn(x) = ", kMany) + "1",
      repeat("f(", kMany),
      repeat("f\"{", kMany),
      "let " + repeat("(", kMany),
      "if a { }" + repeat(" else if a { }", kMany),
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 20));
    const Complaint complaint = syntax_error(text);
    CHECK(complaint.kind == ErrorKind::limit);
    CHECK(complaint.message.find("too deeply") != std::string::npos);
    CHECK_FALSE(complaint.at.empty());
  }
}

TEST_CASE("an expression that chains too many operators is a limit error") {
  for (const char* link : {" + 1", " |> f", ".b", "[0]", "()", " and a", "\n  .b"}) {
    INFO(link);
    CHECK(syntax_error("a" + repeat(link, kMany)).kind == ErrorKind::limit);
    CHECK(syntax_error("a" + repeat(link, 1900)).message.empty());
  }
}

TEST_CASE("nesting and chains count together") {
  const std::string chain = "1" + repeat(" + 1", 1500);
  CHECK(syntax_error(chain).message.empty());
  CHECK(syntax_error("(" + chain + ")" + repeat(" + 1", 1500)).kind == ErrorKind::limit);
}

TEST_CASE("within the limits all of it works") {
  const std::string texts[] = {
      repeat("(", 900) + "1" + repeat(")", 900),
      repeat("if a {", 450) + repeat("}", 450),
      repeat("-", 900) + "a",
      "2" + repeat(" ** 2", 900),
      "if a { }" + repeat(" else if a { }", 1500),
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 20));
    CHECK(name_error("let a = true; let f = sum;" + text).message.empty());
  }
}

TEST_CASE("what is long but flat is no problem") {
  const auto start = std::chrono::steady_clock::now();
  const auto list = parse_text("[" + repeat("1, ", kMany) + "]");
  CHECK(ast::as<ast::ListExpr>(*ast::as<ast::ExprStmt>(list->statement(0)).value).items.size() == kMany);
  CHECK(parse_text(repeat("a\n", kMany))->module->main->body->statements.size() == kMany);
  CHECK(syntax_error("\"" + repeat("x", 10 * kMany) + "\"").message.empty());
  CHECK(syntax_error(repeat("\n", 10 * kMany)).message.empty());
  // Each takes a fraction of a second; quadratic time would take minutes.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}
