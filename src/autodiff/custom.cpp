#include "autodiff/custom.h"

#include <memory>
#include <unordered_set>

#include "autodiff/inputs.h"
#include "value/context.h"
#include "value/numbers.h"
#include "value/runtime.h"

namespace tsl {

namespace {

// The values bound to a function that with_vjp or remat returns.
enum CustomBound : size_t { kCustomized, kRule };

// ---- Recording -----------------------------------------------------------------------------------------

/// Returns the innermost batch of a call's tensors; null if none is an example.
Ref<Batch> innermost_batch(const CustomCall& call) {
  Ref<Batch> batch;
  const auto look = [&](const Tensor& tensor) {
    if (is_example(tensor) && (!batch || batch->level < tensor->batch->level)) batch = tensor->batch;
  };
  for (const Tensor& input : call.inputs) look(input);
  for (const Tensor& result : call.results) look(result);
  return batch;
}

bool is_of(const Ref<Batch>& batch, const Tensor& tensor) { return tensor->batch == batch; }

/// Makes the call on all examples of a call on one: what is the same for all examples gets the sum of their gradients.
std::shared_ptr<const CustomCall> on_all_examples(Ops& ops, const Ref<Batch>& batch,
                                                  const std::shared_ptr<const CustomCall>& one) {
  auto all = std::make_shared<CustomCall>();
  const auto outside = [&](const Tensor& tensor) { return is_of(batch, tensor) ? Tensor(tensor->examples) : tensor; };
  for (const Tensor& input : one->inputs) all->inputs.push_back(outside(input));
  for (const Tensor& result : one->results) all->results.push_back(outside(result));
  all->pullback = [&ops, batch, one](std::span<const Tensor> given) {
    std::vector<Tensor> gradients(given.begin(), given.end());
    std::vector<Tensor> found;
    {
      const BatchScope mapped(ops, batch);
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i] && is_of(batch, one->results[i])) gradients[i] = example_of(batch, gradients[i]);
      }
      found = one->pullback(gradients);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      found[i] = all_examples(ops, batch, found[i]);
      if (!is_of(batch, one->inputs[i])) found[i] = sum(ops, found[i], {0}, false);
    }
    return found;
  };
  return all;
}

/// Records a call for the listeners in the mapped function, and that on all examples for those around it.
void record(Context& context, const std::shared_ptr<const CustomCall>& call) {
  Ops& ops = context.ops();
  OpListeners& listeners = context.runtime().listeners();
  const Ref<Batch> batch = innermost_batch(*call);
  const int level = batch ? batch->level : 0;
  listeners.record_custom(call, ops.origin(), {level, function_level(ops)});
  if (!batch || !listeners.listens_below(level)) return;
  const BatchScope outside(ops, batch->outer);
  record(context, on_all_examples(ops, batch, call));
}

/// Returns the value with new handles for its float tensors, so that a call of f(x) = x has a result of its own.
Value separate(Context& context, const Value& value) {
  return map_leaves(value, [&](const Value& leaf) {
    return is_float_tensor(leaf) ? Value(alias(context.ops(), leaf.tensor())) : leaf;
  });
}

/// Replaces host numbers that a trace has left behind as symbols.
Value without_dead_symbols(const Value& value) {
  return map_leaves(value, [](const Value& leaf) {
    const bool is_dead = leaf.is(Tag::symbol) && leaf.symbol()->table->is_closed();
    return is_dead ? Value(leaf.symbol()->hint) : leaf;
  });
}

// ---- with_vjp ------------------------------------------------------------------------------------------

/// Returns the rule's arguments: those of the function, its result, and the gradient of the result.
std::vector<Value> rule_arguments(Context& context, const std::vector<Value>& given, const Value& result,
                                  std::span<const Tensor> gradients) {
  std::vector<Value> arguments;
  for (const Value& argument : given) arguments.push_back(without_dead_symbols(argument));
  arguments.push_back(result);
  size_t next = 0;
  arguments.push_back(map_leaves(result, [&](const Value& leaf) {
    if (!is_float_tensor(leaf)) return Value();
    const Tensor& gradient = gradients[next++];
    if (gradient) return Value(gradient);
    const Tensor like = leaf.tensor();
    const Placement placement(context.ops(), like.device());
    return Value(fill(context.ops(), like.shape(), like.dtype(), Scalar::of(0.0)));
  }));
  return arguments;
}

/// Returns the gradients of the inputs, the float tensors of the arguments, from what the rule has returned.
std::vector<Tensor> gradients_by_rule(Context& context, const std::vector<Value>& given, const Value& returned,
                                      std::span<const Tensor> inputs) {
  std::vector<Value> of_arguments;
  if (given.size() == 1) of_arguments = {returned};
  else if (returned.is(Tag::tuple)) of_arguments = returned.as<Tuple>().items;
  else if (returned.is(Tag::list)) of_arguments = returned.as<List>().items;
  if (of_arguments.size() != given.size()) {
    fail_with(ErrorName::structure_mismatch,
              fmt::format("with_vjp: the rule must return a tuple of the gradients of {} arguments, not {}",
                          given.size(), type_name(returned)),
              {"nil stands for the gradient of an argument that has none"});
  }
  GivenGradients found(context, kByRule);
  for (size_t i = 0; i < given.size(); ++i) found.match(float_tensors(given[i]), of_arguments[i]);
  std::vector<Tensor> gradients(inputs.size());
  size_t next = 0;  // inputs and found gradients are in the order of the arguments
  for (size_t i = 0; i < found.tensors().size(); ++i) {
    while (!(inputs[next] == found.tensors()[i])) ++next;
    gradients[next++] = found.gradients()[i];
  }
  return gradients;
}

Value call_with_vjp(Context& context, Args args) {
  OpListeners& listeners = context.runtime().listeners();
  const Value function = args.bound[kCustomized], rule = args.bound[kRule];
  if (!listeners.listening()) return context.call(function, args.values);
  const std::vector<Value> given(args.values.begin(), args.values.end());
  Value result;
  {
    const OpListeners::Pause pause(listeners);
    result = separate(context, context.call(function, args.values));
  }
  auto call = std::make_shared<CustomCall>();
  for (const Value& argument : given) add_float_tensors(argument, call->inputs);
  add_float_tensors(result, call->results);
  call->pullback = [&context, rule, given, result, inputs = call->inputs](std::span<const Tensor> gradients) {
    std::vector<Value> arguments = rule_arguments(context, given, result, gradients);
    const Value returned = context.call(rule, arguments);
    return gradients_by_rule(context, given, returned, inputs);
  };
  record(context, call);
  return result;
}

constexpr Builtin kWithVjp{"with_vjp(f)", "with_vjp(...arguments: any)",
                           "f with a derivative of its own; takes the arguments of f", call_with_vjp, "autodiff"};

// ---- remat ---------------------------------------------------------------------------------------------

/// Collects the tensors that a function uses besides its arguments, of those whose gradients are wanted.
class Captures final : public OpListener {
 public:
  Captures(OpListeners& listeners, std::vector<Tensor> arguments) : listeners_(listeners) {
    for (const Tensor& argument : arguments) known_.insert(argument.get());
    arguments_ = std::move(arguments);
  }

  void record(const OpDef&, std::span<const Operand> operands, const Attrs&, std::span<const Tensor> results,
              const Origin&) override {
    for (const Operand& operand : operands) {
      if (operand.is_tensor()) look(operand.tensor);
    }
    for (const Tensor& result : results) known_.insert(result.get());
  }
  void record_custom(const std::shared_ptr<const CustomCall>& call, const Origin&) override {
    for (const Tensor& input : call->inputs) look(input);
    for (const Tensor& result : call->results) known_.insert(result.get());
  }
  void keep_alive(const std::shared_ptr<SymbolTable>&) override {}

  const std::vector<Tensor>& tensors() const { return captured_; }

 private:
  void look(const Tensor& tensor) {
    if (!is_float(tensor.dtype()) || !listeners_.follow(tensor) || !known_.insert(tensor.get()).second) return;
    captured_.push_back(tensor);
  }

  OpListeners& listeners_;
  std::vector<Tensor> arguments_;  // kept, so that no other tensor has their address
  // Arguments, captured tensors, and results. Those may be gone: another tensor at the address is also of the call.
  std::unordered_set<const TensorData*> known_;
  std::vector<Tensor> captured_;
};

/// What a call of a function needs to be repeated.
struct Repetition {
  Value function;
  std::vector<Value> arguments;
  size_t positional;  // arguments without a name
  Value random_state;
  std::vector<Tensor> captured;
};

/// Draws the random numbers of an earlier call, for the lifetime of this object.
class RandomStateScope {
 public:
  RandomStateScope(Runtime& runtime, const Value& state) : runtime_(runtime), before_(runtime.random_state()) {
    runtime_.set_random_state(state);
  }
  ~RandomStateScope() { runtime_.set_random_state(before_); }
  RandomStateScope(const RandomStateScope&) = delete;
  RandomStateScope& operator=(const RandomStateScope&) = delete;

 private:
  Runtime& runtime_;
  const Value before_;
};

/// Calls the function again, on a tape, and returns the gradients of its arguments' float tensors and captured tensors.
std::vector<Tensor> repeat(Context& context, const Repetition& call, std::span<const Tensor> given) {
  Tape tape;
  std::vector<Value> arguments;
  for (const Value& argument : call.arguments) {
    arguments.push_back(map_leaves(without_dead_symbols(argument), [&](const Value& leaf) {
      if (!is_float_tensor(leaf)) return leaf;
      const Tensor input = alias(context.ops(), leaf.tensor());
      tape.add_input(input);
      return Value(input);
    }));
  }
  for (const Tensor& captured : call.captured) tape.add_input(captured);
  Value result;
  {
    const RandomStateScope random(context.runtime(), without_dead_symbols(call.random_state));
    const OpListeners::Listening listening(context.runtime().listeners(), tape, function_level(context.ops()));
    result = call_as_given(context, call.function, {arguments, {}, call.positional});
  }
  std::vector<Tensor> all, results, gradients;
  add_float_tensors(result, all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!given[i]) continue;
    results.push_back(all[i]);
    gradients.push_back(given[i]);
  }
  return tape.gradients(context.ops(), results, gradients, Tape::After::empty);
}

Value call_remat(Context& context, Args args) {
  Runtime& runtime = context.runtime();
  if (!runtime.listeners().listening()) return call_as_given(context, args.bound[kCustomized], args);
  auto call = std::make_shared<CustomCall>();
  Repetition repetition{
      args.bound[kCustomized], {args.values.begin(), args.values.end()}, args.positional, runtime.random_state(), {}};
  for (const Value& argument : repetition.arguments) add_float_tensors(argument, call->inputs);
  Captures captures(runtime.listeners(), call->inputs);
  Value result;
  {
    const OpListeners::Pause pause(runtime.listeners());
    {
      const OpListeners::Listening listening(runtime.listeners(), captures, function_level(context.ops()));
      result = call_as_given(context, repetition.function, args);
    }
    result = separate(context, result);
  }
  repetition.captured = captures.tensors();
  call->inputs.insert(call->inputs.end(), repetition.captured.begin(), repetition.captured.end());
  add_float_tensors(result, call->results);
  call->pullback = [&context, repetition = std::move(repetition)](std::span<const Tensor> gradients) {
    return repeat(context, repetition, gradients);
  };
  record(context, call);
  return result;
}

constexpr Builtin kRemat{
    "remat(f)", "remat(...arguments: any)", "f, computed again for its derivative", call_remat, "autodiff", true};

Value bound_to(const Builtin& builtin, std::span<const Value> bound) {
  Ref<BuiltinFunction> native = make_ref<BuiltinFunction>();
  native->builtin = &builtin;
  native->bound.assign(bound.begin(), bound.end());
  return Value(std::move(native));
}

}  // namespace

Value with_vjp_builtin(Context&, Args args) { return bound_to(kWithVjp, args.values); }
Value remat_builtin(Context&, Args args) { return bound_to(kRemat, args.values); }

}  // namespace tsl
