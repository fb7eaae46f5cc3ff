// Tests loops over progress(xs): they run as they do over xs, and show bars only where a host asks for them.
#include "support/session.h"
#include "value/runtime.h"
#include "vm/interpreter.h"

using namespace tsl;

namespace {

/// Returns what a script shows on the terminal, and appends "!" if a loop's bar is still there afterwards.
std::string shown(const std::string& program, bool compile_all = false, std::string* printed = nullptr) {
  EngineOptions options;
  options.compile_all = compile_all;
  Session s(options);
  std::string text;
  s.engine.interpreter().progress_line().write = [&](std::string_view written) { text += written; };
  const std::string output = s.output(program);
  if (printed) *printed = output;
  return text;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

TEST_CASE("a loop over progress(xs) is a loop over xs", "[progress]") {
  Session s;
  CHECK(s.output("for i in progress(0..3) { print(i) }\nfor v in progress([]) { print(v) }") == "0\n1\n2\n");
  CHECK(s.output("for (k, v) in progress({a: 1, b: 2}) { print(k, v) }") == "a 1\nb 2\n");
  CHECK(s.output("for c in progress(\"aé\") { print(c) }\nfor c in (1, 2) |> progress() { print(c) }") ==
        "a\né\n1\n2\n");
  CHECK(s.output("for row in progress(tensor([[1, 2], [3, 4]])) { print(row.sum().item()) }") == "3\n7\n");
  CHECK(s.output("let xs = progress([1, 2])\nprint(xs, len(xs))\nfor x in xs { print(x) }") == "[1, 2] 2\n1\n2\n");
  CHECK(s.output("fn progress(x) = [x, x]\nfor x in progress(7) { print(x) }") == "7\n7\n");
  CHECK(s.error_text("for x in progress(3) { print(x) }") == "type: cannot loop over int");
  CHECK(s.error_text("for x in progress() { print(x) }").find("progress") != std::string::npos);
}

TEST_CASE("a bar's last state stays, with the count", "[progress]") {
  std::string printed;
  const std::string text = shown("for i in progress([5, 6]) { print(i) }", false, &printed);
  CHECK(printed == "5\n6\n");
  CHECK(text.find("100 % |##############################| 2/2, ") != std::string::npos);
  CHECK(text.find(", in 0:00\n") != std::string::npos);
  CHECK(shown("for c in progress(\"abc\") { let x = c }").find("3 in 0:00, ") != std::string::npos);
  CHECK(shown("for c in progress([]) { let x = c }").find("0 in 0:00, ") != std::string::npos);
}

TEST_CASE("a bar ends with its loop, whatever ends that", "[progress]") {
  CHECK(ends_with(shown("for i in progress(0..10) { if i == 5 { break } }"), "left\n"));
  CHECK(shown("for i in progress(0..10) { if i == 5 { break } }").find(" 50 % |") != std::string::npos);
  CHECK(shown("fn f() { for i in progress(0..4) { if i == 1 { return i } } }\nf()\nf()\n0").find(" 1/4, ") !=
        std::string::npos);
  const std::string caught = shown("try { for i in progress(0..4) { error(\"no\") } } catch e { print(1) }\nprint(2)");
  CHECK(count(caught, " 0/4, ") == 1);
  CHECK(ends_with(caught, "\n"));
  // Of two nested loops, the outer one's bar stays.
  const std::string nested = shown("for i in progress(0..2) { for j in progress(0..3) { if j == 1 { continue } } }");
  CHECK(count(nested, "\n") == 1);
  CHECK(count(nested, " 2/2, ") == 1);
}

TEST_CASE("bodies of loops over progress(xs) are traced once and replayed", "[progress]") {
  EngineOptions options;
  options.compile_all = true;
  Session s(options);
  std::string text;
  s.engine.interpreter().progress_line().write = [&](std::string_view written) { text += written; };
  CHECK(s.output("var x = ones([2])\nfor i in progress(0..50) { x = x + 1.0 }\nprint(x)") == "f32[2]\n[51. 51.]\n");
  CHECK(s.engine.runtime().trace_counts().traces <= 2);
  CHECK(text.find(" 50/50, ") != std::string::npos);
  CHECK(shown("@compile\nfn f(x) {\n  var y = x\n  for i in progress(0..3) { y = y * 2.0 }\n  return y\n}\n"
              "for i in 0..3 { print(f(ones([1]))) }") == "");
}
