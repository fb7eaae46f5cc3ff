// Tests that a text that is read in parts is understood as a whole is.
#include <filesystem>
#include <fstream>
#include <random>

#include "analysis/check.h"
#include "analysis/occurrences.h"
#include "analysis/part_starts.h"
#include "analysis_library.h"
#include "catch.h"

using namespace tsl;
using namespace tsl::analysis;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> whole_scripts() {
  std::vector<std::string> texts;
  for (const char* folder : {"/examples", "/stdlib", "/tests/lang", "/benchmarks"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(std::string(TSL_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".tsl") continue;
      std::ifstream file(entry.path());
      texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return texts;
}

/// Describes all that is found in a text: messages, hints and bytes.
std::vector<std::string> all_found(Workspace& workspace, const std::string& text) {
  std::vector<std::string> found;
  for (const Error& error : check(workspace, "any.tsl", text, "any.tsl")) {
    found.push_back(fmt::format("{} {}-{} {} {}", workspace.sources().location(error.span), error.span.begin,
                                error.span.end, error.message, fmt::join(error.hints, " ")));
    for (const RelatedPlace& place : error.related)
      found.push_back(fmt::format("  {}-{} {}", place.span.begin, place.span.end, place.text));
  }
  return found;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  const std::vector<size_t> starts = part_starts(text);
  for (size_t i = 0; i < starts.size(); ++i)
    parts.push_back(text.substr(starts[i], i + 1 < starts.size() ? starts[i + 1] - starts[i] : std::string::npos));
  return parts;
}

/// Changes a text somewhere.
void edit(std::string& text, std::mt19937_64& random) {
  static constexpr const char* kPieces[] = {
      "x",  "fn f(a) = a\n", "let y = 1\n", "}",    "{", "(",        "\"", "\"\"\"", "# note\n",
      "\n", "@compile\n",    "print(1)\n",  "else", "é", "f\"{x}\"", ".",  " + "};
  const size_t at = random() % (text.size() + 1);
  const size_t count = random() % 3 == 0 ? random() % 20 : 0;
  text.replace(at, std::min(count, text.size() - at), kPieces[random() % std::size(kPieces)]);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a text is cut between statements alone") {
  CHECK(parts_of("let a = 1\nlet b = 2\n") == Texts{"let a = 1\n", "let b = 2\n"});
  CHECK(parts_of("fn f(x) {\nlet y = x\nreturn y\n}\n## doc\n# note\nfn g() = 1\n") ==
        Texts{"fn f(x) {\nlet y = x\nreturn y\n}\n", "## doc\n# note\nfn g() = 1\n"});
  CHECK(parts_of("@compile\nfn f() = 1\nprint(f())\n") == Texts{"@compile\nfn f() = 1\n", "print(f())\n"});
  CHECK(parts_of("let a = 1 +\nb\nlet c =\nfn(x) = x\n") == Texts{"let a = 1 +\nb\n", "let c =\nfn(x) = x\n"});
  CHECK(parts_of("if a {\n}\nelse {\n}\nx\n|> f\n") == Texts{"if a {\n}\nelse {\n}\n", "x\n|> f\n"});
  CHECK(parts_of("let s = \"\"\"\nlet a = (\n\"\"\"\nlet t = f\"\"\"{s}\nlet b\n\"\"\"\n") ==
        Texts{"let s = \"\"\"\nlet a = (\n\"\"\"\n", "let t = f\"\"\"{s}\nlet b\n\"\"\"\n"});
  CHECK(parts_of("let a = f\"\\u{41}{x:>{w}} {\"}\"}\"\nlet b = r\"\\\"\nlet c = 1\n").size() == 3);
  CHECK(parts_of("").size() == 1);
}

TEST_CASE("an open bracket concerns its part alone") {
  CHECK(parts_of("fn f() {\nlet a = 1\n") == Texts{"fn f() {\n", "let a = 1\n"});
  CHECK(parts_of("let a = (\nfn g() = 1\nfn h() = g()\n").size() == 3);
}

TEST_CASE("what is found in a text that is read in parts is what is found in the whole") {
  size_t found = 0, parts = 0, lines = 0;
  for (const std::string& text : whole_scripts()) {
    Workspace whole(small_library()), in_parts(small_library());
    in_parts.expect_edits();
    const std::vector<std::string> expected = all_found(whole, text);
    INFO(text.substr(0, text.find('\n')));
    CHECK(all_found(in_parts, text) == expected);
    CHECK(all_found(in_parts, text) == expected);  // as it is kept
    found += expected.size();
    parts += part_starts(text).size();
    lines += static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  CHECK(found > 500);
  CHECK(parts > lines / 10);
}

TEST_CASE("after edits, a text is understood as if it had never been another") {
#ifdef TSL_SLOW_BUILD
  constexpr int kEdits = 60;
#else
  constexpr int kEdits = 600;
#endif
  std::mt19937_64 random(3);
  Workspace edited(small_library());
  edited.expect_edits();
  const std::vector<std::string> texts = whole_scripts();
  std::string text;
  for (int i = 0; i < kEdits; ++i) {
    if (i % 30 == 0) text = texts[random() % texts.size()].substr(0, 5000);
    edit(text, random);
    const std::vector<std::string> found = all_found(edited, text);
    const size_t cursor = random() % (text.size() + 1);
    const auto places = find_occurrences(edited, text, cursor, "any.tsl");
    Workspace fresh(small_library());
    fresh.expect_edits();
    INFO(text);
    REQUIRE(found == all_found(fresh, text));
    const auto expected = find_occurrences(fresh, text, cursor, "any.tsl");
    REQUIRE(places.has_value() == expected.has_value());
    if (!places) continue;
    CHECK(places->spans.size() == expected->spans.size());
    CHECK(places->declaration.begin == expected->declaration.begin);
    CHECK(places->declaration.end == expected->declaration.end);
  }
}

TEST_CASE("an error in a part names the lines of the whole") {
  Workspace workspace(small_library());
  workspace.expect_edits();
  CHECK(all_found(workspace, "let a = 1\nlet b = 2\nlet c = (a\n]\n") ==
        Texts{"any.tsl:4 31-32 expected ')' to close '(' opened at line 3, found ']' "});
  CHECK(all_found(workspace, "let a = 1\n\nlet b = 2\nlet c = (a\n]\n") ==
        Texts{"any.tsl:5 32-33 expected ')' to close '(' opened at line 4, found ']' "});
  CHECK(all_found(workspace, "let a = 1\nfn f() {\n  a = 2\n}\n") ==
        Texts{"any.tsl:3 21-22 'a' is declared with 'let' and cannot be assigned to use 'var a' where it is declared",
              "  4-5 declared here"});
}
