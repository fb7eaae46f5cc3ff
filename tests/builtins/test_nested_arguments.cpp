// Gives each parameter of each function a value that is nested deep, and one that is shared so often that a walk of
// each of its parts would never end.
#include <chrono>

#include "base/run_watch.h"
#include "support/all_functions.h"

using namespace tsl;

namespace {

constexpr double kDeadline = 0.05;
constexpr double kLate = 4.0;  // under sanitizers, too
constexpr uint64_t kHostBytes = uint64_t{1} << 28;
constexpr int kDeep = 100'000;
constexpr int kShared = 60;

/// Functions that end the program, wait for a person, or start others.
bool is_left_out(const std::string& name) { return name == "exit" || name == "input" || name == "bench"; }

template <class Make> Value nested(int depth, Value value, Make make) {
  for (int i = 0; i < depth; ++i) value = make(value);
  return value;
}

/// Returns the line that imports the module of a function.
std::string importing(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? "" : "import " + name.substr(0, dot) + "\n";
}

/// Returns a call with `v` for the parameter at a position, and for the others that are required `w`.
std::string call_with(const Callee& callee, size_t at, const std::string& others) {
  std::string arguments;
  const std::vector<ParameterInfo>& parameters = callee.signature->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i != at && parameters[i].has_default) continue;
    if (!arguments.empty()) arguments += ", ";
    arguments += fmt::format("{}: {}", *parameters[i].name, i == at ? "v" : others);
  }
  return fmt::format("{}({})", callee.name, arguments);
}

}  // namespace

TEST_CASE("a deep and a shared value for each parameter of each function end in time", "[nested]") {
  Session s;
  s.engine.watch.limit_host_bytes(kHostBytes);
  Interner& names = s.engine.names();
  const Name key = names.intern("a");
  const auto in_list = [](const Value& v) { return make_list({v}); };
  const auto in_record = [&](const Value& v) { return make_record({{key, v}}); };
  const auto twice = [](const Value& v) { return make_tuple({v, v}); };
  const auto twice_in_list = [](const Value& v) { return make_list({v, v}); };
  const Value one(int64_t{1});
  const Value values[] = {nested(kDeep, one, in_list), nested(kDeep, one, in_record),
                          nested(kShared, one, twice_in_list), nested(kShared, one, twice)};
  size_t calls = 0;
  for (const Callee& callee : all_functions(s)) {
    if (is_left_out(callee.name)) continue;
    for (size_t at = 0; at < callee.signature->parameters.size(); ++at) {
      const std::string call = call_with(callee, at, "ones([2, 2])");
      INFO(call);
      const Value f = s.engine.run("call.tsl", importing(callee.name) + "fn(v) = " + call);
      for (const Value& value : {values[calls / 2 % 2], values[2 + calls / 2 % 2]}) {  // in lists, then in others
        const auto begin = std::chrono::steady_clock::now();
        try {
          const RunWatch::Scope scope(s.engine.watch, {.seconds = kDeadline});
          Value argument = value;
          s.engine.call(f, {&argument, 1});
        } catch (const Failure& failure) { CHECK(failure.error().message.find("internal error") == std::string::npos); }
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        CHECK(took < kLate);
        ++calls;
      }
    }
  }
  CHECK(calls > 3000);
}

TEST_CASE("errors about nested values, and checks of annotations, do not recurse over them", "[nested]") {
  Session s;
  const std::string deep = "var t = [1]\nfor i in 0..400000 { t = [t] }\n",
                    shared = "var t = [1]\nfor i in 0..60 { t = [t, t] }\n";
  for (const std::string& value : {deep, shared}) {
    INFO(value);
    CHECK(s.error(value + "det(t)").kind() == ErrorKind::type);
    CHECK(s.error(value + "t + 1").kind() == ErrorKind::type);
    CHECK(s.error(value + "sorted([t, 1])").kind() == ErrorKind::type);
    CHECK(s.error(value + "fn f(x: list[list[int]]) = x\nf(t)").kind() == ErrorKind::type);
    CHECK(s.error(value + "fn f(x) -> list[int] { return x }\nf(t)").kind() == ErrorKind::type);
  }
}
