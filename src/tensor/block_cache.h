// The common part of all devices' allocators: size classes, lists of freed blocks, limits and statistics.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/source.h"
#include "tensor/tensor.h"

namespace tsl {

/// What a block is for, as far as the code that allocates it knows.
struct BlockPurpose {
  std::string_view plan = {};  // the specialisation; "" outside of compiled regions
  std::string_view what = {};  // the op, in text that lives as long as the program, or "arena"; "" if not known
  Origin origin = {};          // not valid: the position of the running call
};

/// Watches the blocks that a cache hands out.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  /// Returns a number that the block keeps until it is freed.
  virtual uint32_t on_allocate(uint64_t bytes, const BlockPurpose& purpose) = 0;
  virtual void on_free(uint32_t number, uint64_t bytes) = 0;
};

/// A device has no memory left for a request.
class OutOfMemory : public Failure {
 public:
  OutOfMemory(Error error, Device device) : Failure(std::move(error)), device(device) {}
  const Device device;
};

/// Rounds requests up to a few sizes per power of two, so that a freed block fits many requests: 4 sizes up to
/// `fine_from` bytes (wasting at most a fifth of a block), 16 beyond (at most a seventeenth).
struct SizeClasses {
  uint64_t alignment = 64;  // a power of two, at least 16; the smallest size, and every size is a multiple of it
  uint64_t fine_from = ~uint64_t{0};

  static constexpr int kCount = 16 * 64;
  /// Returns the smallest size that holds `bytes`, which must be below 2^62.
  uint64_t size_for(uint64_t bytes) const;
  /// Returns the number of a size, below kCount: size 2^e * (1 + s/16) has number 16*e + s.
  static int class_of(uint64_t size);
};

/// Keeps freed blocks for reuse, by size class. They return to the system in release_cache(), when memory runs out, or
/// when a new block would exceed the limit. A derived class supplies the memory, and calls release_cache() in its
/// destructor.
class BlockCache : public Allocator {
 public:
  Ref<Storage> allocate(uint64_t bytes) override;
  Ref<Storage> allocate(uint64_t bytes, const BlockPurpose& purpose);
  void free(Storage* storage) override;
  void release_cache() override;
  Stats stats() const override { return stats_; }

  /// Sets the most bytes for all blocks, in use and cached; 0 means no limit.
  void set_limit(uint64_t bytes) { limit_ = bytes; }
  uint64_t limit() const { return limit_; }
  Device device() const { return device_; }

  /// Sets the observer of all blocks that are allocated from now on, which must outlive the use of the cache.
  void observe(BlockObserver& observer) { observer_ = &observer; }
  bool is_observed() const { return observer_ != nullptr; }
  /// The request that a block was handed out for.
  struct Request {
    uint64_t bytes = 0;
    uint32_t number = 0;  // from the observer; 0: allocated before there was one
  };
  /// Returns the request of a block in use; no bytes if it is not one of this cache.
  Request request_of(const Storage& storage) const;

 protected:
  BlockCache(Device device, SizeClasses classes);

  /// Allocates a block, or returns null if the system has none.
  virtual void* take_from_system(uint64_t bytes) = 0;
  virtual void give_to_system(void* data, uint64_t bytes) = 0;
  /// Waits until nothing uses the blocks, before they return to the system.
  virtual void synchronize() {}
  /// Called when a block is handed out for a request of `bytes` bytes.
  virtual void on_hand_out(Storage&, uint64_t /*bytes*/) {}
  /// Called when a block enters the cache.
  virtual void on_take_back(Storage&) {}
  /// Returns additional information for the error when memory runs out, such as "79.2 GiB free of 80.0 GiB"; "" for
  /// none.
  virtual std::string describe_system() const { return {}; }

 private:
  struct Block : Storage {
    using Storage::Storage;
    uint32_t number = 0;  // from the observer
  };

  Storage* make_block(uint64_t bytes, uint64_t size);
  bool exceeds_limit(uint64_t more) const;
  [[noreturn]] void refuse(uint64_t bytes, uint64_t given_up) const;

  Device device_;
  SizeClasses classes_;
  uint64_t limit_ = 0;
  uint64_t held_bytes_ = 0;     // of all blocks, in use and cached
  std::vector<Storage*> free_;  // per class: a list of blocks, the last freed one first
  Stats stats_;
  BlockObserver* observer_ = nullptr;
};

/// Formats a size: "1.5 GiB".
std::string describe_bytes(uint64_t bytes);
/// Parses a size: "1.5 GiB", "512M", "4096". Units are powers of 1024. Returns nothing for any other text.
std::optional<uint64_t> parse_bytes(std::string_view text);

}  // namespace tsl
