// Defines bench(), which measures a function.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "base/time_text.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Calls a function and waits until all devices have computed what it asked for. Returns how long that took.
double time_call(Context& context, const Value& function) {
  const Clock::time_point begin = Clock::now();
  const Value result = context.call(function, {});
  context.runtime().wait();
  return seconds_since(begin);
}

/// Calls a function until it has been compiled for these sizes, a graph of the device has been made, and the clock of
/// the processor has risen.
void warm_up(Context& context, const Value& function, double seconds) {
  constexpr double kMost = 0.05;
  constexpr int kCalls = 3;
  const Clock::time_point begin = Clock::now();
  // bounded: each is a call, which polls
  for (int calls = 0; calls < kCalls || seconds_since(begin) < std::min(kMost, seconds); ++calls)
    time_call(context, function);
}

std::vector<double> time_calls(Context& context, const Value& function, double seconds) {
  constexpr size_t kLeast = 5, kMost = 1'000'000;
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  // bounded: likewise
  while (times.size() < kLeast || (times.size() < kMost && seconds_since(begin) < seconds))
    times.push_back(time_call(context, function));
  std::sort(times.begin(), times.end());
  return times;
}

uint64_t kernels_so_far(Runtime& runtime) { return runtime.counters(runtime.default_device()).kernels; }

/// Returns a record of the measurements, with a sentence for people.
Value bench_builtin(Context& context, Args args) {
  require_permission(context.permissions().clock, "the clock");
  const double seconds = expect_real(context, args[1], "seconds");
  Runtime& runtime = context.runtime();
  runtime.abort_trace("bench() runs in it");
  const double first = time_call(context, args[0]);
  warm_up(context, args[0], seconds);
  const uint64_t before = kernels_so_far(runtime);
  const std::vector<double> times = time_calls(context, args[0], seconds);
  const uint64_t kernels = (kernels_so_far(runtime) - before) / times.size();
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1) + 0.5)];
  };
  const double median = at(0.5), low = at(0.1), high = at(0.9);
  std::string text = fmt::format("median {}, 10 % - 90 % {} - {}, {} runs, first {}", time_text(median), time_text(low),
                                 time_text(high), times.size(), time_text(first));
  if (kernels > 0) text += fmt::format(", {} kernel{}", kernels, kernels == 1 ? "" : "s");
  const auto name = [&](const char* field) { return context.names().intern(field); };
  return make_record({{name("text"), make_string(std::move(text))},
                      {name("median"), Value(median)},
                      {name("low"), Value(low)},
                      {name("high"), Value(high)},
                      {name("runs"), Value(static_cast<int64_t>(times.size()))},
                      {name("first"), Value(first)},
                      {name("kernels"), Value(static_cast<int64_t>(kernels))}});
}

constexpr Builtin kBenchRows[] = {
    with_effect(
        {"bench", "bench(f: fn, seconds: float in 0.. = 0.5)",
         "calls f again and again, and waits for the device each time; a record of what a call takes: text, median, "
         "low, high (10 % and 90 %), runs, first, in seconds, and kernels of a call",
         bench_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> bench_builtins() { return kBenchRows; }

}  // namespace tsl
