// Tests which instructions scalar bodies compile to, which needs NVRTC but no GPU.
#include <sstream>

#include "backend/cuda/driver/kernel_cache.h"
#include "support/gpu.h"

using namespace tsl;
using namespace tsl::cuda;

namespace {

/// Returns the PTX of a program; TSL itself only ever takes cubins.
std::string ptx_of(const Nvrtc& nvrtc, const Program& program, std::vector<std::string> options) {
  const Library library({nvrtc.path()}, "NVRTC");
#define TSL_RESOLVE(name) const auto name = reinterpret_cast<decltype(&::name)>(library.function(#name))
  TSL_RESOLVE(nvrtcCreateProgram);
  TSL_RESOLVE(nvrtcCompileProgram);
  TSL_RESOLVE(nvrtcGetPTXSize);
  TSL_RESOLVE(nvrtcGetPTX);
  TSL_RESOLVE(nvrtcDestroyProgram);
#undef TSL_RESOLVE
  for (const std::string& option : Nvrtc::base_options(nvrtc.version())) options.push_back(option);
  options.emplace_back("--gpu-architecture=compute_90");
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  nvrtcProgram handle = nullptr;
  const std::string text = assemble(program);
  REQUIRE(nvrtcCreateProgram(&handle, text.c_str(), "kernels", 0, nullptr, nullptr) == NVRTC_SUCCESS);
  REQUIRE(nvrtcCompileProgram(handle, static_cast<int>(texts.size()), texts.data()) == NVRTC_SUCCESS);
  size_t size = 0;
  nvrtcGetPTXSize(handle, &size);
  std::string ptx(size, '\0');
  nvrtcGetPTX(handle, ptx.data());
  nvrtcDestroyProgram(&handle);
  return ptx;
}

/// Returns a kernel that applies the op to elements of a type of float.
KernelSource kernel_of(const char* op, const char* type, const char* arguments) {
  const std::string name = fmt::format("k_{}_{}", op, type);
  return {name, fmt::format("extern \"C\" __global__ void {0}(const {2}* a, const {2}* b, const bool* c, void* to) {{\n"
                            "  const auto y = s_{1}({3});\n"
                            "  *(decltype(s_{1}({3}))*)to = y;\n}}",
                            name, op, type, arguments)};
}

struct FloatOp {
  const char* name;
  const char* arguments;
  bool takes_floats;
};
constexpr bool takes_floats(DTypeRule rule) { return rule != DTypeRule::bitwise && rule != DTypeRule::shift; }
constexpr FloatOp kElementwise[] = {
#define TSL_UNARY(name, rule, ...) {#name, "*a", takes_floats(DTypeRule::rule)},
#define TSL_BINARY(name, rule, ...) {#name, "*a, *b", takes_floats(DTypeRule::rule)},
#define TSL_TERNARY(name, rule, ...) {#name, "*c, *a, *b", true},
#include "tensor/bodies/elementwise.def"
#undef TSL_UNARY
#undef TSL_BINARY
#undef TSL_TERNARY
};

}  // namespace

TEST_CASE("elementwise ops of f32, f16 and bf16 have no f64 instruction") {
  std::string why;
  const std::unique_ptr<Nvrtc> nvrtc = open_nvrtc_for_lists(why);
  if (!nvrtc) TSL_SKIP(why);
  std::vector<KernelSource> kernels;
  for (const FloatOp& op : kElementwise) {
    if (!op.takes_floats) continue;
    for (const char* type : {"f32", "f16", "bf16"}) kernels.push_back(kernel_of(op.name, type, op.arguments));
  }
  for (const bool portable : {false, true}) {
    CAPTURE(portable);
    const std::string ptx = ptx_of(*nvrtc, program_of(pointers_to(kernels)), kernel_options({.portable = portable}));
    for (const KernelSource& kernel : kernels) CHECK(ptx.find(kernel.name + "(") != std::string::npos);
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(".f64") != std::string::npos && line.find(".global") == std::string::npos) FAIL_CHECK(line);
    }
  }
}
