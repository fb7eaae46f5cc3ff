// Tests the calls about sources that are being written, and the text of a value at a prompt.
#include <nlohmann/json.hpp>

#include "api/api.h"

using namespace tsl::api_test;
using Json = nlohmann::json;

namespace {

Json checked(Fixture& t, std::string_view source) {
  tsl_string json = {nullptr, 0};
  REQUIRE(tsl_check(t.engine, str("a.tsl"), str(source), &json) == TSL_OK);
  return Json::parse(text_of(json));
}

Json completed(Fixture& t, std::string_view source) {
  tsl_string json = {nullptr, 0};
  REQUIRE(tsl_complete(t.engine, str(source), source.size(), &json) == TSL_OK);
  return Json::parse(text_of(json));
}

std::vector<std::string> texts(const Json& completion) {
  std::vector<std::string> out;
  for (const Json& each : completion["candidates"]) out.push_back(each["text"]);
  return out;
}

tsl_status fail_when_called(tsl_engine engine, void*, const tsl_value*, size_t, tsl_value*) {
  return tsl_fail(engine, TSL_USER, str("it was called"));
}

}  // namespace

TEST_CASE("a source is checked with what the engine knows, and nothing of it runs", "[api]") {
  Fixture t;
  REQUIRE(tsl_define(t.engine, str("store(x: any, key: str)"), str("stores a value"), fail_when_called, nullptr,
                     nullptr) == TSL_OK);
  t.eval("let first = 1\nfn scaled(x, by) = x * by\nvar changing = scaled\nimport nn");
  CHECK(checked(t, "store(first, \"a\")\nlet later = scaled(1, 2)") == Json::array());
  const Json found = checked(t, "print(1)\nstore(first)\nscaled(1, bye: 2)\nnone");
  REQUIRE(found.size() == 1);  // an unknown name: calls are checked when all names are known
  CHECK(found[0]["message"] == "unknown name 'none'");
  const Json calls = checked(t, "store(first)\nscaled(1, bye: 2)");
  REQUIRE(calls.size() == 2);
  CHECK(calls[0]["file"] == "a.tsl");
  CHECK(calls[0]["line"] == 1);
  CHECK(calls[0]["message"] == "store is missing its argument 'key'");
  CHECK(calls[1]["line"] == 2);
  CHECK(calls[1]["hints"][0] == "write `scaled(x, by)`");
  CHECK(checked(t, "nn.linear(1)")[0]["message"] == "linear is missing its argument 'w'");
  CHECK(checked(t, "nn.linaer")[0]["hints"][0] == "did you mean 'linear'?");
  CHECK(checked(t, "changing = fn() = 1\nchanging()") == Json::array());
  static const char body = 0;
  REQUIRE(tsl_define_type(t.engine, &body, str("Body")) == TSL_OK);
  CHECK(checked(t, "fn mass(b: Body) = scaled(first, b)") == Json::array());
  CHECK(checked(t, "fn mass(b: Bodie) = b")[0]["message"] == "unknown type 'Bodie'");
  CHECK(t.printed.empty());
  CHECK(t.run("later") == TSL_NAME);  // nothing was declared
}

TEST_CASE("modules of a checked source are the host's, and files need their capability", "[api]") {
  Fixture t([](tsl_config& config) {
    config.load_module = [](void*, tsl_string name, tsl_string, tsl_write found, void* to) {
      if (text_of(name) != "ours") return false;
      found(to, str("fn half(x) = x / 2"));
      return true;
    };
  });
  CHECK(checked(t, "import ours\nours.half(1, 2)")[0]["message"] == "half takes 1 argument, not 2");
  CHECK(checked(t, "import \"./other.tsl\" as o")[0]["kind"] == "io");
  CHECK(texts(completed(t, "from ours import h")) == std::vector<std::string>{"half"});
  CHECK(texts(completed(t, "load(\"/")).empty());
}

TEST_CASE("candidates are found for what is being written", "[api]") {
  Fixture t;
  t.eval("let point = {left: 1, length: ones([2])}\n## x times by\nfn scaled(x, by = 2) = x * by");
  const Json member = completed(t, "1 + point.le");
  CHECK(member["begin"] == 10);
  CHECK(texts(member) == std::vector<std::string>{"left", "length", "len("});
  CHECK(member["candidates"][1]["kind"] == "field");
  CHECK(member["candidates"][1]["doc"] == "f32[2] on cpu");
  CHECK(member["call"].is_null());
  const Json argument = completed(t, "scaled(3, b");
  CHECK(argument["candidates"][0] == Json{{"text", "by: "}, {"kind", "argument"}, {"doc", "by = 2"}});
  CHECK(argument["call"]["declaration"] == "scaled(x, by = 2)");
  CHECK(argument["call"]["active"] == 1);
  CHECK(argument["call"]["doc"] == "x times by");
  tsl_string json = {nullptr, 0};
  CHECK(tsl_complete(t.engine, str("abc"), 4, &json) == TSL_MISUSE);
  CHECK(t.message() == "'offset' is 4, and the source has 3 bytes");
}

TEST_CASE("whether more lines are to follow is known from the source", "[api]") {
  Fixture t;
  const auto is_complete = [&](std::string_view source) {
    bool result = false;
    REQUIRE(tsl_is_complete(t.engine, str(source), &result) == TSL_OK);
    return result;
  };
  CHECK(is_complete("let x = [1]"));
  CHECK(is_complete(""));
  CHECK(is_complete("let = 1"));  // wrong, whatever follows
  CHECK_FALSE(is_complete("let x = ["));
  CHECK_FALSE(is_complete("fn f(x) {"));
  CHECK_FALSE(is_complete("1 +"));
}

TEST_CASE("sources are laid out, and the error of one that cannot be read has its place", "[api]") {
  Fixture t;
  tsl_string text = {nullptr, 0};
  REQUIRE(tsl_format(t.engine, str(""), str("let x=[1,2] # two\nprint( x )"), &text) == TSL_OK);
  CHECK(text_of(text) == "let x = [1, 2]  # two\nprint(x)\n");
  CHECK(tsl_format(t.engine, str("b.tsl"), str("let y = 1\nlet = 2"), &text) == TSL_SYNTAX);
  tsl_error error = {};
  REQUIRE(tsl_get_error(t.engine, &error) == TSL_OK);
  CHECK(text_of(error.file) == "b.tsl");
  CHECK(error.line == 2);
  REQUIRE(tsl_get_error_text(t.engine, &text) == TSL_OK);
  CHECK(text_of(text).find("   2 | let = 2\n") != std::string::npos);
}

TEST_CASE("a value is displayed as at the prompt", "[api]") {
  Fixture t;
  const auto displayed = [&](std::string_view source) {
    tsl_string text = {nullptr, 0};
    REQUIRE(tsl_display(t.engine, t.eval(source), &text) == TSL_OK);
    return text_of(text);
  };
  CHECK(displayed("ones([2])") == "f32[2] on cpu\n[1. 1.]");
  CHECK(displayed("\"a\"") == "\"a\"");
  CHECK(displayed("import plot\nplot.line([1.0, 2.0])").find("⢸") != std::string::npos);
  CHECK_THAT(displayed("map(fn(i) = i, range(1000))"), Catch::Contains("… 987 more"));
}

TEST_CASE("limits and interrupts end the calls about sources", "[api]") {
  Fixture t([](tsl_config& config) { config.source_limit = 1000; });
  const std::string large(1001, ' ');
  tsl_string text = {nullptr, 0};
  bool is = false;
  CHECK(tsl_check(t.engine, str(""), str(large), &text) == TSL_LIMIT);
  CHECK(tsl_complete(t.engine, str(large), 0, &text) == TSL_LIMIT);
  CHECK(tsl_is_complete(t.engine, str(large), &is) == TSL_LIMIT);
  CHECK(tsl_format(t.engine, str(""), str(large), &text) == TSL_LIMIT);
  const auto ends = [&](const std::function<tsl_status(tsl_string)>& call) {
    const tsl_string source = str("print(1)\nprint(2)");
    REQUIRE(tsl_interrupt(t.engine) == TSL_OK);
    CHECK(call(source) == TSL_INTERRUPT);
    CHECK(call(source) == TSL_OK);
  };
  ends([&](tsl_string source) { return tsl_check(t.engine, str(""), source, &text); });
  ends([&](tsl_string source) { return tsl_complete(t.engine, source, 0, &text); });
  ends([&](tsl_string source) { return tsl_is_complete(t.engine, source, &is); });
  ends([&](tsl_string source) { return tsl_format(t.engine, str(""), source, &text); });
}

TEST_CASE("calls about sources refuse null pointers and engines that are none", "[api]") {
  Fixture t;
  tsl_string text = {nullptr, 0};
  bool is = false;
  const tsl_string none = {nullptr, 3};
  CHECK(tsl_check(t.engine, str(""), str(""), nullptr) == TSL_MISUSE);
  CHECK(tsl_check(t.engine, none, str(""), &text) == TSL_MISUSE);
  CHECK(tsl_check(t.engine, str(""), none, &text) == TSL_MISUSE);
  CHECK(tsl_check({0}, str(""), str(""), &text) == TSL_MISUSE);
  CHECK(tsl_complete(t.engine, str(""), 0, nullptr) == TSL_MISUSE);
  CHECK(tsl_complete(t.engine, none, 0, &text) == TSL_MISUSE);
  CHECK(tsl_complete({0}, str(""), 0, &text) == TSL_MISUSE);
  CHECK(tsl_is_complete(t.engine, str(""), nullptr) == TSL_MISUSE);
  CHECK(tsl_is_complete(t.engine, none, &is) == TSL_MISUSE);
  CHECK(tsl_is_complete({0}, str(""), &is) == TSL_MISUSE);
  CHECK(tsl_format(t.engine, str(""), str(""), nullptr) == TSL_MISUSE);
  CHECK(tsl_format(t.engine, str(""), none, &text) == TSL_MISUSE);
  CHECK(tsl_format({0}, str(""), str(""), &text) == TSL_MISUSE);
  CHECK(tsl_display(t.engine, t.eval("1"), nullptr) == TSL_MISUSE);
}

TEST_CASE("an engine that is asked many times keeps no source", "[api]") {
  Fixture t;
  tsl_string text = {nullptr, 0};
  const std::string large = "let x = \"" + std::string(1 << 16, 'a') + "\"\n";
  const auto resident = [] {
    long pages = 0, held = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (file && std::fscanf(file, "%ld %ld", &pages, &held) != 2) held = 0;
    if (file) std::fclose(file);
    return held;
  };
  const auto ask = [&] {
    for (int i = 0; i < 200; ++i) {
      REQUIRE(tsl_check(t.engine, str(""), str(large), &text) == TSL_OK);
      REQUIRE(tsl_complete(t.engine, str(large), large.size(), &text) == TSL_OK);
      REQUIRE(tsl_format(t.engine, str(""), str(large), &text) == TSL_OK);
    }
  };
  ask();
  const long before = resident();
  ask();
  constexpr long kMostPages = 2048;  // 8 MiB, where the texts are 39
  CHECK(resident() - before < kMostPages);
}
