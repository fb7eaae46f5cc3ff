// Random programs give the same output, bit for bit, and the same error on every tier.
//   TSL_RANDOM_SECONDS   for how long programs are run (default 60)
//   TSL_RANDOM_PROGRAMS  how many are run instead
//   TSL_RANDOM_FIRST     the number of the first one (default: another one each time, which the test prints)
//   TSL_RANDOM_SEED      only this one, as a failure names it
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
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

struct Ran {
  uint64_t count = 0;
  std::vector<std::string> reports;  // of programs that differ
};

/// Runs programs first, first + 1, …, or this shard's, on all cores: `count` of them, or until the time is over.
Ran run_programs(uint64_t first, uint64_t count, std::chrono::steady_clock::time_point end) {
  constexpr size_t kMaxReports = 5;  // shrinking takes time, and most have the same cause
  Shard shard;
  Ran ran;
  uint64_t next = first;
  std::mutex mutex;
  const auto take = [&]() -> std::optional<uint64_t> {
    const std::lock_guard lock(mutex);
    while (next < first + count && ran.reports.size() < kMaxReports && std::chrono::steady_clock::now() < end) {
      const uint64_t seed = next++;
      if (!shard.takes_next()) continue;
      ++ran.count;
      return seed;
    }
    return std::nullopt;
  };
  const auto work = [&] {
    while (const std::optional<uint64_t> seed = take()) {
      Block program = random_program(*seed);
      if (disagreement(to_text(program)).empty()) continue;
      std::string text = report(*seed, std::move(program));
      const std::lock_guard lock(mutex);
      ran.reports.push_back(std::move(text));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return ran;
}

}  // namespace

TEST_CASE("random programs agree on all tiers", "[random]") {
  const bool is_one = std::getenv("TSL_RANDOM_SEED") != nullptr;
  const uint64_t any = uint64_t{std::random_device()()} * 1'000'000;  // seeds of two runs hardly ever overlap
  const uint64_t first = number_from(is_one ? "TSL_RANDOM_SEED" : "TSL_RANDOM_FIRST", any);
  const uint64_t count = is_one ? 1 : number_from("TSL_RANDOM_PROGRAMS", UINT32_MAX);
  const std::chrono::seconds time(
      number_from("TSL_RANDOM_SECONDS", count < UINT32_MAX ? UINT32_MAX : TSL_RANDOM_SECONDS));
  const Ran ran = run_programs(first, count, std::chrono::steady_clock::now() + time);
  // WARN would break the line, which tools/test shows.
  std::cout << "to repeat it: TSL_RANDOM_FIRST=" << first << " TSL_RANDOM_PROGRAMS=" << ran.count << std::endl;
  for (const std::string& text : ran.reports) {
    UNSCOPED_INFO(text);
    CHECK(text.empty());
  }
  CHECK(ran.count > 0);
}

TEST_CASE("the same seed gives the same program", "[random]") {
  CHECK(to_text(random_program(3)) == to_text(random_program(3)));
  CHECK(to_text(random_program(3)) != to_text(random_program(4)));
}
