// What `tsl bench` prints: the kernels of a dump, measured alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/launch_sweep.h"
#include "graph/kernel_facts.h"
#include "report/roofline.h"

namespace tsl::report {

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
};

struct BenchView {
  const std::vector<BenchRow>& rows;
  std::string title;
  std::string device;
  Roofline roofline;
  bool sweeps = false;  // choices were tried
};

/// Formats the rows as a table, those that take longest first.
std::string bench_text(const BenchView& view);
/// Formats the rows for tools; docs/bench.md describes the keys.
std::string bench_json(const BenchView& view);

}  // namespace tsl::report
