#include "exec/deferred_errors.h"

#include <algorithm>
#include <utility>

#include "exec/devices.h"

namespace tsl::exec {

namespace {

/// Converts the failure of a deferred run to the error that its op raises where nothing is deferred.
Error error_of(const DeferredErrors::Run& run, const RunError& failure) {
  Error error = describe(failure, run.plan->plan().graph);
  std::vector<CallSite> calls;
  if (run.sites) {
    const auto site = std::find_if(run.sites->begin(), run.sites->end(),
                                   [&](const FailureSite& each) { return each.order == failure.order; });
    if (site != run.sites->end()) calls = site->calls;
  }
  calls.insert(calls.end(), run.calls.begin(), run.calls.end());
  if (!calls.empty()) {
    error.span = calls.front().span;
    error.called_from.assign(calls.begin() + 1, calls.end());
  }
  error.is_located = true;
  error.is_final = true;  // no `try` was running
  return error;
}

}  // namespace

std::optional<std::vector<CallSite>> DeferredErrors::begin(Executable& plan, std::optional<size_t> own_frames) {
  if (!plan.plan().may_fail) return std::nullopt;
  std::optional<std::vector<CallSite>> calls;
  if (find_calls_ && own_frames && plan.deferred_runs()) calls = find_calls_(*own_frames);
  if (!calls || failure_ || runs_.size() == kMostRuns) flush();
  if (calls && runs_.empty()) runs_.reserve(kMostRuns);  // nothing may fail once the run has begun
  return calls;
}

void DeferredErrors::wait() {
  // bounded: the runs that wait on a device
  for (const Run& run : std::exchange(runs_, {})) {
    devices_.at(run.device);  // makes it active
    const RunError failure = run.plan->deferred_runs()->report(run.number);
    if (failure && !failure_) failure_.emplace(error_of(run, failure));
  }
  if (failure_) throw Failure(failure_->error());
}

}  // namespace tsl::exec
