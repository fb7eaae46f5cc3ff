#include "jit/region.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "value/context.h"
#include "value/format.h"
#include "value/materialize.h"
#include "value/signature.h"
#include "vm/interpreter.h"

namespace tsl {

namespace {

// Ways through one region. More of them mean that its guards do not say what really varies.
constexpr size_t kMaxWays = 32;
// Function objects of one declaration that get regions of their own because they captured different variables.
constexpr size_t kMaxCaptures = 8;
// Calls and loop iterations that one trace may take.
constexpr uint64_t kMaxSteps = 100'000;

/// From a segment on, to each end: the region's, or where the code failed.
size_t count_ways(const jit::Segment& segment) {
  if (segment.next.empty()) return 1;
  size_t ways = 0;
  for (const auto& next : segment.next) ways += count_ways(*next);
  return ways;
}

const SegmentNotes& notes_of(const jit::Segment& segment) { return static_cast<const SegmentNotes&>(*segment.notes); }

}  // namespace

const std::vector<Fact>* Region::seen_facts(const Root& root) const {
  for (const Seen& input : seen) {
    if (input.is_of(root)) return &input.facts;
  }
  return nullptr;
}

void Region::note_annotations() {
  const std::vector<ParameterInfo>& parameters = proto->signature.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].type || parameters[i].type->dims.size() > kMaxRank) continue;
    Fact fact;
    fact.kind = Fact::Kind::tensor;
    for (const ValueType::Dim& dim : parameters[i].type->dims) {
      if (dim.name) fact.varying |= static_cast<uint8_t>(1 << fact.layout.rank());
      fact.layout.shape.push_back(kUnseenExtent);
    }
    if (fact.varying == 0) continue;
    seen.push_back({Root::Kind::argument, static_cast<uint32_t>(i), nullptr, {fact}});
  }
}

void Region::note_facts(const Root& root) {
  const auto at = std::find_if(seen.begin(), seen.end(), [&](const Seen& input) { return input.is_of(root); });
  Seen& noted = at != seen.end() ? *at : seen.emplace_back(Seen{root.kind, root.index, root.cell.get(), {}});
  noted.facts = root.facts;
  // The symbols go with their trace, and other values are not to be kept for this.
  for (Fact& fact : noted.facts) {
    fact.constant = Value();
    if (fact.kind == Fact::Kind::tensor) fact.layout = without_symbols(fact.layout);
  }
}

namespace {

/// How often a tree of segments refers to a variable.
size_t count_references(const jit::Segment& segment, const Cell& cell) {
  const auto is_it = [&cell](const Fact& fact) {
    return fact.constant.is(Tag::cell) && &fact.constant.as<Cell>() == &cell;
  };
  size_t count = 0;
  for (const auto& way : segment.next) {
    const SegmentNotes& notes = notes_of(*way);
    for (const Root& root : notes.roots) {
      if (root.cell.get() == &cell) ++count;
      count += std::count_if(root.facts.begin(), root.facts.end(), is_it);
    }
    count += std::count_if(notes.cells.begin(), notes.cells.end(),
                           [&](const auto& assigned) { return assigned.first.get() == &cell; });
    count += count_references(*way, cell);
  }
  return count;
}

/// Whether a way of the tree depends on a function, or on a variable of a call that is over, which nobody else holds.
bool is_dead_way(const jit::Segment& way, const jit::Segment& tree) {
  const auto is_gone = [&tree](const Fact& fact) {
    if (!fact.constant.is(Tag::cell)) return is_only_here(fact.constant);
    const Cell& cell = fact.constant.as<Cell>();
    return cell.use_count() == count_references(tree, cell);
  };
  const std::vector<Root>& roots = notes_of(way).roots;
  return std::any_of(roots.begin(), roots.end(),
                     [&](const Root& root) { return std::any_of(root.facts.begin(), root.facts.end(), is_gone); });
}

size_t forget_dead(jit::Segment& segment, const jit::Segment& tree) {
  size_t forgotten = 0;
  for (size_t i = 0; i < segment.next.size();) {
    if (is_dead_way(*segment.next[i], tree)) {
      forgotten += count_ways(*segment.next[i]);
      segment.next.erase(segment.next.begin() + static_cast<ptrdiff_t>(i));
    } else {
      forgotten += forget_dead(*segment.next[i++], tree);
    }
  }
  return forgotten;
}

}  // namespace

void Region::forget_dead_ways() { forgotten_ways += forget_dead(root, root); }

void Region::forget_ways() {
  root.next.clear();
  seen.clear();
}

bool Region::is_dead() const {
  return std::any_of(captures.begin(), captures.end(), [this](const Ref<Cell>& cell) {
    return cell->use_count() == std::count(captures.begin(), captures.end(), cell) + count_references(root, *cell);
  });
}

std::string Region::name(Context& context) const {
  const Span span = loop ? loop->span : proto->span;
  return fmt::format("{}{} ({})", loop ? "loop in " : "", proto->display_name(), context.sources().place(span));
}

void Region::demote(Context& context, const std::string& reason) {
  is_demoted = true;
  demoted_because = reason;
  context.runtime().log("recompiles",
                        fmt::format("[recompiles] {} is interpreted from now on: {}\n", name(context), reason));
}

Region& RegionCache::find(const Proto& proto, const Loop* loop, const std::vector<Ref<Cell>>& captures) {
  auto& regions = regions_[loop ? static_cast<const void*>(loop) : &proto];
  for (const auto& region : regions) {
    if (region->captures == captures) return *region;
  }
  std::erase_if(regions, [](const auto& region) { return region->is_dead(); });
  if (regions.size() >= kMaxCaptures) regions.erase(regions.begin());
  auto region = std::make_unique<Region>();
  region->proto = &proto;
  region->loop = loop;
  region->captures = captures;
  if (!loop) region->note_annotations();
  regions.push_back(std::move(region));
  return *regions.back();
}

const Value& RegionCache::root_value(const Root& root, const Entry& entry) const {
  switch (root.kind) {
    case Root::Kind::argument: return entry.args[root.index];
    case Root::Kind::reg: return entry.frame->base[root.index];
    default: return root.cell->value;
  }
}

bool RegionCache::collect_inputs(const jit::Segment& segment, const Entry& entry) {
  for (const Root& root : notes_of(segment).roots) {
    if (root.kind == Root::Kind::constant) {
      run_.values.push_back(root.constant);
      given_.push_back(false);
      continue;
    }
    if (root.kind == Root::Kind::moved) {
      run_.values.emplace_back();  // by move_inputs, once the guards hold
      given_.push_back(false);
      continue;
    }
    if (root.kind == Root::Kind::cell && root.cell->is_set != root.is_set) return false;
    const bool owned = root.kind == Root::Kind::argument;
    if (!collect(root_value(root, entry), root.facts.data(), run_, owned, given_)) return false;
  }
  return true;
}

bool RegionCache::move_inputs(const jit::Segment& segment) {
  for (const Root& root : notes_of(segment).roots) {
    if (root.kind != Root::Kind::moved) continue;
    const Tensor& base = run_.values[root.index];
    Layout layout = in_run(root.layout, run_.symbols);
    layout.offset = layout.offset + base.layout().offset;
    try {
      run_.values[root.slot] = tracing_.devices.move(base.with_layout(layout), root.device);
    } catch (const Failure&) {
      return false;  // interpreted, the same code will say what is wrong
    }
  }
  return true;
}

jit::Segment* RegionCache::match(jit::Segment& at, const Entry& entry) {
  const size_t values = run_.values.size(), symbols = run_.symbols.size();
  for (const auto& candidate : at.next) {
    run_.symbols.resize(candidate->end_symbol);
    if (collect_inputs(*candidate, entry) && jit::guards_hold(*candidate, run_)) return candidate.get();
    run_.values.resize(values);
    given_.resize(values);
    run_.symbols.resize(symbols);
  }
  return nullptr;
}

bool RegionCache::replay(Region& region, const Entry& entry, std::vector<jit::Segment*>& path, bool& failed,
                         Value& result, uint32_t& exit) {
  jit::Segment* at = &region.root;
  while (jit::Segment* segment = match(*at, entry)) {
    if (!move_inputs(*segment) ||
        !jit::run_plan(*segment, run_, segment->is_last ? lend(*segment) : std::span<const char>())) {
      failed = true;
      return false;
    }
    given_.resize(run_.values.size());
    for (const Value& value : notes_of(*segment).printed) context_.print(instantiate(context_, value, run_));
    if (segment->is_last) {
      put_outputs(*segment, entry, result, exit);
      return true;
    }
    path.push_back(segment);
    for (const jit::Read& read : segment->reads) {
      const Tensor& base = run_.values[read.slot];
      Layout layout = in_run(read.layout, run_.symbols);
      layout.offset = layout.offset + base.layout().offset;
      run_.symbols.resize(std::max<size_t>(run_.symbols.size(), read.symbol + 1));
      run_.symbols[read.symbol] = jit::element(tracing_.devices, base.with_layout(layout));
    }
    at = segment;
  }
  return false;
}

/// Which tensors of the run the outputs of the last segment may take the memory of: nobody will read them again.
std::span<const char> RegionCache::lend(const jit::Segment& segment) {
  for (uint32_t slot : segment.kept_slots) given_[slot] = false;
  return given_;
}

void RegionCache::put_outputs(const jit::Segment& segment, const Entry& entry, Value& result, uint32_t& exit) {
  const SegmentNotes& notes = notes_of(segment);
  result = instantiate(context_, notes.result, run_);
  for (const auto& [cell, value] : notes.cells) {
    cell->value = instantiate(context_, value, run_);
    cell->is_set = true;
  }
  std::vector<Value> registers;
  for (const auto& output : notes.registers) registers.push_back(instantiate(context_, output.second, run_));
  for (size_t i = 0; i < registers.size(); ++i) {
    entry.frame->base[notes.registers[i].first] = std::move(registers[i]);
  }
  exit = notes.exit;
}

void RegionCache::clear_run() {
  run_.values.clear();
  run_.symbols.clear();
  given_.clear();
}

void RegionCache::log_trace(const Region& region, const Entry& entry, const std::vector<jit::Segment*>& path) {
  if (!context_.runtime().logs("recompiles")) return;
  const jit::Segment& at = path.empty() ? region.root : *path.back();
  std::string reason = path.empty() ? "first call" : "another outcome of a read";
  if (!at.next.empty()) {
    reason = "a branch went another way";
    for (const Root& root : notes_of(*at.next.back()).roots) {
      if (root.kind == Root::Kind::constant || root.kind == Root::Kind::moved) continue;
      const Fact* fact = root.facts.data();
      const std::string what = root.kind == Root::Kind::cell ? "a captured variable"
                               : root.kind == Root::Kind::argument
                                   ? *region.proto->signature.parameters[root.index].name
                                   : "a variable";
      const std::string found = difference(root_value(root, entry), fact, what);
      if (!found.empty()) {
        reason = found;
        break;
      }
    }
  }
  context_.runtime().log("recompiles", fmt::format("[recompiles] {}: {}\n", region.name(context_), reason));
}

RegionCache::Outcome RegionCache::advance(Region& region, const Entry& entry, std::vector<jit::Segment*>& path,
                                          Value& result, uint32_t& exit) {
  clear_run();
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
  const char* reason = nullptr;
  const size_t ways = region.root.next.empty() ? 0 : count_ways(region.root);
  if (ways + region.forgotten_ways >= kMaxWays) reason = "there are too many ways through it";
  else if (!inputs_fit(entry)) reason = "an input has too many parts";
  if (reason) {
    region.demote(context_, reason);
    if (path.empty()) region.forget_ways();  // else the way so far is gone once more, interpreting
    return Outcome::failed;
  }
  ++counts_.traces;
  if (!region.root.next.empty()) ++counts_.retraces;
  log_trace(region, entry, path);
  region.forget_dead_ways();  // now that the log has said how the present call differs
  return Outcome::untraced;
}

bool RegionCache::inputs_fit(const Entry& entry) const {
  const auto fits = [](const Value& value) { return can_abstract(value); };
  if (!entry.frame) return std::all_of(entry.args.begin(), entry.args.end(), fits);
  const auto register_fits = [&](uint16_t r) { return can_abstract(entry.frame->base[r]); };
  return std::all_of(entry.loop->live_in.begin(), entry.loop->live_in.end(), register_fits) &&
         std::all_of(entry.loop->live_out.begin(), entry.loop->live_out.end(), register_fits);
}

bool RegionCache::is_demoted(const Function& function) const {
  const auto found = regions_.find(&proto_of(function));
  if (found == regions_.end()) return false;
  for (const auto& region : found->second) {
    if (region->captures == function.captures) return region->is_demoted;
  }
  return false;
}

namespace {

/// Interprets a region whose trace was unwound. If even that is, on the way that had been gone before, there is not the
/// memory for what there was memory for then.
template <class Body> auto begin_anew(Body&& body) {
  try {
    return body();
  } catch (const RestartTrace&) {
    Error error{ErrorKind::memory, "out of memory, twice in a compiled function", {}, {}, {}};
    error.is_final = true;  // what it printed cannot be taken back, so it cannot begin once more
    throw Failure(std::move(error));
  }
}

}  // namespace

Value RegionCache::call(const Value& function, std::span<Value> args) {
  const Function& closure = function.as<Function>();
  Region& region = find(proto_of(closure), nullptr, closure.captures);
  Entry entry;
  entry.function = &function;
  entry.args = args;
  Value result;
  uint32_t exit = 0;
  std::vector<jit::Segment*> path;
  const Outcome outcome = advance(region, entry, path, result, exit);
  if (outcome == Outcome::done) return result;
  if (outcome == Outcome::untraced) {
    try {
      return trace_function(region, entry, path, AfterReplay::record);
    } catch (const RestartTrace&) {}
  }
  return begin_anew([&] { return trace_function(region, entry, path, AfterReplay::interpret); });
}

namespace {

/// Makes a trace the current one for as long as it lives; then the one is again that was, which may have ended.
class Current {
 public:
  Current(ActiveTrace*& slot, ActiveTrace& trace) : slot_(slot), before_(std::exchange(slot, &trace)) {}
  ~Current() { slot_ = before_; }

 private:
  ActiveTrace*& slot_;
  ActiveTrace* before_;
};

/// Bounds how long the interpreter may run under a trace.
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

/// Runs `body`, which interprets the region and finishes the trace, and sees to the trace if it fails.
template <class Body> void RegionCache::run_traced(ActiveTrace& trace, Body&& body) {
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

Value RegionCache::trace_function(Region& region, const Entry& entry, std::vector<jit::Segment*>& path,
                                  AfterReplay after_replay) {
  if (after_replay == AfterReplay::interpret &&
      path.empty()) {  // nobody else is to hold on to the arguments: that may take more memory than there is
    clear_run();
    return tracing_.interpreter.call_bound(*entry.function, entry.args, true);
  }
  std::vector<Value> args(entry.args.begin(), entry.args.end());
  ActiveTrace trace(tracing_, region, run_, path, after_replay);
  const Current current(trace_, trace);
  for (size_t i = 0; i < args.size(); ++i) {
    Root root;
    root.index = static_cast<uint32_t>(i);
    args[i] = trace.take_input(std::move(root), entry.args[i]);
  }
  const StepLimit limit(tracing_.interpreter, kMaxSteps);
  Value result;
  run_traced(trace, [&] {
    result = tracing_.interpreter.call_bound(*entry.function, args);
    trace.commit(result, {}, 0);
  });
  return result;
}

std::optional<uint32_t> RegionCache::run_loop_body(Frame& frame, const Loop& loop) {
  Region& region = find(*frame.proto, &loop, frame.function().captures);
  if (region.is_demoted) return std::nullopt;
  Entry entry;
  entry.frame = &frame;
  entry.loop = &loop;
  Value unused;
  uint32_t exit = 0;
  std::vector<jit::Segment*> path;
  const Outcome outcome = advance(region, entry, path, unused, exit);
  if (outcome == Outcome::done) return exit;
  if (outcome == Outcome::untraced) {
    try {
      return trace_loop_body(region, entry, path, AfterReplay::record);
    } catch (const RestartTrace&) {}
  }
  if (path.empty()) {
    clear_run();  // lets go of what the body may give up
    return std::nullopt;
  }
  return begin_anew([&] { return trace_loop_body(region, entry, path, AfterReplay::interpret); });
}

/// The registers of a loop body while it is traced.
class RegionCache::BodyRegisters {
 public:
  BodyRegisters(Frame& frame, const Loop& loop, ActiveTrace& trace)
      : frame_(frame), loop_(loop), originals_(frame.base, frame.end()) {
    std::vector<uint16_t> registers = loop.live_in;
    // What the body may write counts as read, too: on a way that does not write it, it keeps its value.
    for (uint16_t r : loop.live_out) {
      if (std::find(registers.begin(), registers.end(), r) == registers.end()) registers.push_back(r);
    }
    for (uint16_t r : registers) {
      Root root;
      root.kind = Root::Kind::reg;
      root.index = r;
      Saved saved{r, trace.take_input(std::move(root), frame.base[r])};
      frame.base[r] = saved.abstracted;
      saved_.push_back(std::move(saved));
    }
  }

  /// The registers that the body has written and that are read after it.
  std::vector<std::pair<uint16_t, Value*>> written() const {
    std::vector<std::pair<uint16_t, Value*>> out;
    for (const Saved& s : saved_) {
      const bool wanted = std::find(loop_.live_out.begin(), loop_.live_out.end(), s.reg) != loop_.live_out.end();
      if (wanted && !identical(frame_.base[s.reg], s.abstracted)) out.emplace_back(s.reg, &frame_.base[s.reg]);
    }
    return out;
  }

  /// Gives registers that still hold what the trace put there their own values again.
  void restore(Context& context) {
    for (Saved& s : saved_) {
      if (identical(frame_.base[s.reg], s.abstracted)) frame_.base[s.reg] = originals_[s.reg];
      else materialize(context, frame_.base[s.reg]);
    }
  }
  /// Gives all registers their own values again, those nobody will read, too: they must not hold symbols of a trace
  /// that is gone when a later one ends.
  void roll_back() { std::move(originals_.begin(), originals_.end(), frame_.base); }

 private:
  struct Saved {
    uint16_t reg;
    Value abstracted;
  };
  Frame& frame_;
  const Loop& loop_;
  std::vector<Value> originals_;  // of all the frame's registers
  std::vector<Saved> saved_;
};

uint32_t RegionCache::trace_loop_body(Region& region, const Entry& entry, std::vector<jit::Segment*>& path,
                                      AfterReplay after_replay) {
  Frame& frame = *entry.frame;
  ActiveTrace trace(tracing_, region, run_, path, after_replay);
  const Current current(trace_, trace);
  BodyRegisters registers(frame, *entry.loop, trace);
  const StepLimit limit(tracing_.interpreter, kMaxSteps);
  try {
    uint32_t exit = 0;
    run_traced(trace, [&] {
      exit = tracing_.interpreter.run_body(frame, *entry.loop);
      Value nothing;
      trace.commit(nothing, registers.written(), exit);
    });
    registers.restore(context_);
    return exit;
  } catch (...) {
    if (trace.is_materialized()) registers.restore(context_);
    else registers.roll_back();
    throw;
  }
}

}  // namespace tsl
