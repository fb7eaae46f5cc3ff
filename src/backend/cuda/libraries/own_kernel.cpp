#include "backend/cuda/libraries/own_kernel.h"

#include "base/integers.h"

namespace tsl::cuda {

namespace {
constexpr int kThreads = 256;
}  // namespace

OwnKernel::OwnKernel(Gpu& gpu, std::string_view name, std::string_view parameters, std::string_view body) {
  CudaKernel kernel;
  kernel.readable = fmt::format("k_{}", name);
  kernel.text.header = "// runs beside a library\n";
  kernel.text.bounds = fmt::format("__launch_bounds__({})", kThreads);
  kernel.text.parameters = fmt::format("const i64 count, {}", parameters);
  kernel.text.body = fmt::format(
      "  const i64 i = (i64)blockIdx.x * {} + threadIdx.x;\n"
      "  if (i >= count) return;\n"
      "{}",
      kThreads, body);
  function_ = gpu.kernels.get(kernel.name(), kernel.source());
}

/// Does not count the launch, which is part of an op's.
void OwnKernel::launch(const Device& device, int64_t count, void** arguments) const {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(count, kThreads));
  device.check(
      device.driver().cuLaunchKernel(function_, blocks, 1, 1, kThreads, 1, 1, 0, device.stream(), arguments, nullptr),
      "launching a kernel beside a library");
}

OwnKernel address_kernel(Gpu& gpu) {
  return {gpu, "addresses", "u64* out, const u64 first, const i64 step", "  out[i] = first + i * step;\n"};
}

}  // namespace tsl::cuda
