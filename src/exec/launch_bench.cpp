#include "exec/launch_bench.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/error_names.h"
#include "exec/op_kernel.h"

namespace tsl::exec {

namespace {

/// Collects the durations of kernels, by activity, in ticks.
class Durations final : public Timeline::Reader {
 public:
  void read(const Timeline& timeline, std::span<const Timeline::Mark> marks,
            std::span<const Timeline::DeviceWork> work) override {
    const auto add = [&](Timeline::Id id, uint64_t ticks) {
      if (timeline[id].kind == ActivityKind::kernel) of_[id].push_back(ticks);
    };
    for (const Timeline::Mark& mark : marks) {
      if (mark.id != Timeline::kEnd) {
        open_.push_back(mark);
      } else if (!open_.empty()) {
        add(open_.back().id, mark.ticks - open_.back().ticks);
        open_.pop_back();
      }
    }
    for (const Timeline::DeviceWork& each : work) add(each.id, each.end - each.begin);
  }
  const std::map<Timeline::Id, std::vector<uint64_t>>& all() const { return of_; }
  void clear() { of_.clear(); }

 private:
  std::vector<Timeline::Mark> open_;
  std::map<Timeline::Id, std::vector<uint64_t>> of_;
};

/// Sets the timeline of an engine's devices during a scope.
class TimelineScope {
 public:
  TimelineScope(Devices& devices, Timeline& timeline) : devices_(devices), before_(devices.instruments()) {
    devices_.instruments().timeline = &timeline;
  }
  ~TimelineScope() { devices_.instruments() = before_; }
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  Devices& devices_;
  const Instruments before_;
};

KernelTimes times_of(const LoadedKernel& kernel, const Timeline& timeline, std::vector<uint64_t> ticks) {
  std::sort(ticks.begin(), ticks.end());
  const auto at = [&](double share) {
    const auto index = static_cast<size_t>(share * static_cast<double>(ticks.size() - 1) + 0.5);
    return timeline.seconds(static_cast<double>(ticks[index]));
  };
  return {kernel, ticks.size(), at(0.5), at(0.1), at(0.9)};
}

}  // namespace

LaunchBench::LaunchBench(Devices& devices, Device device, const CacheDistances& distances, uint32_t launch,
                         const BenchSetup& setup)
    : devices_(devices),
      device_(device),
      distances_(distances),
      launch_(launch),
      setup_(setup),
      cache_bytes_(setup.cache_bytes ? setup.cache_bytes : devices.at(device).cache_bytes()),
      alone_(launch_alone(distances.plan(), launch)),
      symbols_(symbol_hints(alone_.plan)) {
  for (uint32_t b = 0; b < alone_.plan.buffers.size(); ++b) {
    const graph::Buffer& buffer = alone_.plan.buffers[b];
    const bool cold = is_cold(alone_.buffers[b]);
    if (buffer.kind == graph::Buffer::Kind::input) is_cold_.push_back(cold);
    else if (cold) cold_outputs_ += graph::bytes_of(buffer);
  }
}

LaunchBench::~LaunchBench() = default;

bool LaunchBench::is_cold() const {
  return cold_outputs_ > 0 || std::find(is_cold_.begin(), is_cold_.end(), true) != is_cold_.end();
}

bool LaunchBench::is_cold(uint32_t buffer) const {
  switch (setup_.caches) {
    case BenchCaches::warm: return false;
    case BenchCaches::cold: return true;
    case BenchCaches::as_in_plan: return distances_.bytes_since_use(launch_, buffer, cache_bytes_) > cache_bytes_;
  }
  return false;
}

/// Fails if the device cannot compute a product with what another device has merged into it.
void LaunchBench::check_products() {
  Backend& target = backend();
  for (graph::NodeId id = 0; id < alone_.plan.graph.size(); ++id) {
    const graph::Node& node = alone_.plan.graph[id];
    if (node.epilogue != graph::Epilogue() && !target.has_epilogue(node))
      fail(ErrorName::no_kernel, "{} has no kernel for {}, which another device computes in one call",
           to_string(device_), graph::name_of(node));
  }
}

LaunchBench::Prepared LaunchBench::prepare(const LaunchCode& code) {
  check_products();
  Prepared prepared{executable_for(code), code.other};
  if (!prepared.executable) fail(ErrorName::no_kernel, "{} runs no edited code: it generates none", to_string(device_));
  if (!inputs_) make_inputs(prepared);
  return prepared;
}

std::unique_ptr<Executable> LaunchBench::executable_for(const LaunchCode& code) {
  if (!code.programs.empty()) return backend().prepare_edited(alone_.plan, code.programs);
  if (code.choice) return backend().prepare_with(alone_.plan, *code.choice);
  if (!code.row.empty()) return executable_with_row(code.row);
  return backend().prepare(code.other ? code.other->plan : alone_.plan);
}

/// Prepares the launch's op by a row of the table that does not refuse it.
std::unique_ptr<Executable> LaunchBench::executable_with_row(std::string_view row) {
  const graph::Node& node = alone_.plan.graph[alone_.plan.kernels[0].op_node];
  const NamedRow named(*backend().kernel_rows(), node.def(), row);
  std::unique_ptr<Executable> executable = backend().prepare(alone_.plan);
  const std::vector<KernelCandidate> all = executable->candidates(0);
  const auto taken = std::find_if(all.begin(), all.end(), [](const KernelCandidate& each) { return each.is_taken; });
  if (taken->name != row) fail(ErrorName::no_kernel, "{}", kMissingKernel);
  return executable;
}

std::vector<KernelCandidate> LaunchBench::candidates() { return backend().prepare(alone_.plan)->candidates(0); }

/// Makes inputs on which the launch does not fail: random ones, or all zeros, or all ones.
void LaunchBench::make_inputs(const Prepared& prepared) {
  std::string problem;
  for (const BenchNumbers numbers : {BenchNumbers::random, BenchNumbers::zeros, BenchNumbers::ones}) {
    inputs_ = std::make_unique<BenchInputSets>(devices_, device_, alone_.plan, is_cold_, cache_bytes_, numbers);
    const RunError error = run_once(prepared);
    if (!error) return;
    problem = describe(error, alone_.plan.graph).message;
  }
  inputs_.reset();
  fail(ErrorName::no_bench_inputs, "no inputs were found on which it runs: {}", problem);
}

std::vector<KernelTimes> LaunchBench::run(const LaunchCode& code, std::optional<double> seconds) {
  Durations durations;
  Timeline timeline(durations);
  const TimelineScope scope(devices_, timeline);
  const Prepared prepared = prepare(code);
  warm_up(prepared, timeline, seconds.value_or(setup_.seconds));
  durations.clear();
  const uint64_t runs = runs_within(seconds.value_or(setup_.seconds));
  for (uint64_t i = 0; i < runs; ++i) run_once(prepared);
  timeline.flush();
  outputs_.clear();
  std::vector<KernelTimes> out;
  for (const auto& [id, ticks] : durations.all()) {
    out.push_back(times_of(timeline[id].kernel, timeline, ticks));
    out.back().kernel.name = timeline[id].name;  // of a library's call, not of the kernels that it chose
    out.back().kernel.launch = launch_;
  }
  return out;
}

std::vector<std::byte> LaunchBench::results(const LaunchCode& code, std::span<const uint32_t> outputs) {
  const Prepared prepared = prepare(code);
  run_ = 0;
  run_once(prepared);
  std::vector<std::byte> bytes;
  const size_t count_of_outputs = outputs.empty() ? outputs_.back().size() : outputs.size();
  for (size_t i = 0; i < count_of_outputs; ++i) {
    const Tensor host = devices_.to_host(outputs_.back()[outputs.empty() ? i : outputs[i]]);
    const size_t count = static_cast<size_t>(element_count(host.shape()).hint()) * size_of(host.dtype());
    bytes.insert(bytes.end(), host.data(), host.data() + count);
  }
  return bytes;
}

/// Runs long enough for a device to reach its usual clock and for all memory to be allocated, and estimates the time of
/// a run.
void LaunchBench::warm_up(const Prepared& prepared, Timeline& timeline, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr double kMost = 0.05;
  const uint64_t least = std::max<uint64_t>(3, kept_outputs() + 1);
  run_once(prepared);
  timeline.flush();  // what was compiled or allocated at first does not count
  const Clock::time_point begin = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  uint64_t runs = 0;
  for (; runs < least || elapsed() < std::min(kMost, seconds); ++runs) run_once(prepared);
  timeline.flush();
  seconds_a_run_ = elapsed() / static_cast<double>(runs);
}

uint64_t LaunchBench::runs_within(double seconds) const {
  constexpr double kMost = 10'000;
  return std::max(kBenchRuns, static_cast<uint64_t>(std::min(kMost, seconds / seconds_a_run_)));
}

/// Returns for how many runs outputs stay allocated, so that those which the plan would find in no cache move on, too.
uint64_t LaunchBench::kept_outputs() const {
  constexpr uint64_t kMost = 64;
  return cold_outputs_ > 0 ? std::min(kMost, 2 * cache_bytes_ / cold_outputs_ + 1) : 0;
}

RunError LaunchBench::run_once(const Prepared& prepared) {
  while (outputs_.size() > kept_outputs()) outputs_.pop_front();
  outputs_.emplace_back(prepared.executable->plan().outputs.size());
  const std::vector<Tensor>& inputs = inputs_->at(run_++);
  const Inputs read = prepared.other ? Inputs(inputs.data(), prepared.other->inputs) : Inputs(inputs);
  return prepared.executable->run(read, {}, symbols_, outputs_.back());
}

}  // namespace tsl::exec
