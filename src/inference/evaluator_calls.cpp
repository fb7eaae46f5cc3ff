// Calls on types, and what functions of the text are given.
#include <algorithm>

#include "analysis/declared_values.h"
#include "inference/text_function.h"
#include "tensor/dtype.h"
#include "value/numbers.h"
#include "value/signature.h"
#include "vm/operators.h"

namespace tsl::inference {

using ast::as;

namespace {

constexpr int kMostCalls = 16;  // of functions of the text, in one another

}  // namespace

Value Evaluator::call(const ast::CallExpr& e) {
  std::vector<Value> args;
  CallShape shape;
  const Value callee = callee_of(*e.callee, args);
  if (is_unknown(callee) || !arguments(e, args, shape)) return unknown();
  return call_value(callee, args, shape);
}

/// Returns what is called; the object of a method becomes the first argument.
Value Evaluator::callee_of(const ast::Expr& callee, std::vector<Value>& args) {
  if (callee.kind != ast::ExprKind::field) return value_of(callee);
  const ast::FieldExpr& field = as<ast::FieldExpr>(callee);
  Value object = value_of(*field.object);
  if (is_unknown(object)) return unknown();
  const Name name = sketch_.name_of(field.field);
  if (const Value* member = analysis::member_of(object, name)) return *member;
  if (object.is(Tag::module)) return unknown();
  args.push_back(std::move(object));
  return if_known([&] {
    const Value* method = sketch_.builtins().find(name);
    return method ? *method : unknown();
  });
}

/// Evaluates the arguments of a call. Returns false if it is not known how many there are.
bool Evaluator::arguments(const ast::CallExpr& e, std::vector<Value>& args, CallShape& shape) {
  std::vector<std::pair<Name, Value>> named;
  for (const ast::Argument& argument : e.args) {
    Value value = value_of(*argument.value);
    if (!argument.is_spread && !argument.name) args.push_back(std::move(value));
    else if (!argument.is_spread) named.emplace_back(sketch_.name_of(argument.name), std::move(value));
    else if (value.is(Tag::record)) {
      const Record& fields = value.as<Record>();
      for (size_t i = 0; i < fields.values.size(); ++i) named.emplace_back(fields.keys->names[i], fields.values[i]);
    } else if (is_items(value)) {
      const std::vector<Value>& items = value.as<Sequence>().items;
      args.insert(args.end(), items.begin(), items.end());
    } else {
      return false;
    }
  }
  shape.positional = static_cast<uint16_t>(args.size());
  for (auto& [name, value] : named) {
    shape.names.push_back(name);
    args.push_back(std::move(value));
  }
  return true;
}

Value Evaluator::call_value(const Value& callee, std::vector<Value>& args, const CallShape& shape) {
  const CallShape* const names = shape.names.empty() ? nullptr : &shape;
  if (const tsl::Function* function = Sketch::user_function(callee)) {
    return if_known([&] {
      const Signature& signature = function->info->signature;
      const size_t given = args.size();
      args.resize(given + signature.parameters.size() + signature.named_only, Value::absent());
      const size_t bound = bind_arguments(signature, args.data(), given, names);
      return call_text(static_cast<const TextFunction&>(*function), {args.data(), bound});
    });
  }
  if (std::any_of(args.begin(), args.end(), [](const Value& v) { return holds_unknown(v); })) return unknown();
  return if_known([&] { return sketch_.call(callee, args, names); });
}

Value Evaluator::function_value(const ast::Function& function) {
  FunctionInfo info = analysis::declared_info(function, names_.builtins());
  info.signature.function = "<function>";
  for (ParameterInfo& parameter : info.signature.parameters) parameter.name = sketch_.name_of(parameter.name);
  Ref<TextFunction> made = make_ref<TextFunction>(std::move(info));
  made->tree = &function;
  made->enclosing = current_;
  made->reals = sketch_.types().used_reals();
  Value callable = sketch_.callable(Ref<Function>(made.get()));
  if (current_->notes && noted_functions_.insert(&function).second) declared_functions_.push_back(callable);
  return callable;
}

/// Calls a function of the text with bound arguments, of which absent ones were not given.
Value Evaluator::call_text(const TextFunction& function, std::span<Value> args) {
  if (depth_ >= kMostCalls || !takes_step()) return unknown();
  struct Scope {
    Evaluator& evaluator;
    Activation* const caller;
    const DType reals;
    ~Scope() {
      evaluator.current_ = caller;
      evaluator.sketch_.types().use_reals(reals);
      --evaluator.depth_;
    }
  } const scope{*this, current_, sketch_.types().used_reals()};
  ++depth_;
  sketch_.types().use_reals(function.reals);
  Activation& activation = activation_of(*function.tree, function.enclosing);
  current_ = &activation;
  take_arguments(activation, args);
  run_body(activation);
  return activation.returned;
}

void Evaluator::take_arguments(Activation& activation, std::span<Value> args) {
  const ast::Function& function = *activation.function;
  const size_t count = function.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    const ast::Parameter& parameter = function.parameters[i];
    Value value = i < args.size() ? args[i] : Value::absent();
    if (value.is(Tag::absent)) value = parameter.default_value ? value_of(*parameter.default_value) : unknown();
    else if (parameter.annotation) bind_sizes(*parameter.annotation, value);
    write(*parameter.variable, value);
    if (parameter.pattern) bind(*parameter.pattern, value);
  }
  if (!function.rest) return;
  std::vector<Value> rest;
  for (size_t i = count; i < args.size(); ++i) rest.push_back(args[i]);
  write(*function.rest, make_list(std::move(rest)));
}

/// Gives the names of sizes in an annotation the sizes of an argument.
void Evaluator::bind_sizes(const ast::Annotation& annotation, const Value& value) {
  if (annotation.other || !annotation.has_shape || !value.is(Tag::tensor)) return;
  const Shape& shape = value.tensor().shape();
  const int dims = static_cast<int>(annotation.dims.size());
  int after = 0;  // sizes behind `...`
  for (int i = 0; i < dims; ++i) {
    if (annotation.dims[i].is_ellipsis) after = dims - i;
  }
  if (after == 0 ? dims != shape.rank() : dims - 1 > shape.rank()) return;
  for (int i = 0; i < dims; ++i) {
    const ast::AnnotatedDim& dim = annotation.dims[i];
    const int axis = i < dims - after || after == 0 ? i : shape.rank() - (dims - i);
    if (dim.variable && dim.binds && !dim.op) write(*dim.variable, from_dim(shape[axis]));
  }
}

// ---- Any call ------------------------------------------------------------------------------------------

/// Runs a function for all calls: of its arguments is known what its annotations say.
void Evaluator::run_for_any_call(const TextFunction& function) {
  sketch_.types().use_reals(function.reals);
  Activation& activation = activation_of(*function.tree, function.enclosing);
  activation.notes = activation.is_any = true;
  current_ = &activation;
  for (const ast::Parameter& parameter : function.tree->parameters) {
    const Value value = described(parameter.annotation);
    write(*parameter.variable, value);
    if (parameter.pattern) bind(*parameter.pattern, value);
  }
  run_body(activation);
  current_ = nullptr;
}

Value Evaluator::described(const ast::Annotation* annotation) {  // bounded recursion: as the parser's
  if (!annotation || annotation->other) return unknown();
  if (annotation->has_shape) return if_known([&] { return described_tensor(*annotation); });
  if (!annotation->fields.empty()) {
    Value made = make_record({});
    for (size_t i = 0; i < annotation->fields.size(); ++i)
      made.as<tsl::Record>().set(sketch_.name_of(annotation->fields[i]), described(annotation->parts[i]));
    return made;
  }
  if (annotation->base && *annotation->base == "int") return some_number(ScalarType::integer);
  if (!annotation->base || *annotation->base != "tuple" || !annotation->has_parts) return unknown();
  std::vector<Value> items;
  for (const ast::Annotation* part : annotation->parts) items.push_back(described(part));
  return make_tuple(std::move(items));
}

Value Evaluator::described_tensor(const ast::Annotation& annotation) {
  Shape shape;
  bool has_rank = true;
  for (const ast::AnnotatedDim& dim : annotation.dims) {
    has_rank &= !dim.is_ellipsis;
    if (!dim.is_ellipsis) shape.push_back(dim_of(size_of_dim(dim)));
  }
  const std::optional<DType> dtype = annotation.base ? dtype_named(*annotation.base) : std::nullopt;
  return dtype && has_rank ? Value(sketch_.types().tensor_of({*dtype, shape})) : unknown();
}

/// Returns a size of an annotation: a number, or a symbol with the name that the text gives it.
Value Evaluator::size_of_dim(const ast::AnnotatedDim& dim) {  // bounded recursion: as the parser's
  if (dim.size >= 0) return Value(dim.size);
  if (dim.op && dim.left && dim.right) {
    const Value a = size_of_dim(*dim.left), b = size_of_dim(*dim.right);
    return tsl::binary(sketch_, *dim.op, a, b);
  }
  Activation* owner = nullptr;
  Value* const slot = dim.variable ? slot_of(*dim.variable, owner) : nullptr;
  if (slot && is_host_int(*slot)) return *slot;
  constexpr int64_t kFirstSize = 37;  // an example, so small that a tensor of eight fits any memory
  const Symbol* const size = symbols_.size_input(kFirstSize + sizes_++ % kFirstSize);
  if (dim.name) size_names_[size] = *dim.name;
  if (slot) overwrite(slot, Value(size));
  return Value(size);
}

}  // namespace tsl::inference
