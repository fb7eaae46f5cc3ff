#include "bytecode/declaration.h"

#include <algorithm>

#include "base/error_names.h"
#include "base/words.h"
#include "syntax/fail_at.h"
#include "syntax/parser.h"
#include "value/builtin.h"
#include "value/numbers.h"

namespace tsl {

using namespace ast;

namespace {

/// What other languages call a type.
struct TypeHabit {
  std::string_view theirs;  // words
  std::string_view ours;
};
constexpr TypeHabit kTypeHabits[] = {
    {"string String", "str"},
    {"Tensor ndarray array_like NDArray Array", "tensor"},
    {"integer_t long Int Integer", "int"},
    {"double real Float Number", "float"},
    {"boolean Bool", "bool"},
    {"dict Dict HashMap object", "map"},
    {"List vector Vec", "list"},
    {"Tuple", "tuple"},
    {"Callable callable func Function lambda", "fn"},
    {"None null void NoneType", "nil"},
    {"Any auto", "any"},
    {"half float16", "f16"},
    {"float32 FloatTensor", "f32"},
    {"float64", "f64"},
    {"bfloat16", "bf16"},
    {"int64 LongTensor", "i64"},
    {"int32", "i32"},
    {"uint8 byte", "u8"},
};

std::vector<std::string> hints_for_type(std::string_view name) {
  for (const TypeHabit& habit : kTypeHabits) {
    if (has_word(habit.theirs, name)) return {fmt::format("TSL writes `{}`", habit.ours)};
  }
  if (name == "Optional" || name == "Union") return {"alternatives are written `int | nil`"};
  if (name == "set" || name == "Set") return {"a set is a map whose values are true: `map`"};
  return {};
}

ScalarOp scalar_op(BinaryOp op) {
  if (op == BinaryOp::add) return ScalarOp::add;
  if (op == BinaryOp::sub) return ScalarOp::sub;
  return op == BinaryOp::mul ? ScalarOp::mul : ScalarOp::floordiv;
}

TypeAlternative::Dim dim(const AnnotatedDim& annotated, const RegisterOf& register_of) {
  TypeAlternative::Dim made;
  made.size = annotated.size;
  made.name = annotated.name;
  made.is_ellipsis = annotated.is_ellipsis;
  if (made.name && has_word("int float str bool", *made.name)) {
    fail_at(ErrorName::misplaced_dimension, annotated.span, fmt::format("'{}' is a type, not a size", *made.name),
            {fmt::format("a list of such items is `list[{}]`", *made.name)});
  }
  if (annotated.variable) made.reg = register_of(*annotated.variable);
  if (annotated.op) {
    made.op = scalar_op(*annotated.op);
    made.operands = {dim(*annotated.left, register_of), dim(*annotated.right, register_of)};
  }
  return made;
}

TypeAlternative alternative(const Annotation& annotation, const Builtins* builtins, const RegisterOf& register_of) {
  TypeAlternative type;
  type.text = annotation.text;
  type.has_shape = annotation.has_shape;
  if (annotation.base) {
    const std::string& base = *annotation.base;
    type.dtype = complex_part_named(base);
    type.is_complex = type.dtype.has_value();
    if (!type.is_complex) type.dtype = dtype_named(base);
    const ValueKind* kind = kind_named(base);
    if (!type.dtype && !kind && builtins) type.foreign = builtins->foreign_type(annotation.base);
    if (!type.dtype && !kind && !type.foreign)
      fail_at(ErrorName::unknown_type, annotation.span, fmt::format("unknown type '{}'", base), hints_for_type(base));
    const bool any_tensor = base == "tensor" && annotation.has_shape;
    if (!type.dtype && annotation.has_shape && !any_tensor) {
      fail_at(ErrorName::type_without_dimensions, annotation.span, fmt::format("'{}' has no dimensions", base));
    }
    if (!type.dtype && !any_tensor) type.kind = kind;
  }
  for (const AnnotatedDim& each : annotation.dims) type.dims.push_back(dim(each, register_of));
  type.has_parts = annotation.has_parts;
  type.fields.assign(annotation.fields.begin(), annotation.fields.end());
  for (const Annotation* part : annotation.parts) type.parts.push_back(value_type(*part, builtins, register_of));
  type.has_result = annotation.returns != nullptr;
  if (type.has_result) type.parts.push_back(value_type(*annotation.returns, builtins, register_of));
  return type;
}

[[noreturn]] void not_constant(const Expr& e) {
  fail_at(ErrorName::malformed_declaration, e.span, "the default of a builtin's parameter is a constant");
}

Value constant(const Expr& e) {
  switch (e.kind) {
    case ExprKind::nil: return Value();
    case ExprKind::boolean: return Value(as<BoolExpr>(e).value);
    case ExprKind::integer: return Value(as<IntExpr>(e).value);
    case ExprKind::real: return Value(as<RealExpr>(e).value);
    case ExprKind::string: return make_string(*as<StringExpr>(e).text);
    case ExprKind::name:
      if (const auto dtype = dtype_named(*as<NameExpr>(e).name)) return Value(*dtype);
      not_constant(e);
    case ExprKind::fstring:
    case ExprKind::typed:
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::record:
    case ExprKind::map:
    case ExprKind::range:
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::chain:
    case ExprKind::logical:
    case ExprKind::call:
    case ExprKind::index:
    case ExprKind::field:
    case ExprKind::lambda:
    case ExprKind::if_:
    case ExprKind::try_:
    case ExprKind::block: not_constant(e);
  }
  return Value();
}

}  // namespace

ValueType value_type(const Annotation& annotation, const Builtins* builtins, const RegisterOf& register_of) {
  ValueType type;
  for (const Annotation* each = &annotation; each; each = each->other)
    type.alternatives.push_back(alternative(*each, builtins, register_of));
  return type;
}

ParameterInfo parameter_info(const Parameter& parameter, const Builtins* builtins, const RegisterOf& register_of) {
  ParameterInfo info;
  info.name = parameter.variable->name;
  info.has_default = parameter.default_value != nullptr;
  if (info.has_default) info.default_span = parameter.default_value->span;
  if (!parameter.annotation) return info;
  ValueType type = value_type(*parameter.annotation, builtins, register_of);
  if (const std::optional<Limits>& limits = parameter.limits)
    type.limits = {limits->low, limits->high, limits->is_closed, limits->is_open};
  info.set_type(std::move(type));
  return info;
}

void require_type_name(std::string_view name, Interner& names) {
  const std::unique_ptr<Declaration> declared = parse_declaration(fmt::format("f(x: {})", name), names);
  const auto parameters = declared->function->parameters;
  const Annotation* const annotation = parameters.size() == 1 ? parameters[0].annotation : nullptr;
  if (!annotation || !annotation->base || *annotation->base != name)
    fail(ErrorName::malformed_declaration, "'{}' is no name of a type", name);
  if (kind_named(name) || dtype_named(name)) fail(ErrorName::name_taken, "there is a type '{}' already", name);
}

Signature parse_signature(std::string_view text, Interner& names, const Builtins* builtins) {
  const std::unique_ptr<Declaration> declared = parse_declaration(text, names);
  Signature signature;
  signature.set_function(*declared->function->name);
  const auto parameters = declared->function->parameters;
  std::vector<Name> dims;  // their values follow the parameters', where `...rest` would be
  const RegisterOf register_of = [&](const Variable& dim) -> uint16_t {
    if (declared->rest)
      fail_at(ErrorName::misplaced_dimension, dim.span,
              fmt::format("beside '...', a dimension has no name, not '{}'", *dim.name));
    const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& each) {
      return each.variable->name == dim.name;  // whose value the dimension is
    });
    if (parameter != parameters.end()) return static_cast<uint16_t>(parameter - parameters.begin());
    const auto known = std::find(dims.begin(), dims.end(), dim.name);
    const auto number = static_cast<uint16_t>(parameters.size() + static_cast<size_t>(known - dims.begin()));
    if (known == dims.end()) {
      dims.push_back(dim.name);
      signature.dim_registers.push_back(number);
    }
    return number;
  };
  for (const Parameter& parameter : parameters) {
    signature.parameters.push_back(parameter_info(parameter, builtins, register_of));
    if (parameter.default_value) signature.parameters.back().default_value = constant(*parameter.default_value);
    if (declared->rest && parameter.span.begin > declared->rest->span.begin) ++signature.named_only;
  }
  if (declared->rest) signature.rest = parameter_info(*declared->rest, builtins, register_of);
  if (declared->function->returns) signature.result = value_type(*declared->function->returns, builtins, register_of);
  return signature;
}

}  // namespace tsl
