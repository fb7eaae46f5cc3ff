// A host that ends while other threads run scripts, read sources and compute.
#include <chrono>
#include <string>
#include <thread>

#include "hosts/host.h"

using namespace tsl::hosts;

namespace {

/// Runs sources for ever in a thread that nobody waits for.
void run_in_background(std::string source) {
  std::thread([source = std::move(source)] {
    const auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
    for (int i = 0;; ++i) (void)engine.run(source + "\nfn name" + std::to_string(i) + "(x) = x + " + std::to_string(i));
  }).detach();
}

}  // namespace

int main() {
  for (int i = 0; i < 20; ++i) {
    require_process("a process ends while scripts run", 20, [i] {
      run_in_background(
          "let a = [1, 2.0, \"x\"]\nfor i in range(3) { if i > 1 { print(f\"{i}\") } else { print({a: i}) } }");
      run_in_background("@compile\nfn g(x) = sum(exp(x) @ x)\ng(ones([40, 40]))\nfoo(");
      run_in_background("eigh(eye(60))[0]\nhelp(sum)");
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * i));
    });
  }
}
