// Defines dates and times: now, sleep, format_time, parse_time.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/calendar.h"
#include "base/count_work.h"
#include "base/error_names.h"
#include "base/run_watch.h"
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

Value parse_by_format(const std::string& text, const std::string& format) {
  count_work(static_cast<int64_t>(text.size() + format.size()));
  const std::optional<double> seconds = parse_moment(text, format);
  if (!seconds)
    fail_argument(
        ErrorName::malformed_time, "text",
        fmt::format("{} is no time of the format {}", quoted(text.substr(0, 64)), quoted(format.substr(0, 64))));
  return *seconds;
}

/// Sleeps in parts, so that an interrupt or a deadline ends it.
Value run_sleep(Context& context, std::span<Value> args) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPart(10);
  constexpr double kMost = 1e9;  // thirty years
  const double seconds = std::min(expect_real(context, args[0], "the time"), kMost);
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (Clock::time_point now = Clock::now(); now < end; now = Clock::now()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(kPart, end - now));
    poll_stop();
  }
  return Value();
}

Value sleep_builtin(Context& context, Args args) {
  require_permission(context.permissions().clock, "the clock");
  return context.runtime().effect(run_sleep, {args[0]});
}

Value parse_time_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "the text");
  if (!args[1].is_nil()) return parse_by_format(text, expect_string(context, args[1], "the format"));
  const std::optional<double> seconds = parse_moment(text);
  if (!seconds)
    fail_argument(
        ErrorName::malformed_time, "text", fmt::format("{} is no time of ISO 8601", quoted(text.substr(0, 64))),
        {"such are \"2024-01-31\", \"2024-01-31 12:30\" and \"2024-01-31T12:30:15.5+02:00\"; a format reads others: "
         "`parse_time(text, \"%d.%m.%Y\")`"});
  return *seconds;
}

constexpr Builtin kTimeRows[] = {
    {"now", "now()", "the time in seconds since the beginning of 1970, in UTC; `clock()` measures durations",
     now_builtin, "host"},
    {"format_time", "format_time(seconds: number, format: str = \"%Y-%m-%dT%H:%M:%SZ\")",
     "a time in seconds since 1970 as text, in UTC: by default as ISO 8601, else by the directives of strftime",
     format_time_builtin, "host"},
    {"parse_time", "parse_time(text: str, format: str | nil = nil)",
     "a date, or a date and a time, of ISO 8601 in seconds since 1970, without a zone in UTC; or what a format of the "
     "directives of strptime describes: \"%d.%m.%Y %H:%M\"",
     parse_time_builtin, "host"},
    with_effect({"sleep", "sleep(seconds: number in 0..)",
                 "waits; an interrupt ends it, and it counts as time of the run", sleep_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> time_builtins() { return kTimeRows; }

}  // namespace tsl
