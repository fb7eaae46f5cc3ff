// Tensors of memory that belongs to the host program.
#pragma once

#include "api/host.h"
#include "exec/streams.h"
#include "tensor/tensor.h"

namespace tsl::api {

/// What the host program sees as the elements of a tensor.
struct ElementType {
  DType dtype = DType::f32;  // of complex numbers, that of their parts
  bool is_complex = false;
  size_t bytes() const { return size_of(dtype) * (is_complex ? 2 : 1); }
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

/// A tensor type of the host program, checked.
struct CheckedType {
  ElementType element;
  Layout layout;
  int64_t elements = 0;  // of the tensor
  int64_t reach = 0;     // of the memory: one more than the greatest index of an element
  size_t bytes() const { return static_cast<size_t>(elements) * element.bytes(); }
  size_t reach_bytes() const { return static_cast<size_t>(reach) * element.bytes(); }
};

/// A tensor with its elements, as the host program sees it: at memory.data() is its first element.
struct HostTensor {
  ElementType element;
  Layout layout;  // without an offset; counts elements
  Tensor memory;
  bool is_only = false;  // nothing but its handle refers to it
};

/// Checks a type that the host gives, and that its elements are within its bytes, if these are known. Throws Misuse.
CheckedType checked(const tsl_tensor_type* type);
/// Checks a shape with its strides, null for a dense tensor. Throws Misuse.
CheckedType checked(ElementType element, std::span<const int64_t> shape, const int64_t* strides);
/// Whether strides might let two elements share memory; sure of none where each axis steps over those within it.
bool may_overlap(const CheckedType& type);
/// Throws Misuse unless the elements of a type may be at `data`.
void require_alignment(const void* data, const CheckedType& type);

/// Throws Misuse if bools in host memory are neither 0 nor 1, which kernels rely on.
void require_bools(const void* data, const CheckedType& type);

tsl_dtype dtype_of(ElementType element);
/// Describes a type: "c64[2, 3]".
std::string describe(ElementType element, const Shape& shape);

/// Calls a release function, unless it is dismissed.
class Release {
 public:
  Release(tsl_release_function function, void* user) : function_(function), user_(user) {}
  ~Release() {
    if (function_) function_(user_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  tsl_release_function function() const { return function_; }
  void* user() const { return user_; }
  void dismiss() { function_ = nullptr; }

 private:
  tsl_release_function function_;
  void* user_;
};

/// Returns the device of a name. Throws Failure (device).
Device device_of(Host& host, tsl_string name);
/// Returns the streams of a device; null for the host.
exec::Streams* streams_of(Host& host, Device device);

/// Where memory of the host program is, and the stream of the host program that uses it.
struct DeviceStream {
  Device device;
  exec::Streams* streams = nullptr;  // of the device; null: it has none
  tsl_stream stream = TSL_NO_STREAM;

  /// Makes the device wait for the host program's stream.
  void wait() const;
  /// Makes the host program's stream wait for the device. Without a stream, waits for the device itself.
  void signal() const;
};
DeviceStream stream_of(Host& host, Device device, tsl_stream stream);

/// Makes a tensor of the host's memory, which then owns `release`.
Value wrap_memory(Host& host, const CheckedType& type, void* data, const DeviceStream& where, tsl_access access,
                  Release& release);

/// Counts an export of a tensor that begins (1) or ends (-1), if it has the host's memory. May be called in any thread.
void count_export(const Tensor& tensor, int change);

/// Gives the host's memory back that a tensor has: all that refers to it then has a copy. `is_only`: nothing does, and
/// so there is none; the last reference releases it. Throws Misuse.
void give_back(Host& host, const Tensor& tensor, bool is_only);

/// Returns the tensor of a handle, with its elements; puts the parts of complex ones side by side. Throws Misuse.
HostTensor tensor_of(Host& host, tsl_value handle);
/// Returns the elements in order, in one axis of them or their parts, where the tensor is.
Tensor dense_elements(Host& host, const HostTensor& tensor);

}  // namespace tsl::api
