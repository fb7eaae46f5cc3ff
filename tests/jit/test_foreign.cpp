// Values of the host program in regions: inputs that no trace path keeps alive.
#include "support/session.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

const ForeignType kBody{"Body"};

/// A session with the variable `bodies`: a list of foreign values, each of them twice, whose finalizer counts.
struct BodySession : Session {
  explicit BodySession(bool compiles, int count)
      : Session([=] {
          EngineOptions options;
          options.compile_all = compiles;
          return options;
        }()) {
    engine.define(kBody);
    std::vector<Value> bodies;
    for (int i = 0; i < count; ++i) {
      auto body = make_ref<Foreign>(&kBody);
      body->data = &finalized;
      body->finalizer = [](void* data) { ++*static_cast<int*>(data); };
      bodies.insert(bodies.end(), 2, Value(std::move(body)));
    }
    engine.run_line("nil", "", "bodies.tsl");
    engine.assign("bodies", make_list(std::move(bodies)));
  }
  std::string printed_by(const std::string& text) {
    printed.clear();
    engine.run_line(text, "", "test.tsl");
    return printed;
  }
  int finalized = 0;
};

}  // namespace

TEST_CASE("loop bodies take foreign values, and only the answers of == are guarded", "[jit]") {
  const std::string program = R"(
var last = nil
var kept = bodies[0]
var i = 0
for b in bodies {
  let y = exp(ones([2]) * i)
  if b == last { print(i, "again", sum(y)) } else { print(i, "new", y[0]) }
  if i % 8 == 7 { kept = b }
  last = b
  i += 1
}
print(last == bodies[22], kept == bodies[23], kept == bodies[21], type(kept)))";
  std::string expected;
  for (const bool compiles : {false, true}) {
    BodySession s(compiles, 12);
    const std::string found = s.printed_by(program);
    if (!compiles) expected = found;
    CHECK(found == expected);
    CHECK(found.find("true true false Body\n") != std::string::npos);
    if (compiles) CHECK(s.engine.runtime().trace_counts().traces <= 4);  // not one for each value
    CHECK(s.finalized == 0);
    s.printed_by("bodies = bodies[:4]");
    CHECK(s.finalized == 9);  // the variables have one of the ten others
    s.printed_by("last = nil\nkept = nil\nbodies = nil");
    CHECK(s.finalized == 12);  // no trace path refers to one
  }
}

TEST_CASE("an error that is caught does not tie a trace to one foreign value", "[jit]") {
  BodySession s(false, 12);
  const std::string found = s.printed_by(R"(
@compile
fn f(b: Body, x) {
  try { error("no") } catch e { print(e.message) }
  return [b, x * 2.0]
}
for b in bodies { print(f(b, ones([1]))[0] == b) })");
  CHECK(found.find("false") == std::string::npos);
  CHECK(s.engine.runtime().trace_counts().traces == 1);
}
