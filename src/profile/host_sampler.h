// Samples what the interpreter runs, from time to time.
//
// A thread picks moments at random, some milliseconds apart, and asks the engine's watch for a sample of each. The
// interpreter, which polls the watch anyway, then looks behind each instruction until the moment is over. So nothing is
// counted between samples, and without a profile nothing is done at all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "exec/timeline.h"
#include "profile/call_tree.h"
#include "vm/interpreter.h"

namespace tsl::report {

class HostSampler final : public CallSampler {
 public:
  /// Begins. The samples are added to the timeline.
  HostSampler(Interpreter& interpreter, RunWatch& watch, const SourceMap& sources, exec::Timeline& timeline);
  /// Ends; the interpreter has the sampler that it had before.
  ~HostSampler() override;
  HostSampler(const HostSampler&) = delete;
  HostSampler& operator=(const HostSampler&) = delete;

  void look(const FrameStack& frames, std::string_view builtin) override;
  const CallTree& calls() const { return calls_; }

 private:
  void ask();

  Interpreter& interpreter_;
  RunWatch& watch_;
  exec::Timeline& timeline_;
  CallTree calls_;
  CallSampler* const before_;
  std::atomic<uint64_t> period_{0};  // in ticks, between two moments on average; 0: not known yet
  std::mutex mutex_;
  std::condition_variable end_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace tsl::report
