// Tensors from and to other frameworks, by DLPack.
#include <algorithm>

#include <fmt/format.h>

#include "api/dlpack.h"
#include "api/host_memory.h"
#include "base/error_names.h"
#include "value/runtime.h"

using namespace tsl;
using namespace tsl::api;

namespace {

DlpackType dtype_to(ElementType element) {
  const auto bits = static_cast<uint8_t>(8 * element.bytes());
  if (element.is_complex) return {kDlComplex, bits, 1};
  return {row_of(element.dtype).dlpack, bits, 1};
}

ElementType element_from(const DlpackType& type) {
  for (const ElementType& element : {ElementType{DType::f32, true}, ElementType{DType::f64, true}}) {
    if (dtype_to(element) == type) return element;
  }
  const auto* const row =
      std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](auto& r) { return dtype_to({r.dtype}) == type; });
  if (row == std::end(kDTypes))
    fail(ErrorName::unknown_dtype, "TSL has no dtype for DLPack's code {} with {} bits and {} lanes", type.code,
         type.bits, type.lanes);
  return {row->dtype};
}

Device device_from(const DlpackTensor& from) {
  if (from.device_type == kDlCpu || from.device_type == kDlCudaHost) return {};
  constexpr int32_t kMostDevices = 255;
  if (from.device_type == kDlCuda && from.device_id >= 0 && from.device_id <= kMostDevices)
    return Device::of("cuda", static_cast<uint8_t>(from.device_id));
  fail(ErrorName::unknown_device, "TSL has no device for DLPack's device type {} with number {}", from.device_type,
       from.device_id);
}

CheckedType type_from(const DlpackTensor& from) {
  const ElementType element = element_from(from.dtype);
  if (from.ndim < 0 || from.ndim > kMaxRank)
    fail(ErrorName::too_many_dimensions, "a tensor has at most {} dimensions, not {}", kMaxRank, from.ndim);
  const auto rank = static_cast<size_t>(from.ndim);
  require_array(from.shape, rank, "from->dl_tensor.shape");
  for (size_t i = 0; from.strides && i < rank; ++i) {
    if (from.strides[i] < 0)
      fail(ErrorName::unsupported_dlpack, "a tensor of another framework must have no negative strides");
  }
  return checked(element, {from.shape, rank}, from.strides);
}

/// Ends the ownership of a tensor of another framework.
template <class Managed> void delete_managed(void* user) {
  auto* const managed = static_cast<Managed*>(user);
  if (managed->deleter) managed->deleter(managed);
}

void require_version(const DLManagedTensor&) {}
void require_version(const DLManagedTensorVersioned& from) {
  if (from.major != kDlpackMajor)
    fail(ErrorName::unsupported_dlpack, "TSL knows version {} of DLPack, not {}.{}", kDlpackMajor, from.major,
         from.minor);
}

bool is_read_only(const DLManagedTensor&) { return false; }
bool is_read_only(const DLManagedTensorVersioned& from) { return (from.flags & kDlpackReadOnly) != 0; }

template <class Managed>
tsl_status import_tensor(tsl_engine engine, Managed* from, tsl_access access, tsl_stream stream, tsl_value* result) {
  Release on_failure(from ? delete_managed<Managed> : nullptr, from);
  return run_call(engine, [&](Host& host) {
    require_pointer(from, "from");
    require_pointer(result, "result");
    require_version(*from);
    const DlpackTensor& tensor = from->dl_tensor;
    const DeviceStream where = stream_of(host, device_from(tensor), stream);
    const CheckedType type = type_from(tensor);
    void* const data = tensor.data ? static_cast<std::byte*>(tensor.data) + tensor.byte_offset : nullptr;
    if (access == TSL_WRITABLE && is_read_only(*from)) access = TSL_READ_ONLY;
    host.put(result, wrap_memory(host, type, data, where, access, on_failure));
  });
}

// ---- To other frameworks -------------------------------------------------------------------------------------------

/// A tensor that another framework reads, with its description.
template <class Managed> struct Exported final : Export {
  ~Exported() override {
    try {
      where.wait();  // before the memory is used again
    } catch (const Failure&) {
      // The GPU has failed for good, which was reported where it happened.
    }
  }
  DeviceStream where;
  Managed managed = {};
  int64_t shape[TSL_MAX_RANK] = {}, strides[TSL_MAX_RANK] = {};
};

void set_header(DLManagedTensor&, uint64_t) {}
void set_header(DLManagedTensorVersioned& managed, uint64_t flags) {
  managed.major = kDlpackMajor;
  managed.minor = kDlpackMinor;
  managed.flags = flags;
}

bool has_negative_stride(const Layout& layout) {
  return std::any_of(layout.strides.begin(), layout.strides.end(), [](const Dim& each) { return each.hint() < 0; });
}

/// Copies the elements, in order.
HostTensor copy_of(Host& host, const HostTensor& tensor) {
  Engine& engine = host.engine();
  const Tensor copy = engine.runtime().read(engine.ops().call(Op::copy, {dense_elements(host, tensor)}));
  return {tensor.element, Layout::contiguous(tensor.layout.shape), copy};
}

template <class Managed>
tsl_status export_tensor(tsl_engine engine, tsl_value tensor, tsl_access access, tsl_stream stream, Managed** result) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    if (access != TSL_READ_ONLY && access != TSL_WRITABLE) throw Misuse{"'access' is neither of its values"};
    HostTensor exported = tensor_of(host, tensor);
    const bool is_copy = access == TSL_WRITABLE || has_negative_stride(exported.layout);
    if (is_copy) exported = copy_of(host, exported);

    auto out = std::make_unique<Exported<Managed>>();
    out->where = stream_of(host, exported.memory.device(), stream);
    if (stream != TSL_NO_STREAM) out->where.signal();
    DlpackTensor& to = out->managed.dl_tensor;
    to.data = exported.memory.data();
    to.device_type = exported.memory.device().is_host() ? kDlCpu : kDlCuda;
    to.device_id = exported.memory.device().ordinal;
    to.ndim = exported.layout.rank();
    to.dtype = dtype_to(exported.element);
    for (int i = 0; i < exported.layout.rank(); ++i) {
      out->shape[i] = exported.layout.shape[i].hint();
      out->strides[i] = exported.layout.strides[i].hint();
    }
    to.shape = out->shape;
    to.strides = out->strides;
    set_header(out->managed, is_copy ? kDlpackIsCopied : kDlpackReadOnly);
    out->managed.manager_ctx = static_cast<Export*>(out.get());
    out->managed.deleter = [](Managed* managed) { Host::end_export(static_cast<Export*>(managed->manager_ctx)); };
    host.begin_export(*out, std::move(exported.memory));
    *result = &out.release()->managed;
  });
}

}  // namespace

tsl_status tsl_tensor_from_dlpack(tsl_engine engine, DLManagedTensorVersioned* from, tsl_access access,
                                  tsl_stream stream, tsl_value* result) {
  return import_tensor(engine, from, access, stream, result);
}

tsl_status tsl_tensor_from_dlpack_unversioned(tsl_engine engine, DLManagedTensor* from, tsl_access access,
                                              tsl_stream stream, tsl_value* result) {
  return import_tensor(engine, from, access, stream, result);
}

tsl_status tsl_tensor_to_dlpack(tsl_engine engine, tsl_value tensor, tsl_access access, tsl_stream stream,
                                DLManagedTensorVersioned** result) {
  return export_tensor(engine, tensor, access, stream, result);
}

tsl_status tsl_tensor_to_dlpack_unversioned(tsl_engine engine, tsl_value tensor, tsl_access access, tsl_stream stream,
                                            DLManagedTensor** result) {
  return export_tensor(engine, tensor, access, stream, result);
}
