// A host in which a second thread uses an engine by mistake, and reads the errors of its calls, while calls of a first
// one fail.
#include <atomic>
#include <string>
#include <thread>

#include "hosts/host.h"

using namespace tsl::hosts;

int main() {
  constexpr int kRefused = 2000;
  const auto engine = tsl::Engine::create().value();
  std::atomic<int> refused{0};
  std::thread first([&] {
    while (refused < kRefused) {
      auto text = engine.run("\"" + std::string(100, 'x') + "\"");
      if (text) require(!text->as<int64_t>(), "a text is no int");  // a misuse as well, whose error is the engine's
    }
  });
  alarm(60);
  while (refused < kRefused) {
    const auto result = engine.run("error(\"another sentence, which is not short either\")");
    if (result.error().kind == TSL_USER) continue;
    ++refused;
    require(result.error().kind == TSL_MISUSE, "a call is refused");
    require(result.error().message == "another thread uses the engine", "the refused thread reads why");
    require(result.error().name == "misuse", "the refused thread reads the name");
  }
  first.join();
}
