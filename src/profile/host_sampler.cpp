#include "profile/host_sampler.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>

#include "base/platform/signals.h"
#include "base/platform/timing.h"

namespace tsl::report {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr nanoseconds kPeriod = std::chrono::milliseconds(2);
// The longest that the interpreter looks behind each instruction.
constexpr nanoseconds kMostLooking = std::chrono::microseconds(40);

}  // namespace

HostSampler::HostSampler(Interpreter& interpreter, RunWatch& watch, const SourceMap& sources, exec::Timeline& timeline)
    : interpreter_(interpreter),
      watch_(watch),
      timeline_(timeline),
      calls_(sources),
      before_(interpreter.set_sampler(this)) {
  const platform::BlockedSignals blocked;
  try {
    thread_ = std::thread([this] { ask(); });
  } catch (const std::system_error&) {
    timeline.add_note("no thread could be started to sample the interpreter: its time is one row");
  }
}

HostSampler::~HostSampler() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  end_.notify_one();
  if (thread_.joinable()) thread_.join();
  interpreter_.set_sampler(before_);
  watch_.end_sample();
}

/// Asks for samples until the end.
void HostSampler::ask() {
  platform::wake_in_time();
  const uint64_t first = exec::now_in_ticks();
  const steady_clock::time_point begin = steady_clock::now();
  std::minstd_rand random(static_cast<uint32_t>(first));
  std::uniform_int_distribution<int64_t> sleep(kPeriod.count() / 2, kPeriod.count() * 3 / 2);
  std::uniform_real_distribution<double> later(0, static_cast<double>(kMostLooking.count()));
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, nanoseconds(sleep(random)), [this] { return has_ended_; })) {
    const uint64_t now = exec::now_in_ticks();
    const auto passed = static_cast<double>(nanoseconds(steady_clock::now() - begin).count());
    const double ticks = static_cast<double>(now - first) / std::max(passed, 1.0);  // of a nanosecond
    period_.store(static_cast<uint64_t>(ticks * static_cast<double>(kPeriod.count())));
    watch_.ask_sample(now + static_cast<uint64_t>(ticks * later(random)));
  }
}

void HostSampler::look(const FrameStack& frames, std::string_view builtin) {
  const uint64_t at = watch_.sample_at(), now = exec::now_in_ticks();
  if (at == 0 || now < at) return;
  constexpr uint64_t kMostMoments = 1000;
  const uint64_t period = period_.load();                             // 0 if a profile around this one has asked
  const uint64_t moments = period > 0 ? 1 + (now - at) / period : 1;  // the others have come meanwhile
  const uint64_t weight = 1 + (moments - 1) / kMostMoments;
  const uint32_t path = calls_.add(frames, builtin);
  for (uint64_t i = 0; i < moments; i += weight)
    timeline_.add_sample({at + i * period, path, static_cast<uint32_t>(std::min(weight, moments - i))});
  watch_.end_sample();
}

}  // namespace tsl::report
