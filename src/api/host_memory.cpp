#include "api/host_memory.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error_names.h"
#include "exec/devices.h"
#include "tensor/device_names.h"
#include "tensor/limits.h"
#include "value/numbers.h"
#include "value/runtime.h"

namespace tsl::api {

namespace {

static_assert(TSL_DTYPE_BOOL == static_cast<int>(DType::boolean) && TSL_DTYPE_U64 == kDTypeCount - 1);
static_assert(TSL_DTYPE_C64 == kDTypeCount && TSL_DTYPE_C128 == kDTypeCount + 1);
static_assert(TSL_MAX_RANK == kMaxRank);

[[noreturn]] void too_many_elements() { throw Misuse{"'type' describes more elements than memory can hold"}; }

/// Adds extents * stride to `reach`. Throws Misuse if that exceeds what memory can hold.
int64_t reach_along(int64_t reach, int64_t extent, int64_t stride, size_t element) {
  int64_t end = 0;
  constexpr int64_t kMostBytes = int64_t{1} << 62;
  if (__builtin_mul_overflow(extent - 1, stride, &end) || __builtin_add_overflow(reach, end, &reach) ||
      reach > kMostBytes / static_cast<int64_t>(element))
    too_many_elements();
  return reach;
}

/// Owns one block of the host program's memory: frees it by calling the host, and itself.
class ForeignMemory final : public Allocator {
 public:
  ForeignMemory(const DeviceStream& where, tsl_release_function release, void* user)
      : where_(where), release_(release), user_(user) {}
  Ref<Storage> allocate(uint64_t) override { fail(ErrorName::out_of_memory, "the host's memory cannot grow"); }
  void free(Storage* storage) override {
    delete storage;
    const Ref<Storage> copy = std::move(copy_);
    if (!copy) signal();
    const tsl_release_function release = release_;
    void* const user = user_;
    delete this;
    if (release) release(user);
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }

  /// Puts the block where a copy of it is, and releases the host's memory.
  void move_to(Storage& storage, Ref<Storage> copy) {
    signal();
    storage.move_to(copy->data());
    copy_ = std::move(copy);
    if (const tsl_release_function release = std::exchange(release_, nullptr)) release(user_);
  }
  bool is_given_back() const { return static_cast<bool>(copy_); }
  std::atomic<int> exports{0};  // to other frameworks, which have the address

 private:
  void signal() const {
    try {
      where_.signal();
    } catch (const Failure&) {
      // The GPU has failed for good, which was reported where it happened.
    }
  }

  const DeviceStream where_;
  tsl_release_function release_;
  void* const user_;
  Ref<Storage> copy_;  // after the memory was given back
};

ForeignMemory* foreign_memory(const Tensor& tensor) {
  return tensor->storage ? dynamic_cast<ForeignMemory*>(tensor->storage->allocator()) : nullptr;
}

}  // namespace

namespace {

ElementType element_of(tsl_dtype dtype) {
  if (dtype == TSL_DTYPE_C64) return {DType::f32, true};
  if (dtype == TSL_DTYPE_C128) return {DType::f64, true};
  if (dtype < 0 || dtype >= kDTypeCount) throw Misuse{"'type->dtype' is no dtype"};
  return {static_cast<DType>(dtype)};
}

}  // namespace

tsl_dtype dtype_of(ElementType element) {
  if (element.is_complex) return element.dtype == DType::f64 ? TSL_DTYPE_C128 : TSL_DTYPE_C64;
  return static_cast<tsl_dtype>(element.dtype);
}

std::string describe(ElementType element, const Shape& shape) {
  const std::string_view name = element.is_complex ? complex_name_of(element.dtype) : name_of(element.dtype);
  return fmt::format("{}{}", name, to_string(shape));
}

CheckedType checked(ElementType element, std::span<const int64_t> shape, const int64_t* strides) {
  CheckedType out;
  out.element = element;
  out.elements = 1;
  int64_t extents = 1;  // as many as if none was 0
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) throw Misuse{fmt::format("'type->shape[{}]' is negative", i)};
    if (strides && strides[i] < 0) throw Misuse{fmt::format("'type->strides[{}]' is negative", i)};
    out.layout.shape.push_back(shape[i]);
    if (__builtin_mul_overflow(extents, std::max<int64_t>(shape[i], 1), &extents)) too_many_elements();
    out.elements = shape[i] == 0 ? 0 : out.elements * shape[i];
  }
  // As of every tensor; strides of 0 would allow more.
  if (extents > kMaxTensorBytes / static_cast<int64_t>(element.bytes())) too_many_elements();
  out.layout.strides = contiguous_strides(out.layout.shape);
  if (out.elements == 0) return out;
  for (size_t i = 0; strides && i < shape.size(); ++i) {
    if (shape[i] > 1) out.layout.strides[i] = strides[i];  // others lead nowhere, and may be any number
  }
  for (size_t i = 0; i < shape.size(); ++i)
    out.reach = reach_along(out.reach, shape[i], out.layout.strides[i].hint(), element.bytes());
  out.reach += 1;
  return out;
}

CheckedType checked(const tsl_tensor_type* type) {
  require_pointer(type, "type");
  const ElementType element = element_of(type->dtype);
  if (type->rank < 0 || type->rank > kMaxRank) throw Misuse{fmt::format("'type->rank' is not in 0 to {}", kMaxRank)};
  const auto rank = static_cast<size_t>(type->rank);
  CheckedType out = checked(element, {type->shape, rank}, type->is_strided ? type->strides : nullptr);
  if (type->bytes > 0 && out.reach_bytes() > type->bytes)
    throw Misuse{
        fmt::format("the elements of 'type' reach {} bytes, and 'type->bytes' is {}", out.reach_bytes(), type->bytes)};
  return out;
}

bool may_overlap(const CheckedType& type) {
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, and extent
  for (int i = 0; i < type.layout.rank(); ++i) {
    if (type.layout.shape[i].hint() > 1) axes.emplace_back(type.layout.strides[i].hint(), type.layout.shape[i].hint());
  }
  std::sort(axes.begin(), axes.end());
  int64_t last = 0;  // of the elements along the axes before
  for (const auto& [stride, extent] : axes) {
    if (stride <= last) return type.elements > 0;
    last += stride * (extent - 1);
  }
  return false;
}

void require_alignment(const void* data, const CheckedType& type) {
  if (type.elements == 0) return;
  require_pointer(data, "data");
  const size_t alignment = size_of(type.element.dtype);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
    throw Misuse{fmt::format("'data' is not aligned to the {} bytes of {}", alignment,
                             type.element.is_complex ? "a part of an element" : "an element")};
}

namespace {

/// Returns all bits that are set in any of the bools of a layout, from an axis on.
uint8_t bits_of_bools(const uint8_t* data, const Layout& layout, int axis) {
  if (axis == layout.rank()) return *data;
  const int64_t extent = layout.shape[axis].hint(), stride = layout.strides[axis].hint();
  uint8_t bits = 0;
  if (axis == layout.rank() - 1 && stride == 1) {
    for (int64_t i = 0; i < extent; ++i) bits |= data[i];
    return bits;
  }
  for (int64_t i = 0; i < extent; ++i) bits |= bits_of_bools(data + i * stride, layout, axis + 1);
  return bits;
}

}  // namespace

void require_bools(const void* data, const CheckedType& type) {
  if (type.element.dtype != DType::boolean || type.elements == 0) return;
  if (bits_of_bools(static_cast<const uint8_t*>(data), type.layout, 0) <= 1) return;
  throw Misuse{"the memory has bools that are neither 0 nor 1; a copy of it makes 1 of all but 0"};
}

Device device_of(Host& host, tsl_string name) {
  return parse_device(text_of(name, "device"), host.engine().runtime().default_device());
}

exec::Streams* streams_of(Host& host, Device device) {
  if (device.is_host()) return nullptr;
  host.engine().runtime().resume();  // this may be another thread than before
  return host.engine().devices().at(device).streams();
}

void DeviceStream::wait() const {
  if (streams && stream != TSL_NO_STREAM) streams->wait_for(stream);
}

void DeviceStream::signal() const {
  if (!streams) return;
  if (stream != TSL_NO_STREAM) streams->signal(stream);
  else streams->synchronize();
}

DeviceStream stream_of(Host& host, Device device, tsl_stream stream) {
  return {device, streams_of(host, device), stream};
}

Value wrap_memory(Host& host, const CheckedType& type, void* data, const DeviceStream& where, tsl_access access,
                  Release& release) {
  if (access != TSL_READ_ONLY && access != TSL_WRITABLE) throw Misuse{"'access' is neither of its values"};
  require_alignment(data, type);
  if (where.device.is_host()) require_bools(data, type);
  auto memory = std::make_unique<ForeignMemory>(where, release.function(), release.user());
  where.wait();
  const bool is_read_only = access == TSL_READ_ONLY || type.element.is_complex || may_overlap(type);
  Ref<Storage> storage(new Storage(memory.get(), data, type.reach_bytes(), where.device, is_read_only));
  memory.release();  // to the storage
  release.dismiss();
  if (!type.element.is_complex) return Value(Tensor(type.element.dtype, type.layout, std::move(storage)));
  return complex_of_pairs(host.engine(), Tensor(type.element.dtype, Layout::contiguous({2 * type.reach}), storage),
                          type.layout);
}

void count_export(const Tensor& tensor, int change) {
  if (ForeignMemory* const memory = foreign_memory(tensor)) memory->exports += change;
}

void give_back(Host& host, const Tensor& tensor, bool is_only) {
  ForeignMemory* const memory = foreign_memory(tensor);
  if (!memory || memory->is_given_back()) throw Misuse{"'tensor' has no memory of the host"};
  if (memory->exports > 0) throw Misuse{"another framework uses the memory of 'tensor'"};
  if (is_only) return;
  Storage& storage = *tensor->storage;
  const auto elements = static_cast<int64_t>(storage.bytes() / size_of(tensor.dtype()));
  const Tensor whole(tensor.dtype(), Layout::contiguous({elements}), tensor->storage);
  Engine& engine = host.engine();
  memory->move_to(storage, engine.runtime().read(engine.ops().call(Op::copy, {whole}))->storage);
}

namespace {

/// Returns the complex tensor of a handle, whose value has its parts side by side from now on.
HostTensor complex_tensor_of(Host& host, tsl_value handle, const Value& z) {
  const Interleaved whole = interleaved(host.engine(), z);
  const ElementType element{whole.memory.dtype(), true};
  const std::vector<Value>& parts = z.as<Record>().values;
  if (parts[0].tensor_data() != whole.memory.get()) {
    host.handles().replace(handle, complex_of_pairs(host.engine(), whole.memory, whole.numbers));
    return {element, whole.numbers, whole.memory};
  }
  const bool is_only = z.unique() && parts[1].unique() && whole.memory->storage->use_count() == 2 &&
                       parts[0].tensor_data()->use_count() == 2;  // by the value, and `whole`
  return {element, whole.numbers, whole.memory, is_only};
}

}  // namespace

HostTensor tensor_of(Host& host, tsl_value handle) {
  const Value& value = host.value(handle, "tensor");
  if (is_complex_tensor(value)) return complex_tensor_of(host, handle, value);
  if (!value.is(Tag::tensor)) throw Misuse{fmt::format("'tensor' is {}, not a tensor", type_name(value))};
  const bool is_only = value.unique() && value.tensor_data()->storage && value.tensor_data()->storage->use_count() == 1;
  const Tensor tensor = host.engine().runtime().read(value.tensor());
  Layout layout = tensor.layout();
  layout.offset = 0;
  return {{tensor.dtype()}, layout, tensor, is_only};
}

Tensor dense_elements(Host& host, const HostTensor& tensor) {
  Engine& engine = host.engine();
  if (tensor.element.is_complex) {
    return pairs_in_order(engine, complex_of_pairs(engine, tensor.memory, tensor.layout));
  }
  return tensor.layout.is_contiguous() ? tensor.memory : engine.ops().call(Op::copy, {tensor.memory});
}

}  // namespace tsl::api
