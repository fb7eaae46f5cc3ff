// Random programs give the same output, bit for bit, and the same error on every tier.
//   TSL_RANDOM_PROGRAMS  how many (default 4000, fewer under sanitizers), from TSL_RANDOM_FIRST on (default 1)
//   TSL_RANDOM_SEED      only this one, as a failure names it
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "support/random_programs.h"
#include "support/shard.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string report(uint64_t seed, Block program) {
  program = shrunk(std::move(program));
  const std::string text = to_text(program);
  return "TSL_RANDOM_SEED=" + std::to_string(seed) + "\n" + text + disagreement(text);
}

/// Runs programs begin, begin + 1, …, or this shard's, on all cores; returns the reports of those that differ.
std::vector<std::string> run_programs(uint64_t begin, uint64_t count) {
  constexpr size_t kMaxReports = 5;  // shrinking takes time, and most have the same cause
  Shard shard;
  std::vector<uint64_t> seeds;
  for (uint64_t seed = begin; seed < begin + count; ++seed) {
    if (shard.takes_next()) seeds.push_back(seed);
  }
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> reports;
  auto work = [&] {
    for (size_t at = next++; at < seeds.size(); at = next++) {
      const uint64_t seed = seeds[at];
      Block program = random_program(seed);
      if (disagreement(to_text(program)).empty()) continue;
      std::string text = report(seed, std::move(program));
      const std::lock_guard lock(mutex);
      reports.push_back(std::move(text));
      if (reports.size() >= kMaxReports) next = seeds.size();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return reports;
}

}  // namespace

TEST_CASE("random programs agree on all tiers", "[random]") {
  const char* seed = std::getenv("TSL_RANDOM_SEED");
  const std::vector<std::string> reports =
      seed ? run_programs(number_from("TSL_RANDOM_SEED", 0), 1)
           : run_programs(number_from("TSL_RANDOM_FIRST", 1), number_from("TSL_RANDOM_PROGRAMS", TSL_RANDOM_PROGRAMS));
  for (const std::string& text : reports) {
    UNSCOPED_INFO(text);
    CHECK(text.empty());
  }
}

TEST_CASE("the same seed gives the same program", "[random]") {
  CHECK(to_text(random_program(3)) == to_text(random_program(3)));
  CHECK(to_text(random_program(3)) != to_text(random_program(4)));
}
