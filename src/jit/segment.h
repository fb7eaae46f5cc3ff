// The result of tracing: a tree of segments. A segment is the part of a region between two host reads; the values read
// and the guards select the trace path.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "exec/deferred_errors.h"
#include "jit/recorder.h"
#include "jit/sized_plans.h"

namespace tsl::jit {

/// A host read at the end of a segment: the element becomes a symbol of the next segment.
struct Read {
  uint32_t slot = 0;    // of the run
  Layout layout;        // of the element, relative to the slot's element (0, 0, …)
  uint32_t symbol = 0;  // its id in the following segments
  Span span;            // where the program reads it
};

/// A sum over ranks that a plan makes.
struct RecordedSum {
  DType dtype = DType::f32;
  Shape shape;
  Span span;  // of its call
};

/// Data of the tree's owner for each segment: input sources, effects, the region's outputs.
struct SegmentData {
  virtual ~SegmentData() = default;
};

struct Segment {
  // Checked before the segment runs: symbols [first_symbol, end_symbol) are computed, and every guard must equal its
  // hint.
  std::shared_ptr<SymbolTable> symbols;
  uint32_t first_symbol = 0, end_symbol = 0;
  std::vector<SymbolGuard> guards;

  std::unique_ptr<SizedPlans> plans;  // null if the segment computes no tensors
  std::vector<uint32_t> input_slots;  // per plan input: the slot of the run
  uint32_t first_output = 0;          // the slot of the plan's first output
  std::vector<uint32_t> kept_slots;   // inputs that the tree's owner reads after the plan has run
  std::vector<Read> reads;
  bool is_last = false;   // the region ends here
  uint64_t last_use = 0;  // in the time of the region's owner
  uint32_t replays = 0;   // that have waited for `reads`
  /// Of the fallible nodes; null: there are none.
  std::shared_ptr<const exec::FailureSites> failure_sites;
  std::vector<RecordedSum> sums;  // in the order of the program
  std::unique_ptr<SegmentData> interface;
  std::vector<std::unique_ptr<Segment>> next;  // possible successors; at most one has guards that hold
};

/// What became of a plan: it was not launched for want of memory, or has failed on its elements.
enum class PlanOutcome : uint8_t { done, not_launched, failed };

/// Whether the segment's guards hold in this run. Computes its symbols into run.symbols, which has end_symbol elements
/// and contains the inputs already.
bool guards_hold(const Segment& segment, Run& run);

/// Runs the segment's plan and appends its outputs to the run. The outputs of a last segment may reuse the memory of
/// donated inputs, since nothing reads them afterwards. If the plan was not done, nothing has changed: interpreting the
/// same code then raises the error. Throws a final Failure if something was changed.
/// `own_frames`: frames of the region, if the error of a fallible op may be raised later; else the run waits.
PlanOutcome run_plan(Segment& segment, Run& run, exec::DeferredErrors& errors, std::optional<size_t> own_frames = {});

/// Reads an element on the host.
Scalar element(exec::Devices& devices, const Tensor& zero_dimensional);

}  // namespace tsl::jit
