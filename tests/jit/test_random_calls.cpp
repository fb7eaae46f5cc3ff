// Random calls of every builtin, most of them invalid: nothing crashes, and every tier gives the same values and
// errors.
//   TSL_RANDOM_CALLS  how many hundreds (default 40, fewer under sanitizers)
#include <cstdlib>
#include <string>
#include <vector>

#include "support/random_calls.h"
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
