#include "support/tiers.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "engine/engine.h"
#include "exec/sharing_check.h"
#include "support/bits_of.h"
#include "support/session.h"

namespace tsl {

namespace {

// Random loops may print more than is useful to compare.
constexpr size_t kMaxOutput = 1 << 20;

constexpr std::string_view kDefect = "a defect of TSL";  // an exception that is no error of the program: a broken rule

std::string describe_failure(Engine& engine, const Error& error) {
  const uint32_t line = error.span.valid() ? engine.sources().get(error.span.source).line_of(error.span.begin) : 0;
  return fmt::format("error[{}] line {}: {}\n", name_of(error.kind()), line, error.message);
}

/// Returns what `run` prints in an engine with these options, then its error.
template <class Run> std::string outcome_of(Run&& run, Tier tier, EngineOptions options) {
  options.compile_annotated = tier != Tier::eager;
  options.compile_all = tier == Tier::everything;
  options.seed = 7;
  options.defer_errors = true;  // as for scripts
  Engine engine(on_test_device(std::move(options)));
  engine.define(kBitsOf);
  std::string text;
  engine.output = [&](std::string_view printed) {
    text += printed.substr(0, kMaxOutput - text.size());  // a tier may print a line in other pieces than another
  };
  engine.show_warning = [](const Error&) {};  // of random programs there are many
  try {
    run(engine);
  } catch (const Failure& failure) {
    text += describe_failure(engine, failure.error());
  } catch (const std::exception& exception) { text += fmt::format("{}: {}\n", kDefect, exception.what()); }
  return text;
}

}  // namespace

std::string first_difference(const std::string& a, const std::string& b) {
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const size_t begin = a.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t from = begin == std::string::npos || begin >= at ? 0 : begin + 1;
  auto line = [&](const std::string& text) {
    return from <= text.size() ? text.substr(from, std::min<size_t>(text.find('\n', at) - from, 2000)) : std::string();
  };
  return fmt::format("  interpreted: {}\n  compiled:    {}\n", line(a), line(b));
}

std::string outcome(const std::string& program, Tier tier, EngineOptions options) {
  return outcome_of([&](Engine& engine) { engine.run("program.tsl", program); }, tier, std::move(options));
}

std::string outcome(const std::string& program, Tier tier, int threads) {
  EngineOptions options;
  options.threads = threads;
  return outcome(program, tier, options);
}

std::string outcome_of_script(const std::string& path, Tier tier, EngineOptions options) {
  return outcome_of([&](Engine& engine) { engine.run_file(path); }, tier, std::move(options));
}

std::string defect_of(const std::string& outcome) {
  for (const std::string_view sign : {kDefect, exec::kWrongSharing}) {
    if (const size_t at = outcome.find(sign); at != std::string::npos) return outcome.substr(at);
  }
  return "";
}

int threads_of_tests() {
  const char* threads = std::getenv("TSL_TEST_THREADS");
  return threads ? std::atoi(threads) : 1;
}

std::string disagreement(const std::string& program, int threads) {
  const std::string expected = outcome(program, Tier::eager);
  if (const std::string defect = defect_of(expected); !defect.empty()) return defect;
  const auto difference = [&](Tier tier, const char* name) {
    const std::string other = outcome(program, tier, threads);
    return other == expected ? std::string() : fmt::format("{} differs:\n{}", name, first_difference(expected, other));
  };
  if (threads != 1) {
    if (const std::string found = difference(Tier::eager, "on several threads"); !found.empty()) return found;
  }
  const std::string annotated = difference(Tier::annotated, "@compile");
  return annotated.empty() ? difference(Tier::everything, "--compile") : annotated;
}

}  // namespace tsl
