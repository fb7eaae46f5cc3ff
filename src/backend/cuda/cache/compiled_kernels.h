// The kernels that this process has compiled: its engines share them, with or without a cache on disk.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/cuda/cache/disk_cache.h"

namespace tsl::cuda {

/// Holds entries as the disk does, by the same keys. Any thread may call it.
class CompiledKernels {
 public:
  /// The one that the process' engines share.
  static CompiledKernels& of_process();

  std::shared_ptr<const Bytes> find(const Digest& key) const;
  /// Keeps an entry. Drops all others first if they would take more than kCap bytes together.
  void store(const Digest& key, Bytes entry);

  /// The right to compile some kernels, which no one else has meanwhile.
  class Claim {
   public:
    /// Waits while someone compiles one of these kernels; look for them again afterwards. Ends early, with the Failure
    /// of poll_stop(), if the run is to end.
    Claim(CompiledKernels& kernels, std::vector<Digest> keys);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    CompiledKernels& kernels_;
    const std::vector<Digest> keys_;
  };

  static constexpr uint64_t kCap = uint64_t{64} << 20;

 private:
  bool any_claimed(std::span<const Digest> keys) const;

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::unordered_map<Digest, std::shared_ptr<const Bytes>, DigestHash> entries_;
  uint64_t bytes_ = 0;
  std::unordered_set<Digest, DigestHash> claimed_;
};

}  // namespace tsl::cuda
