// Generates attacks on a host program: every builtin with long texts, long lists and shared parts, until a deadline or
// an interrupt.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api.h"
#include "catch.h"

namespace tsl::api_test {

namespace {

constexpr double kDeadline = 0.05;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kGrace = 0.2;
#else
constexpr double kGrace = 0.05;  // processor time by which a run may end later
#endif

constexpr int kMostTries = 20;

/// What the programs call builtins with, each long enough to keep one busy.
const char* const kArguments[][2] = {
    {"text", "\"ab\" * 2000000"},
    {"other", "\"ab\" * 1000000 + \"c\""},
    {"wide", "\"äb€\" * 300000"},
    {"blank", "\" \" * 3000000"},
    {"numbers", "range(0, 400000, 2)"},
    {"texts", "[\"x\" * 1000000 + \"y\", \"x\" * 1000000 + \"z\"] * 3000"},
    {"shared", "[[[1, 2, 3] * 30] * 300] * 300"},
    {"pair", "([0] * 300000, \"ab\" * 100000)"},
    {"record", "{a: \"x\" * 1000000, b: [1] * 100000, c: {d: [[0] * 1000] * 1000}}"},
    {"span", "0..100000000"},
    {"key", "\"k\" * 3000000"},
    {"x", "ones([400, 400])"},
    {"i", "3"},
    {"f", "fn(a, b = nil) = a"},
};

double processor_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void prepare(Fixture& t) {
  for (const auto& [name, value] : kArguments) {
    tsl_status status = TSL_LIMIT;
    for (int i = 0; i < kMostTries && status == TSL_LIMIT; ++i)  // on a busy machine a deadline may come too early
      status = t.run(std::string("let ") + name + " = " + value);
    INFO(name << ": " << t.message());
    REQUIRE(status == TSL_OK);
  }
}

/// Returns the names of all builtins, as help() lists them.
std::vector<std::string> builtins() {
  Fixture t;
  REQUIRE(t.run("help()") == TSL_OK);
  std::istringstream words(t.printed.substr(t.printed.find("Builtins:") + 9));
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  REQUIRE(names.size() > 100);
  return names;
}

class Generator {
 public:
  std::string next() {
    static const char* const kOperators[] = {"==", "<", "in", "+", "*", "!="};
    if (random_() % 8 == 0) return argument() + " " + kOperators[random_() % std::size(kOperators)] + " " + argument();
    std::string call = names_[random_() % names_.size()] + "(" + argument();
    for (auto more = random_() % 3; more > 0; --more) call += ", " + argument();
    return call + ")";
  }

 private:
  std::string argument() { return kArguments[random_() % std::size(kArguments)][0]; }

  std::vector<std::string> names_ = builtins();
  std::mt19937 random_{11};
};

/// Returns how many programs are to take part that a builtin accepts.
int wanted_programs() {
  const char* const given = std::getenv("TSL_ATTACK_PROGRAMS");
  return given ? std::atoi(given) : 100;
}

/// Interrupts an engine after the deadline, while it exists.
class Interrupter {
 public:
  explicit Interrupter(tsl_engine engine)
      : thread_([this, engine] {
          const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kDeadline);
          while (!is_done_ && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (!is_done_) tsl_interrupt(engine);
        }) {}
  ~Interrupter() {
    is_done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

/// A run of a program: the processor time beyond its deadline, and whether the builtin accepted its arguments.
struct Attack {
  double late;
  bool is_accepted;
};

Attack run(Fixture& t, const std::string& program, bool is_interrupted) {
  const double begin = processor_seconds();
  tsl_status status = TSL_OK;
  if (is_interrupted) {
    const Interrupter interrupter(t.engine);
    status = t.run(program);
  } else {
    status = t.run(program);
  }
  const double late = processor_seconds() - begin - kDeadline;
  tsl_cancel_interrupt(t.engine);
  t.printed.clear();
  return {late, status == TSL_OK || status == TSL_LIMIT || status == TSL_INTERRUPT || status == TSL_EXIT};
}

/// Runs a program, thrice at most as others may delay it, and checks that it ended in time.
bool check_in_time(Fixture& t, const std::string& program, bool is_interrupted) {
  constexpr int kMostRuns = 3;
  Attack attack = run(t, program, is_interrupted);
  for (int runs = 1; runs < kMostRuns && attack.late >= kGrace; ++runs)
    attack.late = std::min(attack.late, run(t, program, is_interrupted).late);
  INFO(program);
  CHECK(attack.late < kGrace);
  return attack.is_accepted;
}

std::function<void(tsl_config&)> limits(bool is_interrupted) {
  return [=](tsl_config& config) {
    config.threads = 1;  // so that processor time is not more than the time that passes
    if (!is_interrupted) config.time_limit = kDeadline;
    config.memory_limit = uint64_t{1} << 30;
    config.host_memory_limit = uint64_t{128} << 20;
    config.element_limit = uint64_t{1} << 26;
  };
}

void attack(bool is_interrupted) {
  Fixture t(limits(is_interrupted));
  prepare(t);
  Generator generator;
  const int wanted = wanted_programs();
  REQUIRE(wanted > 0);
  for (int accepted = 0; accepted < wanted;) { accepted += check_in_time(t, generator.next(), is_interrupted); }
}

}  // namespace

TEST_CASE("every builtin ends at the deadline, whatever it is called with", "[api][limits][attack]") { attack(false); }

TEST_CASE("every builtin ends at an interrupt, whatever it is called with", "[api][limits][attack]") { attack(true); }

TEST_CASE("programs that were late by seconds end at the deadline, and at an interrupt", "[api][limits][attack]") {
  const char* const programs[] = {
      "(\"a\" * 10000000).strip(\"b\" * 10000000 + \"a\")",
      "(\"a\" * 2000000).replace(\"a\" * 1000000 + \"b\", \"c\")",
      "\"a\" * 500000 + \"b\" in \"a\" * 1000000",
      "(\"a\" * 2000000).split(\"a\" * 1000000 + \"b\")",
      "sorted(texts)",
      "sorted(map(fn(i) = texts[i % 2], 0..1000000))",
      "5 in [texts] * 5000000",
      "texts == map(fn(t) = t + \"\", texts[:50])",
      "stack(numbers)",
      "join(text, text)",
      "str(shared)",
      "help(key)",
  };
  for (const bool is_interrupted : {false, true}) {
    Fixture t(limits(is_interrupted));
    prepare(t);
    for (const char* program : programs) check_in_time(t, program, is_interrupted);
    CHECK(t.run("1 + 1") == TSL_OK);
  }
}

TEST_CASE("the text of a result ends at the deadline, and the engine runs on", "[api][limits][attack]") {
  Fixture t(limits(false));
  prepare(t);
  double late = kGrace;
  for (int runs = 0; runs < 3 && late >= kGrace; ++runs) {
    tsl_string text = {nullptr, 0};
    const double begin = processor_seconds();
    CHECK(tsl_to_text(t.engine, t.get("shared"), &text) == TSL_LIMIT);
    late = processor_seconds() - begin - kDeadline;
  }
  CHECK(late < kGrace);
  CHECK(t.text(t.eval("1 + 1")) == "2");
}

}  // namespace tsl::api_test
