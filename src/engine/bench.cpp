#include "engine/bench.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/engine.h"
#include "report/graph_json.h"
#include "value/runtime.h"

namespace tsl {

using exec::LaunchBench;
using report::BenchRow;
using Json = nlohmann::ordered_json;

namespace {

/// Replaces what differs between equal launches of a program: the order of nodes, and the identity and the values of
/// its numbers.
void generalise(Json& json, std::map<uint64_t, uint64_t>& symbols) {
  if (json.is_object()) {
    json.erase("order");
    json.erase("backward");
    if (const auto symbol = json.find("symbol"); symbol != json.end()) {
      *symbol = symbols.try_emplace(symbol->get<uint64_t>(), symbols.size()).first->second;
      json.erase("number");
    }
  }
  if (!json.is_structured()) return;
  for (Json& each : json) generalise(each, symbols);
}

/// Returns a text that is equal for equal launches.
std::string key_of(const LaunchBench& launch) {
  Json graph = report::graph_json(launch.plan().graph);
  graph.erase("symbols");
  std::map<uint64_t, uint64_t> symbols;
  generalise(graph, symbols);
  std::string text = graph.dump() + launch.plan().kernels[0].name;
  for (bool cold : launch.cold_inputs()) text += cold ? 'c' : 'w';
  return text;
}

/// Tries the choices of a launch, and keeps the best if that is wanted.
void sweep_launch(LaunchBench& launch, BenchRow& row, const BenchOptions& options) {
  constexpr double kNoBudget = std::numeric_limits<double>::infinity();
  row.swept = exec::sweep(launch, options.setup.seconds, kNoBudget);
  if (options.store && !row.swept.empty())
    row.is_kept = launch.backend().keep_choice(launch.plan(), exec::best_of(row.swept).choice);
}

/// Measures a launch. Returns a row for each of its kernels.
std::vector<BenchRow> measure(LaunchBench& launch, const std::string& specialisation, const BenchOptions& options) {
  BenchRow row;
  row.plan = specialisation;
  row.facts = graph::facts_of(launch.plan(), launch.plan().launches[0]);
  row.is_cold = launch.is_cold();
  std::vector<BenchRow> rows;
  try {
    for (exec::KernelTimes& times : launch.run()) {
      row.times = std::move(times);
      rows.push_back(row);
      row.is_first = false;
    }
    if (options.sweep && !rows.empty()) sweep_launch(launch, rows[0], options);
    return rows;
  } catch (const Failure& failure) { row.problem = failure.error().message; } catch (const std::bad_alloc&) {
    row.problem = "out of memory";
  }
  row.times.kernel.name = graph::unique_name(launch.plan(), launch.plan().launches[0]);
  return {row};
}

/// Whether a row is of the kernel that was asked for. On another device than that of the dump, kernels have other
/// names, so that all of the launch are.
bool is_wanted(const std::string& kernel, const std::vector<BenchRow>& rows, const BenchRow& row) {
  const auto has_name = [&](const BenchRow& each) { return each.times.kernel.name == kernel; };
  return kernel.empty() || has_name(row) || std::none_of(rows.begin(), rows.end(), has_name);
}

}  // namespace

std::vector<BenchRow> bench(Engine& engine, const report::OpenedDump& dump, const BenchOptions& options) {
  const Device device = engine.runtime().default_device();
  size_t done = 0, all = 0;
  for (const report::DumpedPlan& plan : dump.plans) all += plan.launches.size();
  std::vector<BenchRow> out;
  std::map<std::string, std::vector<size_t>> measured;  // by key of the launch: its rows
  for (const report::DumpedPlan& plan : dump.plans) {
    const exec::CacheDistances distances(plan.stored.plan);
    for (const uint32_t number : plan.launches) {
      if (options.on_launch) options.on_launch(done++, all);
      LaunchBench launch(engine.devices(), device, distances, number, options.setup);
      const auto [at, is_new] = measured.try_emplace(key_of(launch));
      for (const size_t row : at->second) ++out[row].launches;
      if (!is_new) continue;
      const std::vector<BenchRow> rows = measure(launch, plan.stored.plan.options.name, options);
      for (const BenchRow& row : rows) {
        if (!is_wanted(plan.kernel, rows, row)) continue;
        at->second.push_back(out.size());
        out.push_back(row);
      }
    }
  }
  return out;
}

}  // namespace tsl
