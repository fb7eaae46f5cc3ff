#include "engine/runtime.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/error_names.h"
#include "engine/backends.h"
#include "engine/engine.h"
#include "io/json.h"
#include "jit/whole_functions.h"
#include "report/explain.h"
#include "tensor/collectives.h"
#include "tensor/device_names.h"
#include "tensor/limits.h"
#include "value/format.h"
#include "value/numbers.h"
#include "value/value_walk.h"
#include "vm/interpreter.h"
#include "world/group.h"

namespace tsl {

namespace {

/// Random numbers are reserved in whole blocks of four words; an f64 uses two words.
constexpr int64_t kWordsPerNumber = 2, kWordsPerBlock = 4;

/// Replaces symbols by numbers: sizes computed before a trace was materialized may reach an op afterwards.
Attrs without_symbols(Attrs attrs) {
  attrs.for_each_size([](Dim& size) { size = size.hint(); });
  attrs.view = tsl::without_symbols(attrs.view);
  return attrs;
}

std::string missing_for(const exec::BackendEntry& backend, Device device) {
  return backend.missing ? backend.missing(device.ordinal) : std::string();
}

/// Returns the number of this process's GPU: the ranks of a host take one each. What contradicts itself is an error
/// where a program asks for its rank.
int ordinal_of_rank() {
  try {
    return world::Group::of_process().place().local_rank;
  } catch (const Failure&) { return 0; }
}

/// Fails if the host has GPUs, but none for the rank whose GPU would be this one.
void require_gpu_for_rank(const exec::BackendEntry& backend, int ordinal) {
  if (ordinal == 0) return;
  try {
    backend.probe(0);
  } catch (const Failure&) { return; }  // nor for any other
  fail_with(ErrorName::no_device, fmt::format("rank {} of this host has no GPU of its own", ordinal),
            {"start as many ranks on a host as it has GPUs, or all of them with `--device cpu`"});
}

/// Writes a line once a process, for the first of its engines.
void say_once(Context& context, const std::string& line) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) context.write_log(line);
}

}  // namespace

EngineRuntime::EngineRuntime(Context& context, Interpreter& interpreter, const EngineOptions& options)
    : context_(context),
      interpreter_(interpreter),
      options_(options),
      backends_(backends()),
      host_(options.threads),
      devices_(host_, [this](Device device) { return open_device(device); }),
      eager_(devices_),
      nan_check_(*this, *this),
      broadcast_check_(*this, interpreter),
      log_levels_(options.log_topics),
      compile_log_(context, log_levels_),
      trace_log_(context, log_levels_),
      regions_(tracing()),
      random_(make_ref<Cell>()),
      calls_(interpreter.frames(), context.sources().ranges(), false),
      region_calls_(interpreter.frames(), context.sources().ranges(), true) {
  random_->is_set = random_->is_mutable = true;
  if (compile_log_.logs_any()) devices_.instruments().observers.push_back(&compile_log_);
  if (trace_log_.logs_any()) trace_observers_.add(trace_log_);
  if (options.record) start_recording();
  if (options.profile) begin_profile();
  else if (exec::RangeSink* ranges = backends_.ranges()) show_ranges(*ranges);
  host_.use(options.host_memory, options.scheduler);
  if (!options.device.empty()) choose_device(parse_device(options.device));
  if (options.element_limit > 0) {
    limit_elements(as_limit(options.element_limit));
    devices_.limit_elements(as_limit(options.element_limit));
  }
  if (options.defer_errors) defer_errors();
  const uint64_t memory_limit = options.backend.memory_limit;
  if (memory_limit > 0 && default_device().is_host()) host_.limit_memory(memory_limit);
}

void EngineRuntime::defer_errors() {
  devices_.deferred_errors().enable([this](size_t own_frames) -> std::optional<std::vector<CallSite>> {
    if (interpreter_.is_guarded(0, nullptr)) return std::nullopt;
    return interpreter_.calls(0, interpreter_.depth() - own_frames);
  });
}

jit::Tracing EngineRuntime::tracing() {
  const auto announce = [this](auto... announced) { announce_sums(announced...); };
  return {context_, interpreter_, devices_, announce, options_.fast_numerics, &trace_observers_};
}

// ---- Observers -------------------------------------------------------------------------------------------------

void EngineRuntime::start_recording() {
  if (recorder_) return;
  recorder_ = std::make_unique<report::RunRecorder>(context_.sources(), options_.compiles(), options_.why_not());
  for (const auto& [region, paths] : regions_.traced()) recorder_->add_earlier(region, paths);
  devices_.instruments().observers.push_back(recorder_.get());
  trace_observers_.add(*recorder_);
}

std::string EngineRuntime::explain(const Value& function, bool all) {
  start_recording();
  const report::Recording& recording = recorder_->recording();
  if (function.is(Tag::nil)) return report::explain(recording, {.all = all});
  if (!function.is(Tag::function))
    return "a builtin function is no region: its ops are part of the region that calls it\n";
  const Proto& proto = proto_of(function.as<Function>());
  std::vector<const void*> declarations = {&proto};
  for (const Loop& loop : proto.loops) declarations.push_back(&loop);
  return report::explain(recording,
                         {.declarations = std::move(declarations), .title = proto.display_name(), .all = all});
}

void EngineRuntime::recompile(const Value& function) {
  if (function.is(Tag::builtin)) return;  // its ops are part of the regions that call it
  abort_trace("recompile() runs in it");
  regions_.recompile(function.is(Tag::function) ? &proto_of(function.as<Function>()) : nullptr);
}

void EngineRuntime::forget_regions(const Proto& function) {
  regions_.forget(function);
  trace_observers_.each([&](jit::TraceObserver& observer) {
    observer.on_forgotten(&function);
    for (const Loop& loop : function.loops) observer.on_forgotten(&loop);
  });
}

// ---- Devices ---------------------------------------------------------------------------------------------------

Device EngineRuntime::default_device() {
  if (!default_) default_ = find_device();
  return *default_;
}

std::unique_ptr<exec::Backend> EngineRuntime::open_device(Device device) {
  if (!context_.permissions().gpus)
    fail(ErrorName::device_not_permitted, "the host program does not allow {}", to_string(device));
  if (options_.open_backend) return options_.open_backend(device, host_);
  return backends_.at(device).open(device.ordinal, host_, options_.backend);
}

void EngineRuntime::choose_device(Device device) {
  if (!device.is_host() && !context_.permissions().gpus)
    fail(ErrorName::device_not_permitted, "the host program does not allow {}", to_string(device));
  if (!device.is_host() && !options_.open_backend) {
    const exec::BackendEntry& backend = backends_.at(device);
    backend.probe(device.ordinal);
    if (const std::string missing = missing_for(backend, device); !missing.empty())
      fail(ErrorName::no_device, "{}", missing);
  }
  default_ = device;
}

/// Finds the first device of a backend that may be the default place for tensors; otherwise the CPU. A device that
/// cannot be used, or lacks something, is worth a line, since a program takes longer without it.
Device EngineRuntime::find_device() {
  if (!context_.permissions().gpus) return {};
  const int ordinal = context_.permissions().environment ? ordinal_of_rank() : 0;
  for (const exec::BackendRegistry::Row& row : backends_.rows()) {
    if (!row.entry.is_default_place) continue;
    const Device device{row.backend, static_cast<uint8_t>(std::min(ordinal, 255))};
    if (options_.open_backend) return device;
    try {
      row.entry.probe(device.ordinal);
      const std::string missing = missing_for(row.entry, device);
      if (missing.empty()) return device;
      say_once(context_, fmt::format("tsl: tensors are on the CPU, not on {}: {}\n", to_string(device), missing));
    } catch (const exec::NoDevice& none) {
      log("device", fmt::format("tensors are on the CPU: {}", none.what()));
    } catch (const Failure& unusable) {
      require_gpu_for_rank(row.entry, ordinal);
      say_once(context_, fmt::format("tsl: tensors are on the CPU: {}\n", unusable.what()));
    }
  }
  return {};
}

// ---- Tensors and numbers on the host -----------------------------------------------------------------------------

Tensor EngineRuntime::read(const Tensor& tensor) {
  if (!tensor.deferred()) return tensor;
  if (is_example(tensor)) fail_read(tensor);
  return trace() ? trace()->read(tensor) : tensor;
}

void EngineRuntime::locate_read() {
  exec::Timeline* const timeline = devices_.timeline();
  if (!timeline) return;
  if (trace()) timeline->set_position(location().span);  // its kernels are around the region, as when it is replayed
  else timeline->set_origin(location_in_range());
}

Tensor EngineRuntime::to_host(const Tensor& tensor) {
  locate_read();
  return devices_.to_host(read(tensor));
}

Value EngineRuntime::read_number(const Tensor& tensor) {
  if (is_example(tensor)) fail_read(tensor);
  locate_read();
  return trace() ? trace()->read_number(tensor) : Value(jit::element(devices_, tensor));
}

bool EngineRuntime::may_write_in_place(const TensorData& tensor) {
  return tensor.device.is_host() && !trace() && tensor.recording == nullptr && !listeners().listening();
}

// Random state is a captured variable, so regions read and write it as any other.
RandomState EngineRuntime::next_random(Dim count) {
  enter(*random_);
  const std::vector<Value>& state = random_->value.as<Tuple>().items;
  RandomState out{operand_of(state[0]), operand_of(state[1])};
  for (const Batch* batch = this->batch().get(); batch; batch = batch->outer.get()) count = count * batch->size();
  const Dim blocks = (count * kWordsPerNumber + (kWordsPerBlock - 1)) / kWordsPerBlock;
  const Dim next = dim_of(state[1]) + blocks;
  random_->value = make_tuple({state[0], from_dim(next)});
  return out;
}

void EngineRuntime::seed(uint64_t seed) {
  enter(*random_);
  random_->value = make_tuple({Value(static_cast<int64_t>(seed)), Value(int64_t{0})});
}

Value EngineRuntime::random_state() {
  enter(*random_);
  return random_->value;
}

void EngineRuntime::set_random_state(const Value& state) {
  enter(*random_);
  random_->value = state;
}

// ---- Effects and the trace ---------------------------------------------------------------------------------------

namespace {

/// Refuses to hand examples to what reads their elements.
void refuse_examples(const Ops& ops, std::span<const Value> values) {
  if (!ops.batch()) return;
  for (const Value& value : values) {
    any_leaf(value, [](const Value& leaf) {
      if (leaf.is(Tag::tensor) && is_example(leaf.tensor())) fail_read(leaf.tensor());
      return false;
    });
  }
}

}  // namespace

void EngineRuntime::effect_print(Value value) {
  refuse_examples(*this, {&value, 1});
  if (trace()) trace()->print(std::move(value));
  else context_.print(value);
}

Value EngineRuntime::effect(EffectFunction run, std::vector<Value> args) {
  refuse_examples(*this, args);
  if (trace()) return trace()->perform(run, args);
  devices_.deferred_errors().flush();
  return run(context_, args);
}

void EngineRuntime::enter(Cell& cell) {
  if (trace()) trace()->enter(cell);
}

void EngineRuntime::error_caught(ErrorKind kind) {
  if (trace()) trace()->error_caught(kind);
}

void EngineRuntime::abort_trace(const std::string& reason) {
  if (trace()) trace()->abort(reason);
}

bool EngineRuntime::logs(std::string_view topic) const { return log_levels_.logs(topic); }

void EngineRuntime::log(std::string_view topic, const std::string& text) {
  if (!logs(topic)) return;
  const size_t end = log_levels_.logs_text(topic) ? text.size() : text.find('\n');
  context_.write_log(log_entry(topic, "", std::string_view(text).substr(0, end)));
}

// ---- Regions -----------------------------------------------------------------------------------------------------

// Listeners would not see the ops of a region, so code that is being differentiated is interpreted.
std::optional<EngineRuntime::RegionObstacle> EngineRuntime::region_obstacle() {
  if (!options_.allows_compile)
    return RegionObstacle{"the host program does not allow it to be compiled",
                          "TSL_ALLOW_COMPILE in the capabilities of its tsl_config allows it"};
  if (listeners().listening())
    return RegionObstacle{"code that is not compiled differentiates it",
                          "put @compile before a function that calls grad, value_and_grad or vjp"};
  if (batch())
    return RegionObstacle{"code that is not compiled maps it", "put @compile before a function that calls vmap"};
  if (region_pauses_ > 0)
    return RegionObstacle{"the host program calls it while compiled code may be running",
                          "a function of the host may call it when no compiled function has called the host"};
  if (!interpreter_.has_stack_for_region())
    return RegionObstacle{"calls of compiled functions are nested too deeply",
                          "call it from a function that has @compile"};
  return std::nullopt;
}

RegionHooks::CallMode EngineRuntime::call_mode(const Value& function) {
  const Proto& proto = proto_of(function.as<Function>());
  if (proto.is_interpreted) {
    abort_trace(fmt::format("it calls {}, which has @interpret", proto.display_name()));
    return CallMode::interpreted;
  }
  if (trace()) trace()->restrict_to(proto.request);
  if (trace() || options_.check_nan) return CallMode::plain;
  const bool is_asked_for = proto.is_compiled && (options_.compile_annotated || !options_.allows_compile);
  const bool wanted = proto.is_compiled ? is_asked_for : options_.compile_all && !proto.is_internal;
  if (!wanted) return CallMode::plain;
  if (const std::optional<RegionObstacle> obstacle = region_obstacle()) {
    if (proto.request.whole) jit::fail_interpreted(proto, obstacle->why, obstacle->hint);
    if (proto.is_compiled) regions_.tell_interpreted(function.as<Function>(), obstacle->why, obstacle->hint);
    return CallMode::plain;
  }
  return regions_.is_interpreting(function.as<Function>()) ? CallMode::open : CallMode::region;
}

std::optional<uint32_t> EngineRuntime::run_loop_body(Frame& frame, const Loop& loop) {
  if (trace() || listeners().listening() || batch() || !options_.compile_all || options_.check_nan ||
      region_pauses_ > 0)
    return std::nullopt;
  if (!interpreter_.has_stack_for_region()) return std::nullopt;
  look_at_memory();
  begin_region();
  return regions_.run_loop_body(frame, loop);
}

// ---- Ops ---------------------------------------------------------------------------------------------------------

void EngineRuntime::run(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                        std::span<const TensorType> types, std::span<Tensor> results) {
  if (trace()) trace()->check_limits();
  // If the region catches the error of an op on its elements, the error must be raised here and not later.
  if (trace() && may_fail(op, types[0].dtype) && interpreter_.is_guarded(trace()->depth(), trace()->loop())) {
    abort_trace("an op in a try may fail on its elements");
  }
  look_at_memory();
  if (op.op == Op::to_device) {
    results[0] = move(operands[0].tensor, attrs);
    return;
  }
  if (is_of_program(op)) {
    results[0] = call_ranks(op.op, operands[0].tensor, attrs);
    return;
  }
  const Device device = device_of(operands);
  if (trace()) trace()->enter_device(device);
  if (trace() && may_fail(op, types[0].dtype)) trace()->end_sums();
  if (trace()) return trace()->record(op, operands, attrs, types, origin(), device, results);
  if (exec::Timeline* timeline = devices_.timeline()) timeline->set_origin(origin());
  const bool may_donate = !listeners().listening() && !options_.check_nan;
  if (!has_pending_symbols()) {
    eager_.run(op, operands, attrs, types, device, may_donate, results);
  } else {
    ResultTypes numeric;
    for (size_t i = 0; i < types.size(); ++i) numeric[i] = {types[i].dtype, tsl::without_symbols(types[i].shape)};
    eager_.run(op, operands, without_symbols(attrs), {numeric.data(), types.size()}, device, may_donate, results);
  }
  if (!options_.check_nan) return;
  for (const Tensor& result : results) nan_check_.check(op, operands, result);
}

namespace {

/// Performs the op of a call that a trace has recorded: its number, operand, attributes and position.
Value perform_recorded_collective(Context& context, std::span<Value> args) {
  const auto op = static_cast<Op>(args[0].integer());
  const Attrs attrs{.start = args[2].integer(), .count = args[3].integer()};
  const auto number = [&](size_t i) { return static_cast<uint32_t>(args[i].integer()); };
  const Span call{number(4), number(5), number(6)};
  return Value(context.runtime().perform_collective(op, args[1].tensor(), attrs, call));
}

}  // namespace

Tensor EngineRuntime::call_ranks(Op op, const Tensor& x, const Attrs& attrs) {
  const Span call = location().span;
  if (!trace()) return perform_collective(op, x, attrs, call);
  if (op == Op::sum_ranks && trace()->records_sums() && collectives_.can_record_sum(x)) return record_sum(x, attrs);
  const auto number = [](auto value) { return Value(static_cast<int64_t>(value)); };
  const auto order = x.device().is_host() ? jit::EffectOrder::after_errors : jit::EffectOrder::beside_errors;
  const Value outcome = trace()->perform(perform_recorded_collective,
                                         {number(op), Value(x), from_dim(attrs.start), from_dim(attrs.count),
                                          number(call.source), number(call.begin), number(call.end)},
                                         order);
  return outcome.tensor();
}

/// Records the sum as a node of a plan, which a device makes beside its other work.
Tensor EngineRuntime::record_sum(const Tensor& x, const Attrs& attrs) {
  trace()->enter_device(x.device());
  const auto record = [&](Op op, const Tensor& operand, const Attrs& of_op) {
    const Operand input(operand);
    const TensorType type{operand.dtype(), operand.shape()};
    Tensor result;
    trace()->record(op_def(op), {&input, 1}, of_op, {&type, 1}, origin(), x.device(), {&result, 1});
    return result;
  };
  return record(Op::sum_ranks, x.layout().is_contiguous() ? x : record(Op::copy, x, {}), attrs);
}

void EngineRuntime::announce_sums(std::span<const jit::RecordedSum> sums, const jit::Run& run, bool has_failed) {
  try {
    for (const jit::RecordedSum& sum : sums) {
      Shape shape;
      for (const Dim& size : sum.shape) shape.push_back(size.in_run(run.symbols));
      collectives_.announce_sum(sum.dtype, shape, context_.sources().location(sum.span), has_failed);
    }
  } catch (const Failure&) {}  // the plan is launched already: the next wait for the device throws it
}

Tensor EngineRuntime::perform_collective(Op op, const Tensor& x, const Attrs& attrs, Span call) {
  Tensor contiguous = x;
  if (!x.layout().is_contiguous()) {
    const Operand operand(x);
    const TensorType type{x.dtype(), tsl::without_symbols(x.shape())};
    eager_.run(op_def(Op::copy), {&operand, 1}, {}, {&type, 1}, x.device(), false, {&contiguous, 1});
  }
  if (exec::Timeline* timeline = devices_.timeline()) timeline->set_position(call);
  const std::string where = context_.sources().location(call);
  if (op == Op::sum_ranks) {
    if (const Tensor sum = collectives_.sum(contiguous, where)) return sum;
    const OpListeners::Pause pause(listeners());  // this op is what they have recorded
    return sum_of_moves(*this, contiguous, attrs.count.hint());
  }
  const Tensor result = collectives_.perform(op_def(op), contiguous, without_symbols(attrs), where);
  if (collectives_.can_record_sums()) regions_.record_sums();
  return result;
}

Tensor EngineRuntime::move(const Tensor& tensor, const Attrs& attrs) {
  return trace() ? trace()->move(tensor, attrs.device) : devices_.move(tensor, attrs.device);
}

Origin EngineRuntime::location() const { return interpreter_.origin(); }

DType EngineRuntime::file_reals() const { return interpreter_.reals(); }

DType EngineRuntime::code_reals() const { return interpreter_.promoted_reals(); }

report::MemoryLedger& EngineRuntime::memory() {
  if (!memory_) {
    constexpr size_t kEventsPerSample = 40, kFewest = 2;  // so that they are a small part of a trace
    const size_t samples = options_.trace_events > 0 ? std::max(options_.trace_events / kEventsPerSample, kFewest) : 0;
    memory_ = std::make_unique<report::MemoryLedger>(
        devices_, interpreter_, [this] { return origin(); }, samples);
  }
  return *memory_;
}

/// Adds who holds the memory to an error that memory is lacking, unless there is not enough of it for the notes. Stops
/// the program at an error that nothing catches.
void EngineRuntime::failed(Failure& failure) {
  const bool is_of_memory = failure.error().kind() == ErrorKind::memory;
  if (const auto* const lacking = is_of_memory ? dynamic_cast<const OutOfMemory*>(&failure) : nullptr) {
    try {
      add_memory_notes(failure.error(), lacking->device);
    } catch (const std::exception&) {}
  }
  if (on_failure && !trace() && !failure.error().is_final && !interpreter_.is_guarded(0, nullptr))
    on_failure(failure.error());
}

void EngineRuntime::add_memory_notes(Error& error, Device device) {
  const BlockCache& cache = devices_.at(device).allocator();
  const report::DeviceMemory* const ledger = memory_ ? memory_->of(device) : nullptr;
  for (std::string& note : report::memory_notes(cache, ledger, interpreter_.variables(), context_.sources()))
    error.notes.push_back(std::move(note));
}

namespace {

/// Returns the number of a parameter's name in a table. Throws Failure (value) if it is not there.
template <class Enum, class Names> Enum choice_of(const char* parameter, const std::string& name, const Names& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end())
    fail_argument(ErrorName::unknown_choice, parameter,
                  fmt::format("profile: {} is one of {}, not '{}'", parameter, fmt::join(names, ", "), name));
  return static_cast<Enum>(at - names.begin());
}

/// Returns what heads the profile of a function: its name and line, as in the table of the interpreter.
std::string title_of(Context& context, const Value& function) {
  if (!function.is(Tag::function)) return to_repr(context, function);
  const FunctionInfo& info = *function.as<Function>().info;
  return fmt::format("{}:{}", info.display_name(), context.sources().get(info.span.source).line_of(info.span.begin));
}

}  // namespace

Value EngineRuntime::profile(const Value& function, const ProfileRequest& request) {
  abort_trace("profile() runs in it");
  report::TableOptions table;
  table.order = choice_of<report::RowOrder>("sort", request.sort, report::kRowOrders);
  table.groups = choice_of<report::RowGroups>("group", request.group, report::kRowGroups);
  table.rows = static_cast<size_t>(request.rows);
  const bool is_traced = !request.trace_file.empty();
  if (is_traced && !std::ofstream(request.trace_file, std::ios::app))  // before f is called for nothing
    fail(ErrorName::cannot_write_file, "cannot write {}: {}", request.trace_file, std::strerror(errno));
  const std::string title = request.name.empty() ? title_of(context_, function) : request.name;
  exec::Timeline* const whole = devices_.timeline();  // which records nothing meanwhile
  const exec::ActivityScope scope(whole, whole ? whole->range("profile(" + title + ")") : 0);
  for (int64_t i = 0; i < request.warmup; ++i) context_.call(function, {});
  devices_.deferred_errors().flush();
  Profiling profiling(context_, interpreter_, devices_, memory(), backends_.ranges(), options_,
                      is_traced ? report::kTraceEvents : 0);
  const auto show = [&] {
    if (request.rows > 0) context_.write_log(profiling.text(title, false, table));
    if (is_traced) profiling.write_trace(request.trace_file);
  };
  exec::Timeline* const steps = request.steps > 0 ? &profiling.timeline() : nullptr;
  Value result;
  try {
    for (int64_t i = 0; i < std::max<int64_t>(request.steps, 1); ++i) {
      const exec::ActivityScope step(steps, steps ? steps->range(title) : 0);
      result = context_.call(function, {});
      devices_.deferred_errors().flush();
    }
  } catch (const Failure&) {
    show();  // up to there
    throw;
  }
  show();
  return steps ? as_data(profiling.json(title), std::move(result)) : result;
}

/// Makes a record of the profile's JSON, and adds the result of the last call.
Value EngineRuntime::as_data(const std::string& json, Value result) {
  const Value document = parse_json(context_, json, "the profile");
  const Record& record = document.as<Record>();
  std::vector<std::pair<Name, Value>> fields{{context_.names().intern("result"), std::move(result)}};
  for (size_t i = 0; i < record.values.size(); ++i) fields.emplace_back(record.keys->names[i], record.values[i]);
  return make_record(std::move(fields));
}

Value EngineRuntime::with_range(const std::string& name, const Value& function) {
  const bool is_traced = trace() != nullptr;  // then its kernels have the range, whenever they run
  calls_.enter(name);
  if (is_traced) region_calls_.enter(name);
  exec::Timeline* const timeline = is_traced ? nullptr : devices_.timeline();
  const std::string path = timeline ? context_.sources().ranges().path(calls_.current()) : "";
  const exec::ActivityScope scope(timeline, timeline ? timeline->range(path) : 0);
  const auto leave = [&] {
    calls_.leave();
    if (is_traced) region_calls_.leave();
  };
  try {
    Value result = context_.call(function, {});
    leave();
    return result;
  } catch (...) {
    leave();
    throw;
  }
}

void EngineRuntime::begin_profile() {
  profiling_ = std::make_unique<Profiling>(context_, interpreter_, devices_, memory(), backends_.ranges(), options_,
                                           options_.trace_events);
  devices_.timeline()->begin(devices_.timeline()->of(exec::ActivityKind::start_up));
}

void EngineRuntime::start_profile() {
  profiling_ = std::make_unique<Profiling>(context_, interpreter_, devices_, memory(), backends_.ranges(), options_,
                                           options_.trace_events);
  has_started_ = true;
}

/// Shows what happens to a profiler of another maker. A profile of ours shows it, too.
void EngineRuntime::show_ranges(exec::RangeSink& ranges) {
  shown_ = std::make_unique<exec::Timeline>(ranges);
  devices_.instruments().timeline = shown_.get();
}

void EngineRuntime::end_start_up() {
  if (profiling_ && !std::exchange(has_started_, true)) profiling_->timeline().end();
}

std::string_view EngineRuntime::no_kernel(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) {
  const std::string_view why = devices_.at(device_of(operands)).no_kernel(op, operands, attrs);
  if (why.empty()) return why;
  if (!trace_observers_.empty()) {
    const Origin here = origin();
    const jit::CompositionNote note{op.name, why, here.span, here.is_backward};
    if (trace()) trace()->notify_composition(note);
    else trace_observers_.each([&](jit::TraceObserver& observer) { observer.on_composition(nullptr, note); });
  }
  if (trace() && logs("plan")) {
    const Span call = location().span;
    log("plan", fmt::format("{} at {} is made by its definition: {}", op.name,
                            call.valid() ? context_.sources().location(call) : "?", why));
  }
  return why;
}

int64_t EngineRuntime::tensor_limit(Device device) { return devices_.at(device).tensor_limit(); }

void EngineRuntime::after(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs,
                          std::span<const Tensor> results) {
  if (op.view) {
    const Tensor& view = results[0];
    if (has_pending_symbols()) view->layout = tsl::without_symbols(view.layout());
    if (trace() && !is_example(view)) trace()->watch(operands[0].tensor, view);
  }
  const int level = batch() ? batch_level(operands) : 0;
  if (listeners().listening())
    listeners().record(op, operands, attrs, results, origin(), {level, function_level(*this)});
  if (op.results > 1 || level < function_level(*this)) return;
  if (std::optional<Error> warning = broadcast_check_.after(op, operands, attrs, results[0]))
    context_.warn(std::move(*warning));
}

}  // namespace tsl
