#include "base/run_watch.h"

#include <algorithm>
#include <limits>

#include "base/error_names.h"
#include "base/integers.h"
#include "base/platform/timing.h"

namespace tsl {

namespace {

constinit thread_local RunWatch* current_watch __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

/// Sets whether the interpreter is to call check().
void RunWatch::update_pending(bool has_limits) {
  const bool has_too_much = host_limit_ > 0 && host_bytes_ > most_host_bytes_;
  if (!has_limits && !has_too_much) is_pending_.store(false);
  if (is_interrupted_.load() || sample_at_.load() != 0) is_pending_.store(true);  // perhaps since the last line
}

bool RunWatch::take_interrupt() {
  const bool was_interrupted = is_interrupted_.exchange(false);
  update_pending(is_running_ && limits_.any());
  return was_interrupted;
}

void RunWatch::end_sample() {
  sample_at_.store(0);
  update_pending(is_running_ && limits_.any());
}

void RunWatch::check_time() {
  if (is_interrupted_.load()) {
    if (is_running_) has_stopped_.store(true);  // all threads of the run are to stop: its end takes the interrupt
    else take_interrupt();
    end_program(ErrorName::interrupted, "interrupted");
  }
  if (limits_.seconds > 0 && platform::coarse_seconds() > end_)
    end_program(ErrorName::time_limit, fmt::format("the program may take {} seconds", limits_.seconds));
  require_host_bytes(0);
}

void RunWatch::require_time(double seconds) const {
  if (limits_.seconds > 0 && is_running_ && platform::coarse_seconds() + seconds > end_)
    end_program(ErrorName::time_limit, fmt::format("the program may take {} seconds, and this op, which cannot be "
                                                   "interrupted, takes some {:.2g}",
                                                   limits_.seconds, seconds));
}

void RunWatch::check() {
  ++steps_;
  check_time();
  if (limits_.steps > 0 && steps_ > limits_.steps)
    end_program(ErrorName::step_limit,
                fmt::format("the program may take {} steps, calls and iterations", limits_.steps));
}

bool RunWatch::begin(const RunLimits& limits) {
  if (is_running_) return false;
  is_running_ = true;
  limits_ = limits;
  steps_ = 0;
  sample_at_.store(0);  // of a moment at which nothing ran
  if (limits.seconds > 0) end_ = platform::coarse_seconds() + limits.seconds;
  constexpr uint64_t kShareToFree = 16, kMostShare = 4;
  most_host_bytes_ =
      std::max(host_limit_, std::min(host_bytes_ + host_limit_ / kShareToFree, host_limit_ + host_limit_ / kMostShare));
  if (limits.any()) is_pending_.store(true);
  return true;
}

void RunWatch::end() {
  is_running_ = false;
  if (has_stopped_.exchange(false)) is_interrupted_.store(false);
  update_pending(false);
}

void RunWatch::require_host_bytes(uint64_t bytes) const {
  if (host_limit_ == 0 || (bytes <= most_host_bytes_ && host_bytes_ <= most_host_bytes_ - bytes)) return;
  end_program(ErrorName::value_memory_limit,
              fmt::format("the program may take {} bytes for strings, lists and records, and this "
                          "value takes {} more than the {} so far",
                          host_limit_, bytes, host_bytes_));
}

RunWatch* RunWatch::current() { return current_watch; }

RunWatch::Current::Current(RunWatch* watch) : before_(current_watch) { current_watch = watch; }

RunWatch::Current::~Current() { current_watch = before_; }

void poll_stop() {
  RunWatch* const watch = current_watch;
  if (watch && watch->is_pending()) watch->check_time();
}

uint64_t cache_limit(uint64_t most, uint64_t share) {
  const uint64_t host = current_watch ? current_watch->host_limit() : 0;
  return host > 0 ? std::min(most, host / share) : most;
}

void require_time(double seconds) {
  if (current_watch) current_watch->require_time(seconds);
}

void require_host_bytes(uint64_t bytes) {
  if (current_watch) current_watch->require_host_bytes(bytes);
}

void HostBytes::set(uint64_t bytes) {
  if (!current_watch || current_watch->host_limit_ == 0) return;
  note(bytes);
  current_watch->require_host_bytes(0);
}

void HostBytes::note(uint64_t bytes) {
  RunWatch* const watch = current_watch;
  if (!watch || watch->host_limit_ == 0) return;
  recount(static_cast<uint32_t>(std::min<uint64_t>(ceil_div(bytes, kUnit), std::numeric_limits<uint32_t>::max())));
  if (watch->host_bytes_ > watch->most_host_bytes_) watch->is_pending_.store(true);
}

void HostBytes::recount(uint32_t units) {
  if (!current_watch) return;  // freed with the engine
  current_watch->host_bytes_ += kUnit * units;
  current_watch->host_bytes_ -= std::min(current_watch->host_bytes_, kUnit * units_);
  units_ = units;
}

}  // namespace tsl
