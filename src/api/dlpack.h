// The layout of DLPack's tensors, version 1, as its specification gives it: the interface by which frameworks pass
// tensors to each other.
#pragma once

#include <cstdint>

#include "tsl/tsl.h"

namespace tsl::api {

constexpr uint32_t kDlpackMajor = 1, kDlpackMinor = 0;
constexpr uint64_t kDlpackReadOnly = 1, kDlpackIsCopied = 2;  // bits of DLManagedTensorVersioned::flags

enum DlpackDevice : int32_t { kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3, kDlCudaManaged = 13 };
enum DlpackCode : uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4, kDlComplex = 5, kDlBool = 6 };

struct DlpackType {
  uint8_t code;  // a DlpackCode
  uint8_t bits;
  uint16_t lanes;  // of a vector type; 1 otherwise
  friend bool operator==(const DlpackType&, const DlpackType&) = default;
};

struct DlpackTensor {
  void* data;
  int32_t device_type;  // a DlpackDevice
  int32_t device_id;
  int32_t ndim;
  DlpackType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null for a dense tensor
  uint64_t byte_offset;
};

}  // namespace tsl::api

/// A tensor of the first DLPack, without a version.
struct DLManagedTensor {
  tsl::api::DlpackTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);  // may be null
};

/// A tensor since version 1.0. Only `deleter` may be used of another major version.
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);  // may be null
  uint64_t flags;
  tsl::api::DlpackTensor dl_tensor;
};

static_assert(sizeof(tsl::api::DlpackTensor) == 48 && sizeof(DLManagedTensor) == 64 &&
              sizeof(DLManagedTensorVersioned) == 80);
