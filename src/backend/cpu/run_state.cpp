#include "backend/cpu/run_state.h"

#include <algorithm>
#include <new>

#include "base/error_names.h"

namespace tsl::cpu {

namespace {

constexpr std::align_val_t kScratchAlignment{64};

}  // namespace

std::byte* Scratch::reserve(size_t bytes) {
  if (bytes > size_) {
    size_ = std::max(bytes, size_ * 2);
    data_.reset(static_cast<std::byte*>(::operator new(size_, kScratchAlignment, std::nothrow)));
    if (!data_) {
      size_ = 0;
      fail(ErrorName::out_of_memory, "out of memory: {} bytes of working space", bytes);
    }
  }
  return data_.get();
}

void Scratch::Free::operator()(std::byte* p) const { ::operator delete(p, kScratchAlignment); }

void RunState::report(uint32_t order, graph::NodeId node, int64_t element, int64_t value) {
  std::lock_guard lock(error_mutex);
  if (error && (error.order < order || (error.order == order && error_element_ <= element))) return;
  error = {order, node, value};
  error_element_ = element;
}

}  // namespace tsl::cpu
