#include "backend/cuda/driver/kernel_cache.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <future>
#include <unordered_set>
#include <utility>

#include "backend/cuda/driver/work_log.h"
#include "backend/cuda/kernels/launch_candidates.h"
#include "backend/cuda/source/prelude.h"
#include "base/error_names.h"
#include "base/platform/file_status.h"
#include "base/platform/machine.h"

namespace tsl::cuda {

namespace {

// ---- Entries on disk: a cubin, or the digest of the program that holds the kernel; the last byte says which ----

constexpr std::byte kIsCubin{'c'}, kIsReference{'r'};

Bytes cubin_entry(Cubin cubin) {
  cubin.push_back(kIsCubin);
  return cubin;
}

Bytes reference_entry(const Digest& unit) {
  Bytes entry(sizeof unit);
  std::memcpy(entry.data(), &unit, sizeof unit);
  entry.push_back(kIsReference);
  return entry;
}

/// Checks for an ELF file: the driver would read anything else as a text and search for its end.
bool is_cubin(std::span<const std::byte> entry) {
  constexpr char magic[] = {0x7f, 'E', 'L', 'F'};
  if (entry.size() <= sizeof magic || entry.back() != kIsCubin) return false;
  return std::memcmp(entry.data(), magic, sizeof magic) == 0;
}

std::optional<Digest> reference_in(const Bytes& entry) {
  if (entry.size() != sizeof(Digest) + 1 || entry.back() != kIsReference) return {};
  Digest unit;
  std::memcpy(&unit, entry.data(), sizeof unit);
  return unit;
}

Digest digest_of_unit(std::span<const Digest> keys) {
  if (keys.size() == 1) return keys[0];
  Digester digester;
  digester.add("unit");
  for (const Digest& key : keys) digester.add(std::as_bytes(std::span(&key, 1)));
  return digester.digest();
}

// ---- NVRTC's version ----

Digest key_of_version(const NvrtcTarget& target) {
  const std::string driver = std::to_string(target.driver_version);
  return Digester().add("nvrtc version").add(driver).add(target.arch).add(search_state()).digest();
}

/// Returns a text that changes with the file's state; "" if there is no file.
std::string state_of(const std::string& path) {
  const std::optional<platform::FileStatus> found = platform::status_of(path);
  return found ? fmt::format("{} {} {} {}", found->size, found->seconds, found->nanoseconds, path) : "";
}

}  // namespace

// Format of the entry: the version, a line feed, the file's state.
std::string recall_nvrtc_version(const DiskCache& disk, const NvrtcTarget& target) {
  const std::optional<Bytes> entry = disk.find(key_of_version(target));
  if (!entry) return {};
  const std::string text(reinterpret_cast<const char*>(entry->data()), entry->size());
  const size_t end = text.find('\n');
  if (end == std::string::npos) return {};
  const std::string state = text.substr(end + 1), path = state.substr(std::min(state.find('/'), state.size()));
  return !state.empty() && state == state_of(path) ? text.substr(0, end) : std::string();
}

void remember_nvrtc_version(const DiskCache& disk, const std::string& version, const std::string& path,
                            const NvrtcTarget& target) {
  const std::string state = state_of(path);
  if (state.empty() || path[0] != '/') return;
  const std::string text = version + "\n" + state;
  disk.store(key_of_version(target), std::as_bytes(std::span(text.data(), text.size())));
}

void expect_nvrtc(const DiskCache& disk, const NvrtcTarget& target) {
  if (!recall_nvrtc_version(disk, target).empty()) return;
  const Nvrtc nvrtc(target);
  remember_nvrtc_version(disk, nvrtc.version(), nvrtc.path(), target);
}

std::vector<std::string> kernel_options(const exec::BackendOptions& options) {
  std::vector<std::string> out;
  if (options.portable) out.push_back("--define-macro=TSL_PORTABLE");
  return out;
}

Digester keys_for(const std::string& arch, const std::string& nvrtc_version, std::span<const std::string> options) {
  Digester keys;
  keys.add("kernel").add(prelude()).add(arch).add(nvrtc_version);
  for (const std::string& option : Nvrtc::base_options(nvrtc_version)) keys.add(option);
  for (const std::string& option : options) keys.add(option);
  return keys;
}

Digest key_of(const Digester& keys, const KernelSource& kernel) {
  return Digester(keys).add(kernel.name).add(kernel.source).digest();
}

namespace {

/// Calls store(key, entry) for the entries of a program with these kernels.
template <class Store> void for_each_entry(std::span<const Digest> kernels, Cubin cubin, Store&& store) {
  const Digest unit = digest_of_unit(kernels);
  store(unit, cubin_entry(std::move(cubin)));
  if (kernels.size() == 1) return;
  for (const Digest& kernel : kernels) store(kernel, reference_entry(unit));
}

}  // namespace

void store_unit(const DiskCache& disk, std::span<const Digest> kernels, Cubin cubin) {
  for_each_entry(kernels, std::move(cubin), [&](const Digest& key, const Bytes& entry) { disk.store(key, entry); });
}

Cubin compile_only(const Nvrtc& nvrtc, const KernelSource& kernel, const std::string& arch,
                   std::span<const std::string> options) {
  return nvrtc.compile(program_of({&kernel}), arch, options);
}

// Opening a program takes NVRTC 20 to 40 ms, one program after the other; each kernel of 512 bytes takes 10 to 30 ms
// more, in parallel. So the best number of programs grows with the square root of the work.
size_t unit_count(size_t work, size_t threads) {
  const auto best = static_cast<size_t>(std::sqrt(static_cast<double>(work) / 3));
  return std::max<size_t>(1, std::min(best, threads));
}

namespace {

/// Returns how many short kernels take as long to compile: rows in registers are unrolled, to as much as 30 KB of text.
size_t work_of(const KernelSource& kernel) {
  constexpr size_t kShort = 512;
  return 1 + kernel.source.size() / kShort;
}

}  // namespace

KernelCache::KernelCache(Device& device, DiskCache disk, std::vector<std::string> options, CompiledKernels* shared)
    : device_(device), disk_(std::move(disk)), options_(std::move(options)), shared_(shared ? *shared : own_) {}

// Only a process that has added kernels trims the folder, and only at its end, where nothing waits for it.
KernelCache::~KernelCache() {
  if (stats_.compiled > 0) disk_.trim();
  for (const auto& [unit, module] : units_) device_.driver().cuModuleUnload(module);
}

CUfunction KernelCache::get(const std::string& name, const std::string& source) {
  const KernelSource kernel{name, source};
  return get_many({&kernel, 1})[0];
}

std::vector<CUfunction> KernelCache::get_many(std::span<const KernelSource> kernels) {
  prepare_keys();
  std::vector<Request> wanted, missing;
  std::unordered_set<Digest, DigestHash> seen;
  for (const KernelSource& kernel : kernels) {
    wanted.push_back({key_of(*base_, kernel), &kernel});
    if (functions_.count(wanted.back().key)) ++stats_.from_memory;
    else if (seen.insert(wanted.back().key).second) missing.push_back(wanted.back());
  }
  load_stored(missing);
  if (!missing.empty()) {
    if (open_nvrtc()) return get_many(kernels);  // the keys were for another version
    std::vector<Digest> keys;
    for (const Request& each : missing) keys.push_back(each.key);
    const CompiledKernels::Claim claim(shared_, std::move(keys));
    load_stored(missing);  // another engine may have compiled them meanwhile
    if (!missing.empty()) compile(missing);
  }
  std::vector<CUfunction> functions;
  for (const Request& each : wanted) functions.push_back(functions_.at(each.key));
  return functions;
}

std::vector<CUfunction> KernelCache::get_many(std::span<CudaKernel* const> kernels) {
  std::vector<CUfunction> functions;
  std::vector<KernelSource> missing;
  functions.reserve(kernels.size());
  for (const CudaKernel* cuda_kernel : kernels) {
    const auto known = functions_by_text_.find(cuda_kernel->text);
    functions.push_back(known == functions_by_text_.end() ? nullptr : known->second);
    if (functions.back()) ++stats_.from_memory;
    else missing.push_back({cuda_kernel->name(), cuda_kernel->source(), cuda_kernel->is_for_one_arch});
  }
  if (missing.empty()) return functions;
  const std::vector<CUfunction> found = get_many(missing);
  auto next = found.begin();
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!functions[i]) functions[i] = functions_by_text_[kernels[i]->text] = *next++;
  }
  return functions;
}

void KernelCache::prepare_keys() {
  if (base_) return;
  if (version_.empty()) version_ = recall_nvrtc_version(disk_, device_.nvrtc_target());
  if (version_.empty()) open_nvrtc();
  base_ = keys_for(device_.arch(), version_, options_);
}

/// Opens NVRTC. Returns whether its version is not the expected one, so that keys must be computed again.
bool KernelCache::open_nvrtc() {
  if (nvrtc_) return false;
  nvrtc_ = std::make_unique<Nvrtc>(device_.nvrtc_target());
  if (nvrtc_->version() == version_) return false;
  version_ = nvrtc_->version();
  base_.reset();
  functions_.clear();
  functions_by_text_.clear();
  remember_nvrtc_version(disk_, version_, nvrtc_->path(), device_.nvrtc_target());
  return true;
}

// ---- From the process' memory and from disk ----

/// Loads the kernels that are stored, and removes them from `missing`.
void KernelCache::load_stored(std::vector<Request>& missing) {
  const auto is_loaded = [&](const Request& each) { return load_stored(each); };
  missing.erase(std::remove_if(missing.begin(), missing.end(), is_loaded), missing.end());
}

/// Loads a kernel from its entry. An entry that the driver rejects counts as missing: the kernel is compiled again.
bool KernelCache::load_stored(const Request& wanted) {
  const StoredModule stored = find_stored(wanted);
  CUfunction function = nullptr;
  if (!stored.module) return false;
  if (device_.driver().cuModuleGetFunction(&function, stored.module, wanted.kernel->name.c_str()) != CUDA_SUCCESS)
    return false;
  functions_[wanted.key] = function;
  names_[function] = wanted.kernel->name;
  ++(stored.is_of_process ? stats_.from_process : stats_.from_disk);
  return true;
}

KernelCache::StoredModule KernelCache::find_stored(const Request& wanted) {
  StoredModule out;
  const auto find = [&](const Digest& key) {
    std::shared_ptr<const Bytes> entry = shared_.find(key);
    out.is_of_process = entry != nullptr;
    if (entry) return entry;
    std::optional<Bytes> on_disk = disk_.find(key);
    return on_disk ? std::make_shared<const Bytes>(std::move(*on_disk)) : nullptr;
  };
  std::shared_ptr<const Bytes> entry = find(wanted.key);
  Digest unit = wanted.key;
  if (const std::optional<Digest> reference = entry ? reference_in(*entry) : std::nullopt) {
    unit = *reference;
    if (const auto loaded = units_.find(unit); loaded != units_.end()) {
      out.module = loaded->second;
      return out;
    }
    entry = find(unit);
  }
  CUresult result = CUDA_SUCCESS;
  if (entry && is_cubin(*entry)) out.module = load(unit, *entry, result);
  return out;
}

/// Loads a module, which the cache owns. Returns null, and sets `result`, if this fails.
CUmodule KernelCache::load(const Digest& unit, std::span<const std::byte> cubin, CUresult& result) {
  CUmodule module = nullptr;
  result = device_.driver().cuModuleLoadData(&module, cubin.data());
  if (result != CUDA_SUCCESS) return nullptr;
  CUmodule& slot = units_[unit];
  if (slot) device_.driver().cuModuleUnload(slot);  // it lacked the kernel, so no function of it is in use
  return slot = module;
}

/// Fails if the driver is too old for what NVRTC has compiled.
void KernelCache::check_loaded(CUresult result) const {
  if (result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    fail(ErrorName::driver_unusable,
         "the NVIDIA driver, which is for CUDA {}, does not take what NVRTC {} compiled for {}: {}; update the driver, "
         "install an older NVRTC, or run with --device cpu",
         device_.driver().version(), version_, device_.arch(), device_.driver().describe(result));
  }
  device_.check(result, "loading a kernel");
}

// ---- By compiling ----

/// Divides the kernels into programs of about equal work, the longest kernels first. Kernels of equal names, or for
/// other architectures, go into different programs.
std::vector<KernelCache::CompilationUnit> KernelCache::divide(std::span<const Request> wanted) {
  std::vector<Request> longest_first(wanted.begin(), wanted.end());
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const Request& a, const Request& b) { return work_of(*a.kernel) > work_of(*b.kernel); });
  size_t work = 0;
  for (const Request& each : wanted) work += work_of(*each.kernel);
  const size_t most = std::min(wanted.size(), static_cast<size_t>(platform::machine_limits().cpus));
  std::vector<CompilationUnit> units(unit_count(work, most));
  std::vector<size_t> load(units.size());
  for (const Request& each : longest_first) {
    const auto is_unlike = [&](const Request& other) {
      return other.kernel->name == each.kernel->name || other.kernel->is_for_one_arch != each.kernel->is_for_one_arch;
    };
    const size_t least = std::min_element(load.begin(), load.end()) - load.begin();
    if (std::any_of(units[least].begin(), units[least].end(), is_unlike)) {
      units.push_back({each});
      load.push_back(work_of(*each.kernel));
    } else {
      units[least].push_back(each);
      load[least] += work_of(*each.kernel);
    }
  }
  return units;
}

void KernelCache::compile(std::span<const Request> wanted) {
  const exec::ActivityScope scope(device_.log() ? device_.log()->timeline() : nullptr, exec::ActivityKind::generate);
  const std::vector<CompilationUnit> units = divide(wanted);
  // This thread compiles the first program. If no thread can be started, it also compiles the others, when their
  // results are read.
  std::vector<std::future<Cubin>> others;
  for (size_t i = 1; i < units.size(); ++i) {
    others.push_back(std::async(std::launch::async | std::launch::deferred,
                                [this, &unit = units[i]] { return compile_unit(unit); }));
  }
  keep_unit(units[0], compile_unit(units[0]));
  for (size_t i = 1; i < units.size(); ++i) keep_unit(units[i], others[i - 1].get());
}

Cubin KernelCache::compile_unit(const CompilationUnit& unit) const {
  std::vector<const KernelSource*> kernels;
  for (const Request& wanted : unit) kernels.push_back(wanted.kernel);
  std::string arch = device_.arch();
  if (unit.front().kernel->is_for_one_arch) arch += 'a';
  return nvrtc_->compile(program_of(std::move(kernels)), arch, options_);
}

void KernelCache::keep_unit(const CompilationUnit& unit, Cubin cubin) {
  std::vector<Digest> keys;
  for (const Request& wanted : unit) keys.push_back(wanted.key);
  const Digest digest = digest_of_unit(keys);
  CUresult result = CUDA_SUCCESS;
  CUmodule module = load(digest, cubin, result);
  check_loaded(result);
  for (const Request& wanted : unit) {
    CUfunction function = nullptr;
    device_.check(device_.driver().cuModuleGetFunction(&function, module, wanted.kernel->name.c_str()),
                  "looking up a kernel");
    functions_[wanted.key] = function;
    names_[function] = wanted.kernel->name;
    ++stats_.compiled;
  }
  for_each_entry(keys, std::move(cubin), [&](const Digest& key, Bytes entry) {
    disk_.store(key, entry);
    shared_.store(key, std::move(entry));
  });
}

CUfunction KernelCache::compile_edited(const std::string& name, const std::string& program) {
  open_nvrtc();
  const Cubin cubin = nvrtc_->compile({program, {}, true}, device_.arch(), {});
  CUresult result = CUDA_SUCCESS;
  const CUmodule module = load(Digester().add("edited").add(program).digest(), cubin, result);
  check_loaded(result);
  CUfunction function = nullptr;
  if (device_.driver().cuModuleGetFunction(&function, module, name.c_str()) != CUDA_SUCCESS)
    fail(ErrorName::edited_code_refused, "the edited code defines no extern \"C\" __global__ function {}", name);
  names_[function] = name;
  return function;
}

KernelCache::Resources KernelCache::resources(CUfunction function) const {
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    device_.check(device_.driver().cuFuncGetAttribute(&value, which, function), "asking for a kernel's needs");
    return value;
  };
  Resources resources;
  resources.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  resources.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  resources.shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  resources.max_threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  return resources;
}

double KernelCache::occupancy(CUfunction function, int threads, uint64_t dynamic_shared) const {
  int blocks = 0;
  device_.check(
      device_.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, dynamic_shared),
      "asking for a kernel's occupancy");
  return static_cast<double>(blocks) * threads / device_.properties().threads_per_multiprocessor;
}

// ---- Launch choices ----

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

int size_class(int64_t size) { return std::bit_width(static_cast<uint64_t>(size)); }

}  // namespace

LaunchChoices::LaunchChoices(DiskCache disk, std::string arch, std::span<const std::string> options)
    : disk_(std::move(disk)), arch_(std::move(arch)) {
  for (const std::string& option : options) options_ += option + "\n";
}

Digester LaunchChoices::base() const { return Digester().add("launch choices").add(arch_).add(options_); }

Digest LaunchChoices::key_of(const GeneratedKernels& usual) const {
  Digester key = base();
  for (const CudaKernel& cuda_kernel : usual.kernels) {
    std::string sizes = cuda_kernel.name();
    const auto add = [&](int64_t size) { sizes += fmt::format(" {}", size_class(size)); };
    add(cuda_kernel.blocks);
    for (const KernelArg& argument : cuda_kernel.arguments) {
      if (argument.kind == KernelArg::Kind::integer && !argument.symbol) add(argument.value);
    }
    key.add(sizes);
  }
  return key.digest();
}

std::optional<LaunchParameters> LaunchChoices::find(const GeneratedKernels& usual) {
  if (!has_any_) has_any_ = disk_.find(base().digest()).has_value();
  if (!*has_any_ || usual.kernels.empty()) return {};
  const Digest key = key_of(usual);
  const auto [at, is_new] = known_.try_emplace(key);
  if (!is_new) return at->second;
  if (const std::optional<Bytes> entry = disk_.find(key))
    at->second = parse_launch_parameters({reinterpret_cast<const char*>(entry->data()), entry->size()});
  return at->second;
}

bool LaunchChoices::keep(const GeneratedKernels& usual, const LaunchParameters& parameters) {
  if (usual.kernels.empty()) return false;
  has_any_ = true;
  const Digest key = key_of(usual);
  known_[key] = parameters;
  const std::string text = to_string(parameters);
  return disk_.store(base().digest(), {}) && disk_.store(key, bytes_of(text));
}

}  // namespace tsl::cuda
