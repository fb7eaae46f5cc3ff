// `tsl test`.
#include <chrono>
#include <iostream>

#include "base/error_names.h"
#include "cli/program.h"
#include "cli/test_script.h"
#include "engine/modules.h"
#include "graph/spec.h"
#include "io/atomic_file.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

/// Returns the scripts to run. Throws Failure (io) if there are none.
std::vector<fs::path> choose_scripts(const TestCommand& command) {
  std::vector<fs::path> scripts = find_scripts(command.paths, "tests");
  if (scripts.empty())
    fail(ErrorName::no_tests, "there are no tests: no .tsl file is under {}", fmt::join(command.paths, ", "));
  std::erase_if(scripts, [&](const fs::path& path) { return path.string().find(command.filter) == std::string::npos; });
  if (scripts.empty()) fail(ErrorName::no_tests, "there are no tests: no path contains {}", command.filter);
  return scripts;
}

/// Updates the comments of a script if that is asked for, and runs it on each tier. Returns what is wrong, or "".
std::string test_one(const std::string& path, const TestCommand& command, const EngineOptions& options) {
  std::string problems;
  try {
    std::string text = ModuleLoader::read_file(path);
    if (command.update) {
      const std::string updated = TestScript(path, text).updated(options);
      if (updated != text) {
        write_text_file(path, updated);
        std::cout << "updated " << path << '\n';
        text = updated;
      }
    }
    const TestScript script(path, std::move(text));
    for (const Tier& tier : kTiers) {
      const std::string problem = script.run(options, tier);
      if (!problem.empty()) problems += fmt::format("  {}:\n{}", tier.name, problem);
    }
  } catch (const Failure& failure) { problems = fmt::format("  {}\n", failure.error().message); }
  return problems;
}

}  // namespace

int run_tests(const TestCommand& command, const EngineOptions& options) {
  graph::enforce_specification(true);
  std::vector<fs::path> scripts;
  try {
    scripts = choose_scripts(command);
  } catch (const Failure& failure) {
    std::cerr << render(failure.error(), SourceMap());
    return kExitFailed;
  }
  size_t failed = 0;
  for (const fs::path& script : scripts) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string problems = test_one(script.string(), command, options);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    failed += problems.empty() ? 0 : 1;
    if (!problems.empty()) std::cout << "FAILED " << script.string() << '\n' << problems;
    else if (command.verbose) std::cout << fmt::format("passed {}, {:.2f} s\n", script.string(), taken.count());
  }
  std::cout << scripts.size() - failed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : kExitFailed;
}

}  // namespace tsl
