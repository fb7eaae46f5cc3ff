// Tensors: wrapping, copying and reading the memory of the host program.
#include <cstring>

#include <fmt/format.h>

#include "api/host.h"
#include "base/error.h"
#include "value/host_tensor.h"
#include "value/runtime.h"

using namespace tsl;
using namespace tsl::api;

namespace {

constexpr DType kDTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                             DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};
static_assert(std::size(kDTypes) == kDTypeCount);
static_assert(TSL_MAX_RANK == kMaxRank);

/// A tensor type of the host program, checked.
struct CheckedType {
  DType dtype = DType::f32;
  Layout layout;
  int64_t elements = 0;  // of the tensor
  int64_t reach = 0;     // of the memory: one more than the greatest index of an element
};

/// Adds extents * stride to `reach`. Throws Misuse if that exceeds what memory can hold.
int64_t reach_along(int64_t reach, int64_t extent, int64_t stride, size_t element) {
  int64_t end = 0;
  constexpr int64_t kMostBytes = int64_t{1} << 62;
  if (__builtin_mul_overflow(extent - 1, stride, &end) || __builtin_add_overflow(reach, end, &reach) ||
      reach > kMostBytes / static_cast<int64_t>(element))
    throw Misuse{"'type' describes more elements than memory can hold"};
  return reach;
}

CheckedType checked(const tsl_tensor_type* type) {
  require_pointer(type, "type");
  if (type->dtype < 0 || type->dtype >= kDTypeCount) throw Misuse{"'type->dtype' is no dtype"};
  if (type->rank < 0 || type->rank > kMaxRank) throw Misuse{fmt::format("'type->rank' is not in 0 to {}", kMaxRank)};
  CheckedType out;
  out.dtype = kDTypes[type->dtype];
  out.elements = 1;
  bool is_dense = true;
  for (int i = 0; i < type->rank; ++i) {
    if (type->shape[i] < 0) throw Misuse{fmt::format("'type->shape[{}]' is negative", i)};
    if (type->strides[i] < 0) throw Misuse{fmt::format("'type->strides[{}]' is negative", i)};
    if (type->strides[i] != 0) is_dense = false;
    out.layout.shape.push_back(type->shape[i]);
    if (__builtin_mul_overflow(out.elements, type->shape[i], &out.elements))
      throw Misuse{"'type' describes more elements than memory can hold"};
  }
  out.layout.strides = contiguous_strides(out.layout.shape);
  if (!is_dense) {
    for (int i = 0; i < type->rank; ++i) out.layout.strides[i] = type->strides[i];
  }
  if (out.elements == 0) return out;
  for (int i = 0; i < type->rank; ++i)
    out.reach = reach_along(out.reach, type->shape[i], out.layout.strides[i].hint(), size_of(out.dtype));
  out.reach += 1;
  return out;
}

/// Calls a release function, unless it is dismissed.
class Release {
 public:
  Release(tsl_release_function function, void* user) : function_(function), user_(user) {}
  ~Release() {
    if (function_) function_(user_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  void dismiss() { function_ = nullptr; }

 private:
  tsl_release_function function_;
  void* user_;
};

/// Owns one block of the host program's memory: frees it by calling the host, and itself.
class ForeignMemory final : public Allocator {
 public:
  ForeignMemory(tsl_release_function release, void* user) : release_(release), user_(user) {}
  Ref<Storage> allocate(uint64_t) override { fail(ErrorKind::memory, "the host's memory cannot grow"); }
  void free(Storage* storage) override {
    delete storage;
    const tsl_release_function release = release_;
    void* const user = user_;
    delete this;
    if (release) release(user);
  }
  void release_cache() override {}
  Stats stats() const override { return {}; }

 private:
  const tsl_release_function release_;
  void* const user_;
};

void require_alignment(const void* data, const CheckedType& type) {
  if (type.elements == 0) return;
  require_pointer(data, "data");
  if (reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) != 0)
    throw Misuse{fmt::format("'data' is not aligned to the {} bytes of an element", size_of(type.dtype))};
}

Tensor tensor_of(const Host& host, tsl_value handle) {
  const Value& value = host.value(handle, "tensor");
  if (!value.is(Tag::tensor)) throw Misuse{fmt::format("'tensor' is {}, not a tensor", type_name(value))};
  return value.tensor();
}

Tensor dense(Engine& engine, const Tensor& tensor) {
  const Tensor host = read_to_host(engine, tensor);
  return host.layout().is_contiguous() ? host : engine.ops().call(Op::copy, {host});
}

}  // namespace

tsl_status tsl_tensor_wrap(tsl_engine engine, const tsl_tensor_type* type, void* data, tsl_access access,
                           tsl_release_function release, void* user, tsl_value* result) {
  Release on_failure(release, user);
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const CheckedType wanted = checked(type);
    if (access != TSL_READ_ONLY && access != TSL_WRITABLE) throw Misuse{"'access' is neither of its values"};
    require_alignment(data, wanted);
    auto memory = std::make_unique<ForeignMemory>(release, user);
    const auto bytes = static_cast<size_t>(wanted.reach) * size_of(wanted.dtype);
    Ref<Storage> storage(new Storage(memory.get(), data, bytes, Device(), access == TSL_READ_ONLY));
    memory.release();  // to the storage
    on_failure.dismiss();
    host.put(result, Value(Tensor(wanted.dtype, wanted.layout, std::move(storage))));
  });
}

tsl_status tsl_tensor_copy(tsl_engine engine, const tsl_tensor_type* type, const void* data, tsl_value* result) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    const CheckedType wanted = checked(type);
    Engine& tsl = host.engine();
    if (data) require_alignment(data, wanted);
    Tensor copy = new_host_tensor(tsl, wanted.dtype, wanted.layout.shape);
    const auto bytes = static_cast<size_t>(wanted.elements) * size_of(wanted.dtype);
    if (wanted.elements == 0) {
      // nothing to copy
    } else if (!data) {
      std::memset(copy.data(), 0, bytes);
    } else if (wanted.layout.is_contiguous()) {
      std::memcpy(copy.data(), data, bytes);
    } else {
      const size_t reach = static_cast<size_t>(wanted.reach) * size_of(wanted.dtype);
      const Ref<Storage> borrowed(new Storage(nullptr, const_cast<void*>(data), reach, Device(), true));
      const Tensor view(wanted.dtype, wanted.layout, borrowed);
      std::memcpy(copy.data(), dense(tsl, view).data(), bytes);
    }
    host.put(result, Value(tsl.runtime().to_device(std::move(copy))));
  });
}

tsl_status tsl_tensor_get_type(tsl_engine engine, tsl_value tensor, tsl_tensor_type* type) {
  return run_call(engine, [&](Host& host) {
    require_pointer(type, "type");
    const Tensor t = tensor_of(host, tensor);
    *type = {};
    type->dtype = static_cast<tsl_dtype>(std::find(std::begin(kDTypes), std::end(kDTypes), t.dtype()) - kDTypes);
    type->rank = t.rank();
    for (int i = 0; i < t.rank(); ++i) {
      type->shape[i] = t.shape()[i].hint();
      type->strides[i] = t.layout().strides[i].hint();
    }
  });
}

tsl_status tsl_tensor_read(tsl_engine engine, tsl_value tensor, void* data, size_t bytes) {
  return run_call(engine, [&](Host& host) {
    const Tensor t = tensor_of(host, tensor);
    const size_t size = static_cast<size_t>(element_count(t.shape()).hint()) * size_of(t.dtype());
    if (bytes != size) throw Misuse{fmt::format("'bytes' is {}, but {} takes {}", bytes, describe(t), size)};
    if (size == 0) return;
    require_pointer(data, "data");
    std::memcpy(data, dense(host.engine(), t).data(), size);
  });
}

tsl_status tsl_tensor_map(tsl_engine engine, tsl_value tensor, const void** data) {
  return run_call(engine, [&](Host& host) {
    require_pointer(data, "data");
    const Tensor t = tensor_of(host, tensor);
    if (!t.device().is_host())
      fail(ErrorKind::device, "the tensor is on {}, not in host memory", to_string(t.device()));
    *data = t.data();
  });
}
