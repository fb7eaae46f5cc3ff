// Works on files in a thread, beside the program.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "base/run_watch.h"

namespace tsl {

/// Begins a work when it is made, and gives up what has not ended when it is destroyed. The work may use nothing that
/// the program's thread counts references to at the same time: raw memory, and objects of its own.
class Background {
 public:
  explicit Background(std::function<void()> work);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Waits for the end, and throws what the work has thrown; or what ends the run of this thread, if that comes first.
  void wait();

 private:
  void run();

  const std::function<void()> work_;
  RunWatch watch_;  // of the work: it ends where it polls
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace tsl
