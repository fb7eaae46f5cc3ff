#include "backend/cuda/driver/error_report.h"

#include <cstdint>

#include "backend/cuda/driver/memory.h"
#include "base/error.h"

namespace tsl::cuda {

// These structs equal those in templates.cuh.
struct ErrorReport::Failure {
  uint32_t order, node;
  int64_t element, value;
};
struct ErrorReport::Cell {
  Failure first;
  Failure* mirror;
  uint32_t lock, padding;
};

namespace {
constexpr uint32_t kNone = ~0u;
}

ErrorReport::ErrorReport(Device& device, Allocator& allocator)
    : device_(device), cell_(allocator.allocate(sizeof(Cell))) {
  mirror_ = static_cast<Failure*>(device_.driver().pinned_memory(sizeof(Failure)));
  clear();
}

ErrorReport::~ErrorReport() { device_.driver().cuMemFreeHost(mirror_); }

void ErrorReport::clear() {
  *mirror_ = {kNone, 0, INT64_MAX, 0};
  const Cell empty{*mirror_, mirror_, 0, 0};
  device_.copy_to_device(cell(), &empty, sizeof empty);
}

CUdeviceptr ErrorReport::cell() const { return address_of(cell_->data()); }

void ErrorReport::forget() noexcept {
  try {
    device_.synchronize();
    take();
  } catch (const tsl::Failure&) {
    // The device itself has failed, and the next call to it reports that.
  }
}

exec::RunError ErrorReport::take() {
  exec::RunError error;
  if (const volatile Failure& failure = *mirror_; failure.order != kNone) {
    error.order = failure.order;
    error.node = failure.node;
    error.value = failure.value;
    clear();
  }
  return error;
}

}  // namespace tsl::cuda
