// Tests the search in long texts against the standard library's.
#include "base/long_text.h"

#include <random>
#include <string>

#include "base/run_watch.h"
#include "catch.h"

using namespace tsl;

namespace {

std::string random_text(std::mt19937& random, size_t size, int letters) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(static_cast<int>(random() % static_cast<unsigned>(letters)) - 1);
  return text;
}

}  // namespace

TEST_CASE("a part of any length is found where the standard library finds it") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::string unit = random_text(random, 1 + random() % 50, 1 + i % 3);
    std::string part;  // long enough for the two-way algorithm: periodic, nearly so, or random
    while (part.size() < 20'000) part += unit;
    if (i % 2) part[random() % part.size()] ^= 1;
    if (i % 5 == 0) part = random_text(random, 17'000, 2);
    const std::string before = part.substr(random() % part.size()) + part.substr(0, random() % part.size());
    const std::string text = before + (i % 4 == 1 ? part.substr(1) : part) + unit;
    for (const std::string& wanted : {part, unit, part.substr(0, 100), part + "x"}) {
      const size_t from = random() % 100;
      CHECK(find_text(text, wanted, from) == text.find(wanted, from));
    }
  }
  const std::string text = std::string(1'000'000, 'a') + "b";
  for (size_t at : {size_t{0}, size_t{262'143}, size_t{262'144}, size_t{262'145}, size_t{999'999}}) {
    std::string marked = text;
    marked[at] = 'c';
    for (const char* wanted : {"c", "ca", "cb", "d"}) CHECK(find_text(marked, wanted) == marked.find(wanted));
  }
  CHECK(find_text("", "") == 0);
  CHECK(find_text("abc", "", 3) == 3);
  CHECK(find_text("abc", "", 4) == std::string::npos);
}

TEST_CASE("texts are compared by their bytes") {
  const std::string text(1'000'000, 'a');
  const std::string same = text;
  CHECK(compare_texts(text, same) == 0);
  CHECK(compare_texts(text, same + "a") == -1);
  CHECK(compare_texts(text + "\xff", text + "b") == 1);
  CHECK(compare_texts("", "") == 0);
  CHECK(equal_texts(text, same));
  CHECK_FALSE(equal_texts(text, same + "a"));
  CHECK(copy_text(text) == text);
}

TEST_CASE("an interrupt ends short works as well as a long one") {
  RunWatch watch;
  const RunWatch::Scope scope(watch, {});
  const std::string text(2'000'000, 'a');
  watch.interrupt();
  CHECK_THROWS(find_text(text, text.substr(0, text.size() / 2) + "b"));
  watch.interrupt();
  const std::string short_text(200, 'a'), other(200, 'a');
  CHECK_THROWS([&] {
    for (int i = 0; i < 1'000'000; ++i) (void)compare_texts(short_text, other);
  }());
}
