#include "cli/main/program_entry.h"

#include "base/platform/memory_pages.h"
#include "cli/program.h"

int tsl_program(int argc, char** argv) {
  tsl::platform::merge_freed_blocks();
  return tsl::run_program(argc, argv);
}
