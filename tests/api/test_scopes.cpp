// Tests scopes of handles, the address that a program keeps for an engine, and texts that are run again and again.
#include "api.h"

using namespace tsl::api_test;

TEST_CASE("the end of a scope releases its handles but one", "[api]") {
  Fixture f;
  const tsl_engine engine = f.engine;
  const auto is_valid = [&](tsl_value value) {
    tsl_kind kind;
    return tsl_get_kind(engine, value, &kind) == TSL_OK;
  };
  const auto number = [&](int64_t from) {
    tsl_value value = {0};
    REQUIRE(tsl_new_int(engine, from, &value) == TSL_OK);
    return value;
  };
  CHECK(tsl_scope_end(engine, {0}) == TSL_MISUSE);
  const tsl_value outside = number(1);
  REQUIRE(tsl_scope_begin(engine) == TSL_OK);
  const tsl_value outer = number(2);
  REQUIRE(tsl_scope_begin(engine) == TSL_OK);
  const tsl_value inner = number(3), released = number(4), kept = number(5);
  REQUIRE(tsl_release(engine, released) == TSL_OK);
  const tsl_value again = number(6);  // in its place
  CHECK(tsl_scope_end(engine, released) == TSL_MISUSE);
  REQUIRE(tsl_scope_end(engine, kept) == TSL_OK);
  CHECK((!is_valid(inner) && !is_valid(again) && is_valid(kept) && is_valid(outer)));
  REQUIRE(tsl_scope_end(engine, {0}) == TSL_OK);
  CHECK((!is_valid(kept) && !is_valid(outer) && is_valid(outside)));
  CHECK(tsl_scope_end(engine, {0}) == TSL_MISUSE);
}

TEST_CASE("an engine keeps an address for its program", "[api]") {
  Fixture f;
  const tsl_engine engine = f.engine;
  void* user = &user;
  REQUIRE(tsl_engine_get_user(engine, &user) == TSL_OK);
  CHECK(user == nullptr);
  int mine = 0;
  REQUIRE(tsl_engine_set_user(engine, &mine) == TSL_OK);
  const tsl_native count = [](tsl_engine running, void*, const tsl_value*, size_t, tsl_value*) {
    void* found = nullptr;
    tsl_engine_get_user(running, &found);
    ++*static_cast<int*>(found);
    return TSL_OK;
  };
  REQUIRE(tsl_define(engine, tsl_str("tally()"), {}, count, nullptr, nullptr) == TSL_OK);
  REQUIRE(tsl_run(engine, tsl_str("a"), tsl_str("tally(); tally()"), nullptr) == TSL_OK);
  CHECK(mine == 2);
  CHECK(tsl_engine_get_user(engine, nullptr) == TSL_MISUSE);
}

namespace {

int64_t whole(Fixture& f, std::string_view source) {
  const tsl_value value = f.eval(source);
  int64_t result = 0;
  REQUIRE(tsl_get_int(f.engine, value, &result) == TSL_OK);
  REQUIRE(tsl_release(f.engine, value) == TSL_OK);
  return result;
}

}  // namespace

TEST_CASE("a text that is run again means what its names mean then", "[api]") {
  Fixture f;
  f.eval("var x = 1\nfn g() = 10\nfn same(v) = v");
  for (int i = 1; i < 5; ++i) CHECK(whole(f, "x += 1; x + g()") == 11 + i);
  f.eval("let x = 100");
  for (int i = 0; i < 3; ++i) {
    CHECK(f.run("x += 1; x + g()") != TSL_OK);  // x is no `var` any more
    CHECK(whole(f, "x + g()") == 110);
  }
  f.eval("fn g() = 20");
  for (int i = 0; i < 3; ++i) CHECK(whole(f, "x + g()") == 120);
  REQUIRE(tsl_set(f.engine, str("y"), f.number(1)) == TSL_OK);
  for (int i = 0; i < 3; ++i) CHECK(f.text(f.eval("y * 2.0")) == "2.0");
  REQUIRE(tsl_set(f.engine, str("y"), f.number(4)) == TSL_OK);
  CHECK(f.text(f.eval("y * 2.0")) == "8.0");
  for (int i = 0; i < 3; ++i) CHECK(f.text(f.eval("var l = [1]; l[0] += 1; l")) == "[2]");
  for (int i = 0; i < 3; ++i) CHECK(f.text(f.eval("same([1, [2], 3.0 * 2.0])")) == "[1, [2], 6.0]");
  for (int i = 0; i < 3; ++i) CHECK(f.text(f.eval("use f64\ntensor([1.0]).dtype")) == "f64");
}

TEST_CASE("a text that is run again may run itself, and change what its names mean", "[api]") {
  Fixture f;
  f.eval("var depth = 0\nlet step = 1");
  const tsl_native again = [](tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
    int64_t depth = 0;
    tsl_get_int(engine, arguments[0], &depth);
    if (depth == 3) tsl_run(engine, str("test"), str("let step = 100"), nullptr);
    if (depth >= 3) return tsl_new_int(engine, 0, result);
    return tsl_run(engine, str("test"), str("depth += 1; again(depth) + step"), result);
  };
  REQUIRE(tsl_define(f.engine, str("again(n: int)"), {}, again, nullptr, nullptr) == TSL_OK);
  CHECK(whole(f, "depth += 1; again(depth) + step") == 3);
  f.eval("depth = 0");
  CHECK(whole(f, "depth += 1; again(depth) + step") == 300);
  f.eval("depth = 2");
  for (int i = 0; i < 3; ++i) CHECK(whole(f, "depth += 1; again(depth) + step") == 100);
}

TEST_CASE("an error of a text that is run again has its place", "[api]") {
  Fixture f;
  f.eval("var x = 0");
  for (int i = 0; i < 4; ++i) {
    REQUIRE(f.run("x + 1; [1, 2][x]") == (i < 3 ? TSL_OK : TSL_INDEX));
    if (i == 2) f.eval("x = 7");
  }
  tsl_string text = {};
  REQUIRE(tsl_get_error_text(f.engine, &text) == TSL_OK);
  CHECK(text_of(text).find("1 | x + 1; [1, 2][x]") != std::string::npos);
  for (int i = 0; i < 40; ++i) f.run("1 + " + std::to_string(i % 20));
  REQUIRE(tsl_get_error_text(f.engine, &text) == TSL_OK);
  CHECK(text_of(text).find("1 | x + 1; [1, 2][x]") != std::string::npos);
}
