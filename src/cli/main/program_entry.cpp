#include <malloc.h>

#include "cli/main/program_entry.h"
#include "cli/program.h"

int tsl_program(int argc, char** argv) {
#ifdef M_MXFAST
  // Small blocks that were freed are merged at once: glibc would keep those of a large list, and merge them all later.
  mallopt(M_MXFAST, 0);
#endif
  return tsl::run_program(argc, argv);
}
