// Checks the compile options that a backend receives from functions. (test_cuda_replay.cpp checks their effect on a
// GPU.)
#include <memory>
#include <string>

#include "catch.h"
#include "support/pretend_gpu.h"
#include "support/session.h"

using namespace tsl;

namespace {

/// Records the options of the last plan of several ops: eager ops have plans of their own.
class OptionsGpu : public PretendGpu {
 public:
  OptionsGpu(Device device, exec::Backend& host, graph::PlanOptions& asked)
      : PretendGpu(device, host, false), asked_(asked) {}
  std::unique_ptr<exec::Executable> prepare(graph::Plan plan) override {
    if (plan.graph.size() - plan.graph.inputs().size() > 1) asked_ = plan.options;
    return PretendGpu::prepare(std::move(plan));
  }

 private:
  graph::PlanOptions& asked_;
};

/// Returns the options ("graphs fast") that `call` requests after `functions` have been declared.
std::string asked_for(const std::string& functions, const std::string& call, EngineOptions options = {}) {
  graph::PlanOptions asked;
  options.device = "cuda";
  options.open_backend = [&asked](Device device, exec::Backend& host) {
    return std::make_unique<OptionsGpu>(device, host, asked);
  };
  Session session(options);
  session.eval(functions + "\n" + call);
  return std::string(asked.graphs ? "graphs " : "") + (asked.fast_numerics ? "fast" : "exact");
}

}  // namespace

TEST_CASE("plans are told what their function asks, else what the engine does") {
  const std::string body = "\nfn f(x) = x * 2.0 + 1.0", call = "f(ones([2])).tolist()";
  EngineOptions fast;
  fast.fast_numerics = true;
  CHECK(asked_for("@compile" + body, call) == "graphs exact");
  CHECK(asked_for("@compile(graphs: \"off\")" + body, call) == "exact");
  CHECK(asked_for("@compile(numerics: \"fast\")" + body, call) == "graphs fast");
  CHECK(asked_for("@compile" + body, call, fast) == "graphs fast");
  CHECK(asked_for("@compile(numerics: \"exact\")" + body, call, fast) == "graphs exact");
}

TEST_CASE("in another compiled function, the stricter of the two counts") {
  const auto nested = [](const std::string& inner, const std::string& outer) {
    return asked_for("@compile(" + inner + ")\nfn f(x) = x * 2.0 + 1.0\n@compile(" + outer + ")\nfn g(x) = f(x) - 3.0",
                     "g(ones([2])).tolist()");
  };
  CHECK(nested("numerics: \"exact\"", "numerics: \"fast\"") == "graphs exact");
  CHECK(nested("numerics: \"fast\"", "numerics: \"exact\"") == "graphs exact");
  CHECK(nested("numerics: \"fast\"", "numerics: \"fast\"") == "graphs fast");
  CHECK(nested("", "numerics: \"fast\"") == "graphs fast");
  CHECK(nested("graphs: \"off\"", "") == "exact");
}
