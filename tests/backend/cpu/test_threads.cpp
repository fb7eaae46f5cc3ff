// Tests the pool of threads: every item runs once, and exceptions.
#include "backend/cpu/threads.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"

using namespace tsl::cpu;

namespace {

/// Checks that each of `count` items runs once.
void check_loop(ThreadPool& pool, int64_t count) {
  std::vector<std::atomic<int>> done(static_cast<size_t>(count));
  pool.parallel_for(count, [&](int64_t item, int worker) {
    done[static_cast<size_t>(item)] += worker >= 0 && worker < pool.size() ? 1 : 100;
  });
  CHECK(std::accumulate(done.begin(), done.end(), 0) == count);
}

/// The threads of this process.
int64_t count_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Whether the process has so many threads; one that has ended is listed for a moment.
bool has_threads(int64_t wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count_threads() > wanted && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return count_threads() == wanted;
}

}  // namespace

TEST_CASE("pools share the threads of the process, which end with the last of them") {
  std::thread([] {}).join();  // a sanitizer starts its own thread with the first
  const int64_t before = count_threads();
  {
    ThreadPool small(3);
    check_loop(small, 1000);
    CHECK(has_threads(before + 2));
    ThreadPool large(5), another(5);
    check_loop(large, 1000);
    check_loop(another, 1000);
    check_loop(small, 1000);
    CHECK(has_threads(before + 4));
  }
  CHECK(has_threads(before));
  ThreadPool again(3);
  check_loop(again, 1000);
  CHECK(has_threads(before + 2));
}

TEST_CASE("loops of several pools at a time do every item once") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int threads : {2, 3, 4}) {
    callers.emplace_back([threads, &wrong] {
      ThreadPool pool(threads);
      for (int round = 0; round < 300; ++round) {
        std::atomic<int64_t> sum{0};
        pool.parallel_for(100, [&](int64_t item, int worker) { sum += worker < threads ? item : 1'000'000; });
        wrong += sum != 4950;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("a loop does every item once") {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 3, 1000}) check_loop(pool, count);
  }
}

TEST_CASE("what an item throws comes out of the loop, whichever thread it was on, and the pool goes on") {
  using Clock = std::chrono::steady_clock;
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (const bool on_caller : {true, false}) {
      if (threads == 1 && !on_caller) continue;
      CAPTURE(threads, on_caller);
      for (int i = 0; i < 20; ++i) {
        std::atomic<int> begun{0}, left{0};
        std::atomic<bool> has_thrown{false};
        const auto deadline = Clock::now() + std::chrono::seconds(10);
        auto body = [&](int64_t, int worker) {
          ++begun;
          if ((worker == 0) == on_caller) {
            has_thrown = true;
            ++left;
            throw std::runtime_error("thrown");
          }
          while (!has_thrown && Clock::now() < deadline)
            std::this_thread::yield();  // leaves an item for a thread that throws
          ++left;
        };
        CHECK_THROWS_WITH(pool.parallel_for(1'000'000'000'000, body), "thrown");
        CHECK(begun == left);
      }
      check_loop(pool, 1000);
    }
  }
}

TEST_CASE("of several exceptions one comes out") {
  ThreadPool pool(4);
  for (int i = 0; i < 100; ++i) {
    CHECK_THROWS_AS(pool.parallel_for(100, [](int64_t item, int) { throw std::runtime_error(std::to_string(item)); }),
                    std::runtime_error);
    check_loop(pool, 100);
  }
}
