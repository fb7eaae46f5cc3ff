// How far the functions of f32 are from exact on a GPU, over all floats; and that the portable ones give the CPU's bits.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cuda/kernel_cache.h"
#include "backend/cuda/memory.h"
#include "gpu.h"
#include "tensor/scalar_math.h"
// These follow it.
#include "tensor/scalar_functions.h"

using namespace tsl;
using namespace tsl::cuda;
using Gpu = tsl::cuda::Device;

namespace {

struct Function {
  const char* name;
  const char* exact;       // of the double x
  float (*on_cpu)(float);
  double bound;            // ulp, of native ones
};

// Native functions are worse near the least normal number: what is less is measured by the last bit of this power of two.
constexpr int kLeastExponent = -118;

constexpr Function kFunctions[] = {
    {"exp", "::exp(x)", [](float x) { return math::s_exp(x); }, 2},
    {"sigmoid", "1 / (1 + ::exp(-x))", [](float x) { return math::s_sigmoid(x); }, 4},
    {"silu", "x == -infinity<double>() ? -0.0 : x / (1 + ::exp(-x))", [](float x) { return math::s_silu(x); }, 5},
    {"tanh", "::tanh(x)", [](float x) { return math::s_tanh(x); }, 4},
    {"gelu", "x == -infinity<double>() ? -0.0 : 0.5 * x * ::erfc(-x * 0.70710678118654752440)", [](float x) { return math::s_gelu(x); }, 5},
};

constexpr const char* kUlps = R"(
__device__ float ulps(float y, double exact, int least_exponent) {
  if (exact != exact || y != y) return (exact != exact) == (y != y) ? 0.0f : infinity<float>();
  const double top = 0x1p128, got = magnitude(y) == infinity<float>() ? copy_sign(top, (double)y) : (double)y;
  if (magnitude(exact) > top) exact = copy_sign(top, exact);
  const int exponent = exact == 0 ? least_exponent : max(ilogb(exact), least_exponent);
  return (float)(magnitude(got - exact) / ldexp(1.0, exponent - 23));
}
)";

/// Each thread looks at 4096 floats; `worst`: the greatest error as bits, above the bits of its argument.
KernelSource accuracy_kernel(const Function& function, int least_exponent) {
  return {fmt::format("k_accuracy_{}", function.name),
          fmt::format("{0}\nextern \"C\" __global__ void k_accuracy_{1}(u64* worst) {{\n"
                      "  u64 mine = 0;\n"
                      "  for (u32 k = 0; k < 4096; ++k) {{\n"
                      "    const u32 bits = (blockIdx.x * 256 + threadIdx.x) * 4096 + k;\n"
                      "    const double x = as_float(bits);\n"
                      "    const u64 found = (u64)bits_of(ulps(s_{1}(as_float(bits)), {2}, {3})) << 32 | bits;\n"
                      "    if (found > mine) mine = found;\n"
                      "  }}\n"
                      "  atomicMax(worst, mine);\n}}", kUlps, function.name, function.exact, least_exponent)};
}

KernelSource values_kernel(const Function& function) {
  return {fmt::format("k_values_{}", function.name),
          fmt::format("extern \"C\" __global__ void k_values_{0}(f32* to, u32 step) {{\n"
                      "  const u32 i = blockIdx.x * 256 + threadIdx.x;\n"
                      "  to[i] = s_{0}(as_float(i * step));\n}}", function.name)};
}

/// Runs a kernel of blocks of 256 threads on `arguments`.
void launch(Gpu& gpu, CUfunction function, unsigned blocks, std::vector<void*> arguments) {
  Launch launch;
  launch.function = function;
  launch.grid[0] = blocks;
  launch.block[0] = 256;
  gpu.launch(launch, arguments.data(), "a test");
}

}  // namespace

TEST_CASE("functions are within their bounds for all floats", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  const bool portable = GENERATE(false, true);
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options(portable));
  for (const Function& function : kFunctions) {
    const KernelSource kernel = accuracy_kernel(function, portable ? -126 : kLeastExponent);
    const Ref<Storage> memory = allocator.allocate(sizeof(uint64_t));
    CUdeviceptr worst = address_of(memory->data());
    uint64_t found = 0;
    gpu.copy_to_device(worst, &found, sizeof found);
    launch(gpu, cache.get(kernel.name, kernel.source), 4096, {&worst});
    gpu.copy_to_host(&found, worst, sizeof found);
    const uint32_t bits[] = {static_cast<uint32_t>(found >> 32), static_cast<uint32_t>(found)};
    float error, argument;
    std::memcpy(&error, &bits[0], 4);
    std::memcpy(&argument, &bits[1], 4);
    WARN(function.name << (portable ? ", portable: " : ": ") << error << " ulp at " << argument);
    CHECK(error <= (portable ? 2 : function.bound));
  }
}

TEST_CASE("portable functions give the CPU's bits", "[cuda]") {
  TSL_NEEDS_GPU();
  constexpr uint32_t kCount = 1 << 22, kStep = 1021;
  const Folder folder;
  Gpu gpu;
  DeviceAllocator allocator(gpu);
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options(true));
  const Ref<Storage> memory = allocator.allocate(kCount * sizeof(float));
  for (const Function& function : kFunctions) {
    const KernelSource kernel = values_kernel(function);
    CUdeviceptr to = address_of(memory->data());
    uint32_t step = kStep;
    launch(gpu, cache.get(kernel.name, kernel.source), kCount / 256, {&to, &step});
    std::vector<float> values(kCount);
    gpu.copy_to_host(values.data(), to, kCount * sizeof(float));
    size_t differ = 0;
    for (uint32_t i = 0; i < kCount; ++i) {
      const float expected = function.on_cpu(math::as_float(i * kStep));
      const bool are_nan = std::isnan(expected) && std::isnan(values[i]);
      differ += !are_nan && std::memcmp(&expected, &values[i], sizeof expected) != 0;
    }
    INFO(function.name);
    CHECK(differ == 0);
  }
}
