// The language runs as a library, without the program.
#include "engine/engine.h"

int main() {
  tsl::Engine engine;
  const tsl::Value value = engine.run("a.tsl", "sum(ones([3])).item() + 1");
  return value.is(tsl::Tag::real) && value.real() == 4 ? 0 : 1;
}
