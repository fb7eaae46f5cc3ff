// The threads of the CPU backend: one set of workers a process, which the pools of all engines share.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tsl::cpu {

class Workers;

/// Below this many element-operations, a second thread costs more than it gains.
inline constexpr int64_t kParallelWork = 64 * 1024;

/// A function of the host program that calls task(context, i) for each i below `count`, in any threads; null: none.
struct Scheduler {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t i), void* context) = nullptr;
  void* user = nullptr;
};

/// Runs loops on all cores, or on fewer threads. Only one thread at a time may call parallel_for of a pool, and not
/// from within a loop.
class ThreadPool {
 public:
  /// `threads` includes the calling thread; 0 means one per CPU that the process may use. Workers start with the first
  /// parallel loop, so programs without one do not pay for them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }
  /// Runs loops by a function of the host program from now on.
  void use(const Scheduler& scheduler) { scheduler_ = scheduler; }

  /// Calls body(item, worker) once for each item in [0, count), on any thread, with worker < size(). Returns when all
  /// are done. If a call throws, or the run is to stop, no further items start, and the first exception is rethrown
  /// here after all threads have finished. While a loop of another pool has the workers, the calling thread does all
  /// items.
  template <class Body> void parallel_for(int64_t count, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run(
        count, [](void* context, int64_t item, int worker) { (*static_cast<Function*>(context))(item, worker); },
        &body);
  }

 private:
  friend class Workers;
  using Call = void (*)(void* context, int64_t item, int worker);
  void run(int64_t count, Call call, void* context);
  void run_scheduled(int64_t count, Call call, void* context);

  int size_;
  Scheduler scheduler_;
  std::shared_ptr<Workers> workers_;  // null until the first parallel loop
};

}  // namespace tsl::cpu
