#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>

#include "cli/program.h"
#include "engine/modules.h"
#include "graph/spec.h"
#include "syntax/parser.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

/// The output and the error that the comments of a script specify.
struct Expectations {
  struct ExpectedError {
    std::string message;
    uint32_t line = 0;
  };
  std::vector<std::string> output;
  std::vector<ExpectedError> errors;
};

/// One way to run a script.
struct Tier {
  const char* name;
  bool compile_annotated, compile_all;
};
constexpr Tier kTiers[] = {
    {"with --no-compile", false, false}, {"by default", true, false}, {"with --compile", true, true}};

constexpr const char* kSpaces = " \r";  // a carriage return is the end of a line on some systems

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Returns the rest of `comment` after `mark`, if it contains the mark.
std::optional<std::string> after(const std::string& comment, const std::string& mark) {
  const size_t at = comment.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  return trimmed(comment.substr(at + mark.size()));
}

Expectations read_expectations(const std::string& text) {
  Expectations expected;
  const Source source("", text);
  for (const Span& span : find_comments(source)) {
    const std::string comment(source.text().substr(span.begin, span.end - span.begin));
    if (auto message = after(comment, "# expect error:")) {
      expected.errors.push_back({std::move(*message), source.line_of(span.begin)});
    } else if (auto output = after(comment, "# expect:")) {
      expected.output.push_back(std::move(*output));
    }
  }
  return expected;
}

std::string describe_difference(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  for (size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    const bool has_expected = i < expected.size(), has_actual = i < actual.size();
    if (has_expected && has_actual && expected[i] == actual[i]) continue;
    return fmt::format("    line {} of the output\n    expected: {}\n    printed:  {}\n", i + 1,
                       has_expected ? expected[i] : "(nothing)", has_actual ? actual[i] : "(nothing)");
  }
  return "";
}

/// Returns the innermost line of the script at which the error was raised or which led to it; 0 if there is none.
uint32_t line_in_script(const Error& error, const fs::path& path, const SourceMap& sources) {
  const auto line_of = [&](const Span& span) -> uint32_t {
    if (!span.valid()) return 0;
    const Source& source = sources.get(span.source);
    return source.name() == path.string() ? source.line_of(span.begin) : 0;
  };
  uint32_t line = line_of(error.span);
  for (size_t i = 0; i < error.called_from.size() && line == 0; ++i) line = line_of(error.called_from[i].span);
  return line;
}

std::string describe_error(const Expectations& expected, const std::optional<Error>& error, const fs::path& path,
                           Engine& engine) {
  if (expected.errors.size() > 1) {
    return fmt::format("    a script ends with its first error, but one is expected on line {} and one on line {}\n",
                       expected.errors[0].line, expected.errors[1].line);
  }
  if (expected.errors.empty()) return error ? "    " + render(*error, engine.sources()) : "";
  const Expectations::ExpectedError& wanted = expected.errors[0];
  if (!error) return fmt::format("    expected the error: {}\n", wanted.message);
  if (error->message == wanted.message && line_in_script(*error, path, engine.sources()) == wanted.line) return "";
  const std::string place = error->span.valid() ? engine.sources().location(error->span) : "no line";
  return fmt::format("    expected the error on line {}: {}\n    raised at {}: {}\n", wanted.line, wanted.message,
                     place, error->message);
}

/// Runs a script on one tier. Returns a description of what is wrong, or "".
std::string run_test(const fs::path& path, const std::string& text, const EngineOptions& given, const Tier& tier) {
  const Expectations expected = read_expectations(text);
  EngineOptions options = given;
  options.compile_annotated = tier.compile_annotated;
  options.compile_all = tier.compile_all;
  options.show_device = false;  // what is expected is the same on every device
  Engine engine(options);
  std::string output;
  engine.output = [&output](std::string_view printed) { output += printed; };
  engine.show_warning = [&engine](const Error& warning) { show(warning, engine, false); };
  std::optional<Error> error;
  try {
    engine.run_file(path.string());
  } catch (const Failure& failure) { error = failure.error(); }
  std::vector<std::string> printed = lines_of(output);
  for (std::string& line : printed) line = trimmed(line);  // comments cannot end in spaces either
  return describe_difference(expected.output, printed) + describe_error(expected, error, path, engine);
}

}  // namespace

int run_tests(const std::vector<std::string>& paths, const EngineOptions& options) {
  graph::enforce_specification(true);
  std::vector<fs::path> scripts;
  try {
    scripts = find_scripts(paths, "tests");
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap());
    return kExitFailed;
  }
  if (scripts.empty()) {
    std::cerr << fmt::format("error[io]: there are no tests: no .tsl file is under {}\n", fmt::join(paths, ", "));
    return kExitFailed;
  }
  size_t passed = 0, failed = 0;
  for (const fs::path& script : scripts) {
    std::string problems;
    try {
      const std::string text = ModuleLoader::read_file(script.string());
      for (const Tier& tier : kTiers) {
        const std::string problem = run_test(script, text, options, tier);
        if (!problem.empty()) problems += fmt::format("  {}:\n{}", tier.name, problem);
      }
    } catch (const Failure& failure) { problems = fmt::format("  {}\n", failure.error().message); }
    if (problems.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::cout << "FAILED " << script.string() << '\n' << problems;
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : kExitFailed;
}

}  // namespace tsl
