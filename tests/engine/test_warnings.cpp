// Tests warnings: each once for a line, and what a host receives.
#include "support/session.h"

using namespace tsl;

namespace {

/// Returns the warnings of a script, as "line: message", one per line.
std::string warned(const std::string& program, EngineOptions options = {}) {
  Session s(options);
  std::string text;
  s.engine.show_warning = [&](const Error& warning) {
    text += std::to_string(s.line_of(warning)) + ": " + warning.message + "\n";
  };
  s.output(program);
  return text;
}

constexpr const char* kUnused = "this value is not used, and computing it has no effect\n";

}  // namespace

TEST_CASE("builtins without effects are known to have none", "[warnings]") {
  CHECK(warned("let x = ones([2])\nexp(x)\nf32(x)\nsoftmax(x)\nsorted([2, 1])\nprint(x)") ==
        std::string("2: ") + kUnused + "3: " + kUnused + "4: " + kUnused + "5: " + kUnused);
  CHECK(warned("let x = [1]\nmap(print, x)\nassert(true)\nseed(1)\nhelp(len)\nx.len()\n0") == "");
}

TEST_CASE("a host receives warnings in the log, unless it takes them itself", "[warnings]") {
  Session s;
  std::string log;
  s.engine.log = [&](std::string_view text) { log += text; };
  s.output("fn f(x) { x }\nf(1)");
  CHECK(log.rfind("warning: this value is not used", 0) == 0);
}

TEST_CASE("a line is warned about once", "[warnings]") {
  Session s;
  int count = 0;
  s.engine.show_warning = [&](const Error&) { ++count; };
  s.output("1 + 1\n0");
  s.output("1 + 1\n0");
  CHECK(count == 1);
}

TEST_CASE("nobody is warned about the prompt's entries", "[warnings]") {
  Session s;
  int count = 0;
  s.engine.show_warning = [&](const Error&) { ++count; };
  s.engine.run_line("1 + 1\n0");
  CHECK(count == 0);
}

TEST_CASE("warnings as errors stop a program, which cannot catch them", "[warnings]") {
  EngineOptions options;
  options.warnings = Warnings::error;
  Session s(options);
  CHECK(s.error_text("print(1)\n1 + 1\n0") ==
        std::string("warning: ") + "this value is not used, and computing it has no effect");
  CHECK(s.printed == "");
}
