// `tsl cache`: manages the kernels on disk. Needs no GPU.
#include <algorithm>
#include <iostream>

#include "cli/program.h"

#ifdef TSL_HAS_CUDA
#include "backend/cuda/cache/disk_cache.h"
#include "tensor/block_cache.h"
#endif

namespace tsl {

#ifdef TSL_HAS_CUDA

namespace {

void show(const cuda::DiskCache& cache) {
  const cuda::DiskCache::Usage usage = cache.usage();
  std::cout << "folder   " << cache.folder() << '\n'
            << "entries  " << usage.entries << '\n'
            << "size     " << describe_bytes(usage.bytes) << " of at most " << describe_bytes(cache.cap()) << '\n';
  if (usage.entries > 0 && !cache.is_trusted())
    std::cout << "It is not used, because others may write to that folder.\n";
}

int clear(const cuda::DiskCache& cache) {
  const cuda::DiskCache::Usage before = cache.usage();
  cache.clear();
  const uint64_t left = cache.usage().entries;
  std::cout << "removed " << before.entries - std::min(left, before.entries) << " entries, "
            << describe_bytes(before.bytes) << '\n';
  if (left == 0) return 0;
  std::cerr << "error[io]: " << left << " entries in " << cache.folder() << " could not be removed\n";
  return kExitFailed;
}

int set_cap(const cuda::DiskCache& cache, uint64_t bytes) {
  if (!cache.set_cap(bytes)) {
    std::cerr << "error[io]: cannot write to " << cache.folder() << '\n';
    return kExitFailed;
  }
  cache.trim();
  show(cache);
  return 0;
}

}  // namespace

int run_cache(const CacheCommand& command) {
  const cuda::DiskCache cache(default_cache_folder());
  if (cache.folder().empty()) {
    std::cerr << "error[io]: there is no folder for a cache: set TSL_CACHE_DIR, XDG_CACHE_HOME or HOME\n";
    return kExitFailed;
  }
  switch (command.action) {
    case CacheCommand::Action::clear: return clear(cache);
    case CacheCommand::Action::cap: return set_cap(cache, command.cap);
    case CacheCommand::Action::show: break;
  }
  show(cache);
  return 0;
}

#else

int run_cache(const CacheCommand&) {
  std::cout << "This build has no CUDA backend, and so keeps no kernels.\n";
  return 0;
}

#endif

}  // namespace tsl
