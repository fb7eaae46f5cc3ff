// What `tsl bench` prints: the kernels of a dump, measured alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/launch_sweep.h"
#include "exec/plan_bench.h"
#include "graph/kernel_facts.h"
#include "profile/roofline.h"

namespace tsl::report {

/// How results differ from those that are expected.
struct ResultComparison {
  uint64_t elements = 0, different = 0;  // of these, in any bit
  double largest = 0;                    // difference, relative to numbers above 1
  bool is_close = true;                  // all are within what rounding in another order explains
};

/// Other code in the place of a kernel or of its launch.
struct ComparedCode {
  exec::KernelTimes times = {};  // without runs if it cannot run; of a launch, the sums over its kernels
  ResultComparison results = {};
  std::string problem = {};  // why it cannot run
};

/// An op kernel that there is for a launch, or the definition of its op.
struct BenchCandidate {
  exec::KernelCandidate kernel;
  ComparedCode code = {};  // of the one that is taken: its times
};

/// A whole specialisation.
struct PlanRow {
  std::string plan;  // "step:12#0"
  std::string types;
  size_t launches = 0;
  exec::RunTimes times = {};
  std::string problem = {};  // why it could not run
};

/// A kernel as it ran alone.
struct BenchRow {
  std::string plan;                           // the specialisation: "step:12#0"
  exec::KernelTimes times;                    // its launch is of that plan; without runs if it could not run
  graph::KernelFacts facts;                   // of its launch
  uint32_t launches = 1;                      // of the dump, that are equal to this one
  bool is_first = true;                       // of the kernels of its launch
  bool is_cold = false;                       // some of its data is in no cache when it begins
  std::string problem;                        // why it could not run
  std::vector<exec::SweptChoice> swept = {};  // of its launch, in the first of its rows; the first is the usual choice
  bool is_kept = false;                       // the best of them is kept for later runs
  std::optional<ComparedCode> edited = {};    // if its file was edited
  std::vector<BenchCandidate> candidates = {};  // of its launch, in the first of its rows, if more than one runs it
};

struct BenchView {
  const std::vector<BenchRow>& rows;
  std::string title;
  std::string device;
  Roofline roofline;
  bool sweeps = false;              // choices were tried
  std::vector<PlanRow> plans = {};  // whole specialisations
};

/// Formats the rows as a table, those that take longest first.
std::string bench_text(const BenchView& view);
/// Formats the rows for tools; docs/bench.md describes the keys.
std::string bench_json(const BenchView& view);

}  // namespace tsl::report
