// Tensors: wrapping, copying and reading the memory of the host program.
#include <cstring>

#include <fmt/format.h>

#include "api/host_memory.h"
#include "base/error_names.h"
#include "tensor/elements.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"

using namespace tsl;
using namespace tsl::api;

tsl_status tsl_tensor_wrap(tsl_engine engine, const tsl_tensor_type* type, void* data, tsl_access access,
                           tsl_release_function release, void* user, tsl_value* result) {
  Release on_failure(release, user);
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    host.put(result, wrap_memory(host, checked(type), data, DeviceStream(), access, on_failure));
  });
}

tsl_status tsl_tensor_wrap_device(tsl_engine engine, tsl_string device, const tsl_tensor_type* type, void* data,
                                  tsl_access access, tsl_stream stream, tsl_release_function release, void* user,
                                  tsl_value* result) {
  Release on_failure(release, user);
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const CheckedType wanted = checked(type);
    const DeviceStream where = stream_of(host, device_of(host, device), stream);
    host.put(result, wrap_memory(host, wanted, data, where, access, on_failure));
  });
}

tsl_status tsl_tensor_unwrap(tsl_engine engine, tsl_value tensor) {
  return run_call(engine, [&](Host& host) {
    {
      const HostTensor given = tensor_of(host, tensor);
      give_back(host, given.memory, given.is_only);
    }
    host.handles().release(tensor);
  });
}

namespace {

/// Copies the host's memory, whose layout has gaps or another order, as a vector of elements or their parts.
Tensor copy_of_layout(Host& host, const CheckedType& type, const void* data) {
  const Ref<Storage> borrowed(new Storage(nullptr, const_cast<void*>(data), type.reach_bytes(), Device(), true));
  const Tensor memory(type.element.dtype, type.layout, borrowed);
  return read_to_host(host.engine(), dense_elements(host, {type.element, type.layout, memory}));
}

/// Copies the host's memory, null for zeros, as a vector of elements or their parts.
Tensor copy_of_memory(Host& host, const CheckedType& type, const void* data) {
  if (data && !type.layout.is_contiguous()) return copy_of_layout(host, type, data);
  const auto count = static_cast<int64_t>(type.bytes() / size_of(type.element.dtype));
  Tensor copy = new_host_tensor(host.engine(), type.element.dtype, Shape{count});
  if (count > 0 && !data) std::memset(copy.data(), 0, type.bytes());
  else if (count > 0) std::memcpy(copy.data(), data, type.bytes());
  return copy;
}

}  // namespace

tsl_status tsl_tensor_copy(tsl_engine engine, const tsl_tensor_type* type, const void* data, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const CheckedType wanted = checked(type);
    if (data) require_alignment(data, wanted);
    const Tensor copy = copy_of_memory(host, wanted, data);
    const Layout dense = Layout::contiguous(wanted.layout.shape);
    if (wanted.element.is_complex) return host.put(result, placed_complex(host.engine(), copy, dense));
    if (copy.dtype() == DType::boolean) normalise_bools(copy.data(), wanted.bytes());
    host.put(result, Value(host.engine().runtime().to_device(copy.with_layout(dense))));
  });
}

tsl_status tsl_tensor_get_type(tsl_engine engine, tsl_value tensor, tsl_tensor_type* type) {
  return run_call(engine, [&](Host& host) {
    require_pointer(type, "type");
    const HostTensor t = tensor_of(host, tensor);
    *type = {};
    type->dtype = dtype_of(t.element);
    type->rank = t.layout.rank();
    for (int i = 0; i < t.layout.rank(); ++i) {
      type->shape[i] = t.layout.shape[i].hint();
      type->strides[i] = t.layout.strides[i].hint();
    }
    type->is_strided = !t.layout.is_contiguous();
  });
}

tsl_status tsl_tensor_read(tsl_engine engine, tsl_value tensor, void* data, size_t bytes) {
  return run_call(engine, [&](Host& host) {
    const HostTensor t = tensor_of(host, tensor);
    const size_t size = static_cast<size_t>(element_count(t.layout.shape).hint()) * t.element.bytes();
    if (bytes != size)
      throw Misuse{fmt::format("'bytes' is {}, but {} takes {}", bytes, describe(t.element, t.layout.shape), size)};
    if (size == 0) return;
    require_pointer(data, "data");
    std::memcpy(data, read_to_host(host.engine(), dense_elements(host, t)).data(), size);
  });
}

namespace {

/// Copies dense elements to places with strides, along one axis after the other.
void scatter(const std::byte*& from, std::byte* to, const Layout& layout, int axis, size_t element) {
  if (axis == layout.rank()) {
    std::memcpy(to, from, element);
    from += element;
    return;
  }
  const int64_t stride = layout.strides[axis].hint() * static_cast<int64_t>(element);
  for (int64_t i = 0; i < layout.shape[axis].hint(); ++i) scatter(from, to + i * stride, layout, axis + 1, element);
}

}  // namespace

tsl_status tsl_tensor_read_into(tsl_engine engine, tsl_value tensor, const tsl_tensor_type* type, void* data) {
  return run_call(engine, [&](Host& host) {
    const CheckedType wanted = checked(type);
    const HostTensor t = tensor_of(host, tensor);
    const bool is_other = t.element != wanted.element;
    if (is_other || !(t.layout.shape == wanted.layout.shape))
      fail(is_other ? ErrorName::dtype_mismatch : ErrorName::shape_mismatch,
           "the host's array is {}, and the tensor {}", describe(wanted.element, wanted.layout.shape),
           describe(t.element, t.layout.shape));
    if (may_overlap(wanted)) throw Misuse{"'type->strides' let elements share memory"};
    require_alignment(data, wanted);
    if (wanted.elements == 0) return;
    const Tensor elements = read_to_host(host.engine(), dense_elements(host, t));
    if (wanted.layout.is_contiguous()) {
      std::memcpy(data, elements.data(), wanted.bytes());
      return;
    }
    const std::byte* from = elements.data();
    scatter(from, static_cast<std::byte*>(data), wanted.layout, 0, wanted.element.bytes());
  });
}

tsl_status tsl_tensor_map_device(tsl_engine engine, tsl_value tensor, tsl_stream stream, void** data,
                                 tsl_string* device) {
  return run_call(engine, [&](Host& host) {
    require_pointer(data, "data");
    const Tensor t = tensor_of(host, tensor).memory;
    const DeviceStream where = stream_of(host, t.device(), stream);
    if (where.streams && stream != TSL_NO_STREAM) where.signal();
    *data = t.data();
    if (!device) return;
    host.text = to_string(t.device());
    *device = string_of(host.text);
  });
}

tsl_status tsl_tensor_map(tsl_engine engine, tsl_value tensor, const void** data) {
  return run_call(engine, [&](Host& host) {
    require_pointer(data, "data");
    const Tensor t = tensor_of(host, tensor).memory;
    if (!t.device().is_host())
      fail(ErrorName::not_in_host_memory, "the tensor is on {}, not in host memory", to_string(t.device()));
    *data = t.data();
  });
}

// ---- Streams of GPUs -----------------------------------------------------------------------------------------------

namespace {

exec::Streams& gpu_streams(Host& host, tsl_string device) {
  exec::Streams* const streams = streams_of(host, device_of(host, device));
  if (!streams) fail(ErrorName::no_streams, "{} has no streams", text_of(device, "device"));
  return *streams;
}

}  // namespace

tsl_status tsl_engine_set_stream(tsl_engine engine, tsl_string device, tsl_stream stream) {
  return run_call(engine, [&](Host& host) {
    exec::Streams& streams = gpu_streams(host, device);
    if (stream == TSL_NO_STREAM) streams.use_own();
    else streams.use(stream);
  });
}

tsl_status tsl_engine_get_stream(tsl_engine engine, tsl_string device, tsl_stream* stream) {
  return run_call(engine, [&](Host& host) {
    require_pointer(stream, "stream");
    *stream = gpu_streams(host, device).current();
  });
}
