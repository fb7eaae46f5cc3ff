// Defines dates and times: now, format_time, parse_time.
#include <chrono>

#include "base/calendar.h"
#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value read_now(Context&, std::span<Value>) {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Value now_builtin(Context& context, Args) {
  require_permission(context.permissions().clock, "the clock");
  return context.runtime().effect(read_now, {});
}

Value format_time_builtin(Context& context, Args args) {
  const std::string& format = expect_string(context, args[1], "the format");
  count_work(static_cast<int64_t>(format.size()));
  constexpr size_t kLongest = 1000;
  if (format.size() > kLongest)
    fail_argument(ErrorName::malformed_format, "format", "the format of a time has at most 1000 bytes");
  return make_string(format_moment(expect_real(context, args[0], "the time"), format));
}

Value parse_time_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "the text");
  const std::optional<double> seconds = parse_moment(text);
  if (!seconds)
    fail_argument(ErrorName::malformed_time, "text",
                  fmt::format("{} is no time of ISO 8601", quoted(text.substr(0, 64))),
                  {"such are \"2024-01-31\", \"2024-01-31 12:30\" and \"2024-01-31T12:30:15.5+02:00\"; `split` and "
                   "`int` take others apart"});
  return *seconds;
}

constexpr Builtin kTimeRows[] = {
    {"now", "now()", "the time in seconds since the beginning of 1970, in UTC; `clock()` measures durations",
     now_builtin, "host"},
    {"format_time", "format_time(seconds: number, format: str = \"%Y-%m-%dT%H:%M:%SZ\")",
     "a time in seconds since 1970 as text, in UTC: by default as ISO 8601, else by the directives of strftime",
     format_time_builtin, "host"},
    {"parse_time", "parse_time(text: str)",
     "a date, or a date and a time, of ISO 8601 in seconds since 1970; without a zone in UTC", parse_time_builtin,
     "host"},
};

}  // namespace

std::span<const Builtin> time_builtins() { return kTimeRows; }

}  // namespace tsl
