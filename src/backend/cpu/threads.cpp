#include "backend/cpu/threads.h"

#include <system_error>
#include <utility>

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
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    : size_(threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency())) {
  if (size_ < 1) size_ = 1;
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::start() {
  try {
    for (int worker = 1; worker < size_; ++worker) threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error&) {
    // If no more threads can be started, the existing ones do the work.
  }
}

void ThreadPool::run(int64_t count, Call call, void* context) {
  if (count <= 1 || size_ == 1) {
    for (int64_t item = 0; item < count; ++item) call(context, item, 0);
    return;
  }
  if (threads_.empty()) start();
  count_ = count;
  call_ = call;
  context_ = context;
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
}

void ThreadPool::take_items(int worker) {
  try {
    for (;;) {
      const int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
      if (item >= count_) return;
      call_(context_, item, worker);
    }
  } catch (...) {
    next_.store(count_, std::memory_order_relaxed);
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void ThreadPool::work(int worker) {
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; spins < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spins) pause();
    epoch_.wait(seen, std::memory_order_acquire);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while (gate & kOpen) {
      if (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
      take_items(worker);
      gate_.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

}  // namespace tsl::cpu
