// Kernels ready to launch, from their source: kept in memory, found on disk, or compiled.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cuda/codegen/stage.h"
#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/disk_cache.h"
#include "backend/cuda/driver/nvrtc.h"
#include "exec/backend_options.h"

namespace tsl::cuda {

struct KernelCacheStats {
  uint64_t from_memory = 0;  // kernels
  uint64_t from_disk = 0;
  uint64_t compiled = 0;
};

/// Belongs to one device, and one thread at a time. CUfunctions live as long as the cache. Errors are Failures.
///
/// Kernels asked for together are compiled together, a few in a program (see Nvrtc), and programs side by side. On
/// disk, a kernel compiled alone is an entry; others are entries that name the entry of their program.
/// NVRTC's version is part of the keys. To spare a process that finds all on disk from opening NVRTC, which takes
/// longer than the rest, the version is remembered on disk too, for the file and the places it was looked for in.
class KernelCache {
 public:
  /// `options` go to NVRTC for every kernel.
  explicit KernelCache(Device& device, DiskCache disk = DiskCache(default_cache_folder()),
                       std::vector<std::string> options = {});
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  CUfunction get(const std::string& name, const std::string& source);
  std::vector<CUfunction> get_many(std::span<const KernelSource> kernels);
  /// The same of stages, whose names are made if they are new.
  std::vector<CUfunction> get_many(std::span<Stage* const> stages);

  const KernelCacheStats& stats() const { return stats_; }

  struct Resources {
    int registers = 0;     // a thread
    int local_bytes = 0;   // a thread; what registers spilled to, and arrays
    int shared_bytes = 0;  // a block, not counting what a launch asks for
    int max_threads = 0;   // a block, as far as registers go
  };
  Resources resources(CUfunction function) const;

 private:
  struct Wanted {
    Digest key;
    const KernelSource* kernel;
  };
  using Unit = std::vector<Wanted>;  // one program

  void prepare_keys();
  bool open_nvrtc();
  bool find_on_disk(const Wanted& wanted);
  CUmodule module_on_disk(const Wanted& wanted);
  static std::vector<Unit> divide(std::span<const Wanted> wanted);
  void compile(std::span<const Wanted> wanted);
  Cubin compile_unit(const Unit& unit) const;
  void keep_unit(const Unit& unit, Cubin cubin);
  CUmodule load(const Digest& unit, const Cubin& cubin, CUresult& result);
  void check_loaded(CUresult result) const;

  Device& device_;
  DiskCache disk_;
  std::vector<std::string> options_;
  std::unique_ptr<Nvrtc> nvrtc_;  // once something had to be compiled
  std::string version_;           // of NVRTC, as the keys have it
  std::optional<Digester> base_;  // all that the keys have in common
  std::unordered_map<Digest, CUmodule, DigestHash> units_;
  std::unordered_map<Digest, CUfunction, DigestHash> functions_;
  // Those asked for as stages: to compare texts costs less than a digest of one.
  std::unordered_map<KernelText, CUfunction, KernelTextHash> stages_;
  KernelCacheStats stats_;
};

/// The backend's options as NVRTC takes them.
std::vector<std::string> kernel_options(const exec::BackendOptions& options);

/// Into how many programs a number of kernels goes.
size_t unit_count(size_t kernels, size_t threads);

/// What the keys on disk of all kernels for one architecture, one NVRTC and its options begin with; and one kernel's.
Digester keys_for(const std::string& arch, const std::string& nvrtc_version, std::span<const std::string> options = {});
Digest key_of(const Digester& keys, const KernelSource& kernel);
/// Keeps the cubin of a program under the keys of its kernels, for any cache to find.
void store_unit(const DiskCache& disk, std::span<const Digest> kernels, Cubin cubin);

/// Compiles a kernel for `arch` as the cache would, without a device: for machines that have none, such as CI's.
Cubin compile_only(const Nvrtc& nvrtc, const KernelSource& kernel, const std::string& arch,
                   std::span<const std::string> options = {});

/// NVRTC's version as it was last remembered on disk, or "" if another one may be installed by now.
std::string recall_nvrtc_version(const DiskCache& disk);
void remember_nvrtc_version(const DiskCache& disk, const std::string& version, const std::string& path);

}  // namespace tsl::cuda
