// Compares the table of passes with the list in docs/architecture.md, and runs what the table says.
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "catch.h"
#include "graph/compile.h"
#include "support/build.h"

using namespace tsl;
using namespace tsl::graph;

namespace {

/// Returns the documentation with each run of white space as one space.
std::string architecture() {
  std::ifstream file(TSL_SOURCE_DIR "/docs/architecture.md");
  std::string text, word;
  while (file >> word) text += word + " ";
  return text;
}

struct Watched : CompileObserver {
  std::vector<std::string> ran;
  void on_recording(const PlanOptions&, const Graph&) override { ran.push_back("recording"); }
  void on_pass(const PlanOptions&, const Pass& pass, const Graph&) override { ran.push_back(pass.name); }
};

struct AnyDevice : Target {
  bool has_epilogue(const Node&) override { return false; }
};

std::vector<std::string> passes_run(bool is_fast, Target* target) {
  Graph graph;
  const NodeId x = input(graph, {4, 4});
  give(graph, add(graph, Op::exp, {read(graph, x)}));
  Watched watched;
  compile(std::move(graph), {.fast_numerics = is_fast}, &watched, target);
  return watched.ran;
}

/// Returns the names of the passes that need no more than this.
std::vector<std::string> names_up_to(Pass::Needs most) {
  std::vector<std::string> names = {"recording"};
  for (const Pass& pass : passes()) {
    if (pass.needs <= most) names.push_back(pass.name);
  }
  return names;
}

}  // namespace

TEST_CASE("docs/architecture.md lists the passes of the table, in their order") {
  std::string list;
  size_t number = 0;
  for (const Pass& pass : passes()) list += fmt::format("{}. {}: {}; ", ++number, pass.name, pass.summary);
  CAPTURE(list);
  CHECK(architecture().find("The passes are " + list) != std::string::npos);
}

TEST_CASE("a pass runs where there is what it needs, in the order of the table") {
  AnyDevice device;
  CHECK(passes_run(true, nullptr) == names_up_to(Pass::Needs::nothing));
  CHECK(passes_run(false, &device) == names_up_to(Pass::Needs::target));
  CHECK(passes_run(true, &device) == names_up_to(Pass::Needs::fast_numerics));
  CHECK(std::string(passes()[0].name) == "dead code");  // on which all others rely
}
