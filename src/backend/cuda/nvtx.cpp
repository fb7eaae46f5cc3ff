#include "backend/cuda/nvtx.h"

#include <cstdlib>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TSL_HAS_NVTX 1
#else
#define TSL_HAS_NVTX 0
#endif

namespace tsl::cuda {

#if TSL_HAS_NVTX
namespace {

/// Ranges of the calling thread nest, as the scopes of an engine do.
class NvtxRanges final : public exec::RangeSink {
 public:
  void begin(const std::string& name) override { nvtxRangePushA(name.c_str()); }
  void end() override { nvtxRangePop(); }
};

}  // namespace

// A profiler sets the variable for the programs that it starts.
exec::RangeSink* nvtx_ranges() {
  static auto& ranges = *new NvtxRanges;
  const char* const injection = std::getenv("NVTX_INJECTION64_PATH");
  return injection && *injection ? &ranges : nullptr;
}
#else
exec::RangeSink* nvtx_ranges() { return nullptr; }
#endif

}  // namespace tsl::cuda
