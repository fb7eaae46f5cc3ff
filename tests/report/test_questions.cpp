// Tests what users of tensor compilers ask of a profile (docs/questions.md), where no other test shows the answer.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "profile/profile_table.h"
#include "report/dump.h"
#include "report/recording.h"
#include "support/contains.h"
#include "support/session.h"

namespace fs = std::filesystem;

using namespace tsl;
using exec::ActivityKind;
using exec::Timeline;
using nlohmann::json;
using report::Profile;

namespace {

/// A profile of marks and works at given ticks, and its table.
class Made {
 public:
  void mark(uint64_t at, Timeline::Id id) { marks_.push_back({begin_ + at, id, 0}); }
  void run(Timeline::Id id, uint64_t from, uint64_t to, uint64_t launched = 0) {
    work_.push_back({begin_ + from, begin_ + to, id, 0, launched ? begin_ + launched : 0});
  }
  Timeline::Id kernel(const std::string& name, uint64_t bytes, Device device = {}) {
    exec::Activity activity{.kind = ActivityKind::kernel, .name = name, .device = device};
    activity.facts.bytes = bytes;
    return timeline_.add(activity);
  }
  Timeline::Id of(ActivityKind kind) const { return timeline_.of(kind); }
  double seconds(uint64_t ticks) const { return timeline_.seconds(static_cast<double>(ticks)); }
  std::string table(report::Roofline roof = {}) {
    read();
    return report::profile_text({timeline_, profile_, sources_, "made", [roof](Device) { return roof; }, false});
  }
  json trace() {
    read();
    std::ostringstream out;
    report::write_trace({timeline_, profile_, sources_, "", {}, false}, out);
    return json::parse(out.str());
  }

 private:
  void read() { profile_.read(timeline_, std::exchange(marks_, {}), std::exchange(work_, {})); }

  Profile profile_{1000};
  Timeline timeline_{profile_};
  SourceMap sources_;
  const uint64_t begin_ = timeline_.begin_ticks();
  std::vector<Timeline::Mark> marks_;
  std::vector<Timeline::DeviceWork> work_;
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a rate above what the device can do is flagged with the reason, and not printed as a share",
          "[profile][questions]") {
  constexpr uint64_t kBytes = 1'000'000;
  Made t;
  const Timeline::Id kernel = t.kernel("k_mul__1", kBytes);
  t.run(kernel, 100, 1100);
  const double rate = static_cast<double>(kBytes) / t.seconds(1000);
  CHECK_FALSE(contains(t.table({.bytes_per_second = 100 * rate}), "above"));
  const std::string above = t.table({.bytes_per_second = rate / 100});
  CHECK(contains(above, " above "));
  CHECK(contains(above, "faster than the measured peak of the device. The data stayed in a cache"));
  CHECK(contains(t.table({.bytes_per_second = rate / 100, .cached_bytes = kBytes}), " cache "));
}

TEST_CASE("each row says how much faster the whole would be without it", "[profile][questions]") {
  Made t;
  t.mark(0, t.of(ActivityKind::trace));
  t.mark(500, Timeline::kEnd);
  t.mark(500, t.of(ActivityKind::replay));
  t.mark(750, Timeline::kEnd);
  t.run(t.kernel("k_mul__1", 8), 750, 1000);
  const std::string text = t.table();
  INFO(text);
  CHECK(contains(text, "2.00x  tracing"));
  CHECK(contains(text, "1.33x  running compiled regions"));
}

TEST_CASE("starting up is a row of its own, and no op", "[profile][questions]") {
  EngineOptions options;
  options.profile = true;
  Session s(options);
  s.output("let x = exp(ones([10]))\n");
  const json profile = json::parse(s.engine.profile_json("test.tsl"));
  std::set<std::string> activities;
  for (const json& row : profile["rows"]) {
    activities.insert(row["activity"]);
    if (row["activity"] == "starting up") CHECK(row["seconds"] > 0);
  }
  for (const char* name : {"starting up", "parsing and compiling to bytecode", "interpreting", "kernels"})
    CHECK(activities.count(name) == 1);
}

TEST_CASE("a device that idles while the host prepares kernels is launch-bound", "[profile][questions]") {
  Made t;
  const Timeline::Id kernel = t.kernel("k_mul__1", 8, Device::of("cuda"));
  for (uint64_t at = 0; at < 10'000; at += 100) {
    t.mark(at, t.of(ActivityKind::launch));
    t.mark(at + 80, Timeline::kEnd);
    t.run(kernel, at + 80, at + 100, at + 70);
  }
  const std::string text = t.table();
  INFO(text);
  CHECK(contains(text, "launch-bound: in steady state 80.0 % of the time no kernel runs"));
  CHECK(contains(text, "100 kernel launches; kernels run for 20.0 % of the time"));
}

TEST_CASE("an arrow in the trace leads from each launch to its kernel", "[profile][questions]") {
  Made t;
  t.run(t.kernel("k_mul__1", 8), 200, 300, 100);
  t.run(t.kernel("k_add__2", 8), 300, 400, 150);
  std::map<int, double> begins, ends;
  const json trace = t.trace();
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") begins[event["id"]] = event["ts"];
    if (event["ph"] == "f") ends[event["id"]] = event["ts"];
  }
  REQUIRE(begins.size() == 2);
  REQUIRE(ends.size() == 2);
  for (const auto& [id, ts] : begins) CHECK(ts < ends[id]);
}

TEST_CASE("a constant that a kernel reads is a part of it", "[questions]") {
  EngineOptions options;
  options.record = true;
  Session s(options);
  s.output(
      "@compile\nfn f(x) = (x * full([100], 3.0) + ones([100])) * arange(100, dtype: f32)\nlet y = f(ones([100]))\n");
  CHECK(s.engine.recording()->regions.at(0).specialisations.at(0).kernels.size() == 1);
}

TEST_CASE("a kernel has one name in the profile, the trace, the dump and what explain says", "[profile][questions]") {
  EngineOptions options;
  options.profile = options.record = true;
  options.trace_events = 1000;
  Session s(options);
  s.output(
      "@compile\nfn f(x, w) {\n  let h = tanh(x @ w + 1.0)\n  return sum(softmax(h), axis: 0)\n}\n"
      "let y = f(ones([8, 8]), ones([8, 8]))\n");
  std::set<std::string> explained, profiled, traced;
  for (const report::RegionRecord& region : s.engine.recording()->regions) {
    for (const report::SpecialisationRecord& each : region.specialisations) {
      CHECK(each.name == "f:2#0");
      for (const report::KernelRecord& kernel : each.kernels) explained.insert(kernel.symbol);
    }
  }
  const json profile = json::parse(s.engine.profile_json("test.tsl"));
  for (const json& row : profile["rows"]) {
    if (row["activity"] == "kernels" && row["specialisation"] == "f:2#0") profiled.insert(row["name"]);
  }
  const std::string path = "test_questions_trace.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const json trace = json::parse(file);
  for (const json& event : trace["traceEvents"]) {
    if (event.contains("args") && event["args"].contains("specialisation")) traced.insert(event["name"]);
  }
  std::remove(path.c_str());
  const fs::path folder = fs::temp_directory_path() / ("tsl_questions_" + std::to_string(getpid()));
  report::prepare_dump(folder.string());
  report::write_dump(*s.engine.recording(), folder.string());
  std::set<std::string> dumped;
  for (const auto& part : fs::directory_iterator(folder)) {
    if (!part.path().filename().string().starts_with("f.")) continue;
    for (const auto& entry : fs::directory_iterator(part.path() / "kernels")) dumped.insert(entry.path().stem());
  }
  fs::remove_all(folder);
  CHECK(dumped == explained);
  CHECK(explained.size() >= 2);
  CHECK(profiled == explained);
  CHECK(traced == explained);
}

TEST_CASE("each row of docs/questions.md names tests that exist, and has an answer", "[questions]") {
  std::string tests;
  for (const auto& entry : fs::recursive_directory_iterator(TSL_SOURCE_DIR "/tests")) {
    if (entry.path().extension() == ".cpp") tests += read(entry.path());
  }
  std::istringstream page(read(TSL_SOURCE_DIR "/docs/questions.md"));
  int rows = 0;
  const std::regex row(R"(\| (\d+) \| (.*) \| (.*) \| (.*)\|)"), name(R"re("([^"]{15,})")re");
  std::smatch cells;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, cells, row)) continue;
    INFO(line);
    CHECK(std::stoi(cells[1]) == ++rows);
    if (rows != 23) CHECK(cells[3].str().rfind("no:", 0) != 0);  // Windows is the one
    const std::string shown = cells[4];
    for (std::sregex_iterator at(shown.begin(), shown.end(), name), end; at != end; ++at) {
      INFO("the test " << (*at)[1]);
      CHECK(contains(tests, "\"" + (*at)[1].str() + "\""));
    }
  }
  CHECK(rows == 115);
}
