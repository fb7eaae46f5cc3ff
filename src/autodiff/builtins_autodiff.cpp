// Defines the builtins that differentiate and transform functions.
#include <algorithm>

#include "autodiff/builtins_autodiff.h"
#include "autodiff/custom.h"
#include "autodiff/inputs.h"
#include "autodiff/mapping.h"
#include "base/error_names.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

// ---- grad and value_and_grad ---------------------------------------------------------------------------

// The values bound to a function that grad or value_and_grad returns.
enum Bound : size_t { kFunction, kWrt, kHasAux };  // kWrt: an int, or a list of ints

/// Returns the positions in `wrt`: an int or a list of ints.
std::vector<int64_t> positions(Context& context, const Value& wrt) {
  std::vector<int64_t> at;
  const auto add = [&](const Value& position) {
    at.push_back(expect_int(context, position, "wrt"));
    if (at.back() < 0) fail(ErrorName::wrong_wrt, "wrt counts arguments from 0, so it cannot be {}", at.back());
    if (std::count(at.begin(), at.end(), at.back()) > 1)
      fail(ErrorName::wrong_wrt, "wrt names argument {} twice", at.back());
  };
  if (wrt.is(Tag::list)) std::for_each(wrt.as<List>().items.begin(), wrt.as<List>().items.end(), add);
  else if (wrt.is(Tag::tuple)) std::for_each(wrt.as<Tuple>().items.begin(), wrt.as<Tuple>().items.end(), add);
  else add(wrt);
  return at;
}

Inputs add_inputs(Context& context, Tape& tape, std::span<Value> args, const Value& wrt) {
  Inputs inputs;
  for (int64_t position : positions(context, wrt)) {
    const size_t at = static_cast<size_t>(position);
    if (at >= args.size() || args[at].is(Tag::absent)) {
      fail(ErrorName::missing_argument, "there is no argument {} to differentiate by: the function is given {}", at,
           args.size());
    }
    const size_t before = inputs.count();
    const char* type = type_name(args[at]);
    const bool is_tensor = args[at].is(Tag::tensor);
    const std::string given = is_tensor ? describe(args[at].tensor()) : std::string(type);
    inputs.add(context, tape, args[at]);
    if (inputs.count() == before) {
      std::vector<std::string> hints;
      if (is_tensor) hints = {"`f32(x)` makes floats of it"};
      else if (is_host_int(args[at]))
        hints = {"`float(x)` makes a float of an int; a float is written with a point: `3.0`"};
      fail_with(ErrorName::not_differentiable,
                fmt::format("argument {} cannot be differentiated by: {} holds no floats", at, given),
                std::move(hints));
    }
  }
  return inputs;
}

/// Returns the number to differentiate from the function's result.
Tensor loss_of(const Value& result, bool has_aux) {
  if (has_aux && !(result.is(Tag::tuple) && result.as<Tuple>().items.size() == 2)) {
    fail(ErrorName::not_differentiable,
         "with has_aux, the function to differentiate must return a tuple (loss, aux), not {}", type_name(result));
  }
  const Value& loss = has_aux ? result.as<Tuple>().items[0] : result;
  constexpr const char* kMust = "the function to differentiate must return a float tensor with one element";
  if (!loss.is(Tag::tensor)) {
    std::vector<std::string> notes;
    if (is_host_number(loss))
      notes.push_back("a host number has no derivative: keep the tensor instead of float(x) or x.item()");
    if (loss.is(Tag::tuple)) notes.push_back("has_aux: true differentiates the first part of a tuple (loss, aux)");
    fail_with(ErrorName::not_differentiable, fmt::format("{}, not {}", kMust, type_name(loss)), std::move(notes));
  }
  const Tensor tensor = loss.tensor();
  if (!is_float(tensor.dtype())) fail(ErrorName::not_differentiable, "{}, not {}", kMust, describe(tensor));
  if (!(element_count(tensor.shape()) == Dim(1))) {
    fail_with(ErrorName::loss_not_scalar, fmt::format("{}, not {}", kMust, describe(tensor)),
              {"sum() or mean() makes one number of it"});
  }
  return tensor;
}

struct Differentiated {
  Value result;    // of the function
  Value gradient;  // with respect to one argument, or a tuple
};

Differentiated differentiate(Context& context, Args args) {
  const Value& wrt = args.bound[kWrt];
  Tape tape;
  const Inputs inputs = add_inputs(context, tape, args.values, wrt);
  Differentiated done;
  {
    OpListeners::Listening listening(context.runtime().listeners(), tape, function_level(context.ops()));
    done.result = call_as_given(context, args.bound[kFunction], args);
  }
  const Tensor loss = loss_of(done.result, args.bound[kHasAux].boolean());
  const Placement placement(context.ops(), loss.device());
  const Tensor one = fill(context.ops(), loss.shape(), loss.dtype(), Scalar::of(1.0));
  std::vector<Value> gradients =
      inputs.assemble(tape.gradients(context.ops(), {&loss, 1}, {&one, 1}, Tape::After::empty));
  done.gradient = !wrt.is(Tag::list) ? std::move(gradients[0]) : make_tuple(std::move(gradients));
  return done;
}

Value call_grad(Context& context, Args args) {
  const bool has_aux = args.bound[kHasAux].boolean();
  Differentiated done = differentiate(context, args);
  if (!has_aux) return std::move(done.gradient);
  return make_tuple({std::move(done.gradient), done.result.as<Tuple>().items[1]});
}

Value call_value_and_grad(Context& context, Args args) {
  Differentiated done = differentiate(context, args);
  return make_tuple({std::move(done.result), std::move(done.gradient)});
}

constexpr Builtin kGradient{
    "grad(f)", "grad(...arguments: any)", "the gradient of f; takes the arguments of f", call_grad, "autodiff", true};
constexpr Builtin kValueAndGradient{"value_and_grad(f)",
                                    "value_and_grad(...arguments: any)",
                                    "(f(…), its gradient); takes the arguments of f",
                                    call_value_and_grad,
                                    "autodiff",
                                    true};

Value bind(Context& context, const Builtin& builtin, Args args) {
  // Checks `wrt` now and not in the call, where reading it could end a trace and replace bound values.
  const std::vector<int64_t> at = positions(context, args[1]);
  const bool is_one = !args[1].is(Tag::list) && !args[1].is(Tag::tuple);
  Ref<BuiltinFunction> native = make_ref<BuiltinFunction>();
  native->builtin = &builtin;
  native->bound = {args[0], is_one ? Value(at[0]) : make_list({at.begin(), at.end()}),
                   Value(expect_bool(context, args[2], "has_aux"))};
  return Value(std::move(native));
}

Value grad_builtin(Context& context, Args args) { return bind(context, kGradient, args); }
Value value_and_grad_builtin(Context& context, Args args) { return bind(context, kValueAndGradient, args); }

// ---- vjp -----------------------------------------------------------------------------------------------

/// The state of a pullback, as a value that can be bound. The function and its arguments are bound to it; variables and
/// random numbers that the function has used are on the tape.
struct Recorded : BuiltinFunction {
  Recorded() { has_state = true; }
  Tape tape;
  Inputs inputs;
  Value result;        // the function's result, with nil for what has no gradient
  bool is_one = true;  // whether there is only one argument
};

Value call_pullback(Context& context, Args args) {
  auto& recorded = args.bound[0].as<Recorded>();
  GivenGradients given(context, kForPullback);
  given.match(recorded.result, args[0]);
  std::vector<Value> gradients = recorded.inputs.assemble(
      recorded.tape.gradients(context.ops(), given.tensors(), given.gradients(), Tape::After::keep));
  return recorded.is_one ? std::move(gradients[0]) : make_tuple(std::move(gradients));
}

constexpr Builtin kPullback{"pullback", "pullback(gradient: any)",
                            "the gradients of a function's arguments, given that of its value", call_pullback,
                            "autodiff"};

Value vjp_builtin(Context& context, Args args) {
  const std::span<Value> given = args.values.subspan(1);
  if (given.empty()) fail(ErrorName::missing_argument, "vjp takes a function and its arguments: vjp(f, x)");
  Ref<Recorded> recorded = make_ref<Recorded>();
  recorded->builtin = &kPullback;
  recorded->bound.assign(args.values.begin(), args.values.end());
  recorded->is_one = given.size() == 1;
  for (Value& argument : given) recorded->inputs.add(context, recorded->tape, argument);
  if (recorded->inputs.count() == 0)
    fail(ErrorName::not_differentiable, "vjp: no argument holds floats to differentiate by");
  Value result;
  {
    OpListeners::Listening listening(context.runtime().listeners(), recorded->tape, function_level(context.ops()));
    result = context.call(args[0], given);
  }
  recorded->result = float_tensors(result);
  Ref<BuiltinFunction> pullback = make_ref<BuiltinFunction>();
  pullback->builtin = &kPullback;
  pullback->bound.push_back(Value(std::move(recorded)));
  return make_tuple({std::move(result), Value(std::move(pullback))});
}

// ---- stop_gradient -------------------------------------------------------------------------------------

Value stop_gradient_builtin(Context& context, Args args) {
  OpListeners& tapes = context.runtime().listeners();
  if (!tapes.listening()) return std::move(args[0]);
  OpListeners::Pause pause(tapes);
  return map_leaves(args[0], [&](const Value& leaf) {
    return is_float_tensor(leaf) ? Value(alias(context.ops(), leaf.tensor())) : leaf;
  });
}

constexpr Builtin kRows[] = {
    {"grad", "grad(f: fn | dtype, wrt: integers = 0, has_aux: bool = false)",
     "a function that gives the gradient of f, which returns one number, by its first argument: any nesting "
     "of records,\n"
     "lists, tuples and tensors, nil where there is no float. wrt names other arguments, or several: [0, 1] "
     "gives a tuple.\n"
     "With has_aux, f returns (loss, aux) and the result is (gradient, aux).",
     grad_builtin, "autodiff"},
    {"value_and_grad", "value_and_grad(f: fn | dtype, wrt: integers = 0, has_aux: bool = false)",
     "like grad, but the function gives (f(…), gradient)", value_and_grad_builtin, "autodiff"},
    with_effect(
        {"vjp", "vjp(f: fn | dtype, ...arguments: any)",
         "(f(…), pullback): pullback(g) gives the gradient by the argument, or a tuple of those by all, for the "
         "gradient g of\n"
         "the value. It may be called any number of times.",
         vjp_builtin, "autodiff"}),
    {"vmap", "vmap(f: fn | dtype, in_axes: any = 0, out_axes: any = 0)",
     "a function that calls f for all examples at once: its arguments and its value have an axis of examples, which f\n"
     "does not see. in_axes and out_axes say where it is: an axis, or a list of one for each argument or item of the\n"
     "value; nil for what has no examples.",
     vmap_builtin, "autodiff"},
    {"with_vjp", "with_vjp(f: fn | dtype, rule: fn)",
     "f with a derivative of its own: rule(arguments…, value, g) gives the gradient by the argument, or a tuple of "
     "those\n"
     "by all, for the gradient g of the value. What f captures has none.",
     with_vjp_builtin, "autodiff"},
    {"remat", "remat(f: fn | dtype)",
     "f, without keeping what it computes on the way for its derivative, which computes it again", remat_builtin,
     "autodiff"},
    {"stop_gradient", "stop_gradient(x: any)", "x, taken for a constant by grad and its kin", stop_gradient_builtin,
     "autodiff"},
};

}  // namespace

std::span<const Builtin> autodiff_builtins() { return kRows; }

}  // namespace tsl
