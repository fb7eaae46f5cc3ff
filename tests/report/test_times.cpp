// Tests what a profile adds to a recording: times of regions and kernels, and the timeline of the page.
#include <set>

#include <nlohmann/json.hpp>

#include "profile/roofline.h"
#include "report/explain.h"
#include "report/page.h"
#include "report/times.h"
#include "support/contains.h"
#include "support/session.h"

using namespace tsl;
using namespace tsl::report;
using exec::ActivityKind;
using exec::Timeline;
using nlohmann::json;

namespace {

class Timed : public Session {
 public:
  explicit Timed(const std::string& program) : Session(options()) {
    output(program);
    recording = *engine.recording();
    engine.add_times(recording);
  }
  const KernelRecord& kernel() const { return recording.regions.at(0).specialisations.at(0).kernels.at(0); }

  report::Recording recording;

 private:
  static EngineOptions options() {
    EngineOptions out;
    out.record = out.profile = true;
    out.trace_events = kTimelineEvents;
    return out;
  }
};

const char* const kThreeCalls = "@compile\nfn f(a) = exp(a) + 1.0\nfor i in 0..3 { f(ones([10])) }\n";

}  // namespace

TEST_CASE("regions and kernels have the times that a profile measured", "[report]") {
  Timed run(kThreeCalls);
  const KernelTimes& kernel = run.kernel().times;
  CHECK(kernel.calls == 3);
  CHECK(kernel.first_seconds > 0);
  CHECK(kernel.seconds > kernel.first_seconds);
  CHECK(kernel.share > 0);
  CHECK(kernel.share < 1);
  const RegionTimes& region = run.recording.regions[0].times;
  CHECK(region.calls == 3);
  CHECK(region.first_seconds > region.median_seconds);  // it traced and compiled
  CHECK(region.median_seconds > 0);
  CHECK(contains(explain(run.recording, {}), "; ran 3 times, "));
}

TEST_CASE("the times of a kernel are JSON, and null if it was not profiled", "[report]") {
  Timed run(kThreeCalls);
  const auto profile_of = [](const report::Recording& recording) {
    return json::parse(explain_json(recording))["regions"][0]["specialisations"][0]["kernels"][0]["profile"];
  };
  const json profile = profile_of(run.recording);
  CHECK(profile["calls"] == 3);
  CHECK(profile["mean_seconds"].get<double>() == Approx(profile["seconds"].get<double>() / 3));
  CHECK(profile["gb_per_second"].get<double>() == Approx(80e-9 / profile["mean_seconds"].get<double>()));
  CHECK(profile_of(*run.engine.recording()).is_null());
  CHECK(json::parse(explain_json(*run.engine.recording()))["regions"][0]["profile"].is_null());
  CHECK_FALSE(contains(explain(*run.engine.recording(), {}), "; ran "));
}

TEST_CASE("a kernel's time has its prediction beside it, as text and as JSON", "[report]") {
  Timed run(kThreeCalls);
  const Prediction& prediction = run.kernel().prediction;
  CHECK(prediction.seconds > 0);
  CHECK(prediction.measured == run.kernel().times.least_seconds);
  CHECK(prediction.measured <= run.kernel().times.seconds / 3);
  CHECK(prediction.calls == 3);
  CHECK(contains(explain(run.recording, {}), " each, predicted "));
  const json kernel = json::parse(explain_json(run.recording))["regions"][0]["specialisations"][0]["kernels"][0];
  CHECK(kernel["prediction"]["seconds"] == prediction.seconds);
  CHECK(kernel["prediction"]["measured_seconds"] == prediction.measured);
}

TEST_CASE("a kernel that the cost model does not know has no prediction", "[report]") {
  Timed run("@compile\nfn f(a) = argsort(a)\nfor i in 0..3 { f(ones([10])) }\n");
  CHECK(run.kernel().prediction.seconds == 0);
  CHECK_FALSE(contains(explain(run.recording, {}), "predicted"));
  const json kernel = json::parse(explain_json(run.recording))["regions"][0]["specialisations"][0]["kernels"][0];
  CHECK(kernel["prediction"].is_null());
}

TEST_CASE("a time of more than twice the prediction, or less than half of it, is named", "[report]") {
  Timed run(kThreeCalls);
  Prediction& prediction = run.recording.regions[0].specialisations[0].kernels[0].prediction;
  const auto text_with = [&](const Prediction& changed) {
    prediction = changed;
    return explain(run.recording, {});
  };
  CHECK(contains(text_with({.seconds = 1e-3, .measured = 3e-3, .calls = 2}),
                 ", predicted 1.00 ms: the fastest call takes 3.0 times as long"));
  CHECK(contains(text_with({.seconds = 1e-3, .measured = 4e-4, .calls = 2}),
                 ", predicted 1.00 ms: the fastest call takes 0.40 of that"));
  CHECK(contains(text_with({.seconds = 1e-3, .measured = 1.9e-3, .calls = 2}), ", predicted 1.00 ms; "));
  CHECK(contains(text_with({.seconds = 1e-3, .measured = 3e-3, .calls = 1}),
                 ", predicted 1.00 ms; "));  // it is the first
  CHECK(contains(text_with({.seconds = 1e-3, .measured = 1e-3, .kernels = 2, .calls = 2}),
                 ", predicted 1.00 ms for the 2 kernels of its launch; "));
}

TEST_CASE("threads that a GPU's last wave lacks make a prediction longer", "[report]") {
  Roofline roofline{.bytes_per_second = 1e9};
  roofline.rates = {
      .bytes_per_second = 1e9, .operations_per_second = 1e9, .seconds_per_launch = 0, .threads_at_once = 1000};
  graph::KernelFacts facts;
  facts.work = {.bytes = 1e9};
  const auto seconds = [&](int64_t blocks, double occupancy) {
    exec::LoadedKernel kernel;
    kernel.blocks = blocks;
    kernel.threads = 100;
    kernel.occupancy = occupancy;
    return predicted_seconds(roofline, facts, kernel);
  };
  CHECK(seconds(0, 1) == Approx(1));           // not known
  CHECK(seconds(10, 1) == Approx(1));          // one wave
  CHECK(seconds(1, 1) == Approx(5));           // a tenth of the threads; half of them are enough
  CHECK(seconds(11, 1) == Approx(1.5 / 1.1));  // a second wave of one block
  CHECK(seconds(10, 0.25) == Approx(2));       // few threads at once
}

TEST_CASE("a region that ran once has no median of later calls", "[report]") {
  Timed run("@compile\nfn f(a) = exp(a) + 1.0\nf(ones([10]))\n");
  const json profile = json::parse(explain_json(run.recording))["regions"][0]["profile"];
  CHECK(profile["calls"] == 1);
  CHECK(profile["median_seconds"].is_null());
}

TEST_CASE("a timeline has scopes of the host, nested, and kernels with their specialisation", "[report]") {
  Timed run(kThreeCalls);
  const json timeline = json::parse(run.engine.timeline_json());
  const double end = 1e9 * timeline["seconds"].get<double>() + 1;
  CHECK_FALSE(timeline["is_cut"].get<bool>());
  REQUIRE(timeline["tracks"].size() >= 2);
  CHECK(timeline["tracks"][0]["name"] == "host");
  size_t kernels = 0, traces = 0;
  for (const json& track : timeline["tracks"]) {
    for (const json& event : track["events"]) {
      CHECK(event[1].get<int64_t>() >= 0);
      CHECK(event[2].get<int64_t>() >= 0);
      CHECK(event[1].get<double>() + event[2].get<double>() <= end);
      const json& name = timeline["names"][event[0].get<size_t>()];
      kernels += name["text"] == run.kernel().symbol && name.value("specialisation", "") == "f:2#0";
    }
  }
  for (const json& event : timeline["tracks"][0]["events"]) {
    if (!contains(timeline["names"][event[0].get<size_t>()]["text"], "tracing")) continue;
    ++traces;
    CHECK(event[3].get<int>() > 0);  // in the call of the region
  }
  CHECK(kernels == 3);
  CHECK(traces == 1);
}

TEST_CASE("launches of the same kernel in a specialisation have different names in a timeline", "[report]") {
  Timed run("@compile\nfn f(a) = a @ (a @ a)\nprint(f(ones([8, 8])))\n");
  REQUIRE(run.recording.regions[0].specialisations[0].kernels.size() == 2);
  std::set<uint32_t> launches;
  const json timeline = json::parse(run.engine.timeline_json());
  for (const json& name : timeline["names"]) {
    if (name.contains("launch")) launches.insert(name["launch"].get<uint32_t>());
  }
  CHECK(launches == std::set<uint32_t>{0, 1});
}

TEST_CASE("a timeline over its limit is cut, and says so", "[report]") {
  Profile profile(10 * kTimelineEvents);
  Timeline timeline(profile);
  std::vector<Timeline::Mark> marks;
  for (uint64_t i = 0; i < kTimelineEvents; ++i) {
    marks.push_back({timeline.begin_ticks() + 2 * i, timeline.of(ActivityKind::output), 0});
    marks.push_back({timeline.begin_ticks() + 2 * i + 1, Timeline::kEnd, 0});
  }
  profile.read(timeline, marks, {});
  const SourceMap sources;
  const json written = json::parse(timeline_json({timeline, profile, sources, "", {}, false}));
  CHECK(written["is_cut"].get<bool>());
  CHECK(written["tracks"][0]["events"].size() == kTimelineEvents / 2);
}

TEST_CASE("the page holds the timeline, and a name cannot end its element", "[report]") {
  Timed run("let x = with_range(\"</script>@DATA@\", fn() = ones([3]) + 1.0)\n");
  const std::string page = explain_page(run.recording, run.engine.timeline_json());
  CHECK(page.find("@TIMELINE@") == std::string::npos);
  CHECK_FALSE(contains(page, "</script>@DATA@"));
  CHECK(contains(page, "in named ranges \\u003c/script>@DATA@"));
  CHECK(contains(page, "id=\"data\">{"));
}
