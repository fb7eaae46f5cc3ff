// Runs many random programs of one family, and reports those on which the tiers differ.
//   TSL_RANDOM_SECONDS   for how long programs are run
//   TSL_RANDOM_PROGRAMS  how many are run
//   TSL_RANDOM_FIRST     the number of the first one (default: another one each time, which is printed)
//   TSL_RANDOM_SEED      only this one, as a failure names it
//   TSL_TEST_THREADS     how many threads each compiled run has (default 1)
//   TSL_RANDOM_REPORTS   after how many failures to stop (default 5); 0: runs all, names failures and shrinks none
#pragma once

#include <cstdint>

#include "support/random_programs.h"

namespace tsl {

struct RandomFamily {
  Block (*make)(uint64_t seed);
  // Where the variables say nothing: as many programs, or for as long, whichever ends first.
  uint64_t programs;
  uint64_t seconds;
};

/// Checks that the programs of a family give the same output, bit for bit, and the same error on every tier.
void check_random_programs(const RandomFamily& family);

}  // namespace tsl
