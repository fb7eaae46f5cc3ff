// Random programs give the same output, bit for bit, and the same error on every tier. compare_random.h lists the
// variables that say which programs are run.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "catch.h"
#include "support/compare_random.h"
#include "support/program_text.h"
#include "support/random_lets.h"
#include "support/random_programs.h"
#include "support/tiers.h"

using namespace tsl;

TEST_CASE("random programs agree on all tiers", "[random]") {
  check_random_programs({random_program, UINT32_MAX, TSL_RANDOM_SECONDS});
}

TEST_CASE("random functions of many lets agree on all tiers", "[random]") {
  const char* const number = std::getenv("TSL_RANDOM_LETS");  // tools/test has more after some changes
  check_random_programs({random_lets, number ? std::stoul(number) : TSL_RANDOM_LETS, 150});
}

TEST_CASE("a program that differs shrinks to a few lines", "[random]") {
  Block program = random_lets(5);
  program.emplace_back("print(counters().traces)");
  const std::string text = to_text(shrunk(std::move(program)));
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 6);
  CHECK_FALSE(disagreement(text).empty());
}

TEST_CASE("a line shrinks to parts of its expressions", "[random]") {
  const auto shrinks = [](const char* line, const char* simpler) {
    const std::vector<std::string> all = simpler_lines(line);
    return std::find(all.begin(), all.end(), simpler) != all.end();
  };
  CHECK(shrinks("let a = roll(b * c, 1, axis: 0)", "let a = b * c"));
  CHECK(shrinks("let a = roll(b * c, 1, axis: 0)", "let a = roll(c, 1, axis: 0)"));
  CHECK(shrinks("let a = roll(b, 1, axis: 0)", "let a = roll(b, 1)"));
  CHECK(shrinks("let a = b - mean(c)", "let a = b"));
  CHECK(shrinks("let a = b[::-1] + c", "let a = b + c"));
  CHECK(shrinks("return [a, b, c]", "return [a, c]"));
  CHECK(shrinks("print(f(x * 1.0, y))", "print(f(x, y))"));
  CHECK(identifiers("roll(b * c, 1, axis: 0).shape + b") == std::vector<std::string>{"b", "c"});
  CHECK(with_name("let ab = b + bb * b.shape", "b", "x") == "let ab = x + bb * x.shape");
  CHECK(without_argument("fn f(a: [n, m], b: [n])", "f", 1) == "fn f(a: [n, m])");
  CHECK(without_argument("print(f(g(a, b), c) + f(d, e))", "f", 0) == "print(f(c) + f(e))");
}

TEST_CASE("the same seed gives the same program", "[random]") {
  CHECK(to_text(random_program(3)) == to_text(random_program(3)));
  CHECK(to_text(random_program(3)) != to_text(random_program(4)));
  CHECK(to_text(random_lets(3)) == to_text(random_lets(3)));
  CHECK(to_text(random_lets(3)) != to_text(random_lets(4)));
}

TEST_CASE("hardly any function of many lets raises an error", "[random]") {
  int failed = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string text = outcome(to_text(random_lets(seed)), Tier::eager);
    if (const size_t error = text.find("error["); error != std::string::npos) {
      UNSCOPED_INFO(seed << ": " << text.substr(error));
      ++failed;
    }
  }
  CHECK(failed <= 2);
}

TEST_CASE("a defect that all tiers have alike is no agreement", "[random]") {
  CHECK(defect_of("1\na defect of TSL: broken rule\n") == "a defect of TSL: broken rule\n");
  CHECK(defect_of("error[memory] line 3: memory is shared wrongly in f") == "memory is shared wrongly in f");
  CHECK(defect_of("error[user] line 3: a defect\n").empty());
}
