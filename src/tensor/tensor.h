// Tensors: a dtype, a layout, and either elements in a storage or a place in a graph being recorded.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace tsl {

/// The number of a backend's name: the same for the same name, in the order in which names are first asked for. The
/// host's, "cpu", is 0. May be called from any thread; throws Failure (limit) for more names than a byte counts.
uint8_t backend_number(std::string_view name);
/// How many backends have a number.
int backend_count();
std::string_view backend_name(uint8_t number);

struct Device {
  uint8_t backend = 0;  // a backend_number()
  uint8_t ordinal = 0;

  static Device of(std::string_view backend, uint8_t ordinal = 0) { return {backend_number(backend), ordinal}; }
  bool is_host() const { return backend == 0; }
  friend bool operator==(Device a, Device b) {
    return std::bit_cast<uint16_t>(a) == std::bit_cast<uint16_t>(b);
  }  // at once
};

/// "cpu", "cuda:1"
std::string to_string(Device device);

class Allocator;

/// A block of device memory, given back to its allocator when the last tensor lets go.
class Storage : public Counted {
 public:
  Storage(Allocator* allocator, void* data, size_t bytes, Device device)
      : allocator_(allocator), data_(data), bytes_(bytes), device_(device) {}
  ~Storage();
  static void destroy(Storage* storage);
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  friend class BlockCache;
  Allocator* allocator_;
  void* data_;
  size_t bytes_;
  Device device_;
  Storage* next_free_ = nullptr;  // while it waits in the cache: freeing needs no memory
};

/// Caches freed blocks, so that a steady program asks the system for nothing. Not thread-safe. Must outlive
/// every Storage it made.
class Allocator {
 public:
  struct Stats {
    uint64_t live_bytes = 0;
    uint64_t peak_bytes = 0;
    uint64_t cached_bytes = 0;
    uint64_t system_allocations = 0;  // times memory was asked from the system
  };
  virtual ~Allocator() = default;
  /// Throws Failure (memory) when the system has no such block, or `bytes` is beyond the machine's memory.
  virtual Ref<Storage> allocate(uint64_t bytes) = 0;
  virtual void free(Storage* storage) = 0;
  virtual void release_cache() = 0;
  virtual Stats stats() const = 0;
};

/// A tensor that is not computed yet: output `node` of the graph a Recorder is building.
class Recording : public Counted {
 public:
  virtual ~Recording() = default;
};

/// What a Tensor handle points to. Immutable once shared; the interpreter writes in place only when it holds the
/// sole count of both the TensorData and the Storage.
struct TensorData : Counted {
  DType dtype = DType::f32;
  Device device;                   // where the elements are, or will be
  uint32_t node = 0;               // in the recording's graph
  Recording* recording = nullptr;  // set while deferred
  Ref<Storage> storage;            // null while deferred
  Layout layout;                   // of a deferred tensor: the view of its node's (contiguous) output
  static TensorData* make();
  static void destroy(TensorData* data);  // to a per-thread free list: tensors come and go at every op
};

/// A handle. Copies share; the value is never changed through a shared handle.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorData> data) : data_(std::move(data)) {}
  /// Over existing memory.
  Tensor(DType dtype, const Layout& layout, Ref<Storage> storage);

  explicit operator bool() const { return static_cast<bool>(data_); }
  TensorData* operator->() const { return data_.get(); }
  TensorData* get() const { return data_.get(); }
  const Ref<TensorData>& ref() const { return data_; }

  DType dtype() const { return data_->dtype; }
  const Shape& shape() const { return data_->layout.shape; }
  const Layout& layout() const { return data_->layout; }
  int rank() const { return data_->layout.rank(); }
  bool deferred() const { return data_->recording != nullptr; }
  Device device() const { return data_->device; }
  /// The address of element (0, 0, …). Only for tensors that are not deferred.
  std::byte* data() const {
    std::byte* const begin = static_cast<std::byte*>(data_->storage->data());
    const int64_t offset = data_->layout.offset.hint();
    return offset == 0 ? begin : begin + offset * static_cast<int64_t>(size_of(data_->dtype));
  }
  /// A view of the same elements.
  Tensor with_layout(const Layout& layout) const;

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.data_ == b.data_; }

 private:
  Ref<TensorData> data_;
};

/// "f32[128, 784]"
std::string describe(const Tensor& tensor);
std::string describe(DType dtype, const Shape& shape);

}  // namespace tsl
