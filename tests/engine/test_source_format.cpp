// Tests the layout of source text on random programs.
#include "syntax/source_format.h"

#include "catch.h"
#include "support/random_programs.h"
#include "syntax/parser.h"

using namespace tsl;

namespace {

std::string canonical(const std::string& text) {
  SourceMap sources;
  Interner names;
  return format(*parse(sources, sources.add("", text), names));
}

std::string formatted(const std::string& text) {
  SourceMap sources;
  return format_source(sources, sources.add("", text));
}

/// Drops the indentation, and doubles every third blank outside strings.
std::string scrambled(const std::string& text) {
  std::string result;
  bool is_in_string = false;
  size_t blanks = 0;
  for (const char c : text) {
    if (c == '"') is_in_string = !is_in_string;
    const bool begins_line = result.empty() || result.back() == '\n';
    if (c == ' ' && begins_line) continue;
    result += c;
    if (c == ' ' && !is_in_string && ++blanks % 3 == 0) result += ' ';
  }
  return result;
}

}  // namespace

TEST_CASE("formatting a random program keeps its tree, and does not depend on its blanks") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = to_text(random_program(seed)), once = formatted(text);
    INFO(text);
    CHECK(canonical(once) == canonical(text));
    CHECK(formatted(once) == once);
    CHECK(formatted(scrambled(text)) == once);
  }
}
