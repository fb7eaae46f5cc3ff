// Tests that a Chrome trace is one that viewers show whole: events nest, flows have two ends, tracks have names.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "profile/profile_table.h"
#include "support/session.h"

using namespace tsl;
using exec::ActivityKind;
using exec::Timeline;
using nlohmann::json;
using report::Profile;

namespace {

constexpr double kSlack = 0.002;  // microseconds: times are rounded

json trace_of(const Timeline& timeline, const Profile& profile) {
  const SourceMap sources;
  std::ostringstream text;
  report::write_trace({timeline, profile, sources, "", {}, false}, text);
  return json::parse(text.str())["traceEvents"];
}

double begin_of(const json& event) { return event["ts"].get<double>(); }
double end_of(const json& event) { return event["ts"].get<double>() + event.value("dur", 0.0); }

/// Checks that events last, that those of a track nest, and that tracks have names.
void check_slices(const json& events) {
  std::map<int, std::vector<const json*>> tracks;
  std::set<int> named;
  for (const json& event : events) {
    if (event["ph"] == "M" && event["name"] == "process_name") named.insert(event["pid"].get<int>());
    if (event["ph"] != "X") continue;
    CHECK(event["dur"].get<double>() >= 0);
    CHECK(begin_of(event) >= 0);
    CHECK_FALSE(event["name"].get<std::string>().empty());
    tracks[event["pid"].get<int>()].push_back(&event);
  }
  for (auto& [track, slices] : tracks) {
    CHECK(named.count(track) == 1);
    std::stable_sort(slices.begin(), slices.end(), [](const json* a, const json* b) {
      return begin_of(*a) != begin_of(*b) ? begin_of(*a) < begin_of(*b) : end_of(*a) > end_of(*b);
    });
    std::vector<double> open;
    for (const json* slice : slices) {
      while (!open.empty() && begin_of(*slice) >= open.back() - kSlack) open.pop_back();
      if (!open.empty()) CHECK(end_of(*slice) <= open.back() + kSlack);
      open.push_back(end_of(*slice));
    }
  }
}

}  // namespace

TEST_CASE("each flow of a trace leads from a launch to its kernel", "[profile]") {
  constexpr uint64_t kLaunches = 3, kApart = 1'000'000;  // ticks
  Profile profile(100);
  Timeline timeline(profile);
  const Device device = Device::of("cuda");
  const Timeline::Id kernel = timeline.add({.kind = ActivityKind::kernel, .name = "k_add__1", .device = device});
  std::vector<Timeline::Mark> marks;
  std::vector<Timeline::DeviceWork> work;
  for (uint64_t i = 0; i < kLaunches; ++i) {
    const uint64_t at = timeline.begin_ticks() + i * kApart;
    marks.push_back({at, timeline.of(ActivityKind::launch), 0});
    marks.push_back({at + kApart / 4, Timeline::kEnd, 0});
    work.push_back({at + kApart / 2, at + kApart, kernel, 0, at + kApart / 8});
  }
  profile.read(timeline, marks, work);
  timeline.flush();  // from here on ticks have one length
  const json events = trace_of(timeline, profile);
  check_slices(events);

  std::map<uint64_t, const json*> begins, ends;
  for (const json& event : events) {
    if (event["ph"] == "s") CHECK(begins.emplace(event["id"].get<uint64_t>(), &event).second);
    if (event["ph"] == "f") CHECK(ends.emplace(event["id"].get<uint64_t>(), &event).second);
  }
  CHECK(begins.size() == kLaunches);
  REQUIRE(ends.size() == begins.size());
  // A viewer binds both ends to the slices that they are in: a launch of the host, a kernel of the device.
  const auto slice_at = [&](const json& flow) {
    std::string name;
    for (const json& event : events) {
      if (event["ph"] == "X" && event["pid"] == flow["pid"] && event["tid"] == flow["tid"] &&
          begin_of(event) <= begin_of(flow) + kSlack && end_of(event) >= begin_of(flow) - kSlack)
        name = event["name"];
    }
    return name;
  };
  for (const auto& [id, begin] : begins) {
    REQUIRE(ends.count(id) == 1);
    const json& end = *ends[id];
    CHECK((*begin)["cat"] == end["cat"]);
    CHECK((*begin)["name"] == end["name"]);
    CHECK(begin_of(*begin) <= begin_of(end));
    CHECK(slice_at(*begin) == "launching kernels");
    CHECK(slice_at(end) == "k_add__1");
    CHECK(end["bp"] == "e");  // of the enclosing slice, not of the next one
  }
}

TEST_CASE("the events of a program's trace nest, and their kernels name their lines", "[profile]") {
  EngineOptions options;
  options.profile = true;
  options.trace_events = 10'000;
  Session s(options);
  s.output(
      "fn loss(w, x) = mean((x @ w) * (x @ w))\n"
      "@compile\nfn step(w, x) = w - 0.1 * grad(loss)(w, x)\n"
      "var w = ones([4, 2])\n"
      "for i in 0..5 { w = with_range(\"step\", fn() = step(w, ones([8, 4]))) }\nprint(w)\n");
  const std::string path = "test_trace_program.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const json events = json::parse(file)["traceEvents"];
  std::remove(path.c_str());
  check_slices(events);
  size_t kernels = 0;
  for (const json& event : events) {
    if (event["ph"] != "X" || !event["args"].is_object() || !event["args"].contains("category")) continue;
    ++kernels;
    CHECK(event["args"].value("lines", "").find("test.tsl:") == 0);
  }
  CHECK(kernels > 5);
}

TEST_CASE("a trace holds as many events as its limit allows", "[profile]") {
  EngineOptions options;
  options.profile = true;
  options.trace_events = 100;
  Session s(options);
  s.output("var y = 0\nfor i in 0..1000 { y = exp(ones([10])) }\nprint(y)\n");
  const std::string path = "test_trace_limit.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const json events = json::parse(file)["traceEvents"];
  std::remove(path.c_str());
  check_slices(events);
  CHECK(events.size() < 2 * 100 + 20);  // scopes and works of devices, and what names and ends the tracks
}

namespace {

/// Runs a program, and returns the events of its trace.
json trace_of_program(const std::string& program) {
  EngineOptions options;
  options.profile = true;
  options.trace_events = 10'000;
  Session s(options);
  s.output(program);
  const std::string path = "test_trace_events.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  json events = json::parse(file)["traceEvents"];
  std::remove(path.c_str());
  check_slices(events);
  return events;
}

std::vector<json> slices_named(const json& events, const std::string& name) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event["ph"] == "X" && event["name"].get<std::string>().find(name) != std::string::npos) found.push_back(event);
  }
  return found;
}

bool is_within(const json& inner, const json& outer) {
  return begin_of(inner) >= begin_of(outer) - kSlack && end_of(inner) <= end_of(outer) + kSlack;
}

}  // namespace

TEST_CASE("the phases of a compilation are events within it", "[profile]") {
  const json events = trace_of_program("@compile\nfn f(x) = exp(x) + 1.0\nlet y = f(ones([10]))\n");
  const std::vector<json> compilations = slices_named(events, "compiling graphs");
  for (const char* phase : {"simplify", "fuse", "lower, launches and buffers", "prepare for the device"}) {
    const std::vector<json> found = slices_named(events, phase);
    INFO(phase);
    CHECK(found.size() == compilations.size());
    for (const json& each : found) {
      CHECK(std::any_of(compilations.begin(), compilations.end(),
                        [&](const json& compilation) { return is_within(each, compilation); }));
    }
  }
}

TEST_CASE("segments and host reads are events, with the line that reads", "[profile]") {
  const json events = trace_of_program(
      "@compile\nfn f(x) {\n  let s = sum(x)\n  if s.item() > 0.0 { return x * 2.0 }\n  return x\n}\n"
      "let x = ones([10])\nfor i in 0..4 { f(x) }\n");
  const std::vector<json> first = slices_named(events, "f:2 segment 1"), second = slices_named(events, "f:2 segment 2");
  const std::vector<json> calls = slices_named(events, "running compiled regions f:2");
  CHECK(first.size() == 3);  // the first call is traced
  CHECK(second.size() == 3);
  for (const json& segment : first) {
    CHECK(std::any_of(calls.begin(), calls.end(), [&](const json& call) { return is_within(segment, call); }));
  }
  const std::vector<json> reads = slices_named(events, "reading back");
  CHECK(reads.size() == 4);
  for (const json& read : reads) CHECK(read["args"]["lines"] == "test.tsl:4");
}

TEST_CASE("a region of one segment has no events of segments", "[profile]") {
  const json events = trace_of_program("@compile\nfn f(x) = x * 2.0\nlet x = ones([10])\nfor i in 0..4 { f(x) }\n");
  CHECK(slices_named(events, " segment ").empty());
}

TEST_CASE("backward kernels are marked, and arrows lead to them from what they differentiate", "[profile]") {
  const json events = trace_of_program(
      "fn loss(w) = sum(exp(w) * w)\n@compile\nfn step(w) = grad(loss)(w)\n"
      "let w = ones([64])\nlet x = ones([8, 8])\nfn g(x) = sum(x @ x)\n"
      "let a = step(w)\nlet b = grad(g)(x)\n");
  size_t backward = 0;
  std::map<uint64_t, const json*> begins;
  for (const json& event : events) {
    if (event["ph"] == "X" && event["args"].value("pass", "") == "backward") {
      ++backward;
      CHECK(event["cat"] == "kernels,backward");
    }
    if (event["ph"] == "s" && event["name"] == "backward") begins[event["id"].get<uint64_t>()] = &event;
  }
  CHECK(backward > 0);
  size_t ends = 0;
  for (const json& event : events) {
    if (event["ph"] != "f" || event["name"] != "backward") continue;
    ++ends;
    REQUIRE(begins.count(event["id"].get<uint64_t>()) == 1);
    CHECK(begin_of(*begins[event["id"].get<uint64_t>()]) < begin_of(event));
  }
  CHECK(ends > 0);
  CHECK(ends == begins.size());
}

TEST_CASE("ranges of compiled code have a track in the trace", "[profile]") {
  EngineOptions options;
  options.profile = true;
  options.trace_events = 10'000;
  Session s(options);
  s.output(
      "fn layer(x, w) = with_range(\"mlp\", fn() = relu(x @ w))\n"
      "@compile\nfn step(x, w) = layer(layer(x, w), w)\n"
      "for i in 0..3 { step(ones([8, 8]), ones([8, 8])) }\n");
  const std::string path = "test_trace_ranges.json";
  s.engine.write_trace(path);
  std::ifstream file(path);
  const json trace = json::parse(file);
  std::remove(path.c_str());
  std::map<std::string, int> ranges;
  bool kernels_have_ranges = false;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == "ranges") ++ranges[event["args"]["path"].get<std::string>()];
    if (event.value("cat", "") == "kernels" && event["args"].value("range", "") == "step.layer[1].mlp")
      kernels_have_ranges = true;
  }
  CHECK(ranges["step"] >= 1);
  CHECK(ranges["step.layer[0].mlp"] == 3);
  CHECK(ranges["step.layer[1].mlp"] == 3);
  CHECK(kernels_have_ranges);
}
