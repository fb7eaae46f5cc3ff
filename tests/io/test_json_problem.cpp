// Tests that a text which is no JSON is told where, and what is wrong with it.
#include "catch.h"
#include "io/json_problem.h"

using namespace tsl;

namespace {

/// Returns "place: problem" of the token at which a text ends.
std::string problem(std::string_view text, size_t end = std::string_view::npos) {
  const auto found = problem_of_token(text, last_token(text, std::min(end, text.size())));
  return found ? std::to_string(found->at) + ": " + found->what : "";
}

}  // namespace

TEST_CASE("a number that is none says why", "[json]") {
  CHECK(problem("[1.") == "1: '1.' is no number: a digit follows the point, as in 1.0");
  CHECK(problem("[1e") == "1: '1e' is no number: a digit follows the 'e', as in 1e5");
  CHECK(problem("[1e+") == "1: '1e+' is no number: a digit follows the 'e', as in 1e5");
  CHECK(problem("[-") == "1: '-' is no number: a digit follows '-'");
  CHECK(problem("[+1") == "1: '+1' is no number: no '+' stands before a number");
  CHECK(problem("[.5") == "1: '.5' is no number: a digit stands before the point, as in 0.5");
  CHECK(problem("[01") == "1: '01' is no number: no digits follow a 0 at its beginning");
  CHECK(problem("[0x1F") == "1: '0x1F' is no number: JSON has no hexadecimal numbers");
  CHECK(problem("[1_000") == "1: '1_000' is no number: no '_' stands between its digits");
  CHECK(problem("[1.5.2") == "1: '1.5.2' is no number: '.2' is no part of it");
  for (const char* minus : {"\u2212", "\u2013", "\u2014", "\uFF0D"})
    CHECK(problem(std::string("[") + minus + "1") ==
          std::string("1: '") + minus + "1' is no number: its minus sign is another character than '-'");
  for (const char* number : {"0", "-0", "10", "1.5", "-1.5e10", "1E-5", "0.0e+1"}) CHECK(problem(number).empty());
}

TEST_CASE("a string that is none says why, at its place", "[json]") {
  CHECK(problem("[\"a\tb\"]", 4) == "3: a string holds a tab");
  CHECK(problem("[\"a\x01\"]", 4) == "3: a string holds the control character U+0001");
  CHECK(problem("\"a\nb\"") == "0: a string is not closed in its line");
  CHECK(problem("[\"abc") == "1: a string is not closed");
  CHECK(problem(R"(["a\x"])", 5) == "3: JSON has no escape '\\x'");
  CHECK(problem(R"(["\u12"])", 5) == "2: four hexadecimal digits follow '\\u'");
  CHECK(problem(R"(["\ud800"])", 8) == "2: '\\ud800' is half of a character");
  CHECK(problem(R"(["\udc00"])", 8) == "2: '\\udc00' is half of a character");
  CHECK(problem(R"("\ud83d\ude00 \\ \" \n é")").empty());
}

TEST_CASE("the last token of a text is found, whatever strings hold", "[json]") {
  CHECK(last_token(R"({"a: [1": tru})", 13) == 10);
  CHECK(last_token(R"(["\"", 1])", 8) == 7);
  CHECK(last_token("", 0) == 0);
  CHECK(token_at("[nul]", 1) == "nul");
  CHECK(is_wrong_word("[nul]", 1));
  CHECK_FALSE(is_wrong_word("[null]", 1));
  CHECK_FALSE(is_wrong_word("[1;2]", 1));
}
