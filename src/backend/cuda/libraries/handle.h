// Handles of libraries, which engines of one process pass on.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/driver/device.h"

namespace tsl::cuda {

/// A handle of a library, used while an engine is open. It is kept for the next engine until the process ends, and
/// with it the GPU's context. Destroying a handle waits for all work of the context, which ends recordings of other
/// engines and has crashed the driver while other engines were closed (580.159).
template <class Raw> class Handle {
 public:
  /// `create(&raw)` makes a handle for the current context, and fails if it cannot.
  template <class Create> Handle(const Device& device, Create&& create) : ordinal_(device.ordinal()) {
    const std::lock_guard lock(mutex());
    std::vector<Raw>& kept = all_kept()[ordinal_];
    if (!kept.empty()) {
      raw_ = kept.back();
      kept.pop_back();
      return;
    }
    create(&raw_);
    CUcontext context = nullptr;
    CUdevice gpu = 0;
    device.check(device.driver().cuDeviceGet(&gpu, ordinal_), "opening the GPU");
    device.check(device.driver().cuDevicePrimaryCtxRetain(&context, gpu), "opening the GPU");
  }
  ~Handle() {
    const std::lock_guard lock(mutex());
    all_kept()[ordinal_].push_back(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Raw get() const { return raw_; }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  /// Returns the unused handles by GPU. Never destroyed, as engines may be closed while the process ends.
  static std::map<int, std::vector<Raw>>& all_kept() {
    static auto& kept = *new std::map<int, std::vector<Raw>>;
    return kept;
  }

  const int ordinal_;
  Raw raw_ = nullptr;
};

}  // namespace tsl::cuda
