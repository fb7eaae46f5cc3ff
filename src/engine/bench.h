// Runs the kernels of a dump alone, and measures them.
#pragma once

#include <functional>
#include <vector>

#include "exec/launch_bench.h"
#include "report/bench_table.h"
#include "report/dump_reader.h"

namespace tsl {

class Engine;

struct BenchOptions {
  exec::BenchSetup setup;
  bool sweep = false;  // try the choices that the device has for each launch
  bool store = false;  // and keep the best
  std::function<void(size_t done, size_t all)> on_launch = nullptr;  // called before each launch, to show how far it is
};

/// Measures the launches of a dump on the engine's default device. Equal launches are measured once. A launch that
/// cannot run alone has a row that says why.
std::vector<report::BenchRow> bench(Engine& engine, const report::OpenedDump& dump, const BenchOptions& options);

/// Measures whole specialisations of a dump, where no kernel was asked for.
std::vector<report::PlanRow> bench_plans(Engine& engine, const report::OpenedDump& dump, const BenchOptions& options);

}  // namespace tsl
