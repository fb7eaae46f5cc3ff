// What the allocators of all devices share: size classes, lists of freed blocks, limits and statistics.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace tsl {

/// The sizes that blocks come in: a few per power of two, so that a freed block fits many requests. Up to `fine_from`
/// bytes they are 4 (at most a fifth of a block is wasted), beyond 16 (at most a seventeenth).
struct SizeClasses {
  uint64_t alignment = 64;  // a power of two, at least 16; the least size, and every size is a multiple
  uint64_t fine_from = ~uint64_t{0};

  static constexpr int kCount = 16 * 64;
  /// The smallest size that holds `bytes`, which must be below 2^62.
  uint64_t size_for(uint64_t bytes) const;
  /// A size's number, below kCount: size 2^e * (1 + s/16) has number 16*e + s.
  static int class_of(uint64_t size);
};

/// Keeps freed blocks for reuse, by size class; they go back to the system only by release_cache(), or when memory
/// runs out or a new block would go beyond the limit. A derived class says where memory comes from, and calls
/// release_cache() in its destructor.
class BlockCache : public Allocator {
 public:
  Ref<Storage> allocate(uint64_t bytes) override;
  void free(Storage* storage) override;
  void release_cache() override;
  Stats stats() const override { return stats_; }

  /// The most bytes that blocks, in use and cached, may take; 0 for no limit.
  void set_limit(uint64_t bytes) { limit_ = bytes; }
  uint64_t limit() const { return limit_; }

 protected:
  BlockCache(Device device, SizeClasses classes);

  /// A fresh block, or null when the system has none.
  virtual void* take_from_system(uint64_t bytes) = 0;
  virtual void give_to_system(void* data, uint64_t bytes) = 0;
  /// Before blocks go back to the system: waits until nothing uses them.
  virtual void synchronize() {}
  /// A block is handed out; its first `bytes` bytes are what was asked for.
  virtual void on_hand_out(Storage&, uint64_t /*bytes*/) {}
  /// A block waits in the cache from now on.
  virtual void on_take_back(Storage&) {}
  /// What else a user should know when memory runs out, such as "79.2 GiB free of 80.0 GiB"; "" for nothing.
  virtual std::string describe_system() const { return {}; }

 private:
  Storage* make_block(uint64_t bytes, uint64_t size);
  bool exceeds_limit(uint64_t more) const;
  [[noreturn]] void refuse(uint64_t bytes, uint64_t given_up) const;

  Device device_;
  SizeClasses classes_;
  uint64_t limit_ = 0;
  std::vector<Storage*> free_;  // by class: a list of blocks, the last one freed first
  Stats stats_;
};

/// "1.5 GiB"
std::string describe_bytes(uint64_t bytes);
/// The other way around: "1.5 GiB", "512M", "4096". Units are powers of 1024. Nothing if it is no such text.
std::optional<uint64_t> parse_bytes(std::string_view text);

}  // namespace tsl
