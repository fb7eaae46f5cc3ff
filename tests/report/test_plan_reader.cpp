// Tests that plans are read as they were written, and how damaged ones are rejected.
#include "report/plan_reader.h"

#include <nlohmann/json.hpp>

#include "exec/devices.h"
#include "exec/launch_alone.h"
#include "graph/kernel_facts.h"
#include "graph/spec.h"
#include "report/plan_json.h"
#include "report/recording.h"
#include "support/contains.h"
#include "support/corpus.h"
#include "support/op_matrix.h"
#include "support/openblas.h"
#include "support/session.h"

using namespace tsl;
using namespace tsl::report;
using Json = nlohmann::ordered_json;

namespace {

/// Reads each plan of an engine back as soon as it is made, and takes its launches out of it.
class RoundTrips final : public exec::PlanObserver {
 public:
  explicit RoundTrips(Engine& engine) : engine_(engine) { engine.devices().instruments().observers.push_back(this); }
  ~RoundTrips() override { std::erase(engine_.devices().instruments().observers, this); }

  void on_executable(const exec::Executable& executable) override {
    const std::string text = plan_json(executable);
    INFO(text);
    StoredPlan stored;
    try {
      stored = read_plan(text, "plan.json");
    } catch (const Failure& failure) { FAIL(failure.error().message); }  // a program may fail, and not the reading
    const graph::Plan& plan = executable.plan();
    REQUIRE(stored.plan.launches == plan.launches);
    for (uint32_t launch = 0; launch < plan.launches.size(); ++launch) {
      const std::string name = graph::unique_name(plan, plan.launches[launch]);
      CHECK(graph::unique_name(stored.plan, stored.plan.launches[launch]) == name);
      const exec::LaunchAlone alone = exec::launch_alone(stored.plan, launch);
      graph::verify(alone.plan.graph);
      if (!exec::writes_parts(plan, plan.launches[launch])) graph::verify(alone.plan);
      CHECK(graph::unique_name(alone.plan, alone.plan.launches[0]) == name);
    }
    const auto again = engine_.devices().at(Device()).prepare(std::move(stored.plan));
    CHECK((plan_json(*again) == text));
    ++plans;
  }

  size_t plans = 0;

 private:
  Engine& engine_;
};

/// Runs programs, and checks all plans that they make. Returns how many there were.
size_t round_trips(const std::vector<CorpusProgram>& programs) {
  const InRepository in_repository;
  size_t plans = 0;
  for (const CorpusProgram& program : programs) {
    INFO(program.name);
    EngineOptions options;
    options.compile_all = true;
    options.warnings = Warnings::off;
    options.script_args = program.args;
    Session s(options);
    const RoundTrips watch(s.engine);
    try {
      s.engine.run(program.path.empty() ? "test.tsl" : program.path, program.code);
    } catch (const Failure&) {  // some cases are errors
    }
    plans += watch.plans;
  }
  return plans;
}

std::string plan_of(const std::string& program) {
  EngineOptions options;
  options.record = options.compile_all = true;
  Session s(options);
  s.output(program);
  return s.engine.recording()->regions.at(0).specialisations.at(0).plan_json;
}

std::string problem_of(const std::string& text) {
  try {
    read_plan(text, "step.1.0/plan.json");
  } catch (const Failure& failure) {
    CHECK(failure.error().kind() == ErrorKind::io);
    return failure.error().message;
  }
  return "none";
}

}  // namespace

TEST_CASE("plans of every op are read as they were written", "[matrix]") {
  std::vector<CorpusProgram> programs;
  for (const char* dtype : {"f32", "i64"}) {
    for (const MatrixCase& each : matrix_cases())
      programs.push_back({std::string(dtype) + " " + each.body, matrix_program(each, dtype), "", {}});
  }
  CHECK(round_trips(programs) > 1000);
}

TEST_CASE("plans of the examples are read as they were written", "[matrix]") {
  std::vector<CorpusProgram> programs = corpus_scripts();
  std::erase_if(programs, [](const CorpusProgram& program) { return !contains(program.path, "examples/"); });
  REQUIRE(programs.size() >= 5);
  CHECK(round_trips(programs) > 50);
}

TEST_CASE("numbers and offsets of a run are symbols with the values that they had", "[report]") {
  const std::string text = plan_of(
      "@compile\nfn f(x, i, a) = x[i : i + 2] * a + (0.0 / 0.0)\n"
      "let x = ones([8])\nf(x, 3, 0.1)\n");
  const StoredPlan stored = read_plan(text, "plan.json");
  std::vector<double> values;
  for (uint32_t id = 0; id < stored.symbols->size(); ++id) values.push_back(stored.symbols->at(id).hint.as_real());
  CHECK(std::count(values.begin(), values.end(), 3.0) == 1);
  CHECK(std::count(values.begin(), values.end(), 0.1) == 1);
  CHECK(contains(text, "\"bits "));  // a NaN
}

TEST_CASE("several results of an op are told apart", "[report]") {
  CHECK(round_trips({{"attention", "print(grad(fn(x) = sum(attention(x, x, x)))(ones([2, 3, 4])))\n", "", {}}}) >= 1);
  WithoutOpenBlas left_out;
  left_out.run([] {
    const std::string text = plan_of("@compile\nfn f(x) = qr(x)[1]\nf(eye(4))\n");
    REQUIRE(problem_of(text) == "none");
    Json json = Json::parse(text);
    for (Json& node : json["nodes"]) {
      if (node.contains("result")) node["result"] = 2;
    }
    CHECK(contains(problem_of(json.dump()), "it breaks the rule"));
    CHECK(round_trips({{"qr", "let (q, r) = qr(eye(4))\nprint(q @ r)\n", "", {}},
                       {"svd", "print([x.shape for x in svd(ones([3, 3]))])\n", "", {}}}) >= 2);
  });
}

TEST_CASE("a damaged plan is an error that says what is wrong", "[report]") {
  const std::string text = plan_of("@compile\nfn f(x) = relu(x @ x) + 1.0\nf(ones([4, 4]))\n");
  REQUIRE(problem_of(text) == "none");
  CHECK(contains(problem_of(text.substr(0, text.size() / 2)), "step.1.0/plan.json is damaged: "));
  CHECK(contains(problem_of(""), "is damaged: "));
  CHECK(contains(problem_of("[1, 2]"), "is damaged: "));
  const auto damaged = [&](auto&& damage) {
    Json json = Json::parse(text);
    damage(json);
    return problem_of(json.dump());
  };
  CHECK(contains(damaged([](Json& json) { json.erase("nodes"); }), "nodes"));
  CHECK(contains(damaged([](Json& json) { json["nodes"][1]["op"] = "matmull"; }), "there is no op matmull"));
  CHECK(contains(damaged([](Json& json) { json["nodes"][1]["dtype"] = "f33"; }), "there is no dtype f33"));
  CHECK(contains(damaged([](Json& json) { json["nodes"][1]["args"][0]["node"] = 7; }), "there is no node 7 yet"));
  CHECK(contains(damaged([](Json& json) { json["nodes"][1]["shape"] = {4, 5}; }), "it breaks the rule"));
  CHECK(contains(damaged([](Json& json) { json["nodes"][1]["shape"] = std::vector<int>(9, 1); }), "is damaged"));
  CHECK(contains(damaged([](Json& json) { json["outputs"][0]["node"] = -1; }), "is damaged"));
  CHECK(contains(damaged([](Json& json) { json["launches"] = {{0, 1}}; }), "another version of tsl"));
  CHECK(contains(damaged([](Json& json) { json["loaded"][0]["launch"] = 99; }), "there is no launch 99"));
}
