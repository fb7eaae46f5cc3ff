// Tests that explain, profile, trace, log and dump tell of the same regions and kernels, for each example on each tier.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "report/dump.h"
#include "report/explain.h"
#include "support/corpus.h"
#include "support/session.h"

using namespace tsl;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Specialisation and kernel: "step:12#0 k_add__3fa2".
using Names = std::set<std::string>;
using Counts = std::map<std::string, uint64_t>;

Names logged_kernels(const std::string& log) {
  Names names;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::string topic = "[code] ";
    if (line.rfind(topic, 0) != 0) continue;
    const size_t kernel = line.find(": ") + 2;
    names.insert(line.substr(topic.size(), kernel - 2 - topic.size()) + " " +
                 line.substr(kernel, line.find(':', kernel) - kernel));
  }
  return names;
}

Names dumped_kernels(const report::Recording& recording) {
  const fs::path folder = fs::temp_directory_path() / ("tsl_one_story_" + std::to_string(getpid()));
  report::prepare_dump(folder.string());
  report::write_dump(recording, folder.string());
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "plan.json") continue;
    std::ifstream file(entry.path());
    const json plan = json::parse(file);
    for (const json& kernel : plan.value("loaded", json::array()))
      names.insert(plan["specialisation"].get<std::string>() + " " + kernel["symbol"].get<std::string>());
  }
  fs::remove_all(folder);
  return names;
}

/// Counts the runs of each kernel in a trace; those of eager ops have an empty specialisation.
Counts traced_kernels(Engine& engine) {
  const std::string path = "test_one_story.json";
  engine.write_trace(path);
  std::ifstream file(path);
  const json trace = json::parse(file);
  std::remove(path.c_str());
  Counts counts;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("name", "").rfind("the trace is cut", 0) == 0) return {};
    if (event.value("cat", "").rfind("kernels", 0) != 0) continue;
    ++counts[event["args"].value("specialisation", "") + " " + event["name"].get<std::string>()];
  }
  return counts;
}

struct Told {
  Names explained, regions;
  Counts explained_runs, profiled_runs;
  Names profiled_regions;
};

Told told_by(Engine& engine, const report::Recording& recording) {
  Told told;
  for (const report::RegionRecord& region : recording.regions) {
    told.regions.insert(region.name);
    for (const report::SpecialisationRecord& each : region.specialisations) {
      for (const report::KernelRecord& kernel : each.kernels) {
        told.explained.insert(each.name + " " + kernel.symbol);
        if (kernel.times.calls > 0) told.explained_runs[each.name + " " + kernel.symbol] += kernel.times.calls;
      }
    }
  }
  for (const report::KernelRecord& kernel : recording.eager_kernels)
    told.explained_runs[" " + kernel.symbol] += kernel.times.calls;
  const json profile = json::parse(engine.profile_json("example"));
  for (const json& row : profile["rows"]) {
    if (row["activity"] != "kernels" || row["calls"] == 0) continue;
    told.profiled_runs[row["specialisation"].get<std::string>() + " " + row["name"].get<std::string>()] +=
        row["calls"].get<uint64_t>();
  }
  for (const json& region : profile["regions"]) {
    const std::string name = region["name"];
    if (name.find(':') != std::string::npos) told.profiled_regions.insert(name);
  }
  return told;
}

void check_example(const fs::path& script, bool compile_all, bool compile_annotated, size_t& whole_traces) {
  EngineOptions options;
  options.compile_all = compile_all;
  options.compile_annotated = compile_annotated;
  options.profile = options.record = true;
  options.trace_events = 2'000'000;
  options.log_topics = "code";
  const std::string name = script.stem().string();
  if (name == "text_model" || name == "digits" || name == "digits_cnn") options.script_args = {"1"};  // steps, epochs
  Session s(options);
  std::string log;
  s.engine.log = [&](std::string_view text) { log += text; };
  s.engine.show_warning = [](const Error&) {};
  s.engine.run_file(script.string());
  INFO(script.string() << ", " << options.compiles());
  report::Recording recording = *s.engine.recording();
  s.engine.add_times(recording);
  const Told told = told_by(s.engine, recording);
  CHECK(told.explained_runs == told.profiled_runs);
  CHECK_FALSE(told.profiled_runs.empty());
  CHECK(logged_kernels(log) == told.explained);
  CHECK(dumped_kernels(recording) == told.explained);
  CHECK(std::includes(told.regions.begin(), told.regions.end(), told.profiled_regions.begin(),
                      told.profiled_regions.end()));
  if (const Counts traced = traced_kernels(s.engine); !traced.empty()) {
    ++whole_traces;
    CHECK(traced == told.profiled_runs);
  }
  const std::string text = report::explain(recording, {.all = true});
  for (const std::string& region : told.regions) CHECK(text.find(region) != std::string::npos);
  for (const std::string& kernel : told.explained)
    CHECK(text.find(kernel.substr(kernel.find(' ') + 1)) != std::string::npos);
  if (!compile_all && !compile_annotated) CHECK(told.explained.empty());
}

}  // namespace

TEST_CASE("explain, profile, trace, log and dump of every example tell one story", "[examples]") {
  const InRepository in_repository;
  size_t whole_traces = 0, runs = 0;
  for (const auto& entry : fs::directory_iterator("examples")) {
    if (entry.path().extension() != ".tsl") continue;
    check_example(entry.path(), false, true, whole_traces);
    check_example(entry.path(), true, true, whole_traces);
    check_example(entry.path(), false, false, whole_traces);
    runs += 3;
  }
  CHECK(runs >= 24);
  CHECK(whole_traces >= runs - 6);  // traces of long runs are cut
}
