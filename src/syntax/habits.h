// Recognizes constructs of other languages in a statement that TSL cannot read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tsl {

/// Returns what to write instead of what stands around the offset `at` (an error), in the statement that begins at
/// `statement`; "" if no row of syntax/habits.def matches.
std::string habit_hint(std::string_view text, uint32_t statement, uint32_t at);

}  // namespace tsl
