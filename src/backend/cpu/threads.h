// A pool of worker threads for one engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tsl::cpu {

/// Runs loops on all cores. Only one thread at a time may call parallel_for, and not from within a loop.
class ThreadPool {
 public:
  /// `threads` includes the calling thread; 0 means one per core. Threads start with the first parallel loop, so
  /// programs without one do not pay for them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  /// Calls body(item, worker) once for each item in [0, count), on any thread, with worker < size(). Returns when all
  /// are done. If a call throws, no further items start, and the first exception is rethrown here after all threads
  /// have finished.
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
  std::atomic<uint32_t> epoch_{0};  // increased by each loop; workers wait for a change
  // Whether workers may enter the loop, and how many are in it. A loop that has no items left does not wait for workers
  // that have not entered: waking up may take longer than the loop.
  static constexpr uint32_t kOpen = 1u << 31;
  std::atomic<uint32_t> gate_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stop_{false};
  int64_t count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // the first exception of the current loop
};

}  // namespace tsl::cpu
