// bounded loops: the parameters of a function, and the names that a call gives.
#include "value/signature.h"

#include <algorithm>
#include <array>

#include "base/error_names.h"
#include "value/call_hints.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/numbers.h"

namespace tsl {

std::string FunctionInfo::display_name() const {
  if (is_module) return name ? fmt::format("<{}>", *name) : "<main>";
  return name ? *name : "<lambda>";
}

namespace {

// ---- Binding arguments ---------------------------------------------------------------------------------

std::string counted_arguments(size_t n) { return fmt::format("{} argument{}", n, n == 1 ? "" : "s"); }

/// Throws an error whose caret is under an argument of the call.
[[noreturn]] void fail_at(ErrorName name, size_t argument, std::string message, std::string hint) {
  Error error{name, std::move(message), {}, hints_of(std::move(hint)), {}};
  error.argument = static_cast<int>(argument);
  throw Failure(std::move(error));
}

[[noreturn]] void too_many(const Signature& signature, size_t given) {
  const size_t most = signature.parameters.size();
  const size_t least = static_cast<size_t>(std::count_if(signature.parameters.begin(), signature.parameters.end(),
                                                         [](const auto& p) { return !p.has_default; }));
  const std::string takes =
      least == most ? counted_arguments(most) : fmt::format("{} to {}", least, counted_arguments(most));
  std::string hint = hint_for_extra_argument(signature);
  if (hint.empty()) hint = fmt::format("write `{}`", usage(signature, true));
  fail_at(ErrorName::wrong_argument_count, most,
          fmt::format("{} takes {}, not {}", signature.function, most == 0 ? "no arguments" : takes, given),
          std::move(hint));
}

/// Returns the position of the parameter that an argument names. `argument` is its own, for the error.
size_t parameter_named(const Signature& signature, Name name, size_t argument) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (signature.parameters[i].name == name) return i;
  }
  std::vector<std::string> candidates;
  for (const ParameterInfo& parameter : signature.parameters) candidates.push_back(*parameter.name);
  std::string near = parameter_for(*name, candidates);
  std::string hint = hint_for_parameter(signature, *name);
  if (hint.empty() && !near.empty()) hint = fmt::format("did you mean '{}'?", near);
  if (hint.empty()) hint = fmt::format("write `{}`", usage(signature, true));
  fail_at(ErrorName::unknown_parameter, argument, fmt::format("{} has no parameter '{}'", signature.function, *name),
          std::move(hint));
}

/// Fails because the argument with the i-th name of a call is given before, too.
[[noreturn]] void given_twice(const Signature& signature, const CallShape& shape, size_t i) {
  const std::string& name = *shape.names[i];
  const bool is_positional = std::find(shape.names.begin(), shape.names.begin() + static_cast<ptrdiff_t>(i),
                                       shape.names[i]) == shape.names.begin() + static_cast<ptrdiff_t>(i);
  std::string hint = is_positional ? fmt::format("an argument without a name is '{}' already; write `{}`", name,
                                                 usage(signature, true))
                                   : "";
  fail_at(ErrorName::argument_given_twice, shape.positional + i,
          fmt::format("{} is given '{}' twice", signature.function, name), std::move(hint));
}

void place_named(const Signature& signature, Value* slots, const CallShape& shape) {
  // Most signatures have no more parameters than this; for larger ones the values go to the heap.
  std::array<Value, 8> few;
  std::vector<Value> many;
  Value* values = few.data();
  const size_t count = shape.names.size();
  if (count > few.size()) {
    many.resize(count);
    values = many.data();
  }
  std::move(slots + shape.positional, slots + shape.positional + count, values);
  const size_t parameters = signature.parameters.size();
  for (size_t i = shape.positional; i < parameters; ++i) slots[i] = Value::absent();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = parameter_named(signature, shape.names[i], shape.positional + i);
    if (at < shape.positional || !slots[at].is(Tag::absent)) given_twice(signature, shape, i);
    slots[at] = std::move(values[i]);
  }
}

}  // namespace

namespace {

std::string parameter_list(const Signature& signature) {
  std::string text = usage(signature, true);
  return text.substr(signature.function.size());
}

}  // namespace

namespace {

/// Moves the arguments for `...rest` behind the parameters that follow it, and places the named ones. Returns the
/// number of arguments.
size_t bind_beside_rest(const Signature& signature, Value* slots, size_t positional, const CallShape* shape) {
  const size_t parameters = signature.parameters.size(), first = parameters - signature.named_only;
  std::vector<Value> named(shape ? shape->names.size() : 0);
  std::move(slots + positional, slots + positional + named.size(), named.begin());
  const size_t others = std::max(positional, first) - first;
  std::move_backward(slots + first, slots + first + others, slots + parameters + others);
  for (size_t i = std::min(positional, first); i < parameters; ++i) slots[i] = Value::absent();
  for (size_t i = 0; i < named.size(); ++i) {
    const size_t at = parameter_named(signature, shape->names[i], positional + i);
    if (!slots[at].is(Tag::absent)) given_twice(signature, *shape, i);
    slots[at] = std::move(named[i]);
  }
  return parameters + others;
}

}  // namespace

size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape) {
  const size_t parameters = signature.parameters.size();
  const size_t positional = shape ? shape->positional : given;
  if (signature.named_only > 0) return bind_beside_rest(signature, slots, positional, shape);
  if (positional > parameters && !signature.rest) too_many(signature, given);
  if (shape && !shape->names.empty()) {
    if (positional > parameters) {  // a positional argument has its parameter
      parameter_named(signature, shape->names[0], shape->positional);
      given_twice(signature, *shape, 0);
    }
    place_named(signature, slots, *shape);
  } else {
    for (size_t i = given; i < parameters; ++i) slots[i] = Value::absent();
  }
  for (size_t i = positional; i < parameters; ++i) {
    if (slots[i].is(Tag::absent) && !signature.parameters[i].has_default) {
      const bool is_lambda = signature.function == "<lambda>";
      const std::string list = parameter_list(signature);
      std::string hint = is_lambda ? "the function that is called has the parameters " + list
                                   : fmt::format("write `{}`", usage(signature, false));
      if (is_lambda && given == 1) hint += fmt::format("; `fn({})` takes one argument apart", list);
      fail_with(ErrorName::missing_argument,
                fmt::format("{} is missing its argument '{}'", signature.function, *signature.parameters[i].name),
                hints_of(std::move(hint)));
    }
  }
  return std::max(parameters, positional);
}

int argument_position(const Signature& signature, std::string_view name, size_t given, const CallShape* shape) {
  const size_t positional = shape ? shape->positional : given;
  for (size_t i = 0; i < positional && i < signature.parameters.size() - signature.named_only; ++i) {
    if (*signature.parameters[i].name == name) return static_cast<int>(i);
  }
  for (size_t i = 0; shape && i < shape->names.size(); ++i) {
    if (*shape->names[i] == name) return static_cast<int>(positional + i);
  }
  return -1;
}

// ---- Texts ---------------------------------------------------------------------------------------------

namespace {

bool is_sum(const TypeAlternative::Dim& dim) { return dim.op == ScalarOp::add || dim.op == ScalarOp::sub; }

const char* symbol_of(ScalarOp op) {
  if (op == ScalarOp::add) return "+";
  if (op == ScalarOp::sub) return "-";
  return op == ScalarOp::mul ? "*" : "//";
}

std::string operand_text(const TypeAlternative::Dim& dim, bool is_bare) {
  return is_bare ? dim_text(dim) : "(" + dim_text(dim) + ")";
}

/// Joins the texts of the first `count` parts, each behind the name of its field if it has one.
std::string parts_text(const TypeAlternative& type, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    if (!type.fields.empty()) text += *type.fields[i] + ": ";
    text += annotation_text(type.parts[i]);
  }
  return text;
}

std::string kind_text(const TypeAlternative& type) {
  if (!type.has_parts) return type.kind->name;
  const size_t count = type.parts.size() - type.has_result;
  if (type.is_function()) {
    const std::string signature = "fn(" + parts_text(type, count) + ")";
    return type.has_result ? signature + " -> " + annotation_text(type.parts.back()) : signature;
  }
  if (type.kind->tags & tag_bit(Tag::record)) return "{" + parts_text(type, count) + "}";
  return type.kind->name + ("[" + parts_text(type, count) + "]");
}

std::string alternative_text(const TypeAlternative& type) {
  if (type.kind) return kind_text(type);
  if (type.text) return quoted(*type.text);
  if (type.foreign) return type.foreign->name;
  std::string text;
  for (const TypeAlternative::Dim& dim : type.dims) text += (text.empty() ? "" : ", ") + dim_text(dim);
  const std::string_view dtype = !type.dtype       ? ""
                                 : type.is_complex ? complex_name_of(*type.dtype)
                                                   : name_of(*type.dtype);
  return std::string(dtype) + (type.has_shape ? "[" + text + "]" : "");
}

}  // namespace

std::string dim_text(const TypeAlternative::Dim& dim) {
  if (dim.is_ellipsis) return "...";
  if (dim.size >= 0) return std::to_string(dim.size);
  if (!dim.op) return dim.name ? *dim.name : "_";
  const TypeAlternative::Dim& left = dim.operands[0];
  const TypeAlternative::Dim& right = dim.operands[1];
  return operand_text(left, is_sum(dim) || !is_sum(left)) + " " + symbol_of(*dim.op) + " " +
         operand_text(right, !right.op || (is_sum(dim) && !is_sum(right)));
}

std::string declaration_text(const FunctionInfo& function, const SourceMap& sources) {
  std::string text;
  for (const ParameterInfo& parameter : function.signature.parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.name ? *parameter.name : "_";
    if (parameter.type) text += ": " + annotation_text(*parameter.type);
    if (!parameter.has_default) continue;
    const Span span = parameter.default_span;
    text += " = " + sources.text(span);
  }
  const std::optional<ParameterInfo>& rest = function.signature.rest;
  if (rest) text += (text.empty() ? "..." : ", ...") + *rest->name;
  text = function.display_name() + "(" + text + ")";
  return function.signature.result ? text + " -> " + annotation_text(*function.signature.result) : text;
}

std::string annotation_text(const ValueType& type) {
  std::string text;
  for (const TypeAlternative& each : type.alternatives) text += (text.empty() ? "" : " | ") + alternative_text(each);
  if (!type.limits) return text;
  const NumberLimits& limits = *type.limits;
  text += " in ";
  if (limits.low) text += fmt::format("{}", *limits.low);
  text += limits.is_open ? "<.." : "..";
  if (limits.is_closed) text += "=";
  return limits.high ? text + fmt::format("{}", *limits.high) : text;
}

namespace {

enum class Count : uint8_t { one, many };

std::string with_article(const std::string& noun) {
  const bool begins_with_vowel = std::string_view("aeioAEIO").find(noun.front()) != std::string_view::npos;
  return (begins_with_vowel ? "an " : "a ") + noun;
}

/// Returns the noun for a kind, a dtype that bools have, too, or a type of the host; "" for what is written as in an
/// annotation.
std::string noun_of(const TypeAlternative& type) {
  if (type.foreign) return type.foreign->name;
  if (type.has_shape) return "";
  if (type.dtype == DType::boolean && !type.is_complex) return "bool";
  if (!type.kind || type.has_parts) return "";
  const std::string_view name = type.kind->name;
  if (name == "fn") return "function";
  return name == "complex" ? "complex value" : std::string(name);
}

std::string in_words(const ValueType& type, Count count);

std::string in_words(const TypeAlternative& type, Count count) {
  if (type.has_parts && type.kind->tags == tag_bit(Tag::list))
    return (count == Count::one ? "a list of " : "lists of ") + in_words(type.parts[0], Count::many);
  const std::string noun = noun_of(type);
  if (noun.empty()) return alternative_text(type);
  if (noun == "nil" || noun == "integers") return noun;
  if (noun == "any") return "anything";
  return count == Count::one ? with_article(noun) : noun + "s";
}

std::string in_words(const ValueType& type, Count count) {
  std::string text;
  for (size_t i = 0, alternatives = type.alternatives.size(); i < alternatives; ++i) {
    if (i > 0) text += i + 1 == alternatives ? " or " : ", ";
    text += in_words(type.alternatives[i], count);
  }
  return text;
}

}  // namespace

std::string describe(const ValueType& type) { return in_words(type, Count::one); }

}  // namespace tsl
