// How far the functions of f32 are from exact on a GPU, over all floats, and those of 16 bits; that the portable ones
// give the CPU's bits; and that f16 and bf16 add as f32 does.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "backend/cuda/driver/kernel_cache.h"
#include "backend/cuda/driver/memory.h"
#include "support/gpu.h"
#include "tensor/bodies/scalar_bodies.h"

using namespace tsl;
using namespace tsl::cuda;
using Gpu = tsl::cuda::Device;

namespace {

struct Function {
  const char* name;
  const char* exact;  // of the double x
  float (*on_cpu)(float);
  double bound;  // ulp, of native ones
  bool has_estimates = false;
};

// The hardware's functions are less accurate near the least normal number: errors of smaller results are measured in
// the last bit of this power of two.
constexpr int kLeastExponent = -118;

constexpr Function kFunctions[] = {
    {"exp", "::exp(x)", [](float x) { return math::s_exp(x); }, 2, true},
    {"sigmoid", "1 / (1 + ::exp(-x))", [](float x) { return math::s_sigmoid(x); }, 4, true},
    {"silu", "x == -infinity<double>() ? -0.0 : x / (1 + ::exp(-x))", [](float x) { return math::s_silu(x); }, 5, true},
    {"tanh", "::tanh(x)", [](float x) { return math::s_tanh(x); }, 4, true},
    {"gelu", "x == -infinity<double>() ? -0.0 : 0.5 * x * ::erfc(-x * 0.70710678118654752440)",
     [](float x) { return math::s_gelu(x); }, 5, true},
    {"rsqrt", "1 / ::sqrt(x)", [](float x) { return math::s_rsqrt(x); }, 2, true},
    {"expm1", "::expm1(x)", [](float x) { return math::s_expm1(x); }, 2},
    {"log1p", "::log1p(x)", [](float x) { return math::s_log1p(x); }, 2},
    {"softplus", "(x > 0 ? x : 0) + ::log1p(::exp(-magnitude(x)))", [](float x) { return math::s_softplus(x); }, 2},
    {"sinh", "::sinh(x)", [](float x) { return math::s_sinh(x); }, 2},
    {"cosh", "::cosh(x)", [](float x) { return math::s_cosh(x); }, 2},
    {"sin", "::sin(x)", [](float x) { return math::s_sin(x); }, 2},
    {"cos", "::cos(x)", [](float x) { return math::s_cos(x); }, 2},
    {"tan", "::tan(x)", [](float x) { return math::s_tan(x); }, 2},
    {"asin", "::asin(x)", [](float x) { return math::s_asin(x); }, 2},
    {"acos", "::acos(x)", [](float x) { return math::s_acos(x); }, 2},
    {"atan", "::atan(x)", [](float x) { return math::s_atan(x); }, 2},
    {"gelu_tanh", "x == -infinity<double>() ? -0.0 : x / (1 + ::exp(-1.5957691216057308 * x * (1 + 0.044715 * x * x)))",
     [](float x) { return math::s_gelu_tanh(x); }, 2},
};

struct BinaryFunction {
  const char* name;
  float (*on_cpu)(float, float);
};
constexpr BinaryFunction kBinaryFunctions[] = {
    {"pow", [](float a, float b) { return math::s_pow(a, b); }},
    {"atan2", [](float a, float b) { return math::s_atan2(a, b); }},
    {"floordiv", [](float a, float b) { return math::s_floordiv(a, b); }},
    {"mod", [](float a, float b) { return math::s_mod(a, b); }},
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
                      "  atomicMax(worst, mine);\n}}",
                      kUlps, function.name, function.exact, least_exponent)};
}

/// The second operand of number i, of which every fourth is near the first: then pow and mod give results of any size.
uint32_t second_bits(uint32_t i, uint32_t first) { return i % 4 == 0 ? first - i % 1000 * 12345 : i * 2654435761u; }

KernelSource values_kernel(const BinaryFunction& function) {
  return {fmt::format("k_values_{}", function.name),
          fmt::format("extern \"C\" __global__ void k_values_{0}(f32* to, u32 step) {{\n"
                      "  const u32 i = blockIdx.x * 256 + threadIdx.x;\n"
                      "  const u32 second = i % 4 == 0 ? i * step - i % 1000 * 12345 : i * 2654435761u;\n"
                      "  to[i] = s_{0}(as_float(i * step), as_float(second));\n}}",
                      function.name)};
}

KernelSource values_kernel(const Function& function) {
  return {fmt::format("k_values_{}", function.name),
          fmt::format("extern \"C\" __global__ void k_values_{0}(f32* to, u32 step) {{\n"
                      "  const u32 i = blockIdx.x * 256 + threadIdx.x;\n"
                      "  to[i] = s_{0}(as_float(i * step));\n}}",
                      function.name)};
}

/// How many pairs of elements an instruction of 16 bits and f32, rounded, do not agree on, but for subnormal quotients
/// of bf16: a block takes one first element.
KernelSource pairs_kernel(const char* type, const char* op, const char* sign) {
  return {fmt::format("k_pairs_{}_{}", op, type),
          fmt::format("extern \"C\" __global__ void k_pairs_{0}_{1}(u64* differing) {{\n"
                      "  const bool is_estimate = '{2}' == '/';\n"
                      "  const {1} a = {{(u16)blockIdx.x}};\n"
                      "  u64 mine = 0;\n"
                      "  for (u32 k = threadIdx.x; k < 65536; k += 256) {{\n"
                      "    const {1} b = {{(u16)k}};\n"
                      "    const {1} found = s_{0}(a, b), exact = narrow<{1}>(widen(a) {2} widen(b));\n"
                      "    mine += found.bits != exact.bits && !(is_estimate && magnitude(widen(exact)) < 0x1p-126f);\n"
                      "  }}\n"
                      "  if (mine != 0) atomicAdd(differing, mine);\n}}",
                      op, type, sign)};
}

/// A function of 16 bits by estimates, and for how many elements of f16 and bf16 the result may be the nearest but one.
struct ShortFunction {
  const char* name;
  const char* exact;  // of the double x
  uint64_t f16, bf16;
};
constexpr ShortFunction kShortFunctions[] = {
    {"gelu", "0.5 * x * ::erfc(-x * 0.70710678118654752440)", 200, 0},
    {"gelu_tanh", "x / (1 + ::exp(-x * (1.5957691216057308 + 0.07135481627260025 * x * x)))", 40, 4},
    {"exp", "::exp(x)", 20, 4},
    {"sigmoid", "1 / (1 + ::exp(-x))", 20, 4},
    {"silu", "x / (1 + ::exp(-x))", 20, 4},
    {"log", "::log(x)", 20, 0},
    {"log1p", "::log1p(x)", 20, 0},
    {"softplus", "(x > 0 ? x : 0) + ::log1p(::exp(-magnitude(x)))", 20, 0},
    {"erf", "::erf(x)", 20, 0},
    {"sqrt", "::sqrt(x)", 0, 0},
    {"rsqrt", "1 / ::sqrt(x)", 0, 0},
};

/// How many elements there are with a normal result where another one were nearer: a thread takes one.
KernelSource nearest_kernel(const ShortFunction& function, const char* type, const char* least_normal,
                            const char* greatest) {
  return {
      fmt::format("k_nearest_{}_{}", function.name, type),
      fmt::format("extern \"C\" __global__ void k_nearest_{2}_{0}(u64* farther) {{\n"
                  "  const {0} element = {{(u16)(blockIdx.x * 256 + threadIdx.x)}}, y = s_{2}(element);\n"
                  "  const {0} less = {{(u16)(y.bits - 1)}}, more = {{(u16)(y.bits + 1)}};\n"
                  "  const double x = widen(element), exact = {3}, last = widen(y);\n"
                  "  const bool is_special = magnitude(x) == infinity<double>() || exact != exact ||\n"
                  "                          magnitude(exact) == infinity<double>();\n"
                  "  if (is_special || exact == 0) {{\n"
                  "    if (magnitude(x) != infinity<double>() && !(last == exact || (last != last && exact != exact)))"
                  " atomicAdd(farther, 1ull << 32);\n"
                  "    return;\n"
                  "  }}\n"
                  "  if (!(magnitude(exact) >= {1} && magnitude(exact) <= {4})) return;\n"
                  "  const double error = magnitude(last - exact);\n"
                  "  if (!(error <= magnitude(widen(less) - exact)) || !(error <= magnitude(widen(more) - exact))) "
                  "atomicAdd(farther, 1ull);\n"
                  "}}",
                  type, least_normal, function.name, function.exact, greatest)};
}

/// Runs a kernel of blocks of 256 threads on `arguments`.
void launch(Gpu& gpu, CUfunction function, unsigned blocks, std::vector<void*> arguments) {
  Launch launch;
  launch.function = function;
  launch.grid[0] = blocks;
  launch.block[0] = 256;
  gpu.launch(launch, arguments.data(), "a test");
}

/// What a kernel makes of one number, at first 0.
uint64_t result_of(Gpu& gpu, KernelCache& cache, const KernelSource& kernel, unsigned blocks) {
  DeviceAllocator allocator(gpu);
  const Ref<Storage> memory = allocator.allocate(sizeof(uint64_t));
  CUdeviceptr address = address_of(memory->data());
  uint64_t result = 0;
  gpu.copy_to_device(address, &result, sizeof result);
  launch(gpu, cache.get(kernel.name, kernel.source), blocks, {&address});
  gpu.copy_to_host(&result, address, sizeof result);
  return result;
}

}  // namespace

TEST_CASE("functions are within their bounds for all floats", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  const bool portable = GENERATE(false, true);
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options({.portable = portable}));
  for (const Function& function : kFunctions) {
    const uint64_t found = result_of(gpu, cache, accuracy_kernel(function, portable ? -126 : kLeastExponent), 4096);
    const uint32_t bits[] = {static_cast<uint32_t>(found >> 32), static_cast<uint32_t>(found)};
    float error, argument;
    std::memcpy(&error, &bits[0], 4);
    std::memcpy(&argument, &bits[1], 4);
    WARN(function.name << (portable ? ", portable: " : ": ") << error << " ulp at " << argument);
    CHECK(error <= (portable ? 2 : function.bound));
  }
}

TEST_CASE("f16 and bf16 add, multiply and divide as f32 does", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options({}));
  for (const char* type : {"f16", "bf16"}) {
    INFO(type);
    CHECK(result_of(gpu, cache, pairs_kernel(type, "add", "+"), 65536) == 0);
    CHECK(result_of(gpu, cache, pairs_kernel(type, "sub", "-"), 65536) == 0);
    CHECK(result_of(gpu, cache, pairs_kernel(type, "mul", "*"), 65536) == 0);
    CHECK(result_of(gpu, cache, pairs_kernel(type, "div", "/"), 65536) == 0);
  }
}

TEST_CASE("functions of f16 and bf16 are the nearest", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options({}));
  for (const ShortFunction& function : kShortFunctions) {
    INFO(function.name);
    const uint64_t f16 = result_of(gpu, cache, nearest_kernel(function, "f16", "0x1p-14", "65504"), 256);
    const uint64_t bf16 = result_of(gpu, cache, nearest_kernel(function, "bf16", "0x1p-126", "0x1.fep127"), 256);
    WARN(function.name << ": not the nearest: " << f16 << " of f16, " << bf16 << " of bf16");
    CHECK(f16 <= function.f16);
    CHECK(bf16 <= function.bf16);
  }
}

namespace {

/// How many of many results of a kernel, number i of argument bits i * step, differ from the CPU's.
size_t count_differing(Gpu& gpu, KernelCache& cache, const KernelSource& kernel,
                       const std::function<float(uint32_t, float)>& on_cpu) {
  constexpr uint32_t kCount = 1 << 22;
  uint32_t step = 1021;
  DeviceAllocator allocator(gpu);
  const Ref<Storage> memory = allocator.allocate(kCount * sizeof(float));
  CUdeviceptr to = address_of(memory->data());
  launch(gpu, cache.get(kernel.name, kernel.source), kCount / 256, {&to, &step});
  std::vector<float> values(kCount);
  gpu.copy_to_host(values.data(), to, kCount * sizeof(float));
  size_t differing = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const float expected = on_cpu(i, math::as_float(i * step));
    const bool are_nan = std::isnan(expected) && std::isnan(values[i]);
    differing += !are_nan && std::memcmp(&expected, &values[i], sizeof expected) != 0;
  }
  return differing;
}

}  // namespace

TEST_CASE("portable functions give the CPU's bits", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options({.portable = true}));
  for (const Function& function : kFunctions) {
    const auto on_cpu = [&](uint32_t, float x) { return function.on_cpu(x); };
    INFO(function.name);
    CHECK(count_differing(gpu, cache, values_kernel(function), on_cpu) == 0);
  }
}

TEST_CASE("functions without estimates give the CPU's bits", "[cuda]") {
  TSL_NEEDS_GPU();
  const Folder folder;
  Gpu gpu;
  KernelCache cache(gpu, DiskCache(folder.path), kernel_options({}));
  for (const Function& function : kFunctions) {
    if (function.has_estimates) continue;
    const auto on_cpu = [&](uint32_t, float x) { return function.on_cpu(x); };
    INFO(function.name);
    CHECK(count_differing(gpu, cache, values_kernel(function), on_cpu) == 0);
  }
  for (const BinaryFunction& function : kBinaryFunctions) {
    const auto on_cpu = [&](uint32_t i, float a) {
      return function.on_cpu(a, math::as_float(second_bits(i, math::bits_of(a))));
    };
    INFO(function.name);
    CHECK(count_differing(gpu, cache, values_kernel(function), on_cpu) == 0);
  }
}
