// Random calls of every builtin, most of them invalid: nothing crashes, and every tier gives the same values and
// errors.
//   TSL_RANDOM_CALLS     how many hundreds (default 40, fewer under sanitizers)
//   TSL_WRAPPING_CALLS   how many hundreds of calls with ints that wrap around (default twice as many)
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "support/random_calls.h"
#include "support/random_integers.h"
#include "support/session.h"
#include "support/tiers.h"

using namespace tsl;

TEST_CASE("random calls agree on all tiers", "[random_calls]") {
  const char* hundreds = std::getenv("TSL_RANDOM_CALLS");
  const std::vector<std::string> builtins = builtins_to_call();
  REQUIRE(builtins.size() > 100);
  for (int seed = 1; seed <= (hundreds ? std::atoi(hundreds) : TSL_RANDOM_CALLS); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    RandomCalls calls(random, builtins);
    std::string program = RandomCalls::prelude();
    for (int i = 0; i < 100; ++i) program += calls.next(i);
    INFO("seed " << seed);
    REQUIRE(outcome(program, Tier::eager).find("99 ") != std::string::npos);  // it ran to its end
    CHECK(disagreement(program) == "");
  }
}

namespace {

constexpr size_t kMostBytes = size_t{64} << 20;  // of a tensor, so that no size that is drawn fills the memory

EngineOptions with_little_memory() {
  EngineOptions options;
  options.threads = 1;
  options.host_memory.allocate = [](void*, size_t bytes, size_t alignment) -> void* {
    return bytes > kMostBytes ? nullptr
                              : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  options.host_memory.free = [](void*, void* data, size_t) { std::free(data); };
  return options;
}

/// Returns what each call of integers_program() has printed, by its number.
std::map<int, std::string> outcomes_of(const std::vector<std::string>& calls, Tier tier) {
  const std::string text = outcome(integers_program(calls), tier, with_little_memory());
  std::map<int, std::string> outcomes;
  for (size_t at = text.find("# "); at != std::string::npos;) {
    const size_t end = text.find("\n# ", at), from = text.find('\n', at);
    outcomes[std::atoi(text.c_str() + at + 2)] = text.substr(from + 1, end == std::string::npos ? end : end - from);
    at = end == std::string::npos ? end : end + 1;
  }
  return outcomes;
}

bool has_failed(const std::string& printed) { return printed.find("error ") == 0; }
/// Whether a tier had no memory for the call: another needs less.
bool lacks_memory(const std::string& printed) { return printed.find("error memory") != std::string::npos; }

/// Compares what a compiled tier and the interpreter print of the calls, and what the calls with smaller ints print.
void check_integer_calls(const std::vector<IntegerCall>& calls, Tier tier) {
  std::vector<std::string> texts, smaller;
  for (const IntegerCall& call : calls) {
    texts.push_back(call.text);
    smaller.push_back(call.smaller.empty() ? "0" : call.smaller);
  }
  const std::map<int, std::string> interpreted = outcomes_of(texts, Tier::eager), compiled = outcomes_of(texts, tier),
                                   of_smaller = outcomes_of(smaller, Tier::eager);
  REQUIRE(interpreted.size() == calls.size());
  REQUIRE(compiled.size() == calls.size());
  for (const auto& [number, printed] : compiled) {
    if (lacks_memory(printed) || lacks_memory(interpreted.at(number))) continue;
    INFO(texts[number]);
    CHECK(printed == interpreted.at(number));
  }
  for (const auto& [number, printed] : interpreted) {
    INFO(texts[number] << "\n" << smaller[number]);
    CHECK(defect_of(printed) == "");
    if (!calls[number].smaller.empty() && !has_failed(printed)) CHECK(printed == of_smaller.at(number));
  }
}

}  // namespace

TEST_CASE("calls with ints that wrap around give an error or the right value", "[random_calls]") {
  const char* hundreds = std::getenv("TSL_WRAPPING_CALLS");
  for (int seed = 1; seed <= (hundreds ? std::atoi(hundreds) : 2 * TSL_RANDOM_CALLS); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    std::vector<IntegerCall> calls;
    for (int i = 0; i < 100; ++i)
      calls.push_back(integer_call(random, (100 * static_cast<size_t>(seed) + i) % count_of_integer_forms()));
    INFO("seed " << seed);
    check_integer_calls(calls, seed % 2 == 0 ? Tier::annotated : Tier::everything);
  }
}
