// Choices among launches that give the same bits.
#include "exec/launch_sweep.h"

#include "backend/cpu/backend.h"
#include "base/error_names.h"
#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::exec;
using namespace tsl::graph;

namespace {

Plan shifted(double by) {
  Graph graph;
  give(graph, add(graph, Op::add, {read(graph, input(graph, {64})), number(by)}));
  return graph::compile(std::move(graph));
}

/// Has choices for pointwise launches: one gives other bits, one cannot run.
class Choosing : public cpu::CpuBackend {
 public:
  Choosing() : cpu::CpuBackend(1) {}
  std::vector<std::string> launch_choices(const Plan&) override { return {"same", "other", "broken"}; }
  std::unique_ptr<Executable> prepare_with(Plan plan, const std::string& choice) override {
    if (choice == "broken") fail(ErrorName::device_failed, "too many registers");
    return prepare(choice == "other" ? shifted(2) : std::move(plan));
  }
  bool keep_choice(const Plan&, const std::string& choice) override {
    kept.push_back(choice);
    return true;
  }
  bool has_choice(const Plan&) override { return !kept.empty(); }
  std::vector<std::string> kept;
};

}  // namespace

TEST_CASE("a sweep compares the bits of each choice with the usual one") {
  Choosing backend;
  Devices devices(backend, nullptr);
  const Plan plan = shifted(1);
  const CacheDistances distances(plan);
  LaunchBench launch(devices, Device(), distances, 0, {});
  const std::vector<SweptChoice> choices = sweep(launch, 0, 1e9);
  REQUIRE(choices.size() == 4);
  CHECK(choices[0].choice.empty());
  CHECK((choices[1].choice == "same" && choices[1].is_equal && choices[1].seconds > 0));
  CHECK((choices[2].choice == "other" && !choices[2].is_equal));
  CHECK((choices[3].choice == "broken" && choices[3].problem == "too many registers"));
  CHECK(sweep(launch, 0, 0).size() < choices.size());  // no budget
}

TEST_CASE("the best choice gains more than noise, and has equal bits") {
  const auto best = [](std::vector<SweptChoice> choices) { return best_of(choices).choice; };
  CHECK(best({{"", 1.0}}).empty());
  CHECK(best({{"", 1.0}, {"a", 0.99}}).empty());
  CHECK(best({{"", 1.0}, {"a", 0.9}, {"b", 0.8}, {"c", 0.85}}) == "b");
  CHECK(best({{"", 1.0}, {"a", 0.5, false}, {"b", 0, true, "it fails"}, {"c", 0.9}}) == "c");
}

TEST_CASE("max-autotune keeps a choice for each launch once, and results stay the same") {
  Choosing backend;
  Devices devices(backend, nullptr);
  Graph graph;
  give(graph, add(graph, Op::add, {read(graph, input(graph, {64})), number(1)}));
  CHECK(backend.kept.empty());
  devices.compile(Device(), graph, {});
  CHECK(backend.kept.empty());
  const std::unique_ptr<Executable> tuned = devices.compile(Device(), graph, {.autotune = true});
  REQUIRE(backend.kept.size() == 1);
  CHECK((backend.kept[0].empty() || backend.kept[0] == "same"));
  devices.compile(Device(), graph, {.autotune = true});
  CHECK(backend.kept.size() == 1);
}
