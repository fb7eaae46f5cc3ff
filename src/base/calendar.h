// Moments, in seconds since the beginning of 1970 in UTC, as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tsl {

/// Formats a moment in UTC by the directives of strftime, which do not depend on a locale: "%Y-%m-%d". Throws Failure
/// (value) for another directive, and for a year that has no four digits.
std::string format_moment(double seconds, std::string_view format);

/// Reads ISO 8601: a date, and behind a 'T' or a blank the time of day with a zone, without which it is in UTC. Returns
/// nothing for anything else.
std::optional<double> parse_moment(std::string_view text);

}  // namespace tsl
