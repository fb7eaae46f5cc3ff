#include "jit/region.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "jit/varying_map.h"
#include "jit/whole_functions.h"
#include "value/context.h"
#include "value/format.h"
#include "value/materialize.h"
#include "value/signature.h"
#include "vm/interpreter.h"

namespace tsl::jit {

namespace {

// The most regions for function objects of one declaration that captured different variables.
constexpr size_t kMaxCaptures = 8;
// The most inputs whose shapes a region remembers. Variables of finished calls are never seen again.
constexpr size_t kMaxHistories = 10'000;
// A read that is replayed so often is worth a warning: each makes the device and the host wait for each other.
constexpr uint32_t kManyReads = 1'000;
// The most calls and loop iterations in one trace.
constexpr uint64_t kMaxSteps = 100'000;

}  // namespace

const std::vector<InputGuard>* Region::last_guards(const InputSource& source) const {
  for (const ShapeHistory& input : shape_histories) {
    if (input.describes(source)) return &input.guards;
  }
  return nullptr;
}

namespace {

/// Returns the alternative of a parameter's type that has a shape; null if there is none, or several.
const TypeAlternative* only_shape(const ParameterInfo& parameter) {
  const TypeAlternative* found = nullptr;
  if (!parameter.type) return nullptr;
  for (const TypeAlternative& each : parameter.type->alternatives) {
    if (!each.has_shape) continue;
    if (found) return nullptr;
    found = &each;
  }
  return found;
}

}  // namespace

void Region::add_annotated_shapes() {
  if (loop) return;
  const std::vector<ParameterInfo>& parameters = proto->signature.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TypeAlternative* shaped = only_shape(parameters[i]);
    if (!shaped || shaped->dims.size() > kMaxRank || shaped->has_any_rank()) continue;
    InputGuard guard;
    guard.kind = InputGuard::Kind::tensor;
    for (const TypeAlternative::Dim& dim : shaped->dims) {
      if (dim.name || dim.op) guard.varying |= static_cast<uint8_t>(1 << guard.layout.rank());
      guard.layout.shape.push_back(kUnknownExtent);
    }
    if (guard.varying == 0) continue;
    shape_histories.push_back({InputSource::Kind::argument, static_cast<uint32_t>(i), nullptr, {guard}});
  }
}

void Region::update_history(const InputSource& source) {
  if (shape_histories.size() > kMaxHistories) {
    shape_histories.clear();
    add_annotated_shapes();
  }
  const auto at = std::find_if(shape_histories.begin(), shape_histories.end(),
                               [&](const ShapeHistory& input) { return input.describes(source); });
  ShapeHistory& history =
      at != shape_histories.end()
          ? *at
          : shape_histories.emplace_back(ShapeHistory{source.kind, source.index, source.cell.get(), {}, source.key});
  history.guards = source.guards;
  // Drops values: symbols are invalid after their trace, and the history must not keep other values alive.
  for (InputGuard& guard : history.guards) {
    guard.constant = Value();
    if (guard.kind == InputGuard::Kind::tensor) guard.layout = without_symbols(guard.layout);
  }
}

RegionGroup& RegionCache::group_of(const Proto& proto, const Loop* loop) {
  RegionGroup& group = groups_[loop ? static_cast<const void*>(loop) : &proto];
  if (group.names.region.empty()) {
    const Span span = loop ? loop->span : proto.span;
    group.names.region = fmt::format("{}:{}", loop ? "loop" : proto.display_name(),
                                     context_.sources().get(span.source).line_of(span.begin));
  }
  return group;
}

const RegionActivities& RegionCache::activities(RegionGroup& group, const Proto& proto, const Loop* loop) const {
  exec::Timeline& timeline = *tracing_.devices.timeline();
  if (group.activities.serial == timeline.serial()) return group.activities;
  exec::Activity activity{
      .kind = exec::ActivityKind::replay, .name = group.names.region, .span = loop ? loop->span : proto.span};
  group.activities.replay = timeline.add(activity);
  activity.kind = exec::ActivityKind::trace;
  group.activities.trace = timeline.add(activity);
  group.activities.segments.clear();
  group.activities.serial = timeline.serial();
  return group.activities;
}

Region& RegionCache::find(RegionGroup& group, const Proto& proto, const Loop* loop,
                          const std::vector<Ref<Cell>>& captures) {
  auto& regions = group.regions;
  const DType reals = proto.is_library ? tracing_.interpreter.reals() : proto.reals;
  const bool is_renewed = std::exchange(group.is_stale, false);
  if (is_renewed) {  // only here: until now regions of the group may have been running
    regions.clear();
    group.pacing = {};
  }
  for (const auto& region : regions) {
    if (region->captures == captures && region->reals == reals) return *region;
  }
  std::erase_if(regions, [](const auto& region) { return region->is_dead(); });
  if (regions.size() >= kMaxCaptures) {
    regions.erase(std::min_element(regions.begin(), regions.end(),
                                   [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
  }
  auto region = std::make_unique<Region>();
  region->proto = &proto;
  region->loop = loop;
  region->captures = captures;
  region->reals = reals;
  region->pacing = &group.pacing;
  region->names = &group.names;
  region->activities = &group.activities;
  region->limits = &group.limits;
  region->is_renewed = is_renewed;
  region->add_annotated_shapes();
  regions.push_back(std::move(region));
  return *regions.back();
}

bool RegionCache::skips(Region& region) {
  TracePacing& pacing = *region.pacing;
  if (!pacing.is_waiting()) return false;
  if (pacing.rarely_replays()) region.evict_all_paths();
  if (!region.root.next.empty()) return false;
  count_interpreted(region);
  return true;
}

void RegionCache::count_interpreted(Region& region) {
  region.pacing->count_interpreted();
  if (!region.must_be_whole()) return;
  clear_run();
  fail_interpreted(*region.proto, "this call fits none of its many traces",
                   "`--log recompiles` lists them, and what differed each time");
}

const Value* RegionCache::source_value(const InputSource& source, const Entry& entry) const {
  switch (source.kind) {
    case InputSource::Kind::argument: return &entry.args[source.index];
    case InputSource::Kind::reg: return &entry.frame->base[source.index];
    case InputSource::Kind::cell: return &source.cell->value;
    case InputSource::Kind::outcome: return &run_.outcomes[source.index].value;
    case InputSource::Kind::opened: return run_.find_opaque(source.index);
    case InputSource::Kind::entry:
    case InputSource::Kind::presence: {
      const Value* const map = run_.find_opaque(source.index);
      return map ? &part_of(*map, source) : nullptr;
    }
    case InputSource::Kind::constant:
    case InputSource::Kind::moved: break;
  }
  return nullptr;
}

bool RegionCache::bind_inputs(const Segment& segment, const Entry& entry) {
  for (const InputSource& source : interface_of(segment).sources) {
    if (source.kind == InputSource::Kind::constant) {
      run_.values.push_back(source.constant);
      run_.donated.push_back(0);
      continue;
    }
    if (source.kind == InputSource::Kind::moved) {
      run_.values.emplace_back();  // filled by move_inputs, once the guards hold
      run_.donated.push_back(0);
      continue;
    }
    if (source.kind == InputSource::Kind::cell && source.cell->is_set != source.is_set) return false;
    if (!bind_input(*source_value(source, entry), source.guards.data(), run_, source.may_donate())) return false;
  }
  return true;
}

bool RegionCache::move_inputs(const Segment& segment) {
  for (const InputSource& source : interface_of(segment).sources) {
    if (source.kind != InputSource::Kind::moved) continue;
    try {
      run_.values[source.slot] = tracing_.devices.move(run_.view(source.index, source.layout), source.device);
    } catch (const Failure&) {
      return false;  // interpreting the same code raises the error
    }
  }
  return true;
}

Segment* RegionCache::match(Segment& at, const Entry& entry) {
  const Run::Sizes sizes = run_.sizes();
  for (const auto& candidate : at.next) {
    run_.symbols.resize(candidate->end_symbol);
    if (bind_inputs(*candidate, entry) && guards_hold(*candidate, run_)) return candidate.get();
    run_.resize(sizes);
  }
  return nullptr;
}

void RegionCache::warn_of_reads(const Segment& segment) {
  context_.warn(make_warning(
      ErrorName::frequent_reads,
      fmt::format("compiled code has waited here {} times for the host to read a number", kManyReads),
      segment.reads[0].span, {"it runs in one piece if the number stays in a tensor, or is read less often"}));
}

bool RegionCache::run(Segment& segment, const Entry& entry, Region& region, size_t position) {
  const bool is_only = position == 0 && segment.is_last;
  exec::Timeline* const timeline = is_only ? nullptr : tracing_.devices.timeline();
  const exec::ActivityScope scope(timeline, timeline ? region.activities->segment(*timeline, position) : 0);
  const std::optional<Effect>& effect = interface_of(segment).effect;
  const bool is_beside = effect && effect->order == EffectOrder::beside_errors;
  const bool may_defer = (segment.is_last || is_beside) && interface_of(segment).printed.empty();
  const size_t own_frames = entry.frame ? 1 : 0;
  const bool done = tracing_.run_plan(segment, run_, may_defer ? std::optional<size_t>(own_frames) : std::nullopt);
  if (segment.plans && segment.plans->evicts()) warn_of_sizes(region);
  return done;
}

bool RegionCache::replay(Region& region, const Entry& entry, std::vector<Segment*>& path, bool& failed, Value& result,
                         uint32_t& exit) {
  Segment* at = &region.root;
  while (Segment* segment = match(*at, entry)) {
    if (!move_inputs(*segment) || !run(*segment, entry, region, path.size())) {
      failed = true;
      return false;
    }
    run_.donated.resize(run_.values.size());
    for (const OutputTemplate& printed : interface_of(*segment).printed)
      context_.print(printed.rebuild(context_, run_));
    segment->last_use = region.pacing->now();
    if (segment->is_last) {
      region.last_use = segment->last_use = region.pacing->count_replay();
      put_outputs(*segment, entry, result, exit);
      return true;
    }
    path.push_back(segment);
    for (const Read& read : segment->reads) {
      const Tensor element_view = run_.view(read.slot, read.layout);
      run_.symbols.resize(std::max<size_t>(run_.symbols.size(), read.symbol + 1));
      if (exec::Timeline* timeline = tracing_.devices.timeline()) timeline->set_position(read.span);
      try {
        run_.symbols[read.symbol] = element(tracing_.devices, element_view);
      } catch (const Failure& failure) {
        if (failure.error().name != ErrorName::number_out_of_range) throw;
        failed = true;  // raised where the region, interpreted, gets there
        return false;
      }
    }
    if (!segment->reads.empty() && ++segment->replays == kManyReads) warn_of_reads(*segment);
    if (const auto& effect = interface_of(*segment).effect) {
      if (effect->order == EffectOrder::after_errors) tracing_.devices.deferred_errors().flush();
      perform(context_, *effect, run_);
      failed = run_.outcomes.back().error != nullptr;  // raised where the region, interpreted, gets there
      if (failed) return false;
    }
    at = segment;
  }
  return false;
}

void RegionCache::put_outputs(const Segment& segment, const Entry& entry, Value& result, uint32_t& exit) {
  const SegmentInterface& interface = interface_of(segment);
  const auto changed = std::find_if(entry.args.begin(), entry.args.end(),
                                    [&](const Value& arg) { return interface.result.extends(arg, run_); });
  if (changed == entry.args.end()) result = interface.result.rebuild(context_, run_);
  // Lists and maps that may change in place come last: other outputs may contain them as they are.
  std::vector<std::pair<Value*, const OutputTemplate*>> extended;
  for (const auto& [cell, value] : interface.cells) {
    if (value.extends(cell->value, run_)) extended.emplace_back(&cell->value, &value);
    else cell->value = value.rebuild(context_, run_);
    cell->is_set = true;
  }
  std::vector<std::pair<Value*, Value>> registers;
  for (const auto& [index, value] : interface.registers) {
    Value* const variable = &entry.frame->base[index];
    if (value.extends(*variable, run_)) extended.emplace_back(variable, &value);
    else registers.emplace_back(variable, value.rebuild(context_, run_));
  }
  for (const auto& [variable, value] : extended) value->extend(*variable, context_, run_);
  for (auto& [variable, value] : registers) *variable = std::move(value);
  if (changed != entry.args.end()) {
    interface.result.extend(*changed, context_, run_);
    result = std::move(*changed);
  }
  exit = interface.exit;
}

void RegionCache::clear_run() {
  run_.values.clear();
  run_.symbols.clear();
  run_.donated.clear();
  run_.opaque.clear();
  run_.outcomes.clear();
}

RegionCache::Outcome RegionCache::advance(Region& region, const Entry& entry, std::vector<Segment*>& path,
                                          Value& result, uint32_t& exit) {
  clear_run();
  run_.records_sums = records_sums_;
  bool failed = false;
  try {
    if (replay(region, entry, path, failed, result, exit)) {
      clear_run();
      return Outcome::done;
    }
  } catch (...) {
    clear_run();
    throw;
  }
  if (failed) return Outcome::failed;
  if (region.pacing->is_waiting()) {
    count_interpreted(region);
    return Outcome::failed;
  }
  if (!inputs_fit(entry)) {
    region.fall_back(tracing_, "an input has too many parts", tracing_.interpreter.location());
    return Outcome::failed;
  }
  region.pacing->begin_trace();
  ++counts_.traces;
  if (region.was_traced) ++counts_.retraces;
  notify_trace(region, entry, path);
  region.was_traced = true;
  region.last_use = region.pacing->now();
  region.evict_dead_paths();  // only after the observers were told how this call differs
  region.make_room(path);
  return Outcome::untraced;
}

bool RegionCache::inputs_fit(const Entry& entry) const {
  const auto fits = [](const Value& value) { return can_abstract(value); };
  if (!entry.frame) return std::all_of(entry.args.begin(), entry.args.end(), fits);
  const auto register_fits = [&](uint16_t r) { return can_abstract(entry.frame->base[r]); };
  return std::all_of(entry.loop->live_in.begin(), entry.loop->live_in.end(), register_fits) &&
         std::all_of(entry.loop->live_out.begin(), entry.loop->live_out.end(), register_fits);
}

bool RegionCache::is_interpreting(const Function& function) const {
  const auto found = groups_.find(&proto_of(function));
  return found != groups_.end() && found->second.is_interpreting;
}

/// Marks a group's regions as interpreted during a scope: recursive calls must not become regions, since each would
/// count as a call of its own.
class RegionCache::Interpreting {
 public:
  explicit Interpreting(RegionGroup& group) : group_(group), before_(std::exchange(group.is_interpreting, true)) {}
  ~Interpreting() { group_.is_interpreting = before_; }
  Interpreting(const Interpreting&) = delete;
  Interpreting& operator=(const Interpreting&) = delete;

 private:
  RegionGroup& group_;
  const bool before_;
};

namespace {

/// Interprets a region whose trace was unwound. If memory runs out again while the known path is replayed, the error is
/// final.
template <class Body> auto interpret_after_restart(Body&& body) {
  try {
    return body();
  } catch (const RestartTrace&) {
    Error error{ErrorName::out_of_memory, "out of memory, twice in a compiled function", {}, {}, {}};
    error.is_final = true;  // its prints cannot be undone, so it cannot start again
    throw Failure(std::move(error));
  }
}

}  // namespace

RunKind RegionCache::kind_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done: return RunKind::replayed;
    case Outcome::untraced: return RunKind::traced;
    case Outcome::failed: return RunKind::interpreted;
  }
  return RunKind::interpreted;
}

Value RegionCache::call(const Value& function, std::span<Value> args) {
  const Function& closure = function.as<Function>();
  RegionGroup& group = group_of(proto_of(closure), nullptr);
  exec::Timeline* const timeline = tracing_.devices.timeline();
  const exec::ActivityScope scope(timeline, timeline ? activities(group, proto_of(closure), nullptr).replay : 0);
  Region& region = find(group, proto_of(closure), nullptr, closure.captures);
  Entry entry;
  entry.function = &function;
  entry.args = args;
  Value result;
  uint32_t exit = 0;
  std::vector<Segment*> path;
  const Outcome outcome = skips(region) ? Outcome::failed : advance(region, entry, path, result, exit);
  notify_run(region, kind_of(outcome));
  if (outcome == Outcome::done) return result;
  const Interpreting interpreting(group);
  if (outcome == Outcome::untraced) {
    try {
      return trace_function(region, entry, path, AfterReplay::record);
    } catch (const RestartTrace&) {}
  }
  return interpret_after_restart([&] { return trace_function(region, entry, path, AfterReplay::interpret); });
}

namespace {

/// Makes a trace the current one during a scope. Afterwards the previous trace, which may have ended, is current again.
class CurrentTrace {
 public:
  CurrentTrace(TraceSession*& slot, TraceSession& trace) : slot_(slot), before_(std::exchange(slot, &trace)) {}
  ~CurrentTrace() { slot_ = before_; }

 private:
  TraceSession*& slot_;
  TraceSession* before_;
};

/// Limits the steps of the interpreter under a trace.
class StepLimit {
 public:
  StepLimit(Interpreter& interpreter, uint64_t limit) : interpreter_(interpreter) {
    interpreter_.set_step_limit(limit);
  }
  ~StepLimit() { interpreter_.set_step_limit(0); }

 private:
  Interpreter& interpreter_;
};

}  // namespace

/// Runs `body`, which interprets the region and commits the trace; ends the trace if it fails.
template <class Body> void RegionCache::run_traced(const Region& region, TraceSession& trace, Body&& body) {
  const exec::ActivityScope scope(tracing_.devices.timeline(), region.activities->trace);
  try {
    try {
      body();
    } catch (const RestartTrace&) { throw; } catch (...) {
      trace.fail();
      throw;
    }
  } catch (const RestartTrace&) {
    trace.discard();
    throw;
  } catch (...) {
    trace.discard();
    clear_run();
    throw;
  }
  clear_run();
}

Value RegionCache::trace_function(Region& region, const Entry& entry, std::vector<Segment*>& path,
                                  AfterReplay after_replay) {
  if (after_replay == AfterReplay::interpret &&
      path.empty()) {  // no other references to the arguments may remain: memory is short
    clear_run();
    return tracing_.interpreter.call_bound(*entry.function, entry.args, true);
  }
  tracing_.devices.deferred_errors().flush();
  std::vector<Value> args(entry.args.size());  // no copies: the caller may donate its arguments
  TraceSession trace(tracing_, region, run_, path, after_replay);
  const CurrentTrace current(trace_, trace);
  for (size_t i = 0; i < args.size(); ++i) {
    InputSource source;
    source.index = static_cast<uint32_t>(i);
    source.set_name(region.proto->register_name(static_cast<uint16_t>(i), 0));
    args[i] = trace.take_input(std::move(source), entry.args[i]);
  }
  const StepLimit limit(tracing_.interpreter, kMaxSteps);
  Value result;
  run_traced(region, trace, [&] {
    result = tracing_.interpreter.call_bound(*entry.function, args);
    trace.commit(result, {}, 0);
  });
  return result;
}

std::optional<uint32_t> RegionCache::run_loop_body(Frame& frame, const Loop& loop) {
  RegionGroup& group = group_of(*frame.proto, &loop);
  if (group.is_interpreting) return std::nullopt;
  exec::Timeline* const timeline = tracing_.devices.timeline();
  const exec::ActivityScope scope(timeline, timeline ? activities(group, *frame.proto, &loop).replay : 0);
  Region& region = find(group, *frame.proto, &loop, frame.function().captures);
  if (skips(region)) {
    notify_run(region, RunKind::interpreted);
    return std::nullopt;
  }
  Entry entry;
  entry.frame = &frame;
  entry.loop = &loop;
  Value unused;
  uint32_t exit = 0;
  std::vector<Segment*> path;
  const Outcome outcome = advance(region, entry, path, unused, exit);
  notify_run(region, kind_of(outcome));
  if (outcome == Outcome::done) return exit;
  const Interpreting interpreting(group);
  if (outcome == Outcome::untraced) {
    try {
      return trace_loop_body(region, entry, path, AfterReplay::record);
    } catch (const RestartTrace&) {}
  }
  if (path.empty()) {
    clear_run();  // releases the tensors that the body may donate
    return std::nullopt;
  }
  return interpret_after_restart([&] { return trace_loop_body(region, entry, path, AfterReplay::interpret); });
}

/// The registers of a traced loop body.
class RegionCache::BodyRegisters {
 public:
  BodyRegisters(Frame& frame, const Loop& loop, TraceSession& trace)
      : frame_(frame), loop_(loop), originals_(frame.base, frame.end()) {
    std::vector<uint16_t> registers = loop.live_in;
    // Registers that the body may write count as inputs, too: on paths that do not write them, they keep their values.
    for (uint16_t r : loop.live_out) {
      if (std::find(registers.begin(), registers.end(), r) == registers.end()) registers.push_back(r);
    }
    try {
      for (uint16_t r : registers) abstract(trace, r);
    } catch (...) {
      roll_back();
      throw;
    }
  }

  /// Returns the registers that the body has written and that are read after it.
  std::vector<std::pair<uint16_t, Value*>> written() const {
    std::vector<std::pair<uint16_t, Value*>> out;
    for (const Saved& s : saved_) {
      const bool wanted = std::find(loop_.live_out.begin(), loop_.live_out.end(), s.reg) != loop_.live_out.end();
      if (wanted && !identical(frame_.base[s.reg], s.abstracted)) out.emplace_back(s.reg, &frame_.base[s.reg]);
    }
    return out;
  }

  /// Returns the registers whose values must remain: the body has not written them, or a print that fails after the
  /// last segment would leave them as they were.
  std::vector<Value> kept(bool prints) const {
    std::vector<Value> out;
    for (const Saved& s : saved_) {
      if (prints || identical(frame_.base[s.reg], s.abstracted)) out.push_back(s.abstracted);
    }
    return out;
  }

  /// Restores the registers that still have the values from the start of the trace, and materializes the others.
  void restore(Context& context) {
    for (Saved& s : saved_) {
      if (identical(frame_.base[s.reg], s.abstracted)) frame_.base[s.reg] = originals_[s.reg];
      else materialize(context, frame_.base[s.reg]);
    }
  }
  /// Restores all registers, including those that are not read again: they must not contain symbols of a discarded
  /// trace when a later trace ends.
  void roll_back() { std::move(originals_.begin(), originals_.end(), frame_.base); }

 private:
  struct Saved {
    uint16_t reg;
    Value abstracted;
  };

  void abstract(TraceSession& trace, uint16_t r) {
    InputSource source;
    source.kind = InputSource::Kind::reg;
    source.index = r;
    source.set_name(frame_.proto->register_name(r, loop_.begin));
    frame_.base[r] = Value();  // `originals_` has the only reference: the last segment may reuse the memory
    saved_.push_back({r, trace.take_input(std::move(source), originals_[r])});
    frame_.base[r] = saved_.back().abstracted;
  }

  Frame& frame_;
  const Loop& loop_;
  std::vector<Value> originals_;  // of all registers of the frame
  std::vector<Saved> saved_;
};

uint32_t RegionCache::trace_loop_body(Region& region, const Entry& entry, std::vector<Segment*>& path,
                                      AfterReplay after_replay) {
  Frame& frame = *entry.frame;
  tracing_.devices.deferred_errors().flush();
  TraceSession trace(tracing_, region, run_, path, after_replay);
  const CurrentTrace current(trace_, trace);
  BodyRegisters registers(frame, *entry.loop, trace);
  const StepLimit limit(tracing_.interpreter, kMaxSteps);
  try {
    uint32_t exit = 0;
    run_traced(region, trace, [&] {
      exit = tracing_.interpreter.run_body(frame, *entry.loop);
      Value nothing;
      trace.commit(nothing, registers.written(), exit, registers.kept(trace.prints()));
    });
    registers.restore(context_);
    return exit;
  } catch (...) {
    if (trace.is_materialized()) registers.restore(context_);
    else registers.roll_back();
    throw;
  }
}

}  // namespace tsl::jit
