// What the C API costs: making engines, and calls in both directions, beside Lua. CMakeLists.txt says how to build it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>
#include <vector>

#include <tsl/tsl.hpp>
#ifdef WITH_LUA
#include <lua.hpp>
#endif

namespace {

constexpr int kRounds = 15;
constexpr int kTurns = 100'000;

/// A row of the table: what one turn does in TSL and in Lua. A null function leaves its column empty.
struct Row {
  std::string_view name;
  int turns;  // in a call of the function
  std::function<void(int turns)> tsl, lua;
};

/// Returns the processor time of a turn, of all threads: other programs do not count.
double nanoseconds(const std::function<void(int)>& run, int turns) {
  const std::clock_t begin = std::clock();
  run(turns);
  return static_cast<double>(std::clock() - begin) * 1e9 / CLOCKS_PER_SEC / turns;
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

/// Prints the median over rounds in which TSL and Lua take turns.
void measure(const Row& row) {
  std::vector<double> tsl, lua;
  for (int round = 0; round < kRounds; ++round) {
    tsl.push_back(nanoseconds(row.tsl, row.turns));
    if (row.lua) lua.push_back(nanoseconds(row.lua, row.turns));
  }
  std::printf("| %.*s | %.0f ns |", static_cast<int>(row.name.size()), row.name.data(), median(tsl));
  if (row.lua) std::printf(" %.0f ns |\n", median(lua));
  else std::printf(" |\n");
}

struct Lua {
#ifdef WITH_LUA
  Lua() {
    luaL_openlibs(state);
    lua_register(state, "plus", [](lua_State* s) {
      lua_pushnumber(s, luaL_checknumber(s, 1) + luaL_checknumber(s, 2));
      return 1;
    });
    luaL_dostring(state,
                  "function add(a, b) return a + b end "
                  "function loop(n) local s = 0.0 for i = 1, n do s = plus(s, 1.0) end return s end");
  }
  ~Lua() { lua_close(state); }
  Lua(const Lua&) = delete;
  Lua& operator=(const Lua&) = delete;

  void add(int turns) const {
    lua_getglobal(state, "add");
    const int function = luaL_ref(state, LUA_REGISTRYINDEX);
    for (int i = 0; i < turns; ++i) {
      lua_rawgeti(state, LUA_REGISTRYINDEX, function);
      lua_pushnumber(state, i);
      lua_pushnumber(state, 0.5);
      lua_pcall(state, 2, 1, 0);
      if (lua_tonumber(state, -1) != i + 0.5) std::abort();
      lua_pop(state, 1);
    }
    luaL_unref(state, LUA_REGISTRYINDEX, function);
  }
  void loop(int turns) const {
    lua_getglobal(state, "loop");
    lua_pushinteger(state, turns);
    lua_pcall(state, 1, 1, 0);
    if (lua_tonumber(state, -1) != turns) std::abort();
    lua_pop(state, 1);
  }
  static void make() { lua_close(luaL_newstate()); }

  lua_State* state = luaL_newstate();
  static constexpr bool kIsThere = true;
#else
  void add(int) const {}
  void loop(int) const {}
  static void make() {}
  static constexpr bool kIsThere = false;
#endif
};

/// Returns a function of the turns for Lua's column, if Lua is there.
template <class Run> std::function<void(int)> in_lua(Run run) {
  return Lua::kIsThere ? std::function<void(int)>(run) : nullptr;
}

tsl_status plus(tsl_engine engine, void*, const tsl_value* arguments, size_t, tsl_value* result) {
  double a = 0, b = 0;
  tsl_get_float(engine, arguments[0], &a);
  tsl_get_float(engine, arguments[1], &b);
  return tsl_new_float(engine, a + b, result);
}

void call_add(tsl_engine engine, tsl_value add, int turns) {
  for (int i = 0; i < turns; ++i) {
    tsl_value arguments[2], sum;
    double result = 0;
    tsl_new_float(engine, i, &arguments[0]);
    tsl_new_float(engine, 0.5, &arguments[1]);
    tsl_call(engine, add, arguments, 2, &sum);
    tsl_get_float(engine, sum, &result);
    if (result != i + 0.5) std::abort();
    for (const tsl_value each : {arguments[0], arguments[1], sum}) tsl_release(engine, each);
  }
}

void call_add_of_numbers(tsl_engine engine, tsl_value add, int turns) {
  for (int i = 0; i < turns; ++i) {
    const double numbers[] = {static_cast<double>(i), 0.5};
    double result = 0;
    tsl_call_numbers(engine, add, numbers, 2, &result);
    if (result != i + 0.5) std::abort();
  }
}

void call_with(tsl_engine engine, tsl_value function, tsl_value argument, int turns) {
  for (int i = 0; i < turns; ++i) {
    tsl_value result = {0};
    tsl_call(engine, function, &argument, 1, &result);
    tsl_release(engine, result);
  }
}

}  // namespace

int main() {
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
  const std::string_view signature = "plus(a: float, b: float)";
  tsl_define(engine.handle(), {signature.data(), signature.size()}, {nullptr, 0}, plus, nullptr, nullptr);
  engine
      .run(
          "@compile\nfn scale(x) = x * 2.0 + 1.0\n"
          "fn same(x) = x\nfn add(a, b) = a + b\n"
          "fn scale_loop(x, n) { var y = x\n for i in 0..n { y = scale(y) }\n return y }\n"
          "fn loop(n) { var s = 0.0\n for i in 0..n { s = plus(s, 1.0) }\n return s }")
      .value();
  const std::vector<float> numbers(8, 1.0f);
  const tsl::Tensor x = engine.wrap(std::span(numbers), {8}).value();
  const auto function = [&](std::string_view name) { return engine.get(name).value(); };
  const tsl::Value add = function("add"), same = function("same"), scale = function("scale");
  const Lua lua;
  std::printf("| | TSL | Lua |\n|---|---|---|\n");
  measure({"make and end an engine", 20,
           [](int turns) {
             for (int i = 0; i < turns; ++i) tsl::Engine::create().value();
           },
           in_lua([](int turns) {
             for (int i = 0; i < turns; ++i) Lua::make();
           })});
  measure({"call `add(a, b)` of the script with two numbers, read the result", kTurns,
           [&](int turns) { call_add_of_numbers(engine.handle(), add.handle(), turns); },
           in_lua([&](int turns) { lua.add(turns); })});
  measure({"the same with handles for the numbers and the result", kTurns,
           [&](int turns) { call_add(engine.handle(), add.handle(), turns); }, nullptr});
  measure({"call the host's `plus(a, b)` from a loop of the script", kTurns,
           [&](int turns) { engine.call("loop", turns).value(); }, in_lua([&](int turns) { lua.loop(turns); })});
  measure({"call `same(x)` with a wrapped tensor", kTurns,
           [&](int turns) { call_with(engine.handle(), same.handle(), x.handle(), turns); }, nullptr});
  measure({"call a compiled `x * 2.0 + 1.0` over eight numbers", kTurns,
           [&](int turns) { call_with(engine.handle(), scale.handle(), x.handle(), turns); }, nullptr});
  measure({"the same call by the script", kTurns, [&](int turns) { engine.call("scale_loop", x, turns).value(); },
           nullptr});
  return 0;
}
