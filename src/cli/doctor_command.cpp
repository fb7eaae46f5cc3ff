// `tsl doctor`: says what TSL finds on this machine, and what to do about what is missing.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "backend/cpu/kernels.h"
#include "base/cache_folder.h"
#include "base/platform/file_status.h"
#include "base/platform/machine.h"
#include "cli/program.h"
#include "tensor/block_cache.h"

#ifdef TSL_HAS_CUDA
#include "backend/cuda/cache/disk_cache.h"
#include "backend/cuda/driver/installation.h"
#endif

namespace tsl {

namespace {

namespace fs = std::filesystem;

/// Writes findings, one a line, and counts what is to be done.
class Findings {
 public:
  void add(std::string_view name, bool is_fine, const std::string& text) {
    std::cout << fmt::format("{:<3} {:<13} {}\n", is_fine ? "ok" : "--", name, text);
  }
  void advise(const std::string& text) { advice_.push_back(text); }
  void finish() const {
    if (advice_.empty()) {
      std::cout << "\nNothing is missing.\n";
      return;
    }
    std::cout << "\nWhat to do:\n";
    for (const std::string& text : advice_) std::cout << "  - " << text << '\n';
  }

 private:
  std::vector<std::string> advice_;
};

/// Adds the processors: the best instruction set, and how many threads compute.
void add_processor(Findings& findings) {
  const cpu::Isa isa = cpu::best_isa();
  const bool is_slow = isa == cpu::Isa::generic;
  findings.add("instructions", !is_slow, cpu::name_of(isa));
  if (is_slow && std::getenv("TSL_ISA")) findings.advise("unset TSL_ISA, which lowers the instruction set");
  else if (is_slow)
    findings.advise(
        "this processor has no AVX2, so that TSL computes much slower here: use a newer machine, or a "
        "virtual machine that passes the processor's features on");
  const platform::MachineLimits& limits = platform::machine_limits();
  findings.add("threads", true, fmt::format("{} (--threads N takes fewer)", limits.cpus));
  findings.add("memory", limits.memory > 0, limits.memory > 0 ? describe_bytes(limits.memory) : "unknown");
}

/// Adds the folder that keeps compiled kernels and measured speeds.
void add_cache(Findings& findings) {
  const std::string folder = default_cache_folder();
  if (folder.empty()) {
    findings.add("cache", false, "there is no folder for it");
    findings.advise("set TSL_CACHE_DIR, XDG_CACHE_HOME or HOME, so that compiled kernels are kept between runs");
    return;
  }
  fs::path existing = folder;
  std::error_code failed;
  while (!fs::exists(existing, failed) && existing.has_relative_path()) existing = existing.parent_path();
  const bool can_write = platform::can_write(existing.string());
  std::string text = folder;
#ifdef TSL_HAS_CUDA
  const cuda::DiskCache::Usage usage = cuda::DiskCache(folder).usage();
  text += fmt::format(", {} kernels, {}", usage.entries, describe_bytes(usage.bytes));
#endif
  findings.add("cache", can_write, can_write ? text : folder + ", which cannot be written");
  if (!can_write) findings.advise("set TSL_CACHE_DIR to a folder of yours, so that compiled kernels are kept");
}

#ifdef TSL_HAS_CUDA
void add_gpus(Findings& findings) {
  bool has_gpu = false;
  for (const cuda::InstalledPart& part : cuda::installed_parts()) {
    has_gpu |= part.is_found && part.name.starts_with("GPU");
    findings.add(part.name, part.is_found,
                 part.is_found    ? part.text
                 : part.is_needed ? "missing"
                                  : "missing (optional)");
    if (part.is_found) continue;
    // Without a GPU, what programs for it need is no concern.
    if (part.name == "driver" || has_gpu) findings.advise(part.text);
  }
}
#else
void add_gpus(Findings& findings) {
  findings.add("CUDA", false, "this build has no CUDA backend");
  findings.advise("to use a GPU, build TSL with the headers of the CUDA Toolkit");
}
#endif

}  // namespace

int run_doctor() {
  Findings findings;
  findings.add("tsl", true, TSL_VERSION);
  add_processor(findings);
  add_gpus(findings);
  add_cache(findings);
  findings.finish();
  return 0;
}

}  // namespace tsl
