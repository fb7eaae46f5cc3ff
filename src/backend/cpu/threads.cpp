#include "backend/cpu/threads.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/float_state.h"
#include "base/platform/machine.h"
#include "base/platform/signals.h"
#include "base/run_watch.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tsl::cpu {

namespace {

// Loops often follow each other within microseconds; sleeping and waking would cost more than this spin.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

/// The worker threads of the process. They live as long as a pool that has used them.
class Workers {
 public:
  using Call = ThreadPool::Call;

  /// Returns the process's workers.
  static std::shared_ptr<Workers> of_process();
  ~Workers();

  /// Runs a loop on the calling thread and size - 1 workers. Returns false, having done nothing, if a loop of another
  /// thread has the workers.
  bool try_run(int size, int64_t count, Call call, void* context);

 private:
  void start(int size);
  void work(int worker);
  void take_items(int worker);

  std::mutex in_use_;  // by the loop that runs
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> epoch_{0};  // increased by each loop; workers wait for a change
  // Whether workers may enter the loop, and how many are in it. A loop that has no items left does not wait for workers
  // that have not entered: waking up may take longer than the loop.
  static constexpr uint32_t kOpen = 1u << 31;
  std::atomic<uint32_t> gate_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stop_{false};
  int size_ = 1;  // threads that take part in the loop, with the calling one
  int64_t count_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  RunWatch* watch_ = nullptr;  // of the run that the loop is part of
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // the first exception of the current loop
};

// ---- Pools ---------------------------------------------------------------------------------------------------------

ThreadPool::ThreadPool(int threads) : size_(threads > 0 ? threads : platform::machine_limits().cpus) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(int64_t count, Call call, void* context) {
  if (count > 1 && size_ > 1 && scheduler_.run) return run_scheduled(count, call, context);
  if (count > 1 && size_ > 1) {
    if (!workers_) workers_ = Workers::of_process();
    if (workers_->try_run(size_, count, call, context)) return;
  }
  for (int64_t item = 0; item < count; ++item) {
    if (count > 1) poll_stop();
    call(context, item, 0);
  }
}

namespace {

/// A loop whose items several tasks of the host program take, each as one worker.
class ScheduledLoop {
 public:
  using Call = void (*)(void* context, int64_t item, int worker);
  ScheduledLoop(int64_t count, Call call, void* context) : count_(count), call_(call), context_(context) {}

  void take_items(int worker) {
    const FloatState float_state;
    const RunWatch::Current current(watch_);
    try {
      for (int64_t item = next_.fetch_add(1); item < count_; item = next_.fetch_add(1)) {
        poll_stop();
        call_(context_, item, worker);
      }
    } catch (const abi::__forced_unwind&) { throw; } catch (...) {
      next_.store(count_);
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const int64_t count_;
  const Call call_;
  void* const context_;
  RunWatch* const watch_ = RunWatch::current();  // of the run that the loop is part of
  std::atomic<int64_t> next_{0};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void ThreadPool::run_scheduled(int64_t count, Call call, void* context) {
  ScheduledLoop loop(count, call, context);
  const auto tasks = static_cast<uint32_t>(std::min<int64_t>(count, size_));
  scheduler_.run(
      scheduler_.user, tasks,
      [](void* shared, uint32_t i) { static_cast<ScheduledLoop*>(shared)->take_items(static_cast<int>(i)); }, &loop);
  loop.rethrow_failure();
}

// ---- Workers -------------------------------------------------------------------------------------------------------

std::shared_ptr<Workers> Workers::of_process() {
  static std::mutex mutex;
  static auto* const last = new std::weak_ptr<Workers>;  // never destroyed: pools may outlive static objects
  const std::lock_guard lock(mutex);
  std::shared_ptr<Workers> workers = last->lock();
  if (!workers) *last = workers = std::make_shared<Workers>();
  return workers;
}

Workers::~Workers() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::start(int size) {
  if (static_cast<int>(threads_.size()) >= size - 1) return;
  const platform::BlockedSignals blocked;
  try {
    for (int worker = static_cast<int>(threads_.size()) + 1; worker < size; ++worker)
      threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error&) {
    // If no more threads can be started, the existing ones do the work.
  } catch (const std::bad_alloc&) {
    // Likewise.
  }
}

bool Workers::try_run(int size, int64_t count, Call call, void* context) {
  const std::unique_lock lock(in_use_, std::try_to_lock);
  if (!lock) return false;
  start(size);
  size_ = size;
  count_ = count;
  call_ = call;
  context_ = context;
  watch_ = RunWatch::current();
  next_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  take_items(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (int spins = 0; gate_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < kSpins) pause();
    else std::this_thread::yield();
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

void Workers::take_items(int worker) {
  try {
    for (;;) {
      const int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
      if (item >= count_) return;
      poll_stop();
      call_(context_, item, worker);
    }
  } catch (const abi::__forced_unwind&) { throw; } catch (...) {
    next_.store(count_, std::memory_order_relaxed);
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void Workers::work(int worker) {
  const FloatState float_state;
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; spins < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spins) pause();
    epoch_.wait(seen, std::memory_order_acquire);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while (gate & kOpen) {
      if (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
      if (worker < size_) {  // the loop may be of a smaller pool
        const RunWatch::Current current(watch_);
        take_items(worker);
      }
      gate_.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

}  // namespace tsl::cpu
