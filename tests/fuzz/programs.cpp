// Runs well-formed programs, which a grammar makes of the bytes: interpreted and compiled, they print and raise the
// same. Without libFuzzer, FUZZ_SHOW prints each program. See tools/check --long fuzzers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/host.h"
#include "support/random_calls.h"
#include "support/random_programs.h"

namespace {

std::string program_of(const uint8_t* data, size_t size) {
  static const std::vector<std::string> builtins = tsl::builtins_to_call();
  tsl::Random random(std::span<const uint8_t>(data, size));
  tsl::RandomCalls calls(random, builtins);
  std::string text = tsl::RandomCalls::prelude();
  for (int i = 0, count = random.below(8); i < count; ++i) text += calls.next(i);
  if (random.chance(70)) text += to_text(tsl::random_program(random, ""));
  constexpr std::string_view kUse = "use f64\n";  // which comes first
  const size_t use = text.find(kUse);
  return use == std::string::npos ? text : std::string(kUse) + text.erase(use, kUse.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string program = program_of(data, size);
  if (std::getenv("FUZZ_SHOW")) std::fputs(program.c_str(), stdout);
  tsl::fuzz::Host interpreted(0), compiled(TSL_ALLOW_COMPILE);
  const std::optional<std::string> expected = interpreted.outcome(program), outcome = compiled.outcome(program);
  if (!expected || !outcome || *expected == *outcome) return 0;
  std::fprintf(stderr, "%s\n---- interpreted:\n%s\n---- compiled:\n%s\n", program.c_str(), expected->c_str(),
               outcome->c_str());
  tsl::fuzz::require(false, "a program does the same interpreted and compiled");
  return 0;
}
