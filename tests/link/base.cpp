// Links against tsl_base alone.
#include "base/error.h"

int main() {
  tsl::SourceMap sources;
  const uint32_t id = sources.add("a.tsl", "x");
  return sources.location({id, 0, 1}) == "a.tsl:1" ? 0 : 1;
}
