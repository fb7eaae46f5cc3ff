#include "io/background.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace tsl {

Background::Background(std::function<void()> work) : work_(std::move(work)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) { run(); }  // the system has no threads left
}

Background::~Background() {
  watch_.interrupt();
  if (thread_.joinable()) thread_.join();
}

void Background::run() {
  const RunWatch::Current current(&watch_);
  std::exception_ptr thrown;
  try {
    work_();
  } catch (...) { thrown = std::current_exception(); }
  {
    const std::lock_guard lock(mutex_);
    thrown_ = std::move(thrown);
    has_ended_ = true;
  }
  ended_.notify_all();
}

void Background::wait() {
  constexpr std::chrono::milliseconds kPoll{20};
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPoll, [this] { return has_ended_; })) poll_stop();
  if (thrown_) std::rethrow_exception(thrown_);
}

}  // namespace tsl
