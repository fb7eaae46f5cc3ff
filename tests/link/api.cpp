/* The C API needs the engine, and not the program. */
#include "tsl/tsl.h"

int main() {
  tsl_engine engine = {0};
  if (tsl_engine_create(nullptr, &engine) != TSL_OK) return 1;
  return tsl_engine_destroy(engine) == TSL_OK ? 0 : 1;
}
