// NVRTC, the compiler for kernels, opened at run time.
#pragma once

#include <nvrtc.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/driver/library.h"

namespace tsl::cuda {

#define TSL_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)              \
  X(nvrtcGetErrorString)       \
  X(nvrtcGetNumSupportedArchs) \
  X(nvrtcGetSupportedArchs)    \
  X(nvrtcCreateProgram)        \
  X(nvrtcDestroyProgram)       \
  X(nvrtcCompileProgram)       \
  X(nvrtcGetProgramLogSize)    \
  X(nvrtcGetProgramLog)        \
  X(nvrtcGetCUBINSize)         \
  X(nvrtcGetCUBIN)

/// A kernel as the code generator writes it. `source`, after what it uses of the prelude, defines `extern "C"
/// __global__` `name`, a name of its own. It is compiled inside a namespace of its own, with others, so what else it
/// defines may have any name, and its macros (which it should #undef) may not differ from theirs.
struct KernelSource {
  std::string name;
  std::string source;
};

/// What is compiled at once. Line numbers in messages are those of a kernel's own source, or the prelude's.
struct Program {
  std::string prelude;
  std::vector<const KernelSource*> kernels;
};
/// After what these kernels use of the prelude.
Program program_of(std::vector<const KernelSource*> kernels);

using Cubin = std::vector<std::byte>;

/// Any thread may compile, several at a time. (NVRTC parses one program after the other, though, and only then works
/// side by side; and half of a small kernel's time goes into its front matter. So kernels share programs.)
class Nvrtc {
 public:
  /// Fails (device) if NVRTC is not installed.
  Nvrtc();

  /// "13.0"
  const std::string& version() const { return version_; }
  /// The file it was opened from.
  const std::string& path() const { return library_.name(); }
  /// Fails (device) if this NVRTC does not know `arch` ("sm_90"); if it rejects the program, which is a bug of TSL,
  /// with the compiler's log and the source lines it names.
  Cubin compile(const Program& program, const std::string& arch, std::span<const std::string> options = {}) const;

  /// What every compilation is given besides the arch and `options`.
  static std::vector<std::string> base_options(const std::string& version);

 private:
  void check(nvrtcResult result, std::string_view doing) const;
  void check_arch(const std::string& arch) const;
  std::string log_of(nvrtcProgram program) const;

  Library library_;
  std::string version_;

#define TSL_DECLARE(name) decltype(&::name) name##_ = nullptr;
  TSL_NVRTC_FUNCTIONS(TSL_DECLARE)
#undef TSL_DECLARE
};

/// The text given to the compiler.
std::string assemble(const Program& program);
/// The compiler's log followed by the lines of the program that it names, numbered.
std::string annotate_log(const std::string& log, const Program& program);

}  // namespace tsl::cuda
