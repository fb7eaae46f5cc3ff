// Implements calls: from bytecode, from builtins and from the tracer.
#include <algorithm>
#include <optional>

#include "base/error_names.h"
#include "base/platform/stack_room.h"
#include "bytecode/declaration.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/materialize.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "vm/arguments.h"
#include "vm/complex.h"
#include "vm/indexing.h"
#include "vm/instructions.h"
#include "vm/interpreter.h"
#include "vm/operators.h"

namespace tsl {

namespace {

// Calls through builtins nest on the C++ stack. Threads usually have 8 MiB; half of that leaves room for the innermost
// code, in any build. Where the host program's thread has less, is_stack_short() ends the nesting.
constexpr uintptr_t kNativeStackBudget = uintptr_t{4} << 20;
// Additional stack for regions that begin inside regions whose traces have been materialized. A program that would pass
// when interpreted must not fail because of them.
constexpr uintptr_t kRegionStackBudget = uintptr_t{1} << 20;

}  // namespace

/// Guards entries from C++: a call from outside, from a builtin or for a region. Refuses to nest too deeply, but counts
/// only the stack that would be used without regions.
class Interpreter::NativeDepth {
 public:
  enum class For : uint8_t { call, region };

  explicit NativeDepth(Interpreter& interpreter, For what = For::call)
      : interpreter_(interpreter), saved_(interpreter.native_) {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    NativeStack now = saved_;
    if (now.base == 0) now.base = here;
    else if (what == For::region)
      now.of_regions += now.top - std::min(here, now.top);  // another thread's stack does not count
    else if ((now.base - here > kNativeStackBudget + now.of_regions && here < now.base) || platform::is_stack_short()) {
      fail(ErrorName::recursion_limit, "calls through builtins are nested too deeply; does the recursion end?");
    }
    now.top = here;
    interpreter.native_ = now;
  }
  ~NativeDepth() { interpreter_.native_ = saved_; }
  NativeDepth(const NativeDepth&) = delete;
  NativeDepth& operator=(const NativeDepth&) = delete;

 private:
  Interpreter& interpreter_;
  const NativeStack saved_;
};

bool Interpreter::has_stack_for_region() const { return native_.of_regions < kRegionStackBudget; }

/// Marks a callee's slot and its arguments as in use, and clears them at the end of the scope.
class Interpreter::SlotGuard {
 public:
  SlotGuard(Interpreter& interpreter, Value* begin, Value* end)
      : interpreter_(interpreter), begin_(begin), end_(end), saved_(interpreter.builtin_end_) {
    interpreter_.builtin_end_ = end;
  }
  ~SlotGuard() {
    for (Value* v = begin_; v < end_; ++v) vm::clear(*v);
    interpreter_.builtin_end_ = saved_;
  }
  /// Leaves the values in their slots.
  void keep() { begin_ = end_; }
  SlotGuard(const SlotGuard&) = delete;
  SlotGuard& operator=(const SlotGuard&) = delete;

 private:
  Interpreter& interpreter_;
  Value* begin_;
  Value* end_;
  Value* saved_;
};

Value* Interpreter::free_slot() {
  Value* end = frames_.empty() ? values_.begin() : frames_.top()->end();
  return std::max(end, builtin_end_);
}

// ---- Into the interpreter ------------------------------------------------------------------------------

Value Interpreter::run_module(const Ref<Code>& code, bool open) {
  NativeDepth depth(*this);
  Value* slot = free_slot();
  values_.reserve(slot + 1);
  SlotGuard guard(*this, slot, slot + 1);
  *slot = Value(Ref<Function>(new ScriptFunction(*code->main, code)));
  const bool is_interpreted = !frames_.empty() && (frames_.top()->flags & Frame::kInterpreted);
  enter(slot, Frame::kEntry | (is_interpreted ? Frame::kInterpreted : open ? Frame::kOpen : 0));
  run({frames_.size() - 1, nullptr, 0, 0});
  return std::move(*slot);
}

Value Interpreter::call(const Value& callee, std::span<Value> args, const CallShape* shape) {
  NativeDepth depth(*this);
  const Placement placement(context_.ops(), std::nullopt);  // the placement of the calling builtin must not apply
  Value* slot = free_slot();
  values_.reserve(slot + 1 + args.size());
  SlotGuard guard(*this, slot, slot + 1 + args.size());
  *slot = callee;
  std::move(args.begin(), args.end(), slot + 1);
  materialize_pending(context_, {slot + 1, args.size()});
  if (prepare_entry(slot, args.size(), shape)) run({frames_.size() - 1, nullptr, 0, 0});
  return std::move(*slot);
}

/// As prepare_call(), for a call from C++: no argument of it is in the source.
bool Interpreter::prepare_entry(Value* slot, size_t count, const CallShape* shape) {
  try {
    return prepare_call(slot, count, shape, Frame::kEntry);
  } catch (Failure& failure) {
    if (!failure.error().is_located) {
      failure.error().parameter.clear();
      failure.error().argument = -1;
    }
    throw;
  }
}

Value Interpreter::call_bound(const Value& function, std::span<Value> args, bool open) {
  NativeDepth depth(*this, NativeDepth::For::region);
  Value* slot = free_slot();
  values_.reserve(slot + 1 + args.size());
  SlotGuard guard(*this, slot, slot + 1 + args.size());
  *slot = function;
  std::move(args.begin(), args.end(), slot + 1);
  const Signature& signature = function.as<Function>().info->signature;
  values_.reserve(slot + 1 + proto_of(function.as<Function>()).register_count);
  if (!signature.dim_registers.empty()) check_parameters(context_, signature, slot + 1);  // binds dimension names
  enter(slot, Frame::kEntry | Frame::kRegion | (open ? Frame::kOpen : 0));
  run({frames_.size() - 1, nullptr, 0, 0});
  return std::move(*slot);
}

uint32_t Interpreter::run_body(Frame& frame, const Loop& loop) {
  NativeDepth depth(*this, NativeDepth::For::region);
  frame.pc = frame.proto->code.data() + loop.begin;
  run({frames_.size() - 1, &frame, loop.begin, loop.end});
  return frame.pc_index();
}

void Interpreter::enter(Value* slot, uint32_t flags) {
  const Proto& proto = proto_of(slot->as<Function>());
  values_.reserve(slot + 1 + proto.register_count);
  *frames_.push() = {proto.code.data(), slot + 1, &proto, flags};
}

// ---- Callees -------------------------------------------------------------------------------------------

namespace {

/// Points an error about a parameter to the argument for it, and throws it on.
[[noreturn]] void rethrow_at_argument(Failure& failure, const Signature& signature, size_t count,
                                      const CallShape* shape) {
  Error& error = failure.error();
  if (!error.is_located && error.argument < 0 && !error.parameter.empty()) {
    error.argument = argument_position(signature, error.parameter, count, shape);
  }
  throw;
}

void check_arguments(Context& context, const Signature& signature, Value* base, size_t count, const CallShape* shape) {
  try {
    check_parameters(context, signature, base);
  } catch (Failure& failure) { rethrow_at_argument(failure, signature, count, shape); }
}

/// Exchanges the first two arguments where they fit only in the other order: xs |> map(f) is map(f, xs).
void swap_arguments(const Signature& signature, Value* args) {
  const std::vector<ParameterInfo>& parameters = signature.parameters;
  if (args[1].is(Tag::absent) || fits(parameters[0], args[0]) || !fits(parameters[0], args[1])) return;
  args[0].swap(args[1]);
}

/// Reads a tensor of rank 0 that is given where the parameter takes a host number alone.
void read_number(Context& context, const ParameterInfo& parameter, Value& argument) {
  if (!argument.is(Tag::tensor) || argument.tensor().rank() > 0 || fits(parameter, argument)) return;
  Value number = read_item(context, argument.tensor());
  if (fits(parameter, number)) argument = std::move(number);
}

/// Does so for the arguments of a function of the standard library.
void read_numbers(Context& context, const Signature& signature, Value* args) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const ParameterInfo& parameter = signature.parameters[i];
    if (!parameter.accepts_tag(args[i])) read_number(context, parameter, args[i]);
  }
}

/// Returns the default of a parameter; f32 stands for the dtype of the caller's floats.
Value default_of(Context& context, const ParameterInfo& parameter) {
  const Value& given = parameter.default_value;
  return given.is(Tag::dtype) && given.dtype() == DType::f32 ? Value(context.ops().reals()) : given;
}

/// Gives a function of the library the dtype of the caller's floats, where it is a default.
void fill_reals(Context& context, const Signature& signature, Value* args) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const ParameterInfo& parameter = signature.parameters[i];
    if (args[i].is(Tag::absent) && parameter.default_value.is(Tag::dtype)) args[i] = default_of(context, parameter);
  }
}

/// Checks the arguments of a builtin, and fills in the defaults.
void complete_arguments(Context& context, const Signature& signature, Value* args, size_t bound) {
  const size_t parameters = signature.parameters.size();
  for (size_t i = 0; i < parameters; ++i) {
    const ParameterInfo& parameter = signature.parameters[i];
    if (parameter.accepts_tag(args[i])) continue;
    if (args[i].is(Tag::absent)) {
      args[i] = default_of(context, parameter);
    } else {
      read_number(context, parameter, args[i]);
      check_parameter(context, signature, i, args);
    }
  }
  for (size_t i = parameters; i < bound; ++i) check_rest(context, signature, args[i]);
}

}  // namespace

bool Interpreter::prepare_call(Value* slot, size_t count, const CallShape* shape, uint32_t flags) {
  if (context_.watch.is_pending()) context_.watch.check();
  if (slot->is(Tag::function)) return prepare_function(slot, count, shape, flags);
  if (slot->is(Tag::builtin)) {
    call_builtin(slot, count, shape);
    return false;
  }
  if (!slot->is(Tag::dtype)) {
    fail_with(ErrorName::not_callable, fmt::format("{} cannot be called", type_name(*slot)),
              hints_of(hint_for_call(*slot)));
  }
  convert_argument(slot, count, shape);
  return false;
}

/// Calls a dtype, f32(x): a conversion.
void Interpreter::convert_argument(Value* slot, size_t count, const CallShape* shape) {
  const DType dtype = slot->dtype();
  Value* args = slot + 1;
  values_.reserve(args + std::max<size_t>(count, 1));
  SlotGuard guard(*this, args, args + std::max<size_t>(count, 1));
  static const uint32_t kArrays = kind_named("array")->tags;
  const bool fits = count == 1 && !shape && (kArrays & tag_bit(args->tag()) || is_host_number(*args));
  if (!fits) {
    const Signature signature = parse_signature(fmt::format("{}(x: array)", name_of(dtype)), context_.names());
    bind_arguments(signature, args, count, shape);
    check_arguments(context_, signature, args, count, shape);
  }
  Value result = convert(context_, dtype, *args);
  *slot = std::move(result);
}

namespace {

/// Makes a list of the arguments from `begin` on, in place of the first of them.
void collect_rest(Value* begin, Value* end) {
  Collector items;
  for (Value* v = begin; v < end; ++v) items.add(std::move(*v));
  *begin = make_list(items.take());
}

}  // namespace

bool Interpreter::prepare_function(Value* slot, size_t count, const CallShape* shape, uint32_t flags) {
  const Proto& proto = proto_of(slot->as<Function>());
  Value* base = slot + 1;
  values_.reserve(base + std::max<size_t>(proto.register_count, count));
  if (shape || proto.direct_arity != count) {
    const size_t bound = bind_arguments(proto.signature, base, count, shape);
    if (proto.signature.rest) collect_rest(base + proto.parameter_count(), base + bound);
  }
  const std::span<Value> given(base, proto.parameter_count());
  if (proto.is_library && may_have_complex(given) && call_complex(slot, proto.signature, given)) return false;
  if (proto.takes_reals) fill_reals(context_, proto.signature, base);
  if (proto.tests_arguments) {
    if (proto.is_library) read_numbers(context_, proto.signature, base);
    check_arguments(context_, proto.signature, base, count, shape);
  }
  const RegionHooks::CallMode mode = call_mode(*slot);
  if (mode == RegionHooks::CallMode::region) {
    const size_t parameters = proto.argument_count();
    SlotGuard guard(*this, base, base + parameters);
    Value result = hooks_->call_region(*slot, {base, parameters});
    *slot = std::move(result);
    return false;
  }
  if (mode == RegionHooks::CallMode::open) flags |= Frame::kOpen;
  if (mode == RegionHooks::CallMode::interpreted) flags |= Frame::kInterpreted;
  enter(slot, flags);
  return true;
}

/// Calls a function of the library with complex arguments, if it has a form for them.
bool Interpreter::call_complex(Value* slot, const Signature& signature, std::span<Value> args) {
  if (!has_complex(signature, args)) return false;
  SlotGuard guard(*this, args.data(), args.data() + args.size());  // to look for a form may load a file of the library
  while (const std::optional<size_t> list = complex_list_in(signature, args))
    args[*list] = *call_complex_form(context_, "tensor", args.subspan(*list, 1));
  if (!has_complex_form(context_, signature, args)) {
    refuse_complex_dtype(signature, args);
    guard.keep();
    return false;
  }
  Value result = call_for_complex(context_, Value(*slot), signature, args);
  *slot = std::move(result);
  return true;
}

/// Returns how a function is called from the innermost frame.
RegionHooks::CallMode Interpreter::call_mode(const Value& function) {
  const uint32_t caller = frames_.empty() ? 0 : frames_.top()->flags;
  if (caller & Frame::kInterpreted) return RegionHooks::CallMode::interpreted;
  const Proto& proto = proto_of(function.as<Function>());
  const bool is_asked = proto.is_compiled || proto.is_interpreted || (caller & Frame::kOpen);
  return is_asked ? hooks_->call_mode(function) : RegionHooks::CallMode::plain;
}

/// Calls a builtin. locate() finds the argument that an error is about: to catch it here would unwind twice.
void Interpreter::call_builtin(Value* slot, size_t count, const CallShape* shape) {
  const BuiltinFunction& native = slot->as<BuiltinFunction>();
  const Signature& signature = context_.builtins().signature(native);
  Value* args = slot + 1;
  const std::vector<uint16_t>& dims = signature.dim_registers;
  const size_t slots = std::max(count + signature.named_only, signature.parameters.size() + dims.size());
  values_.reserve(args + slots);
  SlotGuard guard(*this, args, args + slots);
  const size_t bound = bind_arguments(signature, args, count, shape);
  if (native.builtin->may_swap) swap_arguments(signature, args);
  const std::span<Value> given(args, bound);
  if (may_have_complex(given) && call_complex(slot, signature, given)) return;
  for (const uint16_t dim : dims) args[dim] = Value::absent();
  if (!native.builtin->forwards) complete_arguments(context_, signature, args, bound);
  // Tensors that the builtin makes from numbers and lists are placed on the device of its first tensor.
  const Value* tensor = std::find_if(args, args + bound, [](const Value& v) { return v.is(Tag::tensor); });
  const Placement placement(context_.ops(),
                            tensor == args + bound ? std::nullopt : std::optional(tensor->tensor_data()->device));
  Value result =
      native.builtin->function(context_, Args{{args, bound}, native.bound, shape ? shape->positional : count, &native});
  if (context_.watch.sample_at() != 0) [[unlikely]]
    look(slot->as<BuiltinFunction>().builtin->name);
  if (signature.result) check_result(context_, signature, result, args);
  *slot = std::move(result);
}

namespace {

/// Returns what x.name refers to if x is a record or a module with such a member.
const Value* member(Context& context, const Value& object, Name name) {
  if (object.is(Tag::record)) return object.as<Record>().find(name);
  if (object.is(Tag::module) && object.as<Module>().find(name))
    return &vm::member_of(context, object.as<Module>(), name);
  return nullptr;
}

[[noreturn]] void no_method(Context& context, const Value& object, Name name) {
  if (object.is(Tag::module)) vm::member_of(context, object.as<Module>(), name);  // the error lists the members
  const char* what = object.is(Tag::record) ? "field or method" : "method";
  fail_with(ErrorName::unknown_field, fmt::format("{} has no {} '{}'", type_name(object), what, *name),
            hints_of(hint_for_method(context, object, *name)));
}

}  // namespace

/// As prepare_call() for a field of an object, which stands before the arguments in the source.
bool Interpreter::prepare_member(Value* slot, size_t count, const CallShape* shape) {
  try {
    return prepare_call(slot, count, shape, 0);
  } catch (Failure& failure) {
    if (!failure.error().is_located && failure.error().argument >= 0) ++failure.error().argument;
    throw;
  }
}

bool Interpreter::prepare_method(Value* slot, size_t count, const CallShape* shapes, Name name) {
  frames_.top()->flags &= ~Frame::kMember;
  if (const Value* callee = member(context_, slot[1], name)) {
    frames_.top()->flags |= Frame::kMember;
    *slot = *callee;
    std::move(slot + 2, slot + 1 + count, slot + 1);
    return prepare_member(slot, count - 1, shapes ? shapes + 1 : nullptr);
  }
  const Value* builtin = slot[1].is(Tag::module) ? nullptr : context_.builtins().find(name);
  if (!builtin) no_method(context_, slot[1], name);
  *slot = *builtin;
  return prepare_call(slot, count, shapes, 0);
}

/// Calls a function with the items of a list, then the fields of a record and further arguments by name.
void Interpreter::call_spread(Frame& frame, const Instruction& i) {
  Value* slot = frame.base + i.a;
  CallShape shape = frame.proto->call_shapes[i.b];
  std::vector<Value> args = slot[1].as<List>().items;
  const Record& fields = slot[2].as<Record>();
  const size_t count = args.size() + fields.values.size() + shape.names.size();
  constexpr size_t kMostArguments = 0xFFFF;
  if (count > kMostArguments)
    fail(ErrorName::too_many_items, "a call takes at most {} arguments, not {}", kMostArguments, count);
  Value callee = slot[0];
  if (i.extra() != 0) {
    const Name name = frame.proto->names[i.c];
    const Value* found = member(context_, args[0], name);
    const bool is_member = found != nullptr;
    if (!found && !args[0].is(Tag::module)) found = context_.builtins().find(name);
    if (!found) no_method(context_, args[0], name);
    callee = *found;
    if (is_member) args.erase(args.begin());
  }
  shape.positional = static_cast<uint16_t>(args.size());
  args.insert(args.end(), fields.values.begin(), fields.values.end());
  args.insert(args.end(), slot + 3, slot + 3 + shape.names.size());
  shape.names.insert(shape.names.begin(), fields.keys->names.begin(), fields.keys->names.end());
  Value result = call(callee, args, shape.names.empty() ? nullptr : &shape);
  frames_.top()->base[i.a] = std::move(result);
}

}  // namespace tsl
