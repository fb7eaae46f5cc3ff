#include "support/compare_random.h"

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
#include "support/shard.h"
#include "support/tiers.h"

namespace tsl {

namespace {

constexpr uint64_t kReports = 5;  // shrinking takes time, and most failures have the same cause

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
Ran run_programs(Block (*make)(uint64_t), uint64_t first, uint64_t count, std::chrono::steady_clock::time_point end) {
  const uint64_t most_reports = number_from("TSL_RANDOM_REPORTS", kReports);
  Shard shard;
  Ran ran;
  uint64_t next = first;
  std::mutex mutex;
  const auto take = [&]() -> std::optional<uint64_t> {
    const std::lock_guard lock(mutex);
    while (next < first + count && (most_reports == 0 || ran.reports.size() < most_reports) &&
           std::chrono::steady_clock::now() < end) {
      const uint64_t seed = next++;
      if (!shard.takes_next()) continue;
      ++ran.count;
      return seed;
    }
    return std::nullopt;
  };
  const auto work = [&] {
    while (const std::optional<uint64_t> seed = take()) {
      Block program = make(*seed);
      if (disagreement(to_text(program)).empty()) continue;
      std::string text = most_reports ? report(*seed, std::move(program)) : "TSL_RANDOM_SEED=" + std::to_string(*seed);
      const std::lock_guard lock(mutex);
      if (most_reports == 0) std::cout << text << std::endl;  // in case the run is ended
      ran.reports.push_back(std::move(text));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return ran;
}

}  // namespace

void check_random_programs(const RandomFamily& family) {
  const bool is_one = std::getenv("TSL_RANDOM_SEED") != nullptr;
  const bool is_counted = std::getenv("TSL_RANDOM_PROGRAMS") != nullptr,
             is_timed = std::getenv("TSL_RANDOM_SECONDS") != nullptr;
  const uint64_t any = uint64_t{std::random_device()()} * 1'000'000;  // seeds of two runs hardly ever overlap
  const uint64_t first = number_from(is_one ? "TSL_RANDOM_SEED" : "TSL_RANDOM_FIRST", any);
  const uint64_t count = is_one ? 1 : number_from("TSL_RANDOM_PROGRAMS", is_timed ? UINT32_MAX : family.programs);
  const std::chrono::seconds time(
      number_from("TSL_RANDOM_SECONDS", is_one || is_counted ? UINT32_MAX : family.seconds));
  const Ran ran = run_programs(family.make, first, count, std::chrono::steady_clock::now() + time);
  // WARN would break the line, which tools/test shows.
  std::cout << "to repeat it: TSL_RANDOM_FIRST=" << first << " TSL_RANDOM_PROGRAMS=" << ran.count << std::endl;
  for (const std::string& text : ran.reports) {
    UNSCOPED_INFO(text);
    CHECK(text.empty());
  }
  CHECK(ran.count > 0);
}

}  // namespace tsl
