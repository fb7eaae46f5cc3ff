#include "exec/plan_bench.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error_names.h"
#include "exec/launch_bench.h"

namespace tsl::exec {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A plan that runs on inputs that are made up.
class PlanRuns {
 public:
  PlanRuns(Devices& devices, Device device, const graph::Plan& plan)
      : devices_(devices),
        plan_(plan),
        symbols_(symbol_hints(plan)),
        executable_(devices.at(device).prepare(plan)),
        inputs_(make_inputs(device)) {}

  /// Returns how long a run takes.
  double time() {
    const Clock::time_point begin = Clock::now();
    std::vector<Tensor> outputs(plan_.outputs.size());
    executable_->run(inputs_->at(0), {}, symbols_, outputs);
    devices_.wait();
    return seconds_since(begin);
  }

 private:
  /// Makes inputs on which the plan does not fail: random ones, or all zeros, or all ones.
  std::unique_ptr<BenchInputSets> make_inputs(Device device) {
    std::string problem;
    const std::vector<bool> is_cold(plan_.graph.inputs().size(), false);
    for (const BenchNumbers numbers : {BenchNumbers::random, BenchNumbers::zeros, BenchNumbers::ones}) {
      auto inputs = std::make_unique<BenchInputSets>(devices_, device, plan_, is_cold, 0, numbers);
      std::vector<Tensor> outputs(plan_.outputs.size());
      const RunError error = executable_->run(inputs->at(0), {}, symbols_, outputs);
      if (!error) return inputs;
      problem = describe(error, plan_.graph).message;
    }
    fail(ErrorName::no_bench_inputs, "no inputs were found on which it runs: {}", problem);
  }

  Devices& devices_;
  const graph::Plan& plan_;
  const std::vector<Scalar> symbols_;
  const std::unique_ptr<Executable> executable_;
  const std::unique_ptr<BenchInputSets> inputs_;
};

}  // namespace

RunTimes time_plan(Devices& devices, Device device, const graph::Plan& plan, double seconds) {
  constexpr double kWarmUp = 0.05;
  constexpr uint64_t kMost = 10'000, kFirst = 3;
  PlanRuns runs(devices, device, plan);
  Clock::time_point begin = Clock::now();
  for (uint64_t i = 0; i < kFirst || seconds_since(begin) < std::min(kWarmUp, seconds); ++i) runs.time();
  std::vector<double> times;
  begin = Clock::now();
  while (times.size() < kBenchRuns || (times.size() < kMost && seconds_since(begin) < seconds))
    times.push_back(runs.time());
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1) + 0.5)];
  };
  return {times.size(), at(0.5), at(0.1), at(0.9)};
}

}  // namespace tsl::exec
