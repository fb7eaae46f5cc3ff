// Errors of runs that the host has not waited for. A plan that may fail on its elements need not stop the host: what
// the program does next is thrown away if the plan has failed, as long as nobody can observe it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "exec/executable.h"

namespace tsl::exec {

class Devices;

/// The calls in which a fallible node of a region was recorded, innermost first.
struct FailureSite {
  uint32_t order = 0;  // of the node, in program order
  std::vector<CallSite> calls;
};
using FailureSites = std::vector<FailureSite>;

/// Runs in program order, of which any may have failed.
class DeferredErrors {
 public:
  /// The most runs that are deferred at a time: the next one waits for all.
  static constexpr uint32_t kMostRuns = 256;
  /// Returns the running calls, innermost first, without those of `own_frames` frames; nothing if an error raised now
  /// could be caught.
  using FindCalls = std::function<std::optional<std::vector<CallSite>>(size_t own_frames)>;

  struct Run {
    std::shared_ptr<Executable> plan;
    Device device;
    uint32_t number = 0;                        // that the executable has given it
    std::vector<CallSite> calls;                // in which the plan runs
    std::shared_ptr<const FailureSites> sites;  // in the plan's region; null for an op of the program
  };

  explicit DeferredErrors(Devices& devices) : devices_(devices) {}

  /// Defers from now on. An error ends the program: the engine must run nothing after it.
  void enable(FindCalls find_calls) { find_calls_ = std::move(find_calls); }
  /// Called before a plan runs. Returns the running calls if the run may be deferred; flushes if it may not, but can
  /// fail. `own_frames`: frames that belong to the plan's region; nothing: the caller waits.
  std::optional<std::vector<CallSite>> begin(Executable& plan, std::optional<size_t> own_frames);
  /// Adds a run that begin() has allowed.
  void add(Run run) { runs_.push_back(std::move(run)); }
  /// Waits for all runs. Throws the first error in program order, in each call from then on.
  void flush() {
    if (!runs_.empty() || failure_) wait();
  }

 private:
  void wait();

  Devices& devices_;
  FindCalls find_calls_;  // empty: every run is waited for
  std::vector<Run> runs_;
  std::optional<Failure> failure_;
};

}  // namespace tsl::exec
