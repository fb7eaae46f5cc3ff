// Opens NVRTC, the compiler for kernels, at run time.
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

/// A kernel from the code generator. `source`, which follows the part of the prelude that it uses, defines `extern "C"
/// __global__` `name`, a unique name. Kernels of one program are in namespaces of their own, so their other names may
/// be equal; only macros must agree (and should be undefined again).
struct KernelSource {
  std::string name;
  std::string source;
  bool is_for_one_arch = false;  // uses instructions of "sm_90a" that "sm_90" has not
};

/// Kernels that are compiled together. Line numbers in messages refer to a kernel's own source, or to the prelude.
struct Program {
  std::string prelude;
  std::vector<const KernelSource*> kernels;
  bool is_edited = false;  // the prelude is a whole program that a user has edited, so that errors in it are no bugs
  const char* prelude_name() const { return is_edited ? "edited" : "prelude"; }  // in messages
};
/// Makes a program of the kernels and the part of the prelude that they use.
Program program_of(std::vector<const KernelSource*> kernels);

using Cubin = std::vector<std::byte>;

/// What NVRTC has to compile for.
struct NvrtcTarget {
  int driver_version = 0;  // the CUDA version that the driver supports: 12040 for 12.4; 0: any
  std::string arch;        // "sm_90"; "": any
};

/// Compiles programs; may be used by several threads at a time. (NVRTC parses one program after the other and only then
/// works in parallel, and half of a small kernel's time goes into the prelude. So kernels share programs.)
class Nvrtc {
 public:
  /// Opens NVRTC. Fails (device) if there is none that compiles for `target`.
  explicit Nvrtc(const NvrtcTarget& target = {});

  /// Returns NVRTC's version: "13.0".
  const std::string& version() const { return version_; }
  /// Returns the path of NVRTC's file.
  const std::string& path() const { return library_.name(); }
  /// Compiles a program. Fails (device) if this NVRTC does not support `arch` ("sm_90"), or if it rejects the program,
  /// which is a bug of TSL unless a user has edited it: the message has the compiler's log and the source lines that it
  /// names.
  Cubin compile(const Program& program, const std::string& arch, std::span<const std::string> options = {}) const;

  /// Returns the options of every compilation besides `arch` and `options`.
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

/// Joins the program into the text for the compiler.
std::string assemble(const Program& program);
/// Appends the numbered source lines that the compiler's log names.
std::string annotate_log(const std::string& log, const Program& program);

}  // namespace tsl::cuda
