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

/// Reads a moment by the directives of format_moment(); what the format does not name is that of 1970-01-01 00:00:00 in
/// UTC. Returns nothing for a text that has another form. Throws Failure (value) for another directive.
std::optional<double> parse_moment(std::string_view text, std::string_view format);

}  // namespace tsl
