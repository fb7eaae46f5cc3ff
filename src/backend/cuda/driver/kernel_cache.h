// Turns kernels' sources into loaded functions: kept, found in the process' memory or on disk, or compiled.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cuda/cache/compiled_kernels.h"
#include "backend/cuda/cache/disk_cache.h"
#include "backend/cuda/codegen/launch_parameters.h"
#include "backend/cuda/driver/device.h"
#include "backend/cuda/driver/nvrtc.h"
#include "backend/cuda/source/cuda_kernel.h"
#include "exec/backend_options.h"

namespace tsl::cuda {

struct KernelCacheStats {
  uint64_t from_memory = 0;   // kernels that were loaded already
  uint64_t from_process = 0;  // compiled for another engine of the process
  uint64_t from_disk = 0;
  uint64_t compiled = 0;
};

/// Belongs to one device, and to one thread at a time. Its CUfunctions are valid as long as the cache. Errors are
/// Failures.
///
/// Kernels requested together are compiled together: several per program (see Nvrtc), and programs in parallel. On
/// disk, a kernel that was compiled alone is an entry; other kernels are entries that name the entry of their program.
/// Keys contain NVRTC's version. Opening NVRTC only to ask for it would take longer than all the rest if every kernel
/// is on disk; so the version is stored on disk too, with the state of NVRTC's file and of the search path.
class KernelCache {
 public:
  /// `options` are passed to NVRTC for every kernel; `shared`: what engines have compiled (null: this cache only).
  explicit KernelCache(Device& device, DiskCache disk = DiskCache(default_cache_folder()),
                       std::vector<std::string> options = {}, CompiledKernels* shared = nullptr);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  CUfunction get(const std::string& name, const std::string& source);
  std::vector<CUfunction> get_many(std::span<const KernelSource> kernels);
  /// Loads CUDA kernels. Names are computed only for kernels that are not in memory.
  std::vector<CUfunction> get_many(std::span<CudaKernel* const> kernels);

  /// Compiles and loads a kernel of a program that a user has edited, which holds all that it needs. It is not kept for
  /// other engines. Throws Failure (value) if it does not compile, or defines no such kernel.
  CUfunction compile_edited(const std::string& name, const std::string& program);

  /// Returns the name of a function of this cache, which other tools show too.
  const std::string& name_of(CUfunction function) const { return names_.at(function); }
  const KernelCacheStats& stats() const { return stats_; }

  struct Resources {
    int registers = 0;     // per thread
    int local_bytes = 0;   // per thread: spilled registers, and arrays
    int shared_bytes = 0;  // per block, without dynamic shared memory
    int max_threads = 0;   // per block, as registers allow
  };
  Resources resources(CUfunction function) const;
  /// Returns the version of the NVRTC whose code runs: "13.0"; "none" before the first kernel.
  std::string nvrtc_version() const { return version_.empty() ? "none" : version_; }
  /// Returns the share of a multiprocessor's threads that can run the kernel at the same time.
  double occupancy(CUfunction function, int threads, uint64_t dynamic_shared = 0) const;

 private:
  struct Request {
    Digest key;
    const KernelSource* kernel;
  };
  using CompilationUnit = std::vector<Request>;  // kernels of one program

  void prepare_keys();
  bool open_nvrtc();
  struct StoredModule {
    CUmodule module = nullptr;
    bool is_of_process = false;
  };
  void load_stored(std::vector<Request>& missing);
  bool load_stored(const Request& wanted);
  StoredModule find_stored(const Request& wanted);
  static std::vector<CompilationUnit> divide(std::span<const Request> wanted);
  void compile(std::span<const Request> wanted);
  Cubin compile_unit(const CompilationUnit& unit) const;
  void keep_unit(const CompilationUnit& unit, Cubin cubin);
  CUmodule load(const Digest& unit, std::span<const std::byte> cubin, CUresult& result);
  void check_loaded(CUresult result) const;

  Device& device_;
  DiskCache disk_;
  std::vector<std::string> options_;
  CompiledKernels own_;  // if no others are given
  CompiledKernels& shared_;
  std::unique_ptr<Nvrtc> nvrtc_;  // null until something is compiled
  std::string version_;           // NVRTC's version in the keys
  std::optional<Digester> base_;  // the common start of all keys
  std::unordered_map<Digest, CUmodule, DigestHash> units_;
  std::unordered_map<Digest, CUfunction, DigestHash> functions_;
  std::unordered_map<CUfunction, std::string> names_;
  // Functions by kernel text: comparing texts costs less than hashing one.
  std::unordered_map<KernelText, CUfunction, KernelTextHash> functions_by_text_;
  KernelCacheStats stats_;
};

/// The launch parameters that were found best by measuring, kept on disk beside the kernels. Belongs to one device. A
/// choice is kept for the code that a launch has by default and for the class of its sizes:
/// the powers of two that they lie between.
class LaunchChoices {
 public:
  /// `options` are those of NVRTC, which code depends on.
  LaunchChoices(DiskCache disk, std::string arch, std::span<const std::string> options);

  /// Returns what was kept for a launch with these kernels, if anything.
  std::optional<LaunchParameters> find(const GeneratedKernels& usual);
  /// Keeps a choice. Returns whether it is on disk now.
  bool keep(const GeneratedKernels& usual, const LaunchParameters& parameters);

 private:
  Digester base() const;
  Digest key_of(const GeneratedKernels& usual) const;

  DiskCache disk_;
  const std::string arch_;
  std::string options_;
  std::optional<bool> has_any_;  // on disk; most users have none, and need no keys
  std::unordered_map<Digest, std::optional<LaunchParameters>, DigestHash> known_;
};

/// Translates the backend's options to NVRTC's.
std::vector<std::string> kernel_options(const exec::BackendOptions& options);

/// Returns the number of programs for kernels that take as long to compile as `work` short ones.
size_t unit_count(size_t work, size_t threads);

/// keys_for() starts the keys of all kernels for one architecture, NVRTC version and set of options. key_of() completes
/// the key of one kernel.
Digester keys_for(const std::string& arch, const std::string& nvrtc_version, std::span<const std::string> options = {});
Digest key_of(const Digester& keys, const KernelSource& kernel);
/// Stores the cubin of a program under the keys of its kernels.
void store_unit(const DiskCache& disk, std::span<const Digest> kernels, Cubin cubin);

/// Compiles a kernel for `arch` as the cache would; needs no device, so CI can run it.
Cubin compile_only(const Nvrtc& nvrtc, const KernelSource& kernel, const std::string& arch,
                   std::span<const std::string> options = {});

/// Returns the version of the NVRTC for `target` as last stored on disk, or "" if another version may have been
/// installed since.
std::string recall_nvrtc_version(const DiskCache& disk, const NvrtcTarget& target = {});
void remember_nvrtc_version(const DiskCache& disk, const std::string& version, const std::string& path,
                            const NvrtcTarget& target = {});
/// Fails (device) if there is no NVRTC for `target`. Opens it only if the disk does not say that it is there.
void expect_nvrtc(const DiskCache& disk, const NvrtcTarget& target);

}  // namespace tsl::cuda
