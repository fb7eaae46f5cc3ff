// Memory of the system beside that of the C library.
#pragma once

#include <cstddef>

namespace tsl::platform {

/// Takes memory that lasts as long as the process: address space, of which pages count once they are written. Returns
/// null if there is none.
void* take_pages(size_t bytes);

/// Asks for large pages, for fewer page faults. A wish: the system may have none.
void ask_for_large_pages(void* data, size_t bytes);

/// Makes the C library merge small blocks as they are freed: those of a large list would be kept, and all merged later.
void merge_freed_blocks();

}  // namespace tsl::platform
