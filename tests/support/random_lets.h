// Random functions of many lets, which look for memory that compiled code reuses too early or never writes.
//
// The functions of random_programs.h are short and their tensors small. These have up to 130 results that are alive at
// the same time, of sizes around those at which the CPU divides its work, and are called with temporaries, with views
// of each other, and with results of the call before.
#pragma once

#include <cstdint>

#include "support/random_programs.h"

namespace tsl {

/// Makes the program of a seed. It calls bits_of(), which tiers.cpp defines.
Block random_lets(uint64_t seed);
Block random_lets(Random& random);

}  // namespace tsl
