// Tests works in the background: how they end, and how they are given up.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "catch.h"
#include "io/background.h"

using namespace tsl;

namespace {

/// Works until it is given up.
void work_for_ever(std::atomic<bool>& has_begun) {
  while (true) {
    has_begun = true;
    poll_stop();
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("a work in the background ends, or throws what it throws where somebody waits", "[files]") {
  int sum = 0;
  Background counts([&] { sum = 3; });
  counts.wait();
  counts.wait();
  CHECK(sum == 3);
  Background fails([] { throw std::runtime_error("no"); });
  CHECK_THROWS_AS(fails.wait(), std::runtime_error);
}

TEST_CASE("a work that nobody waits for is given up", "[files]") {
  std::atomic<bool> has_begun = false;
  {
    const Background work([&] { work_for_ever(has_begun); });
    while (!has_begun) std::this_thread::yield();
  }
  CHECK(has_begun);
}

TEST_CASE("an interrupt ends the waiting, and the work with it", "[files]") {
  std::atomic<bool> has_begun = false;
  RunWatch watch;
  const RunWatch::Scope scope(watch, {});
  Background work([&] { work_for_ever(has_begun); });
  std::thread other([&] {
    while (!has_begun) std::this_thread::yield();
    watch.interrupt();
  });
  CHECK_THROWS_AS(work.wait(), Failure);
  other.join();
}
