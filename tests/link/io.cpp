// Files need values, but no interpreter.
#include "io/json.h"
#include "io/npy.h"

int main() {
  auto* volatile load = &tsl::load_json;  // linked, not called
  return load ? 0 : 1;
}
