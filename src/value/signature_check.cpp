// Checks values against annotations.
#include <algorithm>

#include "base/error_names.h"
#include "value/call_hints.h"
#include "value/format.h"
#include "value/format_spec.h"
#include "value/hints.h"
#include "value/numbers.h"
#include "value/signature.h"

namespace tsl {

namespace {

// A longer text of a value is cut.
constexpr size_t kMaxValueText = 40;

std::string dims_text(const TypeAlternative& type) {
  std::string text;
  for (const TypeAlternative::Dim& dim : type.dims) {
    if (!text.empty()) text += ", ";
    text += dim.name ? *dim.name : dim.size >= 0 ? std::to_string(dim.size) : "_";
  }
  return "[" + text + "]";
}

std::string alternative_text(const TypeAlternative& type) {
  if (type.kind) return type.kind->name;
  if (type.text) return quoted(*type.text);
  if (type.foreign) return type.foreign->name;
  return (type.dtype ? std::string(name_of(*type.dtype)) : "") + (type.has_shape ? dims_text(type) : "");
}

std::string limits_text(const NumberLimits& limits) {
  if (!limits.high) return fmt::format("at least {}", *limits.low);
  const std::string high = fmt::format("{} {}", limits.is_closed ? "at most" : "less than", *limits.high);
  if (!limits.low) return high;
  return limits.is_closed ? fmt::format("from {} to {}", *limits.low, *limits.high)
                          : fmt::format("at least {} and {}", *limits.low, high);
}

/// The tag of a value's type: a symbol counts as a number, a lazy string as a string.
Tag type_tag(const Value& value) {
  if (value.is(Tag::lazy_string)) return Tag::string;
  if (!value.is(Tag::symbol)) return value.tag();
  switch (value.symbol()->hint.type) {
    case ScalarType::boolean: return Tag::boolean;
    case ScalarType::integer: return Tag::integer;
    case ScalarType::real: return Tag::real;
  }
  return Tag::symbol;
}

/// Formats a value for a message: tensors by their types.
std::string value_text(Context& context, const Value& value) {
  if (value.is(Tag::tensor)) return describe(value.tensor());
  if (type_tag(value) == Tag::string) return quoted(to_string(context, value));
  if (value.is(Tag::dtype)) return std::string(name_of(value.dtype()));
  if (value.is(Tag::nil)) return "nil";
  if (is_host_number(value)) {
    const Scalar number = scalar_of(value);
    if (number.type == ScalarType::boolean) return number.boolean ? "true" : "false";
    return number.type == ScalarType::integer ? std::to_string(number.integer) : float_text(number.real);
  }
  const bool is_tuple = value.is(Tag::tuple);
  if (!value.is(Tag::list) && !is_tuple) return std::string(type_name(value));
  std::string text;
  for (const Value& item : is_tuple ? value.as<Tuple>().items : value.as<List>().items) {
    text += (text.empty() ? "" : ", ") + value_text(context, item);
    if (text.size() > kMaxValueText) break;
  }
  return is_tuple ? "(" + text + ")" : "[" + text + "]";
}

/// Describes a value by its type and itself: "int 3", "f32[2]".
std::string describe(Context& context, const Value& value) {
  std::string text = value_text(context, value);
  if (text.size() > kMaxValueText) {
    size_t end = kMaxValueText;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
    text = text.substr(0, end) + "…";
  }
  return value.is(Tag::tensor) || text == type_name(value) ? text : fmt::format("{} {}", type_name(value), text);
}

/// Names the subject of a check: "argument 'x'" or "the result".
struct Subject {
  Context& context;
  const Signature& signature;
  Value* frame;
  size_t index;  // of a parameter; the number of parameters for the result, and one more for `...rest`
  bool is_result() const { return index == signature.parameters.size(); }
  const ParameterInfo& parameter() const { return is_rest() ? *signature.rest : signature.parameters[index]; }
  bool is_rest() const { return index > signature.parameters.size(); }
};

[[noreturn]] void wrong(const Subject& subject, ErrorName name, const std::string& expected, const Value& value,
                        std::vector<std::string> hints = {}) {
  const std::string& function = subject.signature.function;
  if (subject.is_result()) {
    fail_with(name,
              fmt::format("the result of {} must be {}, not {}", function, expected, describe(subject.context, value)),
              std::move(hints));
  }
  const std::string& parameter = *subject.parameter().name;
  fail_argument(
      name, parameter,
      fmt::format("'{}' of {} must be {}, not {}", parameter, function, expected, describe(subject.context, value)),
      std::move(hints));
}

/// Says in which order a function takes two arguments that fit only when exchanged; "" if there are none.
std::string hint_to_exchange(const Subject& subject, const Value& value);

/// Says how a value of one of a type's alternatives is written.
std::string hint_to_write(const ValueType& type) {
  for (const TypeAlternative& each : type.alternatives) {
    const std::string hint = hint_for_kind(each.kind ? each.kind->name : each.has_shape ? "tensor" : "");
    if (!hint.empty()) return hint;
  }
  return "";
}

/// Says how to make a value of one of a type's alternatives.
std::string hint_to_fit(const ValueType& type, const Value& value) {
  const bool takes_functions = std::any_of(type.alternatives.begin(), type.alternatives.end(), [](const auto& each) {
    return each.kind && wanted_by(each.kind->name) == Wanted::function;
  });
  if (value.is_nil() && !takes_functions) return hint_for_nil(value);
  for (const TypeAlternative& each : type.alternatives) {
    if (each.text || each.foreign || (each.has_shape && is_host_number(value))) continue;
    const bool is_bool = each.dtype == DType::boolean && !each.has_shape;
    const std::optional<Wanted> wanted = each.kind ? wanted_by(each.kind->name)
                                         : is_bool ? Wanted::boolean
                                                   : Wanted::tensor;
    const bool is_alone = !each.kind || type.alternatives.size() == 1 || wanted != Wanted::tensor;
    std::string hint = wanted && is_alone ? hint_to_make(*wanted, value) : "";
    if (!hint.empty()) return hint;
  }
  return "";
}

/// Whether one of the alternatives is `[]`, a tensor of one number without axes.
bool takes_one_element(const ValueType& type) {
  return std::any_of(type.alternatives.begin(), type.alternatives.end(),
                     [](const TypeAlternative& each) { return each.has_shape && each.dims.empty(); });
}

std::string hint_for_one_element(const Value& given) {
  const std::string read = hint_to_make(Wanted::real, given);
  return read.empty() ? "it is one number, for all elements alike; [] is a tensor without axes, such as `x[0]`" : read;
}

[[noreturn]] void wrong_type(const Subject& subject, const ValueType& type, const Value& value, ErrorName name) {
  std::string hint;
  if (name != ErrorName::signature_shape_mismatch) {
    if (!subject.is_result()) hint = hint_for_argument(subject.signature, *subject.parameter().name, value);
    if (hint.empty()) hint = hint_to_exchange(subject, value);
    if (hint.empty()) hint = hint_to_fit(type, value);
    if (hint.empty() && !subject.is_result()) hint = hint_to_write(type);
  }
  if (hint.empty() && takes_one_element(type) && value.is(Tag::tensor)) hint = hint_for_one_element(value);
  wrong(subject, name, describe(type), value, hints_of(std::move(hint)));
}

/// Returns the variable of a register: a captured dimension or parameter is in a cell.
Value& variable_at(Value& reg) { return reg.is(Tag::cell) ? reg.as<Cell>().value : reg; }

bool names_dim(const ValueType& type, Name name) {
  return std::any_of(type.alternatives.begin(), type.alternatives.end(), [name](const TypeAlternative& each) {
    return std::any_of(each.dims.begin(), each.dims.end(), [name](const auto& dim) { return dim.name == name; });
  });
}

/// Fails because two extents differ: names the parameter that bound the dimension. A note shows both types, unless the
/// body has run, since it may have released the parameters.
[[noreturn]] void wrong_dim(const Subject& subject, Name name, Dim bound, Dim found, const Value& value) {
  const Signature& signature = subject.signature;
  const std::string own = subject.is_result() ? "the result" : *signature.parameters[subject.index].name;
  const std::string quoted = subject.is_result() ? own : fmt::format("'{}'", own);
  const bool is_parameter = std::any_of(signature.parameters.begin(), signature.parameters.end(),
                                        [name](const ParameterInfo& p) { return p.name == name; });
  for (size_t i = 0; i < signature.parameters.size() && i <= subject.index && !is_parameter; ++i) {
    const std::optional<ValueType>& type = signature.parameters[i].type;
    if (!type || !names_dim(*type, name)) continue;
    const Value& other = variable_at(subject.frame[i]);
    if (other.is(Tag::absent)) continue;  // its default comes later
    if (i == subject.index) {
      fail_argument(ErrorName::signature_shape_mismatch, own,
                    fmt::format("dimension '{}' of {} is both {} and {} in {}", *name, signature.function, bound.hint(),
                                found.hint(), quoted));
    }
    const std::string& origin = *signature.parameters[i].name;
    std::vector<std::string> notes;
    if (!subject.is_result()) {
      notes.push_back(fmt::format("{}: {}   {}: {}", origin, describe(subject.context, other), own,
                                  describe(subject.context, value)));
    }
    fail_argument(ErrorName::signature_shape_mismatch, own,
                  fmt::format("dimension '{}' of {} is {} from '{}' but {} from {}", *name, signature.function,
                              bound.hint(), origin, found.hint(), quoted),
                  {}, std::move(notes));
  }
  fail_argument(ErrorName::signature_shape_mismatch, own,
                fmt::format("dimension '{}' of {} is {} but {} from {}", *name, signature.function, bound.hint(),
                            found.hint(), quoted));
}

/// Returns the value of a dimension. A parameter may have the same name, and then any value.
Dim bound_dim(const Subject& subject, const TypeAlternative::Dim& dim, const Value& bound) {
  if (is_host_int(bound)) return dim_of(bound);
  fail_argument(ErrorName::wrong_argument_type, *dim.name,
                fmt::format("'{}' of {} is a dimension and must be int, not {}", *dim.name, subject.signature.function,
                            type_name(bound)));
}

/// Whether no argument has bound a dimension yet. Where an alternative without it was taken, it is nil.
bool is_unbound(const Subject& subject, const TypeAlternative::Dim& dim, const Value& bound) {
  return bound.is(Tag::absent) || (bound.is_nil() && dim.reg >= subject.signature.parameters.size());
}

void check_dims(const Subject& subject, const ValueType& type, const TypeAlternative& tensor, const Value& value,
                const Shape& shape) {
  if (shape.rank() != static_cast<int>(tensor.dims.size()))
    wrong_type(subject, type, value, ErrorName::signature_shape_mismatch);
  for (int i = 0; i < shape.rank(); ++i) {
    const TypeAlternative::Dim& dim = tensor.dims[static_cast<size_t>(i)];
    if (dim.size >= 0 && !(shape[i] == Dim(dim.size)))
      wrong_type(subject, type, value, ErrorName::signature_shape_mismatch);
    if (!dim.name) continue;
    Value& bound = variable_at(subject.frame[dim.reg]);
    if (is_unbound(subject, dim, bound)) {
      bound = from_dim(shape[i]);
      continue;
    }
    const Dim known = bound_dim(subject, dim, bound);
    if (!(known == shape[i])) wrong_dim(subject, dim.name, known, shape[i], value);
  }
}

/// Whether check_dims() would pass, up to names that occur twice. Binds nothing.
bool fits_dims(const Subject& subject, const TypeAlternative& tensor, const Shape& shape) {
  if (shape.rank() != static_cast<int>(tensor.dims.size())) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    const TypeAlternative::Dim& dim = tensor.dims[static_cast<size_t>(i)];
    if (dim.size >= 0 && !(shape[i] == Dim(dim.size))) return false;
    if (!dim.name) continue;
    const Value& bound = variable_at(subject.frame[dim.reg]);
    if (!is_unbound(subject, dim, bound) && !(bound_dim(subject, dim, bound) == shape[i])) return false;
  }
  return true;
}

bool has_dtype(const TypeAlternative& tensor, const Value& value) {
  return value.is(Tag::tensor) && !tensor.kind && !tensor.text && !tensor.foreign &&
         (!tensor.dtype || *tensor.dtype == value.tensor_data()->dtype);
}

/// Whether a value fits an alternative that is no tensor with a shape.
bool fits_kind(const TypeAlternative& type, const Value& value) {
  if (type.kind) return type.kind->tags & tag_bit(type_tag(value)) || (type.kind->fits && type.kind->fits(value));
  if (type.text) return value.is(Tag::string) && value.as<String>().text == *type.text;
  if (type.foreign) return value.is(Tag::foreign) && value.as<Foreign>().type == type.foreign;
  if (type.has_shape) return false;
  return has_dtype(type, value) || (type.dtype == DType::boolean && type_tag(value) == Tag::boolean);
}

void check_shape(const Subject& subject, const ValueType& type, const Value& value) {
  const TypeAlternative* nearest = nullptr;
  for (const TypeAlternative& each : type.alternatives) {
    if (!has_dtype(each, value)) continue;
    if (type.alternatives.size() == 1 || fits_dims(subject, each, value.tensor().shape())) {
      return check_dims(subject, type, each, value, value.tensor().shape());
    }
    if (!nearest || each.dims.size() == static_cast<size_t>(value.tensor().rank())) nearest = &each;
  }
  if (nearest) check_dims(subject, type, *nearest, value, value.tensor().shape());
  wrong_type(subject, type, value, subject.is_result() ? ErrorName::wrong_result_type : ErrorName::wrong_argument_type);
}

bool fits_kind(const ValueType& type, const Value& value);

std::string hint_to_exchange(const Subject& subject, const Value& value) {
  const Signature& signature = subject.signature;
  if (subject.is_result() || subject.is_rest()) return "";
  for (size_t i = subject.index + 1; i < signature.parameters.size(); ++i) {
    const ParameterInfo& other = signature.parameters[i];
    const Value& given = variable_at(subject.frame[i]);
    if (!other.type || other.tags == ParameterInfo::kAnyTag || given.is(Tag::absent) || given.is_nil()) continue;
    const bool fits_there = fits(other, value) && !fits(other, given);
    if (fits_there && fits(subject.parameter(), given)) {
      return fmt::format("the arguments stand in this order: `{}`", usage(signature, true));
    }
  }
  return "";
}

bool is_within(const NumberLimits& limits, const Value& number) {
  const auto holds = [&](ScalarOp op, double limit) {
    return pinned(apply_scalar(op, number, Value(limit)), "limits of an argument").boolean;
  };
  if (limits.low && !holds(ScalarOp::ge, *limits.low)) return false;
  return !limits.high || holds(limits.is_closed ? ScalarOp::le : ScalarOp::lt, *limits.high);
}

void check_limits(const Subject& subject, const NumberLimits& limits, const Value& value) {
  if (value.is(Tag::list)) {
    for (const Value& item : value.as<List>().items) check_limits(subject, limits, item);
  } else if (value.is(Tag::tuple)) {
    for (const Value& item : value.as<Tuple>().items) check_limits(subject, limits, item);
  } else if (is_host_number(value) && !is_host_bool(value) && !is_within(limits, value)) {
    wrong(subject, ErrorName::argument_out_of_range, limits_text(limits), value);
  }
}

bool fits_kind(const ValueType& type, const Value& value) {
  return std::any_of(type.alternatives.begin(), type.alternatives.end(),
                     [&](const TypeAlternative& each) { return fits_kind(each, value); });
}

void check(const Subject& subject, const ValueType& type, const Value& value) {
  // Only its text decides, or shows in the error.
  if (value.is(Tag::lazy_string)) return check(subject, type, make_string(to_string(subject.context, value)));
  if (!fits_kind(type, value)) check_shape(subject, type, value);
  if (type.limits) check_limits(subject, *type.limits, value);
  if (type.alternatives.size() == 1) return;
  for (const TypeAlternative& each : type.alternatives) {
    for (const TypeAlternative::Dim& dim : each.dims) {
      if (!dim.name) continue;
      Value& bound = variable_at(subject.frame[dim.reg]);
      if (bound.is(Tag::absent)) bound = Value();
    }
  }
}

}  // namespace

std::string declaration_text(const FunctionInfo& function, const SourceMap& sources) {
  std::string text;
  for (const ParameterInfo& parameter : function.signature.parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.name ? *parameter.name : "_";
    if (parameter.type) text += ": " + annotation_text(*parameter.type);
    if (!parameter.has_default) continue;
    const Span span = parameter.default_span;
    text += " = " + sources.get(span.source).text().substr(span.begin, span.end - span.begin);
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
  text += limits.is_closed ? "..=" : "..";
  return limits.high ? text + fmt::format("{}", *limits.high) : text;
}

std::string describe(const ValueType& type) {
  std::string text;
  for (size_t i = 0, count = type.alternatives.size(); i < count; ++i) {
    if (i > 0) text += i + 1 == count ? " or " : ", ";
    text += alternative_text(type.alternatives[i]);
  }
  return text;
}

void ParameterInfo::set_type(ValueType annotated) {
  tags = 0;
  for (const TypeAlternative& each : annotated.alternatives) {
    if (each.kind) tags |= each.kind->tags;
    else if (each.dtype == DType::boolean && !each.has_shape) tags |= tag_bit(Tag::boolean);
  }
  if (annotated.limits) {
    tags &=
        ~(tag_bit(Tag::integer) | tag_bit(Tag::real) | tag_bit(Tag::symbol) | tag_bit(Tag::list) | tag_bit(Tag::tuple));
  }
  const bool has_dims = std::any_of(annotated.alternatives.begin(), annotated.alternatives.end(),
                                    [](const TypeAlternative& each) { return each.has_shape && !each.dims.empty(); });
  if (has_dims) tags = 0;  // an alternative without its names makes them nil
  type = std::move(annotated);
}

void check_parameter(Context& context, const Signature& signature, size_t index, Value* frame) {
  const ParameterInfo& parameter = signature.parameters[index];
  const Value value = variable_at(frame[index]);
  if (!parameter.type || parameter.accepts_tag(value) || value.is(Tag::absent)) return;
  check({context, signature, frame, index}, *parameter.type, value);
}

void check_parameters(Context& context, const Signature& signature, Value* frame) {
  for (uint16_t reg : signature.dim_registers) frame[reg] = Value::absent();
  const size_t count = signature.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    if (!signature.parameters[i].accepts_tag(frame[i])) check_parameter(context, signature, i, frame);
  }
}

void check_rest(Context& context, const Signature& signature, Value& argument) {
  if (!signature.rest->accepts_tag(argument))
    check({context, signature, nullptr, signature.parameters.size() + 1}, *signature.rest->type, argument);
}

bool fits(const ParameterInfo& parameter, const Value& value) {
  if (parameter.accepts_tag(value)) return true;
  if (!parameter.type) return false;
  const bool is_number = value.is(Tag::tensor) && value.tensor().rank() == 0;
  return fits_kind(*parameter.type, value) || (is_number && takes_one_element(*parameter.type));
}

void check_result(Context& context, const Signature& signature, const Value& result, Value* frame) {
  if (signature.result) check({context, signature, frame, signature.parameters.size()}, *signature.result, result);
}

}  // namespace tsl
