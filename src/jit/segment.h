// The result of tracing: a tree of segments. A segment is the part of a region between two host reads; the values read
// and the guards choose the trace path.
#pragma once

#include <memory>
#include <vector>

#include "jit/recorder.h"
#include "jit/sized_plans.h"

namespace tsl::jit {

/// An element that the host read at the end of a segment: it becomes a symbol of the next one.
struct Read {
  uint32_t slot = 0;    // of the run
  Layout layout;        // of the element, from the slot's element (0, 0, …)
  uint32_t symbol = 0;  // id it has in the following segments
};

/// Data of the tree's owner for each segment: input sources, effects, the region's outputs.
struct SegmentData {
  virtual ~SegmentData() = default;
};

struct Segment {
  // Checked before it runs: symbols [first_symbol, end_symbol) are computed, then every guard must give its hint.
  std::shared_ptr<SymbolTable> symbols;
  uint32_t first_symbol = 0, end_symbol = 0;
  std::vector<SymbolGuard> guards;

  std::unique_ptr<SizedPlans> plans;  // null if the segment computes no tensors
  std::vector<uint32_t> input_slots;  // per plan input: slot of the run
  uint32_t first_output = 0;          // slot of the plan's first output
  std::vector<uint32_t> kept_slots;   // inputs that the owner of the tree reads after the plan has run
  std::vector<Read> reads;
  bool is_last = false;  // the region ends here
  std::unique_ptr<SegmentData> interface;
  std::vector<std::unique_ptr<Segment>> next;  // what may follow; their guards exclude each other
};

/// Whether the segment's guards hold in this run. Computes its symbols: run.symbols, which is as long as the segment's
/// end_symbol, already holds its inputs.
bool guards_hold(const Segment& segment, Run& run);

/// Runs the segment's plan and appends its outputs to the run. `donated` is by slot of the run, or empty. False if it
/// failed, and then nothing has happened: interpreted, the same code will find out why. Throws Failure, a final one,
/// where something has.
bool run_plan(Segment& segment, Run& run, std::span<const char> donated);

/// Reads one element on the host.
Scalar element(exec::Devices& devices, const Tensor& zero_dimensional);

}  // namespace tsl::jit
