#include "exec/launch_sweep.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>

#include "base/error.h"
#include "graph/kernel_facts.h"

namespace tsl::exec {

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
};

SweptChoice measure(LaunchBench& launch, const std::string& choice, double seconds,
                    const std::vector<std::byte>* expected) {
  SweptChoice out{.choice = choice};
  try {
    out.is_equal = !expected || launch.results({choice}) == *expected;
    if (!out.is_equal) return out;
    for (const KernelTimes& times : launch.run({choice}, seconds)) out.seconds += times.median;
  } catch (const Failure& failure) { out.problem = failure.error().message; }
  return out;
}

}  // namespace

std::vector<SweptChoice> sweep(LaunchBench& launch, double seconds, double budget) {
  const Stopwatch watch;
  const std::vector<std::string> choices = launch.backend().launch_choices(launch.plan());
  if (choices.empty()) return {};
  const std::vector<std::byte> expected = launch.results({""});
  std::vector<SweptChoice> out = {measure(launch, "", seconds, nullptr)};
  for (const std::string& choice : choices) {
    if (watch.seconds() > budget) break;
    out.push_back(measure(launch, choice, seconds, &expected));
  }
  // Again, in case the device became faster in the meantime.
  if (const double again = measure(launch, "", seconds, nullptr).seconds; again > 0)
    out[0].seconds = std::min(out[0].seconds, again);
  return out;
}

const SweptChoice& best_of(const std::vector<SweptChoice>& choices) {
  constexpr double kGain = 0.98;
  const SweptChoice* best = &choices[0];
  for (const SweptChoice& each : choices) {
    if (!each.is_equal || !each.problem.empty() || each.seconds >= kGain * choices[0].seconds) continue;
    if (each.seconds < best->seconds) best = &each;
  }
  return *best;
}

void autotune(Devices& devices, Device device, const graph::Plan& plan) {
  const Stopwatch watch;
  const CacheDistances distances(plan);
  std::vector<uint64_t> bytes;
  for (const std::vector<uint32_t>& launch : plan.launches) bytes.push_back(graph::facts_of(plan, launch).bytes);
  std::vector<uint32_t> order(plan.launches.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return bytes[a] > bytes[b]; });
  for (const uint32_t number : order) {
    const double left = kAutotuneSeconds - watch.seconds();
    if (left <= 0) return;
    try {
      LaunchBench launch(devices, device, distances, number, {});
      if (launch.backend().has_choice(launch.plan())) continue;
      const std::vector<SweptChoice> choices = sweep(launch, kAutotuneRunSeconds, left);
      if (!choices.empty()) launch.backend().keep_choice(launch.plan(), best_of(choices).choice);
    } catch (const Failure&) {         // it cannot run alone, or there is too little memory for its data twice
    } catch (const std::bad_alloc&) {  // as above
    }
  }
}

}  // namespace tsl::exec
