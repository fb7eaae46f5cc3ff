#include "base/platform/memory_pages.h"

#include <malloc.h>
#include <sys/mman.h>

namespace tsl::platform {

void* take_pages(size_t bytes) {
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

void ask_for_large_pages(void* data, size_t bytes) { ::madvise(data, bytes, MADV_HUGEPAGE); }

void merge_freed_blocks() {
#ifdef M_MXFAST
  ::mallopt(M_MXFAST, 0);
#endif
}

}  // namespace tsl::platform
