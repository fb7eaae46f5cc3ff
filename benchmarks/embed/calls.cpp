// What the C API costs: making engines, and calling functions with memory of the program.
//
//     cmake --install build/release --prefix /tmp/tsl
//     c++ -std=c++20 -O2 calls.cpp -I/tmp/tsl/include -L/tmp/tsl/lib -ltsl -Wl,-rpath,/tmp/tsl/lib && ./a.out
#include <chrono>
#include <cstdio>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

/// Returns the nanoseconds of a turn, the least of five rounds.
template <class Turn> double nanoseconds(int turns, Turn&& turn) {
  using Clock = std::chrono::steady_clock;
  double least = 1e18;
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < turns; ++i) turn();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    least = std::min(least, took.count() / turns);
  }
  return least;
}

}  // namespace

int main() {
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
  engine
      .run(
          "@compile\nfn scale(x) = x * 2.0 + 1.0\n"
          "fn same(x) = x\n"
          "fn loop(x, n) { var y = x\n for i in 0..n { y = scale(x) }\n return y }")
      .value();
  const std::vector<float> numbers(8, 1.0f);
  const tsl::Tensor x = engine.wrap(std::span(numbers), {8}).value();
  constexpr int kTurns = 100'000;
  for (const char* name : {"same", "scale"}) {
    const tsl::Value function = engine.get(name).value();
    const tsl_value argument = x.handle();
    std::printf("tsl_call of %s: %.0f ns\n", name, nanoseconds(kTurns, [&] {
                  tsl_value result = {0};
                  tsl_call(engine.handle(), function.handle(), &argument, 1, &result);
                  tsl_release(engine.handle(), result);
                }));
  }
  const tsl::Value loop = engine.get("loop").value();
  std::printf("scale, called by the script: %.0f ns\n",
              nanoseconds(5, [&] { engine.call(loop, x, kTurns).value(); }) / kTurns);
  std::printf("an engine: %.0f us\n", nanoseconds(50, [] { tsl::Engine::create().value(); }) / 1e3);
  return 0;
}
