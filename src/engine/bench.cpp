#include "engine/bench.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/result_comparison.h"
#include "graph/compile.h"
#include "jit/definition.h"
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

using Programs = std::vector<exec::KernelSource>;

/// Returns a text that is equal for equal launches.
std::string key_of(const LaunchBench& launch, const Programs& edited) {
  Json graph = report::graph_json(launch.plan().graph);
  graph.erase("symbols");
  std::map<uint64_t, uint64_t> symbols;
  generalise(graph, symbols);
  std::string text = graph.dump() + launch.plan().kernels[0].name;
  for (bool cold : launch.cold_inputs()) text += cold ? 'c' : 'w';
  for (const exec::KernelSource& program : edited) text += program.text;
  return text;
}

/// Returns the files of a launch's kernels that a user has edited.
Programs edited_of(const report::DumpedPlan& plan, uint32_t launch) {
  Programs programs;
  for (const report::StoredPlan::Kernel& kernel : plan.stored.kernels) {
    const auto file = plan.edited.find(kernel.name);
    if (kernel.launch == launch && file != plan.edited.end()) programs.push_back({kernel.name, launch, file->second});
  }
  return programs;
}

/// Returns the sums over the kernels of a launch.
exec::KernelTimes total(const std::vector<exec::KernelTimes>& kernels) {
  exec::KernelTimes sums;
  for (const exec::KernelTimes& each : kernels) {
    sums.runs = each.runs;
    sums.median += each.median;
    sums.low += each.low;
    sums.high += each.high;
  }
  return sums;
}

/// Runs other code in place of a launch, and compares what both compute. Fills `times`, by kernel.
report::ComparedCode compare_code(LaunchBench& launch, const exec::LaunchCode& code,
                                  std::vector<exec::KernelTimes>& times) {
  report::ComparedCode out;
  try {
    const std::vector<std::byte> expected = code.other ? launch.results({}, code.other->outputs) : launch.results({});
    out.results = compare_results(code.other ? code.other->plan : launch.plan(), expected, launch.results(code));
    times = launch.run(code);
    out.times = total(times);
  } catch (const Failure& failure) { out.problem = failure.error().message; } catch (const std::bad_alloc&) {
    out.problem = "out of memory";
  }
  return out;
}

/// Runs a launch with edited code, and compares that with what is generated.
void measure_edited(LaunchBench& launch, std::vector<BenchRow>& rows, const Programs& programs) {
  std::vector<exec::KernelTimes> times;
  const report::ComparedCode edited = compare_code(launch, {.programs = programs}, times);
  for (BenchRow& row : rows) {
    const auto is_same = [&](const auto& each) { return each.name == row.times.kernel.name; };
    if (edited.problem.empty() && std::none_of(programs.begin(), programs.end(), is_same)) continue;
    row.edited = edited;
    for (const exec::KernelTimes& each : times) {
      if (each.kernel.name == row.times.kernel.name) row.edited->times = each;
    }
  }
}

/// Returns the definition of the op of a launch, as far as it computes what the launch does.
exec::OtherPlan definition_of(const LaunchBench& launch, Device device) {
  const graph::Plan& plan = launch.plan();
  const graph::Kernel& kernel = plan.kernels[0];
  const std::vector<graph::NodeId> inputs(plan.graph.inputs().begin(), plan.graph.inputs().end());
  jit::DefinedNode defined = jit::define(plan.graph, plan.graph[kernel.op_node], device, launch.backend());
  exec::OtherPlan other;
  for (const graph::NodeId id : defined.inputs)
    other.inputs.push_back(static_cast<uint32_t>(std::find(inputs.begin(), inputs.end(), id) - inputs.begin()));
  std::vector<graph::Output> outputs;
  for (size_t i = 0; i < defined.results.size(); ++i) {
    const auto at = std::find(kernel.results.begin(), kernel.results.end(), defined.results[i]);
    if (at == kernel.results.end()) continue;
    other.outputs.push_back(static_cast<uint32_t>(at - kernel.results.begin()));
    outputs.push_back(defined.graph.outputs[i]);
  }
  defined.graph.outputs = std::move(outputs);
  other.plan = graph::compile(std::move(defined.graph), plan.options, nullptr, &launch.backend());
  return other;
}

/// Measures the definition of a launch's op beside it.
report::ComparedCode measure_definition(LaunchBench& launch, Device device) {
  report::ComparedCode out;
  try {
    const exec::OtherPlan definition = definition_of(launch, device);
    const auto limit = static_cast<uint64_t>(launch.backend().tensor_limit());
    if (definition.plan.arena_bytes > limit / 2) {
      out.problem = "takes " + format_bytes(static_cast<double>(definition.plan.arena_bytes));
      return out;
    }
    std::vector<exec::KernelTimes> times;
    return compare_code(launch, {.other = &definition}, times);
  } catch (const Failure& failure) { out.problem = failure.error().message; }
  return out;
}

/// Measures the op kernels that there are for a launch, and the definition of its op, if there is more than the one
/// that is taken.
void measure_candidates(LaunchBench& launch, BenchRow& row, const exec::KernelTimes& taken, Device device) {
  const std::vector<exec::KernelCandidate> candidates = launch.candidates();
  if (candidates.empty()) return;  // its ops are fused
  const bool is_defined = launch.plan().graph[launch.plan().kernels[0].op_node].def().compose != nullptr;
  const auto others = std::count_if(candidates.begin(), candidates.end(), [](const exec::KernelCandidate& each) {
    return !each.is_taken && each.refusal.empty();
  });
  if (others == 0 && !is_defined) return;
  for (const exec::KernelCandidate& each : candidates) {
    report::BenchCandidate& out = row.candidates.emplace_back(report::BenchCandidate{each});
    std::vector<exec::KernelTimes> times;
    if (each.is_taken) out.code.times = taken;
    else if (each.refusal.empty()) out.code = compare_code(launch, {.row = each.name}, times);
  }
  if (is_defined) row.candidates.push_back({{"definition", ""}, measure_definition(launch, device)});
}

/// Tries the choices of a launch, and keeps the best if that is wanted.
void sweep_launch(LaunchBench& launch, BenchRow& row, const BenchOptions& options) {
  constexpr double kNoBudget = std::numeric_limits<double>::infinity();
  row.swept = exec::sweep(launch, options.setup.seconds, kNoBudget);
  if (options.store && !row.swept.empty())
    row.is_kept = launch.backend().keep_choice(launch.plan(), exec::best_of(row.swept).choice);
}

/// Measures a launch. Returns a row for each of its kernels.
std::vector<BenchRow> measure(LaunchBench& launch, Device device, const std::string& specialisation,
                              const Programs& edited, const BenchOptions& options) {
  BenchRow row;
  row.plan = specialisation;
  row.facts = graph::facts_of(launch.plan(), launch.plan().launches[0]);
  row.is_cold = launch.is_cold();
  std::vector<BenchRow> rows;
  try {
    std::vector<exec::KernelTimes> measured = launch.run();
    const exec::KernelTimes all = total(measured);
    for (exec::KernelTimes& times : measured) {
      row.times = std::move(times);
      rows.push_back(row);
      row.is_first = false;
    }
    if (!rows.empty()) measure_candidates(launch, rows[0], all, device);
    if (options.sweep && !rows.empty()) sweep_launch(launch, rows[0], options);
    if (!edited.empty()) measure_edited(launch, rows, edited);
    return rows;
  } catch (const Failure& failure) { row.problem = failure.error().message; } catch (const std::bad_alloc&) {
    row.problem = "out of memory";
  }
  row.times.kernel.name = graph::unique_name(launch.plan(), launch.plan().launches[0]);
  return {row};
}

/// Formats the types of a plan's inputs and outputs: "f32[64, 32] -> f32[32]".
std::string types_of(const graph::Plan& plan) {
  std::string inputs, outputs;
  const auto add = [](std::string& text, DType dtype, const Shape& shape) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", describe(dtype, shape));
  };
  constexpr size_t kMostInputs = 6;
  for (const graph::NodeId id : plan.graph.inputs()) add(inputs, plan.graph[id].dtype, plan.graph[id].shape);
  if (plan.graph.inputs().size() > kMostInputs) inputs = fmt::format("{} inputs", plan.graph.inputs().size());
  for (const graph::PlanOutput& output : plan.outputs) add(outputs, output.dtype, output.layout.shape);
  return inputs + " -> " + outputs;
}

/// Whether a row is of the kernel that was asked for. On another device than that of the dump, kernels have other
/// names, so that all of the launch are.
bool is_wanted(const std::string& kernel, const std::vector<BenchRow>& rows, const BenchRow& row) {
  const auto has_name = [&](const BenchRow& each) { return report::is_named(each.times.kernel.name, kernel); };
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
      const Programs edited = edited_of(plan, number);
      const auto [at, is_new] = measured.try_emplace(key_of(launch, edited));
      for (const size_t row : at->second) ++out[row].launches;
      if (!is_new) continue;
      const std::vector<BenchRow> rows = measure(launch, device, plan.stored.plan.options.name, edited, options);
      for (const BenchRow& row : rows) {
        if (!is_wanted(plan.kernel, rows, row)) continue;
        at->second.push_back(out.size());
        out.push_back(row);
      }
    }
  }
  return out;
}

std::vector<report::PlanRow> bench_plans(Engine& engine, const report::OpenedDump& dump, const BenchOptions& options) {
  const Device device = engine.runtime().default_device();
  std::vector<report::PlanRow> rows;
  for (const report::DumpedPlan& dumped : dump.plans) {
    if (!dumped.kernel.empty()) continue;
    const graph::Plan& plan = dumped.stored.plan;
    report::PlanRow& row = rows.emplace_back();
    row.plan = plan.options.name;
    row.launches = plan.launches.size();
    row.types = types_of(plan);
    try {
      row.times = exec::time_plan(engine.devices(), device, plan, options.setup.seconds);
    } catch (const Failure& failure) { row.problem = failure.error().message; } catch (const std::bad_alloc&) {
      row.problem = "out of memory";
    }
  }
  return rows;
}

}  // namespace tsl
