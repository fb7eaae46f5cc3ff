#include "base/error.h"

#include <algorithm>

#include "base/display_width.h"
#include "base/error_names.h"
#include "catch.h"

using namespace tsl;

namespace {

Error shape_error(uint32_t id) {
  return {ErrorName::shape_mismatch,
          "cannot add",
          {id, 12, 17},
          {"write b"},
          {{"loss", {id, 0, 3}}, {"<main>", {id, 9, 11}}},
          {"a: f32[2]   b: f32[3]"}};
}

}  // namespace

TEST_CASE("an error is rendered with its place, hints, notes and calls") {
  SourceMap sources;
  const uint32_t id = sources.add("mnist.tsl", "let a = 1\n  a + b\n");
  CHECK(render(shape_error(id), sources) ==
        "error[shape]: cannot add\n"
        "  --> mnist.tsl:2:3\n"
        "   2 |   a + b\n"
        "     |   ^^^^^\n"
        "  = write b\n"
        "  - a: f32[2]   b: f32[3]\n"
        "  called from loss (mnist.tsl:1), <main> (mnist.tsl:1)\n");
}

TEST_CASE("a warning is rendered as an error is, without its kind") {
  SourceMap sources;
  const uint32_t id = sources.add("mnist.tsl", "a + b\n");
  Error warning = make_warning(ErrorName::unused_value, "unused", {id, 0, 5}, {"a hint"});
  CHECK(render(warning, sources) == "warning: unused\n  --> mnist.tsl:1:1\n   1 | a + b\n     | ^^^^^\n  = a hint\n");
  warning.is_warning = false;
  CHECK(render(warning, sources).rfind("error[warning]: unused\n", 0) == 0);
}

TEST_CASE("an error without a place is rendered without one") {
  SourceMap sources;
  CHECK(render({ErrorName::file_not_found, "no such file", {}, {}, {}}, sources) == "error[io]: no such file\n");
}

TEST_CASE("carets count code points and stay on one line") {
  SourceMap sources;
  const uint32_t id = sources.add("t.tsl", "é = β\nx");
  const std::string text = render({ErrorName::unknown_name, "m", {id, 5, 9}, {}, {}}, sources);
  CHECK(text.find("t.tsl:1:5\n") != std::string::npos);
  CHECK(text.find("|     ^\n") != std::string::npos);
}

TEST_CASE("an error at the end of the text points after it") {
  SourceMap sources;
  const uint32_t id = sources.add("t.tsl", "let x =");
  const std::string text = render({ErrorName::unexpected_token, "m", {id, 7, 8}, {}, {}}, sources);
  CHECK(text.find("t.tsl:1:8\n   1 | let x =\n     |        ^\n") != std::string::npos);
}

TEST_CASE("of a long line, the part around the caret is shown") {
  SourceMap sources;
  const std::string left(500, 'a'), right(500, 'b');
  const uint32_t id = sources.add("t.tsl", left + "é+" + right);
  const auto lines = [&](uint32_t begin, uint32_t end) {
    const std::string text = render({ErrorName::unknown_name, "m", {id, begin, end}, {}, {}}, sources);
    return text.substr(text.find("\n   1 | ") + 8);
  };
  // 40 code points before the caret, 80 from the caret on.
  CHECK(lines(502, 503) ==
        "…" + std::string(39, 'a') + "é+" + std::string(79, 'b') + "…\n     | " + std::string(41, ' ') + "^\n");
  CHECK(lines(0, 1003) == std::string(120, 'a') + "…\n     | " + std::string(120, '^') + "\n");
  CHECK(lines(1003, 1004) == "…" + std::string(120, 'b') + "\n     | " + std::string(121, ' ') + "^\n");
  CHECK(lines(1002, 1003) == "…" + std::string(120, 'b') + "\n     | " + std::string(120, ' ') + "^\n");
}

TEST_CASE("control characters of the source are not sent to the terminal") {
  SourceMap sources;
  const uint32_t id = sources.add("t.tsl", "a\t\x1b[2J b");
  const std::string text = render({ErrorName::unknown_name, "m", {id, 7, 8}, {}, {}}, sources);
  CHECK(text.find("1 | a  [2J b\n     |        ^\n") != std::string::npos);
}

TEST_CASE("the traceback of a deep recursion shows its ends") {
  SourceMap sources;
  const uint32_t id = sources.add("t.tsl", "f()");
  Error error{ErrorName::recursion_limit, "too deep", {id, 0, 3}, {}, {}};
  for (int i = 0; i < 1000; ++i) error.called_from.push_back({"f" + std::to_string(i), {id, 0, 3}});
  const std::string text = render(error, sources);
  CHECK(text.find("f0 (t.tsl:1)") != std::string::npos);
  CHECK(text.find("f999 (t.tsl:1)") != std::string::npos);
  CHECK(text.find("f500 ") == std::string::npos);
  CHECK(text.find("more") != std::string::npos);
}

TEST_CASE("colour changes nothing but colour") {
  SourceMap sources;
  const uint32_t id = sources.add("mnist.tsl", "let a = 1\n  a + b\n");
  std::string colored = render(shape_error(id), sources, true);
  CHECK(colored.find("\x1b[") != std::string::npos);
  for (size_t at; (at = colored.find("\x1b[")) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  CHECK(colored == render(shape_error(id), sources));
}

TEST_CASE("fail throws a failure that carries its data and can be amended on the way") {
  try {
    try {
      fail(ErrorName::division_by_zero, "bad {}", 7);
    } catch (Failure& failure) {
      failure.error().span = {1, 2, 3};
      throw;
    }
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::value);
    CHECK(failure.error().message == "bad 7");
    CHECK(std::string(failure.what()) == "bad 7");
    CHECK(failure.error().span == Span{1, 2, 3});
  }
}

TEST_CASE("every kind has a name") {
  CHECK(name_of(ErrorKind::syntax) == "syntax");
  CHECK(name_of(ErrorKind::user) == "user");
  CHECK(name_of(ErrorKind::interrupt) == "interrupt");
}

TEST_CASE("every error has a name, which is written with hyphens and has a kind") {
  CHECK(name_of(ErrorName::shape_mismatch) == "shape-mismatch");
  CHECK(kind_of(ErrorName::shape_mismatch) == ErrorKind::shape);
  CHECK(Error{}.name == ErrorName::user_error);
  CHECK(Error{}.kind() == ErrorKind::user);
  for (const ErrorRow& row : error_catalogue()) {
    INFO(row.name);
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
    const auto is_same = [&](const ErrorRow& other) { return other.name == row.name; };
    CHECK(std::count_if(error_catalogue().begin(), error_catalogue().end(), is_same) == 1);
  }
}

TEST_CASE("an error of which only the kind is given is of that kind") {
  for (int i = 0; i < static_cast<int>(ErrorKind::warning); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    CHECK(kind_of(raised_error(kind)) == kind);
  }
}

TEST_CASE("the nearest name is near") {
  const std::vector<std::string> names = {"length", "sum", "reshape", "x"};
  CHECK(nearest_name("lenght", names) == "length");
  CHECK(nearest_name("reshap", names) == "reshape");
  CHECK(nearest_name("summ", names) == "sum");
  CHECK(nearest_name("transpose", names).empty());
  CHECK(nearest_name("q", {}).empty());
}

TEST_CASE("exchanged neighbours count one, and nothing is near a name of one or two letters") {
  CHECK(nearest_name("pritn", {"print", "spin"}) == "print");
  CHECK(nearest_name("fro", {"for"}) == "for");
  CHECK(nearest_name("q", {"eq", "qa"}).empty());
  CHECK(nearest_name("xs", {"x", "xss"}).empty());
}

TEST_CASE("names of other languages have their names in TSL, if there are such, or a sentence") {
  const std::vector<std::string> names = {"len", "print"};
  CHECK(suggest_name("length", names) == "did you mean 'len'?");
  CHECK(suggest_name("lenght", names) == "did you mean 'len'?");
  CHECK(suggest_name("println", names) == "did you mean 'print'?");
  CHECK(suggest_name("length", {"lengths"}) == "did you mean 'lengths'?");
  CHECK(suggest_name("append", names) == "`xs += [v]` appends");
  CHECK(suggest_name("prnt", names) == "did you mean 'print'?");
  CHECK(suggest_name("entirely", names).empty());
}

TEST_CASE("names of other libraries that do something else than a near name are no misspelling of it") {
  const std::vector<std::string> names = {"sqrt", "log", "logical_not", "rand", "sin", "zip", "filter", "hvp", "size"};
  for (const char* foreign : {"logical_and", "logical_or", "rank", "sinm", "zipf", "lfilter", "yvp"}) {
    INFO(foreign);
    CHECK(!suggest_name(foreign, names).empty());
    CHECK(suggest_name(foreign, names).find("did you mean") == std::string::npos);
  }
}

TEST_CASE("members of modules are found in any style, builtins need no module, and no hint imports what is imported") {
  const std::vector<std::string> members = {"lstm", "instance_norm", "linear"}, builtins = {"conv2d", "cross_entropy"};
  const auto hint = [&](std::string_view word) { return suggest_member("nn", word, members, builtins); };
  CHECK(hint("LSTM") == "did you mean 'lstm'?");
  CHECK(hint("InstanceNorm2d") == "did you mean 'instance_norm'?");
  CHECK(hint("Conv2d") == "'conv2d' needs no module");
  CHECK(hint("CrossEntropyLoss") == "'cross_entropy' needs no module");
  CHECK(hint("upsample") == "`nn.interpolate(x, size)` brings images to another size");
  CHECK(hint("TransformerEncoderLayer").empty());
  CHECK(hint("linaer") == "did you mean 'linear'?");
}

TEST_CASE("of equally near names the first in the alphabet is suggested, in whatever order they come") {
  std::vector<std::string> names = {"min", "sin", "sum"};
  do {
    CHECK(nearest_name("sun", names) == "sin");
    CHECK(nearest_name("sim", names) == "sin");
    CHECK(nearest_name("in", names).empty());  // near every short name
  } while (std::next_permutation(names.begin(), names.end()));
}

TEST_CASE("what controls a terminal is spelled in messages, and blank in the lines of a source") {
  CHECK(spell_controls("a\x1b[31m\x7f\tb\n") == "a\\u{1b}[31m\\u{7f}\tb\n");
  CHECK(spell_controls("\xc2\x9b"
                       "1m \xe2\x80\xae \xc3\xa4\xe2\x82\xac") == "\\u{9b}1m \\u{202e} \xc3\xa4\xe2\x82\xac");
  CHECK(spell_controls("Gr\xf6\xdf"
                       "e \xe2\x82") ==
        "Gr\xf6\xdf"
        "e \xe2\x82");  // Latin 1, and what is cut
  CHECK(blank_controls("a\tb\xe2\x81\xa6"
                       "c") == "a b c");
  SourceMap sources;
  const uint32_t source = sources.add("\x1b[2J.tsl", "let x\x1b = 1");
  Error error{ErrorName::user_error, "\x1b]0;title\x07", {source, 0, 3}, {"\x1b[1m"}, {}, {"\x1b[2m"}};
  CHECK(render(error, sources).find('\x1b') == std::string::npos);
  CHECK_THAT(render(error, sources), Catch::Matchers::Contains("\\u{1b}]0;title\\u{7}") &&
                                         Catch::Matchers::Contains("\\u{1b}[2J.tsl:1:1") &&
                                         Catch::Matchers::Contains("let x  = 1"));
}

TEST_CASE("a long text is near no name") {
  const std::string text(200'000, 'x');
  CHECK(nearest_name(text, {"x", text + "y"}).empty());
  CHECK(suggest_name(text, {text + "y"}).empty());
}
