#include "backend/cuda/driver/nvrtc.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "backend/cuda/source/prelude.h"
#include "base/error_names.h"

namespace tsl::cuda {

namespace {

constexpr size_t kMostLines = 20;  // source lines shown below a log

/// Returns line `number` (from 1) of a text; empty if there is none.
std::string_view line_of(std::string_view text, size_t number) {
  for (size_t at = 1; at < number; ++at) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string_view text_named(std::string_view name, const Program& program) {
  if (name == program.prelude_name()) return program.prelude;
  for (const KernelSource* kernel : program.kernels)
    if (kernel->name == name) return kernel->source;
  return {};
}

/// A position in a compiler's message, which starts with "name(line): ".
struct LogPosition {
  std::string_view name;
  size_t line = 0;
};

LogPosition position_in(std::string_view message) {
  const size_t open = message.find('('), close = message.find("): ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return {};
  LogPosition position{message.substr(0, open), 0};
  for (const char digit : message.substr(open + 1, close - open - 1)) {
    if (digit < '0' || digit > '9' || position.line > 1'000'000) return {};
    position.line = position.line * 10 + static_cast<size_t>(digit - '0');
  }
  return position;
}

/// A program of NVRTC, destroyed at the end of the scope.
class Handle {
 public:
  explicit Handle(decltype(&::nvrtcDestroyProgram) destroy) : destroy_(destroy) {}
  ~Handle() {
    if (program) destroy_(&program);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  nvrtcProgram program = nullptr;

 private:
  decltype(&::nvrtcDestroyProgram) destroy_;
};

}  // namespace

Program program_of(std::vector<const KernelSource*> kernels) {
  std::vector<std::string_view> sources;
  for (const KernelSource* kernel : kernels) sources.push_back(kernel->source);
  return {prelude_for(sources), std::move(kernels)};
}

std::string assemble(const Program& program) {
  std::string text = fmt::format("#line 1 \"{}\"\n{}", program.prelude_name(), program.prelude);
  for (const KernelSource* kernel : program.kernels)
    text += fmt::format("\nnamespace of_{0} {{\n#line 1 \"{0}\"\n{1}\n}}\n", kernel->name, kernel->source);
  return text;
}

std::string annotate_log(const std::string& log, const Program& program) {
  std::string result = log;
  std::set<std::pair<std::string_view, size_t>> shown;
  std::string_view rest = log;
  while (!rest.empty() && shown.size() < kMostLines) {
    const std::string_view message = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), message.size() + 1));
    const LogPosition position = position_in(message);
    if (position.line == 0) continue;
    const std::string_view line = line_of(text_named(position.name, program), position.line);
    if (line.empty() || !shown.emplace(position.name, position.line).second) continue;
    if (shown.size() == 1 && !result.empty() && result.back() != '\n') result += '\n';
    result += fmt::format("{}:{}: {}\n", position.name, position.line, line);
  }
  return result;
}

Nvrtc::Nvrtc(const NvrtcTarget& target)
    : library_(names_of("libnvrtc.so", target.driver_version),
               missing_text("NVRTC, the CUDA compiler library,", "libnvrtc.so", "cuda-nvrtc", "nvidia-cuda-nvrtc",
                            target.driver_version)) {
#define TSL_RESOLVE(name) name##_ = reinterpret_cast<decltype(&::name)>(library_.function(#name));
  TSL_NVRTC_FUNCTIONS(TSL_RESOLVE)
#undef TSL_RESOLVE
  int major = 0, minor = 0;
  check(nvrtcVersion_(&major, &minor), "telling its version");
  version_ = fmt::format("{}.{}", major, minor);
  if (major < 12 || (major == 12 && minor < 1)) {
    fail(ErrorName::library_unusable,
         "{} is version {}, and TSL needs NVRTC 12.1 or newer; install it, or run with --device cpu", path(), version_);
  }
  check_major(library_, major, target.driver_version);
  if (!target.arch.empty()) check_arch(target.arch);
}

std::vector<std::string> Nvrtc::base_options(const std::string& version) {
  // Functions run where their callers do (the scalar bodies are marked, but lambdas and constants are not). a * b + c
  // rounds twice, as on the CPU. Division, square roots and subnormals are exact by default.
  std::vector<std::string> options = {"--std=c++17", "--fmad=false", "--device-as-default-execution-space"};
  if (std::atoi(version.c_str()) >= 13)
    options.emplace_back("--minimal");  // leaves out declarations that no kernel uses: 10 ms less
  return options;
}

void Nvrtc::check(nvrtcResult result, std::string_view doing) const {
  if (result == NVRTC_SUCCESS) return;
  const ErrorName name = result == NVRTC_ERROR_OUT_OF_MEMORY ? ErrorName::out_of_memory : ErrorName::device_failed;
  fail(name, "NVRTC failed {}: {}", doing, nvrtcGetErrorString_(result));
}

void Nvrtc::check_arch(const std::string& arch) const {
  int count = 0;
  check(nvrtcGetNumSupportedArchs_(&count), "telling its architectures");
  std::vector<int> known(static_cast<size_t>(std::max(count, 0)));
  if (known.empty()) return;
  check(nvrtcGetSupportedArchs_(known.data()), "telling its architectures");
  const int number = arch.rfind("sm_", 0) == 0 ? std::atoi(arch.c_str() + 3) : 0;  // 90 for "sm_90a" as well
  if (std::find(known.begin(), known.end(), number) != known.end()) return;
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  fail(ErrorName::library_unusable,
       "NVRTC {} ({}) compiles for sm_{} to sm_{}, not for {}: install {} one, or run with --device cpu", version_,
       path(), *least, *most, arch, number < *least ? "an older" : "a newer");
}

std::string Nvrtc::log_of(nvrtcProgram program) const {
  size_t size = 0;
  if (nvrtcGetProgramLogSize_(program, &size) != NVRTC_SUCCESS || size <= 1) return {};
  std::string log(size, '\0');
  if (nvrtcGetProgramLog_(program, log.data()) != NVRTC_SUCCESS) return {};
  log.resize(std::min(log.find('\0'), log.size()));
  return log;
}

Cubin Nvrtc::compile(const Program& program, const std::string& arch, std::span<const std::string> options) const {
  check_arch(arch);
  std::vector<std::string> all = base_options(version_);
  all.push_back("--gpu-architecture=" + arch);
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> texts;
  for (const std::string& option : all) texts.push_back(option.c_str());

  Handle handle(nvrtcDestroyProgram_);
  const std::string text = assemble(program);
  check(nvrtcCreateProgram_(&handle.program, text.c_str(), "kernels", 0, nullptr, nullptr), "taking a program");
  const nvrtcResult result = nvrtcCompileProgram_(handle.program, static_cast<int>(texts.size()), texts.data());
  if (result == NVRTC_ERROR_COMPILATION) {
    const std::string log = annotate_log(log_of(handle.program), program);
    if (program.is_edited)
      fail(ErrorName::edited_code_refused, "NVRTC {} rejects the edited code for {}:\n{}", version_, arch, log);
    fail(ErrorName::device_defect, "internal error: NVRTC {} rejects a kernel that TSL generated for {}:\n{}", version_,
         arch, log);
  }
  if (result != NVRTC_SUCCESS) {
    fail(ErrorName::device_failed, "NVRTC {} failed to compile for {}: {}\n{}", version_, arch,
         nvrtcGetErrorString_(result), log_of(handle.program));
  }
  size_t size = 0;
  check(nvrtcGetCUBINSize_(handle.program, &size), "handing over a kernel");
  Cubin cubin(size);
  if (size > 0) check(nvrtcGetCUBIN_(handle.program, reinterpret_cast<char*>(cubin.data())), "handing over a kernel");
  if (cubin.empty()) fail(ErrorName::device_failed, "NVRTC {} compiled a kernel for {} to nothing", version_, arch);
  return cubin;
}

}  // namespace tsl::cuda
