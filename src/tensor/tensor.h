// Tensors: a dtype, a layout, and either elements in a storage or a node of a graph that is being recorded.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "base/run_watch.h"
#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace tsl {

/// Returns the number of a backend's name. Names are numbered in the order of first use; "cpu", the host, is 0.
/// Thread-safe; throws Failure (limit) when a byte cannot hold the number.
uint8_t backend_number(std::string_view name);
/// Returns the number of named backends.
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

/// Formats a device: "cpu", "cuda:1".
std::string to_string(Device device);

class Allocator;

/// A block of device memory; returns to its allocator when the last reference is gone.
class Storage : public Counted {
 public:
  Storage(Allocator* allocator, void* data, size_t bytes, Device device, bool is_read_only = false)
      : allocator_(allocator), data_(data), bytes_(bytes), device_(device), is_read_only_(is_read_only) {}
  ~Storage();
  static void destroy(Storage* storage);
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// Whether the only tensor that references it may write its elements.
  bool is_exclusive() const { return use_count() == 1 && !is_read_only_; }
  Allocator* allocator() const { return allocator_; }
  /// Puts the block at another address, where a copy of its bytes is, so that its allocator can give the memory up.
  void move_to(void* data) {
    data_ = data;
    is_read_only_ = false;
  }

 private:
  friend class BlockCache;
  Allocator* allocator_;
  void* data_;
  size_t bytes_;
  size_t requested_bytes_ = 0;  // by the tensor that uses the block; the rest of it may never be touched
  Device device_;
  bool is_read_only_;             // memory of the host program that must not change
  Storage* next_free_ = nullptr;  // links cached blocks, so that freeing needs no memory
};

/// Allocates blocks and caches freed ones, so that a program in a steady state allocates nothing from the system. Not
/// thread-safe. Must outlive every Storage it has made.
class Allocator {
 public:
  struct Stats {
    uint64_t live_bytes = 0;  // requested by tensors; blocks may be somewhat larger
    uint64_t peak_bytes = 0;
    uint64_t cached_bytes = 0;
    uint64_t system_allocations = 0;  // allocations from the system
  };
  virtual ~Allocator() = default;
  /// Allocates a block. Throws Failure (memory) if the system has none, or `bytes` exceeds the machine's memory.
  virtual Ref<Storage> allocate(uint64_t bytes) = 0;
  virtual void free(Storage* storage) = 0;
  virtual void release_cache() = 0;
  virtual Stats stats() const = 0;
};

/// Base of a graph that is being recorded; deferred tensors are its nodes.
class Recording : public Counted {
 public:
  virtual ~Recording() = default;
};

/// One run of a mapped function: in it, a tensor stands for one example of a batch, and its elements cannot be read.
/// (rows/batch.cpp maps the op calls.)
class Batch final : public Recording {
 public:
  Batch(Dim size, Ref<Batch> outer)
      : outer(std::move(outer)), level(this->outer ? this->outer->level + 1 : 1), size_(size) {}

  /// Returns the number of examples.
  Dim size() const { return settled(size_); }

  const Ref<Batch> outer;  // the run in which this one takes place
  const int level;         // 1 for the outermost
  bool is_open = false;    // whether the run goes on

 private:
  const Dim size_;
};

/// The target of Tensor handles. Immutable once shared: the interpreter writes in place only if it has the only
/// reference to the TensorData and to the Storage.
struct TensorData : Counted {
  DType dtype = DType::f32;
  Device device;                   // where the elements are, or will be
  uint32_t node = 0;               // in the recording's graph
  HostBytes bytes;                 // of this, not of its elements
  Recording* recording = nullptr;  // set while deferred
  Ref<Storage> storage;            // null while deferred
  Layout layout;                   // for a deferred tensor: the view of its node's (contiguous) output
  Ref<Batch> batch;                // set for one example of a batch, which is deferred as long as it exists
  Ref<TensorData> examples;        // then all examples, along axis 0
  static TensorData* make();
  static void destroy(TensorData* data);  // to a per-thread free list, since every op makes and destroys tensors
};

/// A counted reference to a TensorData. A value is never changed through a shared handle.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorData> data) : data_(std::move(data)) {}
  /// Makes a tensor over existing memory.
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
  /// Returns the address of element (0, 0, …). The tensor must not be deferred.
  std::byte* data() const {
    std::byte* const begin = static_cast<std::byte*>(data_->storage->data());
    const int64_t offset = data_->layout.offset.hint();
    return offset == 0 ? begin : begin + offset * static_cast<int64_t>(size_of(data_->dtype));
  }
  /// Returns a view of the same elements.
  Tensor with_layout(const Layout& layout) const;

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.data_ == b.data_; }

 private:
  Ref<TensorData> data_;
};

/// Describes a tensor or its type: "f32[128, 784]".
std::string describe(const Tensor& tensor);
std::string describe(DType dtype, const Shape& shape);

}  // namespace tsl
