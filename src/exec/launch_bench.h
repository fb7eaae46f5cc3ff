// Runs one launch of a plan alone, on random inputs, and measures it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/bench_inputs.h"
#include "exec/devices.h"
#include "exec/launch_alone.h"
#include "exec/timeline.h"

namespace tsl::exec {

/// The least runs that are measured.
inline constexpr uint64_t kBenchRuns = 20;

/// What is in a device's caches when a kernel begins.
enum class BenchCaches : uint8_t {
  as_in_plan,  // what the plan would leave there
  warm,        // all that fits
  cold,        // nothing
};

struct BenchSetup {
  double seconds = 0.2;  // for each launch; at least kBenchRuns runs are measured
  BenchCaches caches = BenchCaches::as_in_plan;
  uint64_t cache_bytes = 0;  // of the device's last cache; 0: as the device says
};

/// What a kernel takes, of some runs: the median, the 10th and the 90th percentile, in seconds.
struct KernelTimes {
  LoadedKernel kernel;
  uint64_t runs = 0;
  double median = 0, low = 0, high = 0;
};

/// A plan that computes some results of a launch in another way, from its inputs.
struct OtherPlan {
  graph::Plan plan;
  std::vector<uint32_t> inputs;   // by input: that of the launch
  std::vector<uint32_t> outputs;  // by output: that of the launch
};

/// What code a launch runs.
struct LaunchCode {
  std::optional<std::string> choice = {};       // of Backend::launch_choices(); without, the plan is prepared as ever
  std::span<const KernelSource> programs = {};  // in place of generated kernels, by their names
  std::string_view row = {};                    // of Backend::kernel_rows(), in place of the one that is taken
  const OtherPlan* other = nullptr;             // in place of the launch
};

class LaunchBench {
 public:
  /// Takes a launch out of the plan of `distances`, which must outlive this. Symbols have the values of their hints.
  LaunchBench(Devices& devices, Device device, const CacheDistances& distances, uint32_t launch,
              const BenchSetup& setup);
  ~LaunchBench();

  /// Returns the launch as a plan.
  const graph::Plan& plan() const { return alone_.plan; }
  /// Returns, by input of plan(), whether it is in no cache when the launch begins.
  const std::vector<bool>& cold_inputs() const { return is_cold_; }
  /// Whether any data is in no cache when the launch begins.
  bool is_cold() const;

  /// Measures the kernels of the launch, for `setup.seconds` or as long as given. Throws Failure if it cannot run.
  std::vector<KernelTimes> run(const LaunchCode& code = {}, std::optional<double> seconds = {});
  /// Returns the bytes of all outputs of a run, or of these; the inputs are the same each time.
  std::vector<std::byte> results(const LaunchCode& code, std::span<const uint32_t> outputs = {});
  /// Returns the op kernels that there are for the launch; none if its ops are fused.
  std::vector<KernelCandidate> candidates();

  Backend& backend() const { return devices_.at(device_); }

 private:
  struct Prepared {
    std::unique_ptr<Executable> executable;
    const OtherPlan* other;  // null: the launch itself
  };
  bool is_cold(uint32_t buffer) const;
  Prepared prepare(const LaunchCode& code);
  std::unique_ptr<Executable> executable_for(const LaunchCode& code);
  std::unique_ptr<Executable> executable_with_row(std::string_view row);
  void check_products();
  void make_inputs(const Prepared& prepared);
  void warm_up(const Prepared& prepared, Timeline& timeline, double seconds);
  uint64_t runs_within(double seconds) const;
  uint64_t kept_outputs() const;
  RunError run_once(const Prepared& prepared);

  Devices& devices_;
  const Device device_;
  const CacheDistances& distances_;
  const uint32_t launch_;
  const BenchSetup setup_;
  const uint64_t cache_bytes_;
  LaunchAlone alone_;
  std::vector<Scalar> symbols_;
  std::vector<bool> is_cold_;  // by input
  uint64_t cold_outputs_ = 0;  // bytes
  std::unique_ptr<BenchInputSets> inputs_;
  std::deque<std::vector<Tensor>> outputs_;  // of the last runs
  uint64_t run_ = 0;
  double seconds_a_run_ = 0;
};

}  // namespace tsl::exec
