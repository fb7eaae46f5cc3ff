// The prompt runs without the program.
#include "engine/engine.h"
#include "prompt/completion.h"

int main() {
  tsl::Engine engine;
  return tsl::prompt::complete(engine, "softm", 5).candidates.empty() ? 1 : 0;
}
