// What observers of regions are told: names, and the reasons for traces.
#include "base/error_names.h"
#include "jit/guard_notes.h"
#include "jit/region.h"
#include "jit/whole_functions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "value/context.h"
#include "value/signature.h"
#include "vm/interpreter.h"

namespace tsl::jit {

exec::Timeline::Id RegionActivities::segment(exec::Timeline& timeline, size_t position) {
  while (segments.size() <= position) {
    exec::Activity activity = timeline[replay];
    activity.kind = exec::ActivityKind::segment;
    activity.name += fmt::format(" segment {}", segments.size() + 1);
    segments.push_back(timeline.add(std::move(activity)));
  }
  return segments[position];
}

namespace {

RegionNote note_of(Context& context, const Proto& proto, const Loop* loop, const std::string& name) {
  const Span span = loop ? loop->span : proto.span;
  return {loop ? static_cast<const void*>(loop) : &proto,
          name,
          fmt::format("{}{} ({})", loop ? "loop in " : "", proto.display_name(), context.sources().location(span)),
          span,
          loop ? loop->span : proto.extent,
          loop != nullptr,
          proto.is_module ? "" : proto.display_name()};
}

/// Tells the user that calls of a function with @compile do not run as compiled code: by a warning, and in a profile.
void tell(const Tracing& tracing, const Proto& proto, const std::string& what, Span at,
          std::vector<std::string> hints) {
  const std::string text = fmt::format("{} has @compile, but {}", proto.display_name(), what);
  if (exec::Timeline* timeline = tracing.devices.timeline())
    timeline->add_interpreted(proto.extent, fmt::format("{} ({})", text, tracing.context.sources().location(at)));
  tracing.context.warn(make_warning(ErrorName::not_compiled_as_asked, text, at, std::move(hints)));
}

}  // namespace

RegionNote Region::note(Context& context) const { return note_of(context, *proto, loop, names->region); }

void Region::fall_back(const Tracing& tracing, const std::string& reason, Span at) {
  if (must_be_whole()) fail_interpreted(*proto, reason);
  pacing->abort_trace();
  if (tracing.observed()) {
    const RegionNote region = note(tracing.context);
    tracing.observers->each([&](TraceObserver& o) { o.on_abort(region, reason, at, pacing->calls_left()); });
  }
  if (is_asked_for()) tell(tracing, *proto, "this is interpreted: " + reason, at, {});
}

void RegionCache::tell_limit(const RegionNote& note, const Proto& proto, const std::string& reason, std::string hint,
                             const char* prefix) {
  const Span at = tracing_.interpreter.location();
  if (tracing_.observed()) tracing_.observers->each([&](TraceObserver& o) { o.on_limit(note, reason, at); });
  tell(tracing_, proto, prefix + reason, at, {std::move(hint)});
}

void RegionCache::tell_interpreted(const Function& function, const std::string& reason, std::string hint) {
  const Proto& proto = proto_of(function);
  RegionGroup& group = group_of(proto, nullptr);
  if (std::exchange(group.limits.is_interpreted, true)) return;
  tell_limit(note_of(context_, proto, nullptr, group.names.region), proto, reason, std::move(hint),
             "this is interpreted: ");
}

void RegionCache::warn_of_sizes(const Region& region) {
  if (!region.is_asked_for() || std::exchange(region.limits->has_many_sizes, true)) return;
  tell_limit(region.note(context_), *region.proto,
             fmt::format("it is compiled again and again: its tensors had more than {} sizes", kMaxSizes),
             "tensors that are padded to a few sizes need a few compilations");
}

/// Describes how this run differs from a segment that it might have followed. Binds the run's inputs to it.
Difference RegionCache::compare(const Segment& candidate, const Entry& entry, const std::vector<Segment*>& path) {
  size_t held = 0;
  const Run::Sizes before = run_.sizes();
  run_.symbols.resize(candidate.end_symbol);
  for (const InputSource& source : interface_of(candidate).sources) {
    const Value* value = source_value(source, entry);
    if (!value) continue;
    Difference found = describe_difference(*value, source);
    held += found.held;
    if (!found.reason.text.empty()) return {std::move(found.reason), held};
    bind_input(*value, source.guards.data(), run_, false);  // the next ones may be parts of it
  }
  run_.resize(before);
  run_.symbols.resize(candidate.end_symbol);
  if (!bind_inputs(candidate, entry)) return {{}, held};
  try {
    candidate.symbols->evaluate(run_.symbols, candidate.first_symbol);
  } catch (const Failure&) {
    return {{}, held};  // an operand has another type now
  }
  SymbolNames names(context_.sources());
  for (const Segment* segment : path) names.add(*segment);
  names.add(interface_of(candidate).sources);
  Difference found = describe_failure(candidate, run_, names);
  found.held += held;
  return found;
}

/// Returns why this run follows no trace path: how it differs from the one of which most guards held.
TraceReason RegionCache::reason_for(const Region& region, const Entry& entry, const std::vector<Segment*>& path) {
  const Segment& at = path.empty() ? region.root : *path.back();
  Difference nearest;
  for (auto candidate = at.next.rbegin(); candidate != at.next.rend(); ++candidate) {  // the latest first
    const Run::Sizes sizes = run_.sizes();
    Difference found = compare(**candidate, entry, path);
    run_.resize(sizes);
    if (candidate == at.next.rbegin() || found.held > nearest.held) nearest = std::move(found);
  }
  TraceReason& reason = nearest.reason;
  if (!reason.text.empty()) return std::move(reason);
  if (!at.next.empty()) reason.text = "another branch was taken";
  else if (!path.empty()) reason.text = "the rest of its path was evicted or not recorded";
  else {
    const char* const renewal =
        records_sums_ ? "recompile() was called, or devices were linked" : "recompile() was called";
    reason.text = region.was_traced ? "it is tried again" : region.is_renewed ? renewal : "first call";
  }
  return std::move(reason);
}

void RegionCache::notify_trace(const Region& region, const Entry& entry, const std::vector<Segment*>& path) {
  const bool is_limit =
      region.pacing->is_waiting() && region.is_asked_for() && !std::exchange(region.limits->has_many_traces, true);
  if (!tracing_.observed() && !is_limit) return;
  TraceReason reason = reason_for(region, entry, path);
  reason.interpreted = region.pacing->calls_left();
  const RegionNote note = region.note(context_);
  if (tracing_.observed()) tracing_.observers->each([&](TraceObserver& o) { o.on_trace(note, reason); });
  if (!is_limit) return;
  const std::string what = fmt::format(
      "calls that fit none of its traces are interpreted for a while: it was traced {} times, the last time since {}",
      kMaxTracePaths, reason.condition.empty() ? reason.text : reason.condition);
  tell_limit(note, *region.proto, what,
             "a number that decides a branch or a size is traced for each value: keep it in a tensor, or split the "
             "function");
}

std::vector<std::pair<RegionNote, size_t>> RegionCache::traced() const {
  std::vector<std::pair<RegionNote, size_t>> traced;
  for (const auto& [declaration, group] : groups_) {
    for (const std::unique_ptr<Region>& region : group.regions) {
      if (!region->root.next.empty()) traced.emplace_back(region->note(context_), region->root.next.size());
    }
  }
  std::sort(traced.begin(), traced.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.span.source, a.first.span.begin) < std::pair(b.first.span.source, b.first.span.begin);
  });
  return traced;
}

void RegionCache::notify_run(const Region& region, RunKind kind) const {
  if (!tracing_.observed()) return;
  const void* const declaration = region.loop ? static_cast<const void*>(region.loop) : region.proto;
  tracing_.observers->each([&](TraceObserver& o) { o.on_run(declaration, kind); });
}

}  // namespace tsl::jit
