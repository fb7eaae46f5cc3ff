// What observers of regions are told: names, and the reasons for traces.
#include "jit/guard_notes.h"
#include "jit/region.h"
#include "jit/whole_functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "value/context.h"
#include "value/signature.h"

namespace tsl::jit {

RegionNote Region::note(Context& context) const {
  return {loop ? static_cast<const void*>(loop) : proto,
          names->region,
          name(context),
          loop ? loop->span : proto->span,
          loop ? loop->span : proto->extent,
          loop != nullptr};
}

void Region::fall_back(const Tracing& tracing, const std::string& reason, Span at) {
  if (must_be_whole()) fail_interpreted(*proto, reason);
  pacing->abort_trace();
  if (tracing.observed()) {
    const RegionNote region = note(tracing.context);
    tracing.observers->each([&](TraceObserver& o) { o.on_abort(region, reason, at, pacing->calls_left()); });
  }
  if (loop || !proto->is_compiled) return;  // --compile asks for as much as there is to be had
  tracing.context.warn(
      make_warning(fmt::format("{} has @compile, but this is interpreted: {}", proto->display_name(), reason), at));
}

/// Describes how this run differs from a segment that it might have followed. Binds the run's inputs to it.
TraceReason RegionCache::compare(const Segment& candidate, const Entry& entry, const std::vector<Segment*>& path) {
  for (const InputSource& source : interface_of(candidate).sources) {
    const Value* value = source_value(source, entry);
    if (!value) continue;
    TraceReason found = describe_difference(*value, source);
    if (!found.text.empty()) return found;
  }
  run_.symbols.resize(candidate.end_symbol);
  if (!bind_inputs(candidate, entry)) return {};
  try {
    candidate.symbols->evaluate(run_.symbols, candidate.first_symbol);
  } catch (const Failure&) {
    return {};  // an expression has no value now
  }
  SymbolNames names(context_.sources());
  for (const Segment* segment : path) names.add(*segment);
  names.add(interface_of(candidate).sources);
  return describe_failure(candidate, run_, names);
}

void RegionCache::notify_trace(const Region& region, const Entry& entry, const std::vector<Segment*>& path) {
  if (!tracing_.observed()) return;
  const Segment& at = path.empty() ? region.root : *path.back();
  TraceReason reason;
  if (!at.next.empty()) {
    const Run::Sizes sizes = run_.sizes();
    reason = compare(*at.next.back(), entry, path);
    run_.resize(sizes);
    if (reason.text.empty()) reason.text = "another branch was taken";
  } else {
    reason.text = !path.empty()       ? "the rest of its path was evicted or not recorded"
                  : region.was_traced ? "it is tried again"
                  : region.is_renewed ? "recompile() was called"
                                      : "first call";
  }
  reason.interpreted = region.pacing->calls_left();
  const RegionNote note = region.note(context_);
  tracing_.observers->each([&](TraceObserver& o) { o.on_trace(note, reason); });
}

void RegionCache::notify_run(const Region& region, RunKind kind) const {
  if (!tracing_.observed()) return;
  const void* const declaration = region.loop ? static_cast<const void*>(region.loop) : region.proto;
  tracing_.observers->each([&](TraceObserver& o) { o.on_run(declaration, kind); });
}

}  // namespace tsl::jit
