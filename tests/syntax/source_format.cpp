// Tests the layout of source text: what it does to spaces, and that it changes nothing else.
#include "syntax/source_format.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.h"
#include "syntax/parsed.h"

namespace fs = std::filesystem;

using namespace tsl;
using namespace tsl::test;

namespace {

std::string formatted_source(const std::string& text) {
  SourceMap sources;
  return format_source(sources, sources.add("test.tsl", text));
}

std::vector<std::string> comments_of(const std::string& text) {
  std::vector<std::string> comments;
  for (const Span& span : find_comments(Source("", text))) {
    std::string comment = text.substr(span.begin, span.end - span.begin);
    comment.erase(comment.find_last_not_of(" \r") + 1);
    comments.push_back(comment);
  }
  return comments;
}

/// Replaces the indentation of each line.
std::string with_other_indentation(const std::string& text, const std::string& indentation) {
  std::string changed;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    changed += (begin == std::string::npos ? "" : indentation + line.substr(begin)) + "\n";
  }
  return changed;
}

}  // namespace

TEST_CASE("spaces follow from the tokens") {
  const std::pair<const char*, const char*> cases[] = {
      {"let   x=1+2*3;x", "let x = 1 + 2 * 3; x\n"},
      {"x=-1- -y**-2", "x = -1 - -y ** -2\n"},
      {"f( a,k :-1 ) [ 0 ,a : b ,: : -1, ... ] . c (  )", "f(a, k: -1)[0, a:b, ::-1, ...].c()\n"},
      {"let r={ a:1,\"b\" : 2 , ...rest,}", "let r = {a: 1, \"b\": 2, ...rest,}\n"},
      {"let t=( a , )", "let t = (a,)\n"},
      {"for(i,j)in 0 .. n{f( i )}", "for (i, j) in 0..n { f(i) }\n"},
      {"fn f(p:float in 0.0 ..  = 0.5,q:int|nil in ..3)->[n]=not(p in q)",
       "fn f(p: float in 0.0.. = 0.5, q: int | nil in ..3) -> [n] = not (p in q)\n"},
      {"@ compile( mode:\"x\" )fn f(x)=fn (y){ }", "@compile(mode: \"x\") fn f(x) = fn(y) { }\n"},
      {"print(a@b,f\"{ a+b :.2f}\" ,var ( x ))", "print(a @ b, f\"{ a+b :.2f}\", var(x))\n"},
      {"1 .abs( );2 .. 3", "1.abs(); 2..3\n"},
      {"from nn import a,b as c ; import\"x\"as y", "from nn import a, b as c; import \"x\" as y\n"},
      {"(fn(){a;;b;})( )", "(fn() { a; b })()\n"},
      {"x\t+=\t1;\t\r\ny |>f", "x += 1\ny |> f\n"},
      {"", ""},
      {"\n\n", ""},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    CHECK(formatted_source(text) == expected);
    CHECK(formatted_source(expected) == expected);
  }
}

TEST_CASE("lines are indented by their brackets, or continue a statement") {
  const std::string lines =
      "let x = a +\n"
      "  b\n"
      "  |> f(fn(y) {\n"
      "    y\n"
      "  })\n"
      "if x and\n"
      "  y {\n"
      "  f(a,\n"
      "    g(b,\n"
      "      c))\n"
      "} else if f(\n"
      "  a, [\n"
      "    1\n"
      "  ]\n"
      ") {\n"
      "  let z = {a: 1,\n"
      "           b: 2}\n"
      "}\n"
      "let y = if a { 1 }\n"
      "  else if b { 2 }\n"
      "  else { 3 }\n"
      "if a { 1 }\n"
      "else { 2 }\n"
      "x\n"
      "  .f()\n"
      "  # why\n"
      "  .g()\n"
      "try {\n"
      "  a\n"
      "  # why\n"
      "} catch e {\n"
      "  # why not\n"
      "}\n"
      "fn f(x,\n"
      "     y) -> [n] {\n"
      "  x\n"
      "}\n";
  CHECK(formatted_source(lines) == lines);
  CHECK(formatted_source(with_other_indentation(lines, "")) == lines);
  CHECK(formatted_source(with_other_indentation(lines, "\t   ")) == lines);
  CHECK(formatted_source("if a {\nb\n}\n\n  else\n{ c }") == "if a {\n  b\n} else { c }\n");
  CHECK(formatted_source("if a { b }  # c\nelse\n{ d }") == "if a { b }  # c\nelse { d }\n");
}

TEST_CASE("blank lines stay, but one in sequence, and none beside brackets and at the ends") {
  CHECK(formatted_source("\n\na\n\n\n\nif b {\n\n  c\n\n  d\n\n}\n\n\n# e\n\n") ==
        "a\n\nif b {\n  c\n\n  d\n}\n\n# e\n");
  CHECK(formatted_source("f(\n\n1,\n\n2\n\n)") == "f(\n  1,\n\n  2\n)\n");
}

TEST_CASE("comments stay where they are, two columns from code, or at the column that the author chose for several") {
  CHECK(formatted_source("#!/usr/bin/env tsl\n## Doc.\n\n   #c  \nx#d\n") ==
        "#!/usr/bin/env tsl\n## Doc.\n\n#c\nx  #d\n");
  CHECK(formatted_source("a =1      # one\nbcd = 2   # two\n\nx = 1     # three\ny = 1   # four\nz =  1  # five\n") ==
        "a = 1    # one\nbcd = 2  # two\n\nx = 1  # three\ny = 1  # four\nz = 1  # five\n");
  CHECK(formatted_source("let \u00e9 = 1    # one\nlet e = \"\u00e9\"  # two\n") ==
        "let \u00e9 = 1    # one\nlet e = \"\u00e9\"  # two\n");
  CHECK(formatted_source("[1, # one\n2] # two\n") == "[1,  # one\n 2]  # two\n");
}

TEST_CASE("a colon in a map has a space behind it, and none in an index") {
  CHECK(formatted_source("let m = [ 1:2,(a):[3:x[1 : 5]] , ...r]\n[ : ]\nf(k :1)[ 1: :2]") ==
        "let m = [1: 2, (a): [3: x[1:5]], ...r]\n[:]\nf(k: 1)[1::2]\n");
}

TEST_CASE("what is no program is not formatted_source") {
  CHECK_THROWS_AS(formatted_source("let x ="), Failure);
  CHECK_THROWS_AS(formatted_source("f\"{x\""), Failure);
  CHECK_THROWS_AS(formatted_source("\xff"), Failure);
}

TEST_CASE("formatting any script of the project keeps its tree and its comments, whatever its indentation") {
  size_t count = 0;
  for (const char* folder : {"benchmarks", "examples", "stdlib", "tests"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(TSL_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".tsl") continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      const bool has_long_strings = text.find("\"\"\"") != std::string::npos;  // whose indentation is theirs
      const std::string once =
          formatted_source(has_long_strings ? text : with_other_indentation(text, count % 2 == 0 ? "" : " \t"));
      INFO(entry.path());
      CHECK(once == formatted_source(text));
      CHECK(formatted_source(once) == once);
      CHECK(comments_of(once) == comments_of(text));
      CHECK(tree_of(once) == tree_of(text));
      CHECK(format(*parse_text(once)->module) == format(*parse_text(text)->module));
      ++count;
    }
  }
  CHECK(count > 100);
}
