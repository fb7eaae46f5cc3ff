#include "api/host_function.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "api/host.h"
#include "autodiff/leaves.h"
#include "base/error_names.h"
#include "exec/devices.h"
#include "exec/timeline.h"
#include "value/context.h"
#include "value/numbers.h"
#include "value/runtime.h"

namespace tsl::api {

namespace {

/// Handles that a native function may use during a call.
class BorrowedHandles {
 public:
  BorrowedHandles(Host& host, std::span<const Value> values) : host_(host) {
    if (values.size() > kFew) many_.resize(values.size());
    tsl_value* const first = values.size() > kFew ? many_.data() : few_;
    for (size_t i = 0; i < values.size(); ++i) first[i] = host.handles().add(values[i]);
    handles_ = {first, values.size()};
  }
  ~BorrowedHandles() {
    for (const tsl_value handle : handles_) host_.handles().release(handle);
  }
  BorrowedHandles(const BorrowedHandles&) = delete;
  BorrowedHandles& operator=(const BorrowedHandles&) = delete;
  std::span<const tsl_value> handles() const { return handles_; }

 private:
  static constexpr size_t kFew = 8;  // for which no memory is allocated
  Host& host_;
  tsl_value few_[kFew];
  std::vector<tsl_value> many_;
  std::span<const tsl_value> handles_;
};

/// Whether errors of a kind are endings, which are the host's: no script may catch them.
bool is_ending(ErrorKind kind) {
  return kind == ErrorKind::exit || kind == ErrorKind::interrupt || kind == ErrorKind::limit;
}

/// Throws the error of a native function: its own, that of a call which it made, or one without a message. `before`:
/// how many calls of the engine had failed when the function was called.
[[noreturn]] void fail_as(Host& host, const HostFunction& function, tsl_status status, uint64_t before) {
  const Problem& problem = *host.problem();
  const bool is_of_call = problem.status == status && host.failures() > before;
  if (std::exchange(host.has_function_error, false) || (is_of_call && kind_of(status))) throw Failure(problem.error);
  const std::string message =
      fmt::format("the host's function {} failed with status {}: {}", function.name, static_cast<int>(status),
                  is_of_call ? problem.error.message : "it did not say why");
  const std::optional<ErrorKind> kind = kind_of(status);
  if (kind && is_ending(*kind)) end_program(raised_error(*kind), message);
  fail_with(ErrorName::host_function_failed, message);
}

/// Returns the activity of a native function, or its derivative, in a profile.
exec::Timeline::Id activity_of(exec::Timeline& timeline, const HostFunction& function, tsl_native native) {
  const bool is_derivative = native != function.call;
  return timeline.native(fmt::format("{}{}", function.name, is_derivative ? " (derivative)" : ""));
}

/// Calls a native function, or its derivative.
Value call_host_program(const HostFunction& function, tsl_native native, std::span<const Value> args) {
  Host& host = function.host;
  exec::Timeline* const timeline = host.engine().timeline();
  const exec::ActivityScope scope(timeline, timeline ? activity_of(*timeline, function, native) : 0);
  const BorrowedHandles arguments(host, args);
  host.has_function_error = false;
  const uint64_t failures = host.failures();
  tsl_value result = {0};
  const std::span<const tsl_value> handles = arguments.handles();
  const tsl_status status = native(host.handle(), function.user, handles.data(), handles.size(), &result);
  set_float_state();
  host.engine().runtime().resume();  // the function may have used a GPU
  Value value;
  if (result.id != 0) {
    const Value* given = host.handles().find(result);
    if (!given && status == TSL_OK)
      fail(ErrorName::host_function_failed, "the host's function {} returned a handle that is no value of this engine",
           function.name);
    if (given) value = *given;
    const bool is_argument =
        std::any_of(handles.begin(), handles.end(), [&](tsl_value each) { return each.id == result.id; });
    if (given && !is_argument) host.handles().release(result);
  }
  if (status != TSL_OK) fail_as(host, function, status, failures);
  return value;
}

const HostFunction& host_function(const Value& builtin) {
  return static_cast<const HostFunction&>(*builtin.as<BuiltinFunction>().builtin);
}

// Call the native function args[0], or its derivative, with the arguments that follow.
Value run_host(Context&, std::span<Value> args) {
  const HostFunction& function = host_function(args[0]);
  return call_host_program(function, function.call, args.subspan(1));
}
Value run_derivative(Context&, std::span<Value> args) {
  const HostFunction& function = host_function(args[0]);
  return call_host_program(function, function.derivative, args.subspan(1));
}

/// Returns the function as a value, followed by arguments.
std::vector<Value> with_function(const HostFunction& function, std::span<const Value> args) {
  std::vector<Value> values;
  values.reserve(1 + args.size());
  values.emplace_back(function.as_value);
  values.insert(values.end(), args.begin(), args.end());
  return values;
}

// ---- Derivatives ---------------------------------------------------------------------------------------------------

Operand operand_of_argument(const HostFunction& function, const Value& value) {
  if (value.is(Tag::tensor)) return value.tensor();
  if (is_host_number(value)) return operand_of(value);
  fail(ErrorName::wrong_argument_type, "{} has a derivative, so its arguments must be tensors and numbers, not {}",
       function.name, type_name(value));
}

Value value_of(const Operand& operand) {
  if (operand.is_tensor()) return Value(operand.tensor);
  if (operand.symbol) return from_symbol(operand.symbol);
  switch (operand.scalar.type) {
    case ScalarType::boolean: return Value(operand.scalar.boolean);
    case ScalarType::integer: return Value(operand.scalar.integer);
    case ScalarType::real: return Value(operand.scalar.real);
  }
  return {};
}

/// Returns what a derivative gave for argument i of `count`: the items of a list or a tuple, or its value for only one.
const Value& gradient_at(const HostFunction& function, const Value& gradients, size_t i, size_t count) {
  const bool is_tuple = gradients.is(Tag::tuple);
  if (!is_tuple && !gradients.is(Tag::list) && count == 1) return gradients;
  if (is_tuple || gradients.is(Tag::list)) {
    const auto& items = is_tuple ? gradients.as<Tuple>().items : gradients.as<List>().items;
    if (items.size() == count) return items[i];
  }
  fail(ErrorName::wrong_host_gradient, "the derivative of {} must return a list of {} gradients", function.name, count);
}

/// The derivative rule of all native functions.
void differentiate(VjpCall& call) {
  const HostFunction& function = *static_cast<const HostOp&>(call.op).function;
  if (!function.derivative) {
    fail_with(
        ErrorName::not_differentiable, fmt::format("the host's function {} has no derivative", function.name),
        {"`stop_gradient(x)` of its arguments makes its result a constant; the host program may define a derivative"});
  }
  Context& context = function.host.engine();
  if (context.runtime().listeners().listening())
    fail(ErrorName::not_differentiable, "the derivative of the host's function {} cannot be differentiated",
         function.name);
  std::vector<Value> args;
  for (const Operand& operand : call.inputs) args.push_back(value_of(operand));
  args.emplace_back(call.output);
  args.emplace_back(call.grad);
  const Value gradients = context.runtime().effect(run_derivative, with_function(function, args));
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Value& gradient = gradient_at(function, gradients, i, call.inputs.size());
    if (!call.needed[i] || gradient.is_nil()) continue;
    const Tensor& input = call.inputs[i].tensor;
    if (!gradient.is(Tag::tensor) || gradient.tensor().dtype() != input.dtype() ||
        !(gradient.tensor().shape() == input.shape()))
      fail(ErrorName::wrong_host_gradient, "the derivative of {} must return {} for argument {}", function.name,
           describe(input), i);
    call.grads[i] = gradient.tensor();
  }
}

/// Calls a native function that has a derivative while tapes listen, and records the call.
Value call_recorded(Context& context, const HostFunction& function, std::span<const Value> args) {
  std::vector<Operand> operands;
  for (const Value& each : args) operands.push_back(operand_of_argument(function, each));
  Runtime& runtime = context.runtime();
  Tensor result;
  {
    const OpListeners::Pause pause(runtime.listeners());
    const Value value = runtime.effect(run_host, with_function(function, args));
    if (!value.is(Tag::tensor))
      fail(ErrorName::wrong_host_result, "{} has a derivative, so it must return a tensor", function.name);
    result = alias(context.ops(), value.tensor());  // a handle that no other call has
  }
  runtime.listeners().record(function.op, operands, {}, {&result, 1}, Origin(),
                             {batch_level(operands), function_level(context.ops())});
  return Value(result);
}

/// Calls a native function that has no derivative while tapes listen. Records the call if results are tensors of floats
/// that no tape knows, though it follows an argument: a gradient that reaches them is an error.
Value call_unknown(Context& context, const HostFunction& function, std::span<const Value> args) {
  Runtime& runtime = context.runtime();
  std::vector<Tensor> given;
  for (const Value& each : args) add_float_tensors(each, given);
  const Value value = runtime.effect(run_host, with_function(function, args));
  const auto is_followed = [&](const Tensor& tensor) { return runtime.listeners().follow(tensor); };
  std::vector<Operand> operands;
  std::copy_if(given.begin(), given.end(), std::back_inserter(operands), is_followed);
  if (operands.empty()) return value;
  std::vector<Tensor> results;
  Value known = map_leaves(value, [&](const Value& leaf) {
    if (!is_float_tensor(leaf) || is_followed(leaf.tensor())) return leaf;
    results.push_back(alias(context.ops(), leaf.tensor()));  // a handle that no other call has
    return Value(results.back());
  });
  if (results.empty()) return value;
  runtime.listeners().record(function.op, operands, {}, results, Origin(),
                             {batch_level(operands), function_level(context.ops())});
  return known;
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

/// Whether a value is the same whenever the trace that is being recorded is replayed.
bool is_constant(const Value& value) {
  return value.is_nil() || value.is(Tag::boolean) || value.is(Tag::integer) || value.is(Tag::real) ||
         value.is(Tag::string) || value.is(Tag::dtype);
}

Value call_host(Context& context, Args args) {
  const auto& function = static_cast<const HostFunction&>(*args.callee->builtin);
  Runtime& runtime = context.runtime();
  if (function.derivative && runtime.listeners().listening()) return call_recorded(context, function, args.values);
  if (function.is_pure && runtime.is_tracing() && std::all_of(args.values.begin(), args.values.end(), is_constant)) {
    const TracingPause pause(runtime);
    const Placement placement(context.ops(), std::nullopt);
    return call_host_program(function, function.call, args.values);  // once, and not at each run
  }
  if (runtime.listeners().listening()) return call_unknown(context, function, args.values);
  if (runtime.is_tracing() || context.ops().batch())
    return runtime.effect(run_host, with_function(function, args.values));
  function.host.engine().devices().deferred_errors().flush();  // an effect at once, without copies of the arguments
  return call_host_program(function, function.call, args.values);
}

HostOp op_of(const HostFunction& function) {
  return {
      {.traits = unfused_traits(Category::library, AxisUse::none, std::nullopt, FlopsOf::nothing, Allocates::always),
       .arity = -1,
       .vjp = differentiate},
      &function};
}

}  // namespace

HostFunction::HostFunction(Host& owner, const tsl_function& given)
    : host(owner),
      signature_text(text_of(given.signature, "function->signature")),
      doc_text(text_of(given.doc, "function->doc")),
      call(given.call),
      derivative(given.derivative),
      user(given.user),
      is_pure(given.is_pure),
      op(op_of(*this)) {
  const std::string_view text = signature_text;
  name = text.substr(0, text.find('('));
  op.name = name;
  signature = text;
  doc = doc_text;
  Builtin::function = call_host;
  family = "host";
  has_effect = !is_pure;
  as_value->builtin = this;
}

HostFunction::~HostFunction() {
  if (release) release(user);
}

namespace {

/// Copies the fields that the host program knows; the others have their defaults.
tsl_function checked(const tsl_function* given) {
  require_pointer(given, "function");
  tsl_function function = {};
  if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof function)
    throw Misuse{"'function' was not initialised by tsl_function_init(), or is of a newer version of TSL"};
  std::memcpy(&function, given, given->struct_size);
  if (!function.call) throw Misuse{"'function->call' is a null pointer"};
  return function;
}

}  // namespace

}  // namespace tsl::api

using namespace tsl;
using namespace tsl::api;

tsl_status tsl_function_init_sized(tsl_function* function, size_t struct_size) {
  if (!function || struct_size < sizeof(size_t))
    return store_misuse(thread_problem(), "'function' is a null pointer, or has no room for its size");
  std::memset(function, 0, struct_size);
  function->struct_size = struct_size;
  return TSL_OK;
}

tsl_status tsl_define_function(tsl_engine engine, const tsl_function* given) {
  const bool has_release = given && given->struct_size >= offsetof(tsl_function, release) + sizeof given->release;
  Release on_failure(has_release ? given->release : nullptr, has_release ? given->user : nullptr);
  return run_call(engine, [&](Host& host) {
    const tsl_function function = checked(given);
    auto native = std::make_unique<HostFunction>(host, function);
    native->release = function.release;
    on_failure.dismiss();
    host.add_function(std::move(native));
  });
}

tsl_status tsl_define(tsl_engine engine, tsl_string signature, tsl_string doc, tsl_native function, void* user,
                      tsl_release_function release) {
  tsl_function described;
  tsl_function_init(&described);
  described.signature = signature;
  described.doc = doc;
  described.call = function;
  described.user = user;
  described.release = release;
  return tsl_define_function(engine, &described);
}

tsl_status tsl_fail(tsl_engine engine, tsl_status kind, tsl_string message) {
  const tsl_status status = run_call(engine, [&](Host& host) {
    const std::optional<ErrorKind> error_kind = kind_of(kind);
    if (!error_kind) throw Misuse{"'kind' is no kind of an error of the language"};
    Error error;
    error.name = raised_error(*error_kind);
    error.message = text_of(message, "message");
    error.is_final = is_ending(*error_kind);
    Problem& problem = host.next_problem();
    problem.error = std::move(error);
    problem.status = kind;
    host.has_function_error = true;
  });
  return status == TSL_OK ? kind : status;
}
