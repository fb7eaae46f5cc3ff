// A pool of worker threads for one engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tsl::cpu {

/// Runs loops over all cores. parallel_for may be called by one thread at a time, not from within itself.
class ThreadPool {
 public:
  /// `threads` counts the calling thread; 0 means one per core. Threads start with the first parallel loop, so
  /// that programs that never need them do not pay for them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  /// Calls body(item, worker) once for each item in [0, count), on any thread; worker < size(). Returns when all
  /// are done. If one throws, no more are begun, and the first exception comes out of here when all threads have let go
  /// of `body`.
  template <class Body> void parallel_for(int64_t count, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run(
        count, [](void* context, int64_t item, int worker) { (*static_cast<Function*>(context))(item, worker); },
        &body);
  }

 private:
  using Call = void (*)(void* context, int64_t item, int worker);
  void run(int64_t count, Call call, void* context);
  void start();
  void work(int worker);
  void take_items(int worker);

  int size_;
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> epoch_{0};  // bumped once a loop; workers wait on it
  // Whether a loop may be entered, and how many workers are in it. A loop does not wait for workers that have not
  // entered it when its items are gone: waking up may take longer than the loop.
  static constexpr uint32_t kOpen = 1u << 31;
  std::atomic<uint32_t> gate_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stop_{false};
  int64_t count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // the first of the present loop
};

}  // namespace tsl::cpu
