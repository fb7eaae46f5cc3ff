// Skips the running test case with a reason. Catch2 2 has no skipped cases; those of Catch2 3 have another output.
#pragma once

#include <string>

#include "catch.h"

namespace tsl {

/// Counts the running case as skipped. main.cpp prints its name and the reason at the end of the program.
void skip_case(const std::string& reason);

}  // namespace tsl

/// Ends the case, or the function that checks for it, here.
#define TSL_SKIP(reason)    \
  do {                      \
    tsl::skip_case(reason); \
    return;                 \
  } while (false)
