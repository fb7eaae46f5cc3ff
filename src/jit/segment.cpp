#include "jit/segment.h"

#include <cassert>
#include <new>

#include "base/error.h"
#include "base/error_names.h"
#include "graph/spec.h"
#include "tensor/elements.h"

namespace tsl::jit {

bool guards_hold(const Segment& segment, Run& run) {
  assert(run.symbols.size() == segment.end_symbol);
  try {
    segment.symbols->evaluate(run.symbols, segment.first_symbol);
  } catch (const Failure&) {
    return false;  // the guard on the exponent of a power would fail, too
  }
  for (const SymbolGuard& guard : segment.guards) {
    if (!(run.symbols[guard.condition->id] == guard.condition->hint)) return false;
  }
  return true;
}

namespace {

/// Returns the references that the caller donates, by slot; none if inputs are read after the segment.
std::span<const char> donated_references(const Segment& segment, Run& run) {
  if (!segment.is_last) return {};
  run.donated.resize(run.values.size());
  for (uint32_t slot : segment.kept_slots) run.donated[slot] = 0;
  return run.donated;
}

}  // namespace

PlanOutcome run_plan(Segment& segment, Run& run, exec::DeferredErrors& errors, std::optional<size_t> own_frames) {
  if (!segment.plans) return PlanOutcome::done;
  const std::span<const char> donated = donated_references(segment, run);
  const size_t first = run.values.size();
  run.values.resize(first + segment.plans->output_count());
  PlanOutcome outcome = PlanOutcome::not_launched;
  try {
    const std::shared_ptr<exec::Executable>& plan = segment.plans->at(run.symbols);
    const exec::Inputs inputs(run.values.data(), segment.input_slots);
    const std::span<Tensor> outputs(run.values.data() + first, run.values.size() - first);
    if (std::optional<std::vector<CallSite>> calls = errors.begin(*plan, own_frames)) {
      const uint32_t number = plan->deferred_runs()->run_deferred(inputs, donated, run.symbols, outputs);
      errors.add({plan, segment.plans->device(), number, std::move(*calls), segment.failure_sites});
      outcome = PlanOutcome::done;
    } else {
      outcome = plan->run(inputs, donated, run.symbols, outputs) ? PlanOutcome::failed : PlanOutcome::done;
    }
  } catch (const Failure& failure) {
    const bool is_defect = failure.error().name == ErrorName::device_defect && graph::enforces_specification();
    if (failure.error().is_final || is_defect) throw;
    // Memory ran out before anything was overwritten. Running op by op may need less; if not, that op raises the error.
  } catch (const std::bad_alloc&) {  // as above
  }
  if (outcome != PlanOutcome::done) run.values.resize(first);
  return outcome;
}

Scalar element(exec::Devices& devices, const Tensor& tensor) {
  const Tensor host = devices.to_host(tensor);
  return load_element(host.dtype(), host.data());
}

}  // namespace tsl::jit
