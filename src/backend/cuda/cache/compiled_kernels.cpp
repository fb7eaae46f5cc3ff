#include "backend/cuda/cache/compiled_kernels.h"

#include <algorithm>
#include <chrono>

#include "base/run_watch.h"

namespace tsl::cuda {

CompiledKernels& CompiledKernels::of_process() {
  static auto& kernels = *new CompiledKernels;
  return kernels;
}

std::shared_ptr<const Bytes> CompiledKernels::find(const Digest& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

void CompiledKernels::store(const Digest& key, Bytes entry) {
  const uint64_t size = entry.size();
  auto shared = std::make_shared<const Bytes>(std::move(entry));
  const std::lock_guard lock(mutex_);
  if (bytes_ + size > kCap) {
    entries_.clear();
    bytes_ = 0;
  }
  std::shared_ptr<const Bytes>& slot = entries_[key];
  bytes_ += size - (slot ? slot->size() : 0);
  slot = std::move(shared);
}

bool CompiledKernels::any_claimed(std::span<const Digest> keys) const {
  return std::any_of(keys.begin(), keys.end(), [&](const Digest& key) { return claimed_.count(key) > 0; });
}

// All keys are claimed at once, so that no two engines wait for each other.
CompiledKernels::Claim::Claim(CompiledKernels& kernels, std::vector<Digest> keys)
    : kernels_(kernels), keys_(std::move(keys)) {
  std::unique_lock lock(kernels_.mutex_);
  while (kernels_.any_claimed(keys_)) {
    kernels_.released_.wait_for(lock, std::chrono::milliseconds(10));
    poll_stop();
  }
  kernels_.claimed_.insert(keys_.begin(), keys_.end());
}

CompiledKernels::Claim::~Claim() {
  {
    const std::lock_guard lock(kernels_.mutex_);
    for (const Digest& key : keys_) kernels_.claimed_.erase(key);
  }
  kernels_.released_.notify_all();
}

}  // namespace tsl::cuda
