#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>

#include "cli/program.h"
#include "engine/modules.h"
#include "graph/spec.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

/// The output and the error that the comments of a script specify.
struct Expectations {
  std::vector<std::string> output;
  std::optional<std::string> error;
  uint32_t error_line = 0;
};

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

/// Returns the rest of `line` after `mark`, if it contains the mark.
std::optional<std::string> after(const std::string& line, const std::string& mark) {
  const size_t at = line.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  return trimmed(line.substr(at + mark.size()));
}

Expectations read_expectations(const std::string& text) {
  Expectations expected;
  uint32_t number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (auto message = after(line, "# expect error:")) {
      expected.error = std::move(message);
      expected.error_line = number;
    } else if (auto output = after(line, "# expect:")) {
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

std::string describe_error(const Expectations& expected, const std::optional<Error>& error, Engine& engine) {
  if (!error) return expected.error ? fmt::format("    expected the error: {}\n", *expected.error) : "";
  if (!expected.error) return "    " + render(*error, engine.sources());
  const uint32_t line = error->span.valid() ? engine.sources().get(error->span.source).line_of(error->span.begin) : 0;
  if (error->message == *expected.error && line == expected.error_line) return "";
  return fmt::format("    expected the error on line {}: {}\n    raised on line {}: {}\n", expected.error_line,
                     *expected.error, line, error->message);
}

/// Runs a script on one tier. Returns a description of what is wrong, or "".
std::string run_test(const fs::path& path, const std::string& text, const EngineOptions& given, bool compile_all) {
  const Expectations expected = read_expectations(text);
  EngineOptions options = given;
  options.compile_all = compile_all;
  options.show_device = false;  // what is expected is the same on every device
  Engine engine(options);
  std::string output;
  engine.output = [&output](std::string_view printed) { output += printed; };
  std::optional<Error> error;
  try {
    engine.run_file(path.string());
  } catch (const Failure& failure) { error = failure.error(); }
  std::vector<std::string> printed = lines_of(output);
  for (std::string& line : printed) line = trimmed(line);  // comments cannot end in spaces either
  return describe_difference(expected.output, printed) + describe_error(expected, error, engine);
}

std::vector<fs::path> scripts_under(const std::vector<std::string>& paths) {
  std::vector<fs::path> scripts;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      scripts.emplace_back(path);
      continue;
    }
    for (fs::recursive_directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (entry->path().extension() == ".tsl") scripts.push_back(entry->path());
    }
    if (failed) fail(ErrorKind::io, "cannot look for tests in {}: {}", path, failed.message());
  }
  std::sort(scripts.begin(), scripts.end());
  return scripts;
}

}  // namespace

int run_tests(const std::vector<std::string>& paths, const EngineOptions& options) {
  graph::enforce_specification(true);
  std::vector<fs::path> scripts;
  try {
    scripts = scripts_under(paths);
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
      for (bool compile_all : {false, true}) {
        const std::string problem = run_test(script, text, options, compile_all);
        if (!problem.empty()) problems += fmt::format("  {}:\n{}", compile_all ? "compiled" : "eager", problem);
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
