// What libraries make for a GPU's context, which engines of one process pass on.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "backend/cuda/driver/device.h"

namespace tsl::cuda {

/// Something that a library has made for a GPU's context, used while an engine needs it: a handle, a plan. It is kept
/// for the next use under the same key until the process ends, and with it the context. Destroying one waits for all
/// work of the context, which ends recordings of other engines and has crashed the driver while other engines were
/// closed (580.159).
template <class Made, class Key> class Kept {
 public:
  /// `create(&made)` makes one for the current context, and fails if it cannot. `key` tells those apart that cannot
  /// stand for each other on one GPU.
  template <class Create> Kept(const Device& device, Key key, Create&& create)
      : key_(device.ordinal(), std::move(key)) {
    const std::lock_guard lock(mutex());
    std::vector<Made>& kept = all_kept()[key_];
    if (!kept.empty()) {
      made_ = kept.back();
      kept.pop_back();
      return;
    }
    create(&made_);
    CUcontext context = nullptr;
    CUdevice gpu = 0;
    device.check(device.driver().cuDeviceGet(&gpu, device.ordinal()), "opening the GPU");
    device.check(device.driver().cuDevicePrimaryCtxRetain(&context, gpu), "opening the GPU");
  }
  ~Kept() {
    const std::lock_guard lock(mutex());
    all_kept()[key_].push_back(made_);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  const Made& get() const { return made_; }

 private:
  using GpuKey = std::pair<int, Key>;
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  /// Returns what is unused. Never destroyed, as engines may be closed while the process ends.
  static std::map<GpuKey, std::vector<Made>>& all_kept() {
    static auto& kept = *new std::map<GpuKey, std::vector<Made>>;
    return kept;
  }

  const GpuKey key_;
  Made made_{};
};

/// The handle of a library, of which any stands for any other on its GPU.
template <class Raw> class Handle : public Kept<Raw, std::monostate> {
 public:
  template <class Create> Handle(const Device& device, Create&& create)
      : Kept<Raw, std::monostate>(device, {}, std::forward<Create>(create)) {}
};

}  // namespace tsl::cuda
