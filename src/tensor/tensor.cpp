#include "tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include "base/error_names.h"

namespace tsl {

Storage::~Storage() = default;

void Storage::destroy(Storage* storage) {
  if (storage->allocator_) storage->allocator_->free(storage);
  else delete storage;  // a wrapper of memory that the program does not own
}

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMaxFree = 0;  // so that the sanitizer sees every use after free
#else
constexpr size_t kMaxFree = 4096;  // per thread, about 1.4 MB: a large model's parameters are freed and made together
#endif

struct FreeNode {
  FreeNode* next;
};

// Freed blocks of sizeof(TensorData). A block enters the list of the thread that frees it, which may not be the one
// that made it. Trivially destructible, so that it is usable until its thread ends.
struct FreeList {
  FreeNode* head;
  size_t size;
  bool closed;
};

thread_local constinit FreeList free_list{nullptr, 0, false};

// Empties the list when its thread ends. Tensors destroyed after that are freed directly.
struct FreeListOwner {
  ~FreeListOwner() {
    free_list.closed = true;
    while (FreeNode* node = free_list.head) {
      free_list.head = node->next;
      ::operator delete(node);
    }
  }
};

void own_free_list() {
  thread_local FreeListOwner owner;
  (void)owner;
}

TensorData* count(TensorData* data) {
  data->bytes.note(sizeof(TensorData));
  return data;
}

}  // namespace

TensorData* TensorData::make() {
  if (FreeNode* node = free_list.head) {
    free_list.head = node->next;
    --free_list.size;
    return count(new (node) TensorData);
  }
  return count(new (::operator new(sizeof(TensorData))) TensorData);
}

void TensorData::destroy(TensorData* data) {
  data->~TensorData();
  if (free_list.closed || free_list.size >= kMaxFree) {
    ::operator delete(data);
    return;
  }
  if (!free_list.head) own_free_list();
  free_list.head = new (data) FreeNode{free_list.head};
  ++free_list.size;
}

Tensor::Tensor(DType dtype, const Layout& layout, Ref<Storage> storage) : data_(TensorData::make()) {
  data_->dtype = dtype;
  if (storage) data_->device = storage->device();
  data_->layout = layout;
  data_->storage = std::move(storage);
}

Tensor Tensor::with_layout(const Layout& layout) const {
  Tensor view(data_->dtype, layout, data_->storage);
  view->device = data_->device;
  view->recording = data_->recording;
  view->node = data_->node;
  view->batch = data_->batch;
  view->examples = data_->examples;
  return view;
}

namespace {

/// The names never move, so they can be read without the lock.
struct BackendNames {
  std::mutex mutex;
  std::array<std::string, 256> names = {"cpu"};
  size_t count = 1;
};

BackendNames& backend_names() {
  static auto& names = *new BackendNames;
  return names;
}

}  // namespace

uint8_t backend_number(std::string_view name) {
  BackendNames& all = backend_names();
  const std::lock_guard lock(all.mutex);
  const auto end = all.names.begin() + static_cast<ptrdiff_t>(all.count);
  const auto found = std::find(all.names.begin(), end, name);
  if (found == end) {
    if (all.count == all.names.size()) fail(ErrorName::process_limit, "more than {} backends", all.names.size());
    all.names[all.count++] = name;
  }
  return static_cast<uint8_t>(found - all.names.begin());
}

int backend_count() {
  BackendNames& all = backend_names();
  const std::lock_guard lock(all.mutex);
  return static_cast<int>(all.count);
}

std::string_view backend_name(uint8_t number) { return backend_names().names[number]; }

std::string to_string(Device device) {
  return device.is_host() ? "cpu" : fmt::format("{}:{}", backend_name(device.backend), device.ordinal);
}

std::string describe(const Tensor& tensor) { return describe(tensor.dtype(), tensor.shape()); }

std::string describe(DType dtype, const Shape& shape) { return fmt::format("{}{}", name_of(dtype), to_string(shape)); }

}  // namespace tsl
