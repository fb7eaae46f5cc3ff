#include "jit/trace_session.h"

#include <cxxabi.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "jit/guard_notes.h"
#include "jit/region.h"
#include "jit/varying_map.h"
#include "jit/whole_functions.h"
#include "value/context.h"
#include "value/materialize.h"
#include "value/value_walk.h"
#include "vm/interpreter.h"

namespace tsl::jit {

namespace {

// The most nodes of a segment, so that compile time and memory stay linear.
constexpr uint32_t kMaxSegmentNodes = 20'000;
// The most guards: code with more decisions on numbers is not tensor code, and interpreting it is faster.
constexpr size_t kMaxGuards = 1'000;
constexpr size_t kMaxSymbols = 20'000;
// The most writes of single elements on the CPU: code with more of them fills a table, and interpreting it is faster.
constexpr uint32_t kMaxElementWrites = 1'000;
// The most host reads on one trace path. A loop with more of them has a region for its body.
constexpr size_t kMaxSegments = 128;

}  // namespace

TraceSession::TraceSession(const Tracing& tracing, Region& region, Run& run, std::vector<Segment*>& path,
                           AfterReplay after_replay)
    : tracing_(tracing),
      context_(tracing.context),
      region_(region),
      run_(run),
      path_(path),
      after_replay_(after_replay),
      state_(path.empty() ? TraceState::recording : TraceState::replaying),
      id_(context_.runtime().next_trace_id()),
      depth_(tracing.interpreter.depth() - (region.loop ? 1 : 0)),
      symbols_(std::make_shared<SymbolTable>()),
      recorder_(std::make_unique<Recorder>(symbols_)),
      interface_(std::make_unique<SegmentInterface>()) {
  restrict_to(region.proto->request, tracing.fast_numerics);
  symbols_->set_locate([this] { return tracing_.interpreter.location(); });
  context_.runtime().listeners().trace_begins(symbols_);
  context_.runtime().set_tracing(true);
}

TraceSession::~TraceSession() {
  if (is_active()) stop(TraceState::discarded);
  if (state_ == TraceState::materialized) context_.runtime().region_has_ended();
  tracing_.interpreter.release_replaced(depth_);
}

/// Returns the guards of the path being replayed, so that the replay makes the same symbols; after it, the guards seen
/// last.
const std::vector<InputGuard>* TraceSession::expected_guards(const InputSource& source) const {
  if (state_ != TraceState::replaying) return region_.last_guards(source);
  return &interface_of(*path_[position_]).sources[interface_->sources.size()].guards;
}

void TraceSession::restrict_to(const ast::CompileRequest& request, bool fast_numerics) {
  options_.graphs &= request.graphs.value_or(true);
  options_.fast_numerics &= request.fast_numerics.value_or(fast_numerics);
  options_.autotune |= request.autotune.value_or(false);
}

/// The prefix of a list that is an input of a trace.
class InputPrefix final : public ListPrefix {
 public:
  InputPrefix(TraceSession& trace, const InputSource& source)
      : trace_(&trace), name_(source.name), origin_(source.origin) {}

  std::vector<Value> elements() override {
    if (!trace_) return list.as<List>().items;
    if (!opened_) opened_ = trace_->open(*this, name_, origin_);
    return *opened_;
  }
  /// Called when all deferred values get their elements.
  void end_trace() {
    trace_ = nullptr;
    opened_.reset();
  }

 private:
  TraceSession* trace_;  // null: it has ended
  std::string name_;     // of the input
  Span origin_;
  std::optional<std::vector<Value>> opened_;  // the elements, if the trace has looked at them
};

std::vector<Value> TraceSession::open(ListPrefix& prefix, std::string name, Span origin) {
  InputSource source;
  source.kind = InputSource::Kind::opened;
  source.index = prefix.length->id;
  source.name = std::move(name);
  source.origin = origin;
  return take_input(std::move(source), prefix.list).as<List>().items;
}

Value TraceSession::look(InputSource::Kind kind, const InputEntries& entries, const Value& key, std::string name,
                         Span origin) {
  InputSource source;
  source.kind = kind;
  source.index = entries.length->id;
  source.key = key;
  source.name = std::move(name);
  source.origin = origin;
  const Value& now = kind == InputSource::Kind::opened ? entries.map : part_of(entries.map, source);
  if (!can_abstract(now)) abort("a value of a map has too many parts");
  return is_active() ? take_input(std::move(source), now) : now;
}

Value TraceSession::take_input(InputSource source, const Value& value) {
  const auto prefix = [&](const Value& list, const Symbol* length) {
    prefixes_.push_back(make_ref<InputPrefix>(*this, source));
    prefixes_.back()->list = list;
    prefixes_.back()->length = length;
    return Ref<ListPrefix>(prefixes_.back().get());
  };
  const auto entries = [&](const Value& map, const Symbol* length) {
    varying_maps_.push_back(make_ref<VaryingMap>(*this, source));
    varying_maps_.back()->map = map;
    varying_maps_.back()->length = length;
    return Ref<InputEntries>(varying_maps_.back().get());
  };
  InputAbstraction inputs(*recorder_, run_, next_slot_, {prefix, entries});
  Value abstracted = inputs.abstract(value, expected_guards(source), source.guards, source.may_donate(),
                                     source.kind == InputSource::Kind::opened);
  if (state_ != TraceState::replaying) region_.update_history(source);
  interface().sources.push_back(std::move(source));
  return abstracted;
}

void TraceSession::enter(Cell& cell) {
  if (!is_active() || has_made(cell) || entered_cells_.contains(&cell)) return;
  if (!can_abstract(cell.value)) return abort("a captured variable has too many parts");
  entered_cells_.insert(&cell);
  Entered entered{Ref<Cell>(&cell), cell.value, Value(), cell.is_set};
  InputSource source;
  source.kind = InputSource::Kind::cell;
  source.cell = entered.cell;
  source.is_set = cell.is_set;
  set_cell_name(source);
  cell.value = take_input(std::move(source), entered.original);
  entered.abstracted = cell.value;
  entered_.push_back(std::move(entered));
}

const Loop* TraceSession::loop() const { return region_.loop; }

/// Returns the deferred tensor for an operand. A tensor with elements was made from constants during the trace.
Tensor TraceSession::deferred(const Tensor& tensor) {
  if (tensor->recording == recorder_.get()) return tensor;
  for (const auto& [data, stand_in] : constants_) {
    if (data == tensor.get()) return stand_in;
  }
  InputSource source;
  source.kind = InputSource::Kind::constant;
  source.constant = tensor;
  if (next_slot_ == run_.values.size()) run_.values.push_back(tensor);
  Tensor stand_in = recorder_->input(tensor.dtype(), tensor.layout(), next_slot_++, tensor.device());
  interface().sources.push_back(std::move(source));
  constants_.emplace_back(tensor.get(), stand_in);
  return stand_in;
}

void TraceSession::record(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                          std::span<const TensorType> types, const Origin& origin, Device device,
                          std::span<Tensor> results) {
  std::vector<Operand> inputs(operands.begin(), operands.end());
  for (Operand& operand : inputs) {
    if (operand.is_tensor()) operand.tensor = deferred(operand.tensor);
  }
  const auto is_tensor = [](const Operand& operand) { return operand.is_tensor(); };
  const bool is_written = std::any_of(operands.begin(), operands.end(), is_tensor) && !origin.is_backward &&
                          !context_.runtime().listeners().listening() &&
                          !tracing_.interpreter.frame().proto->is_library;
  if (is_written) unused_results_.called(recorder_->next_order());
  if (may_fail(op, types[0].dtype))
    failure_sites_.push_back(
        {recorder_->next_order(), tracing_.interpreter.calls(depth_, tracing_.interpreter.depth())});
  const bool is_sum = is_of_program(op);
  if (is_sum && last_sum_) inputs.emplace_back(last_sum_);
  element_writes_ += op.op == Op::assign_view && device.is_host() && element_count(attrs.view.shape).same(1);
  recorder_->record(op, inputs, attrs, types, origin, device, results);
  if (!is_sum) return;
  last_sum_ = results[0];
  sums_.push_back({types[0].dtype, types[0].shape, origin.span});
}

/// Makes a view depend on symbols: a tensor with elements has a numeric layout, but a view of it that depends on
/// symbols selects other elements in the next run. So it becomes a view of the deferred tensor.
void TraceSession::watch(const Tensor& original, const Tensor& view) {
  if (!view.deferred()) {
    if (same(view.layout(), without_symbols(view.layout()))) return;
    const Tensor stand_in = deferred(original);
    view->layout.offset = view->layout.offset - original.layout().offset;
    view->recording = stand_in->recording;
    view->node = stand_in->node;
    view->storage = nullptr;
  }
  recorder_->watch(view);
}

void TraceSession::enter_device(Device device) {
  if (recorder_->is_empty() || recorder_->device() == device) return;
  end_segment({.kind = SegmentEndKind::other_device});
}

void TraceSession::end_sums() {
  if (!sums_.empty()) end_segment({.kind = SegmentEndKind::fallible});
}

/// Copies a tensor to another device. The copy is an input of the next segment, so the original must be computed
/// before.
Tensor TraceSession::move(const Tensor& tensor, Device device) {
  if (tensor->recording == recorder_.get() && recorder_->slot_of(tensor) < 0)
    end_segment({.kind = SegmentEndKind::copy});
  if (!is_active()) return tracing_.devices.move(tensor, device);
  const Tensor original = deferred(tensor);
  InputSource source;
  source.kind = InputSource::Kind::moved;
  source.index = static_cast<uint32_t>(recorder_->slot_of(original));
  source.layout = original.layout();
  source.device = device;
  source.slot = next_slot_;
  if (next_slot_ == run_.values.size())
    run_.values.push_back(tracing_.devices.move(recorder_->concrete(original, run_), device));
  ++next_slot_;
  interface().sources.push_back(std::move(source));
  return recorder_->input(tensor.dtype(), Layout::contiguous(original.shape()), next_slot_ - 1, device);
}

void TraceSession::check_limits() {
  if (!is_active()) return;
  if (recorder_->node_count() > kMaxSegmentNodes) {
    end_segment({.kind = SegmentEndKind::too_many_nodes});  // during a replay as well: the recorded path was cut here
  } else if (state_ == TraceState::replaying) {
    return;
  } else if (symbols_->guards().size() > kMaxGuards || symbols_->size() > kMaxSymbols) {
    abort("its trace path has too many guards");
  } else if (position_ >= kMaxSegments) {
    abort("too many host reads on one trace path");
  } else if (element_writes_ > kMaxElementWrites) {
    abort("it writes too many single elements");
  }
}

Value TraceSession::read_number(const Tensor& tensor) {
  const bool is_deferred = tensor->recording == recorder_.get();
  if (!is_deferred) return Value(element(tracing_.devices, tensor));
  end_segment({.kind = SegmentEndKind::host_read, .reads = {tensor}});
  const Scalar number = element(tracing_.devices, is_active() ? recorder_->concrete(tensor, run_) : tensor);
  if (!is_active()) return Value(number);
  const Symbol* symbol = symbols_->input(number);
  run_.symbols.resize(std::max(run_.symbols.size(), symbols_->size()));
  run_.symbols[symbol->id] = number;
  path_[position_ - 1]->reads[0].symbol = symbol->id;
  check_limits();
  return is_active() ? Value(symbol) : Value(number);
}

Tensor TraceSession::read(const Tensor& tensor) {
  // Known elements of a deferred tensor must not be read either: the next run has others.
  if (tensor->recording == recorder_.get()) abort("the host reads a whole tensor");
  return tensor;  // it has elements now
}

/// Defers a print. A replay also stores the value, without printing it, so that the same tensors are alive as in the
/// first run.
void TraceSession::print(Value value) { printed_.push_back(std::move(value)); }

void perform(Context& context, const Effect& effect, Run& run) {
  EffectOutcome outcome;
  try {
    const TracingPause pause(context.runtime());
    const Placement placement(context.ops(), std::nullopt);
    std::vector<Value> args;
    for (const OutputTemplate& arg : effect.args) args.push_back(arg.rebuild(context, run));
    outcome.value = effect.run(context, args);
  } catch (const abi::__forced_unwind&) { throw; } catch (...) {
    outcome.error = std::current_exception();
  }
  run.outcomes.push_back(std::move(outcome));
}

Value TraceSession::perform(EffectFunction run, const std::vector<Value>& args, EffectOrder order) {
  end_segment({.kind = SegmentEndKind::effect, .effect = run, .effect_args = args, .effect_order = order});
  const uint32_t number = effects_++;
  if (number == run_.outcomes.size())
    jit::perform(context_, *static_cast<SegmentInterface&>(*path_[position_ - 1]->interface).effect, run_);
  const EffectOutcome outcome = run_.outcomes[number];
  if (outcome.error) {
    abort("an effect failed");
    std::rethrow_exception(outcome.error);
  }
  if (!can_abstract(outcome.value)) abort("an effect returned too many parts");
  if (!is_active()) return outcome.value;
  InputSource source;
  source.kind = InputSource::Kind::outcome;
  source.index = number;
  source.origin = tracing_.interpreter.location();
  source.name = excerpt(context_.sources(), source.origin);
  Value abstracted = take_input(std::move(source), outcome.value);
  check_limits();
  return is_active() ? abstracted : outcome.value;
}

void TraceSession::begin_segment() {
  interface_ = std::make_unique<SegmentInterface>();
  printed_.clear();
  constants_.clear();
  failure_sites_.clear();
  sums_.clear();
  first_symbol_ = static_cast<uint32_t>(symbols_->size());
  first_guard_ = symbols_->guards().size();
}

namespace {

/// Whether a trace path to `segment` has made the symbols that the segment refers to.
[[maybe_unused]] bool has_symbols_of(const SymbolTable& symbols, const Segment& segment) {
  if (symbols.size() != segment.end_symbol) return false;
  const auto id_of = [](const Symbol* symbol) { return symbol ? int64_t{symbol->id} : -1; };
  for (uint32_t id = segment.first_symbol; id < segment.end_symbol; ++id) {
    const Symbol& a = symbols.at(id);
    const Symbol& b = segment.symbols->at(id);
    if (a.kind != b.kind || a.op != b.op || id_of(a.a) != id_of(b.a) || id_of(a.b) != id_of(b.b)) return false;
  }
  return true;
}

}  // namespace

const Proto* TraceSession::whole_function() const {
  return region_.must_be_whole() ? region_.proto : tracing_.interpreter.whole_function(depth_);
}

void TraceSession::require_whole(const SegmentEnd& end) const {
  const Proto* const function = end.is_last ? nullptr : whole_function();
  if (!function) return;
  std::vector<RelatedPlace> related;
  for (const Tensor& tensor : end.reads) {
    const graph::Node* const node = recorder_->producer(tensor);
    if (node && node->span.valid()) related.push_back({node->span, "computed here"});
  }
  fail_split(*function, end.kind, std::move(related));
}

void TraceSession::end_segment(const SegmentEnd& end) {
  last_sum_ = {};
  if (state_ == TraceState::replaying) {  // computed already: only assigns slots to its values
    [[maybe_unused]] const Segment& segment = *path_[position_++];
    [[maybe_unused]] const Recorder::Cut cut = recorder_->cut(next_slot_);
    assert(segment.first_output == next_slot_ && has_symbols_of(*symbols_, segment));
    next_slot_ += static_cast<uint32_t>(cut.values.size());
    begin_segment();
    if (position_ < path_.size()) return;
    state_ = TraceState::recording;
    if (after_replay_ == AfterReplay::record) return;
    materialize();
    return;
  }
  require_whole(end);
  SegmentNote note = begin_note(end);
  std::unique_ptr<Segment> segment = build_segment(end);
  Segment& parent = path_.empty() ? region_.root : *path_.back();
  parent.next.reserve(parent.next.size() + 1);
  path_.reserve(path_.size() + 1);
  compute(*segment);
  flush_effects(*segment);  // nothing may fail between this and adding the segment to the path
  segment->last_use = region_.pacing->now();
  parent.next.push_back(std::move(segment));
  path_.push_back(parent.next.back().get());
  ++position_;
  begin_segment();
  notify_segment(std::move(note));  // an observer may fail: what it writes may not be writable
  for (Error& warning : std::exchange(warnings_, {})) context_.warn(std::move(warning));
}

std::unique_ptr<Segment> TraceSession::build_segment(const SegmentEnd& end) {
  auto segment = std::make_unique<Segment>();
  state_ = TraceState::cut;
  last_sum_ = {};
  Recorder::Cut cut = recorder_->cut(next_slot_);
  segment->symbols = symbols_;
  segment->first_symbol = first_symbol_;
  segment->end_symbol = static_cast<uint32_t>(symbols_->size());
  segment->guards.assign(symbols_->guards().begin() + static_cast<ptrdiff_t>(first_guard_), symbols_->guards().end());
  segment->input_slots = cut.input_slots;
  segment->first_output = next_slot_;
  segment->is_last = end.is_last;
  next_slot_ += static_cast<uint32_t>(cut.values.size());
  for (const Tensor& tensor : end.reads) {
    Read read;
    read.slot = static_cast<uint32_t>(recorder_->slot_of(tensor));
    read.layout = tensor.layout();
    read.span = tracing_.interpreter.location();
    segment->reads.push_back(read);
  }
  std::vector<uint32_t> kept_slots;
  const auto capture = [&](const Value& value) { return OutputTemplate::capture(value, *recorder_, kept_slots); };
  SegmentInterface& n = interface();
  for (const Value& value : std::exchange(printed_, {})) n.printed.push_back(capture(value));
  if (end.effect) {
    n.effect.emplace();
    n.effect->run = end.effect;
    n.effect->order = end.effect_order;
    for (const Value& value : end.effect_args) n.effect->args.push_back(capture(value));
  }
  if (end.is_last) {
    n.exit = exit_;
    for (const Value& value : std::exchange(kept_, {})) capture(value);  // for its slots
    n.result = capture(*result_);
    for (auto& [reg, value] : registers_) n.registers.emplace_back(reg, capture(*value));
    for (const Entered& e : entered_) {
      if (identical(e.cell->value, e.abstracted) && e.cell->is_set == e.was_set) continue;
      n.cells.emplace_back(e.cell, capture(e.cell->value));
    }
  }
  std::erase_if(kept_slots, [&](uint32_t slot) { return slot >= segment->first_output; });
  segment->kept_slots = std::move(kept_slots);
  // The new interface must exist first: if performing the segment fails, later inputs are added to it.
  segment->interface = std::exchange(interface_, std::make_unique<SegmentInterface>());
  if (!failure_sites_.empty())
    segment->failure_sites = std::make_shared<exec::FailureSites>(std::exchange(failure_sites_, {}));
  segment->sums = std::move(sums_);
  sums_.clear();
  note_unused_results(cut.graph);
  if (cut.graph.size() > cut.graph.inputs().size()) {
    options_.segment = static_cast<uint32_t>(path_.size());
    segment->plans = std::make_unique<SizedPlans>(tracing_.devices, cut.device, std::move(cut.graph), options_,
                                                  *region_.names, *tracing_.plans);
    if (tracing_.observed()) watch_plans(*segment);
  }
  return segment;
}

void TraceSession::note_unused_results(const graph::Graph& graph) {
  for (const graph::Node* node : unused_results_.find(graph, context_.sources()))
    warnings_.push_back(make_warning(ErrorName::unused_result,
                                     fmt::format("the result of `{}` is unused", node->def().name), node->span));
}

void TraceSession::compute(Segment& segment) {
  run_.symbols.resize(std::max(run_.symbols.size(), symbols_->size()));
  for (uint32_t id = 0; id < segment.end_symbol; ++id) run_.symbols[id] = symbols_->at(id).hint;
  if (!tracing_.run_plan(segment, run_)) throw RestartTrace{};
  state_ = TraceState::recording;
}

bool Tracing::run_plan(Segment& segment, Run& run, std::optional<size_t> own_frames) const {
  const PlanOutcome outcome = jit::run_plan(segment, run, devices.deferred_errors(), own_frames);
  if (!segment.sums.empty() && outcome != PlanOutcome::not_launched)
    announce_sums(segment.sums, run, outcome == PlanOutcome::failed);
  return outcome == PlanOutcome::done;
}

/// Prints the deferred output of a segment, after it has been computed.
void TraceSession::flush_effects(const Segment& segment) {
  for (const OutputTemplate& printed : interface_of(segment).printed) {
    context_.print(printed.rebuild(context_, run_));
  }
}

void TraceSession::stop(TraceState state) {
  state_ = state;
  for (const Ref<InputPrefix>& prefix : std::exchange(prefixes_, {})) prefix->end_trace();
  for (const Ref<VaryingMap>& map : std::exchange(varying_maps_, {})) map->end_trace();
  symbols_->set_locate(nullptr);
  context_.runtime().listeners().trace_ends();
  context_.runtime().set_tracing(false);
}

/// Ends recording: all deferred tensors get their elements.
void TraceSession::materialize() {
  stop(TraceState::materialized);
  context_.runtime().trace_has_ended();
  symbols_->close();
  recorder_->release(run_);
  for (Entered& e : entered_) {
    const bool written = !identical(e.cell->value, e.abstracted) || e.cell->is_set != e.was_set;
    if (!written) e.cell->value = e.original;
    else tsl::materialize(context_, e.cell->value);
  }
  std::vector<Value> replaced;
  tracing_.interpreter.each_register(depth_, [&](Value& value) {
    Value before = value;
    tsl::materialize(context_, value);
    if (!identical(before, value)) replaced.push_back(std::move(before));
  });
  tracing_.interpreter.keep_replaced(depth_, std::move(replaced));
  entered_.clear();
}

void TraceSession::abort(const std::string& reason) {
  if (!is_active()) return;
  if (const Proto* const function = whole_function()) fail_interpreted(*function, reason);
  flush();
  region_.evict_end(path_);
  path_.clear();
  region_.fall_back(tracing_, reason, tracing_.interpreter.location());
}

/// Computes the pending ops and prints deferred output. The result is not added to the tree.
void TraceSession::flush() {
  if (state_ == TraceState::replaying) {  // printed already; its values get new slots
    next_slot_ = static_cast<uint32_t>(run_.values.size());
    printed_.clear();
  }
  const std::unique_ptr<Segment> segment = build_segment({});
  compute(*segment);
  materialize();
  flush_effects(*segment);  // last, since it may fail
}

void TraceSession::commit(Value& result, std::vector<std::pair<uint16_t, Value*>> registers, uint32_t exit,
                          std::vector<Value> kept) {
  if (is_active() && any_escapes(result, registers)) abort("it makes a closure that outlives it");
  if (is_active()) {
    result_ = &result;
    registers_ = std::move(registers);
    exit_ = exit;
    kept_ = std::move(kept);
    end_segment({.is_last = true});
    materialize();
  }
  tsl::materialize(context_, result);
  for (auto& [reg, value] : registers_) tsl::materialize(context_, *value);
}

/// Whether the code that is traced has made this variable.
bool TraceSession::has_made(const Cell& cell) const {
  const TracedCell* traced = dynamic_cast<const TracedCell*>(&cell);
  return traced && traced->trace == id_;
}

/// Whether `value` contains variables or bound values that this trace made, which a plan could not make again.
bool TraceSession::escapes(const Value& value) const {
  return any_leaf(value, [&](const Value& leaf) {
    if (leaf.is(Tag::cell)) return has_made(leaf.as<Cell>());
    if (leaf.is(Tag::builtin)) return !leaf.as<BuiltinFunction>().bound.empty();
    if (!leaf.is(Tag::function)) return false;
    const Function& function = leaf.as<Function>();
    return std::any_of(function.captures.begin(), function.captures.end(),
                       [&](const Ref<Cell>& cell) { return has_made(*cell); });
  });
}

bool TraceSession::any_escapes(const Value& result, const std::vector<std::pair<uint16_t, Value*>>& registers) const {
  return escapes(result) ||
         std::any_of(registers.begin(), registers.end(), [this](const auto& r) { return escapes(*r.second); }) ||
         std::any_of(entered_.begin(), entered_.end(), [this](const Entered& e) {
           return !identical(e.cell->value, e.abstracted) && escapes(e.cell->value);
         });
}

void TraceSession::fail() {
  if (state_ != TraceState::replaying && state_ != TraceState::recording) return;
  if (tracing_.observed()) {
    const RegionNote region = region_.note(context_);
    tracing_.observers->each([&](TraceObserver& o) { o.on_abort(region, "the program failed in it", {}, 0); });
  }
  flush();
}

void TraceSession::error_caught(ErrorKind kind) {
  if (is_active() && kind == ErrorKind::memory) throw RestartTrace{};
  unused_results_.clear();  // the error may have kept them from being used
  for (uint32_t id = 0; is_active() && id < symbols_->size(); ++id) {
    const Value* const opaque = run_.find_opaque(id);
    const bool is_identity = opaque && opaque->is(Tag::foreign);
    const bool is_number = symbols_->at(id).kind == Symbol::Kind::input && !is_identity;
    if (is_number) symbols_->pin(&symbols_->at(id), "an error's message");
  }
}

void TraceSession::discard() {
  if (is_materialized()) return;
  stop(TraceState::discarded);
  symbols_->close();
  for (Entered& e : entered_) {
    e.cell->value = e.original;
    e.cell->is_set = e.was_set;
  }
  entered_.clear();
}

}  // namespace tsl::jit
