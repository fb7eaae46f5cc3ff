#include "backend/cuda/driver/error_report.h"

#include <cstdint>
#include <vector>

#include "backend/cuda/driver/memory.h"
#include "base/error.h"
#include "exec/deferred_errors.h"

namespace tsl::cuda {

// These structs equal those in templates.cuh.
struct ErrorReport::Failure {
  uint32_t order = ~0u, node = 0;  // ~0: none
  int64_t element = INT64_MAX, value = 0;
};
struct ErrorReport::Cell {
  Failure first;
  Failure* mirror;
  uint32_t lock, padding;
};

namespace {
constexpr uint32_t kCells = exec::DeferredErrors::kMostRuns + 1;
}  // namespace

ErrorReport::ErrorReport(Device& device, Allocator& allocator)
    : device_(device), cells_(allocator.allocate(kCells * sizeof(Cell))) {
  mirrors_ = static_cast<Failure*>(device_.driver().pinned_memory(kCells * sizeof(Failure)));
  std::vector<Cell> empty;
  for (uint32_t run = 0; run < kCells; ++run) {
    mirrors_[run] = Failure();
    empty.push_back({Failure(), mirrors_ + run, 0, 0});
  }
  device_.copy_to_device(cell(), empty.data(), kCells * sizeof(Cell));
}

ErrorReport::~ErrorReport() { device_.driver().cuMemFreeHost(mirrors_); }

CUdeviceptr ErrorReport::cell() const { return address_of(cells_->data()) + current_ * sizeof(Cell); }

void ErrorReport::forget() noexcept {
  try {
    device_.synchronize();
    take();
  } catch (const tsl::Failure&) {
    // The device itself has failed, and the next call to it reports that.
  }
}

exec::RunError ErrorReport::take(uint32_t run) {
  exec::RunError error;
  if (const volatile Failure& failure = mirrors_[run]; failure.order != Failure().order) {
    error.order = failure.order;
    error.node = failure.node;
    error.value = failure.value;
    mirrors_[run] = Failure();
    const Cell empty{Failure(), mirrors_ + run, 0, 0};
    device_.copy_to_device(address_of(cells_->data()) + run * sizeof(Cell), &empty, sizeof empty);
  }
  return error;
}

uint32_t ErrorReport::defer() { return current_++; }

exec::RunError ErrorReport::report(uint32_t run) {
  if (run >= finished_) {
    device_.synchronize();
    finished_ = current_;
  }
  if (run + 1 == current_) current_ = finished_ = 0;  // the last one: programs that often wait use few cells
  return take(run);
}

}  // namespace tsl::cuda
