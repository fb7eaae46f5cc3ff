// Checks values against annotations.
// bounded loops: the parts of an annotation, and a text that is cut.
#include <algorithm>

#include "base/count_work.h"
#include "base/error_names.h"
#include "tensor/element_error.h"
#include "value/call_hints.h"
#include "value/format.h"
#include "value/format_spec.h"
#include "value/hints.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/signature.h"
#include "value/tensor_display.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

// A longer text of a value is cut.
constexpr size_t kMaxValueText = 40;
constexpr int64_t kPartWork = 16;  // to check one part of a value

std::string limits_text(const NumberLimits& limits) {
  const std::string low =
      limits.low ? fmt::format("{} {}", limits.is_open ? "greater than" : "at least", *limits.low) : "";
  if (!limits.high) return low;
  const std::string high = fmt::format("{} {}", limits.is_closed ? "at most" : "less than", *limits.high);
  if (!limits.low) return high;
  return limits.is_closed && !limits.is_open ? fmt::format("from {} to {}", *limits.low, *limits.high)
                                             : low + " and " + high;
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

/// Returns a tensor, or the real part of a complex one; null for other values.
Tensor tensor_of(const Value& value) {
  if (value.is(Tag::tensor)) return value.tensor();
  if (is_complex_tensor(value)) return value.as<Record>().values[0].tensor();
  return {};
}

/// Formats a value for a message: tensors by their types. Each level has a bracket, so that deeper ones are cut anyway.
std::string value_text(Context& context, const Value& value, size_t depth = 0) {  // bounded recursion: by kMaxValueText
  if (depth > kMaxValueText) return "…";
  if (value.is(Tag::tensor)) return describe(value.tensor());
  if (const Tensor re = tensor_of(value)) return describe_complex(re);
  if (is_complex_dtype(value)) return *value.as<Function>().info->name;
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
    text += (text.empty() ? "" : ", ") + value_text(context, item, depth + 1);
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
  if (tensor_of(value) || text == type_name(value)) return text;
  return fmt::format("{} {}", is_complex_dtype(value) ? "the complex dtype" : type_name(value), text);
}

/// Where a part lies in the value that holds it: an item of a list, a field of a record, or the value of a map's key.
struct PathStep {
  size_t number = 0;
  Name field = nullptr;
  const Value* key = nullptr;
};

/// Names the subject of a check: "argument 'x'" or "the result", or a part of it.
struct Subject {
  Context& context;
  const Signature& signature;
  Value* frame;
  size_t index;  // of a parameter; the number of parameters for the result, and one more for `...rest`
  bool is_result() const { return index == signature.parameters.size(); }
  const ParameterInfo& parameter() const { return is_rest() ? *signature.rest : signature.parameters[index]; }
  bool is_rest() const { return index > signature.parameters.size(); }

  const Subject* whole = nullptr;  // what the value is a part of
  PathStep step = {};
  Subject at(PathStep part) const { return {context, signature, frame, index, this, part}; }
  /// Returns the way from the argument to this part: "[1].w", "" for the argument itself.
  std::string path() const {
    if (!whole) return "";
    if (step.field) return whole->path() + "." + *step.field;
    return fmt::format("{}[{}]", whole->path(), step.key ? key_label(*step.key) : std::to_string(step.number));
  }
};

[[noreturn]] void wrong(const Subject& subject, ErrorName name, const std::string& expected, const Value& value,
                        std::vector<std::string> hints = {}) {
  const std::string& function = subject.signature.function;
  const std::string found = describe(subject.context, value);
  const std::string path = subject.path();
  if (subject.is_result()) {
    const std::string part = path.empty() ? "" : path + " of ";
    fail_with(name, fmt::format("{}the result of {} must be {}, not {}", part, function, expected, found),
              std::move(hints));
  }
  const std::string& parameter = *subject.parameter().name;
  fail_argument(name, parameter,
                fmt::format("'{}{}' of {} must be {}, not {}", parameter, path, function, expected, found),
                std::move(hints));
}

/// Says in which order a function takes two arguments that fit only when exchanged; "" if there are none.
std::string hint_to_exchange(const Subject& subject, const Value& value);

/// Says which field a record lacks, how many items a tuple has, or how a function is called.
std::string hint_for_parts(const ValueType& type, const Value& value);

/// Says how a value of one of a type's alternatives is written, or how a tensor is converted to its dtype.
std::string hint_to_write(const ValueType& type, const Value& value) {
  for (const TypeAlternative& each : type.alternatives) {
    if (each.has_shape && each.dtype && value.is(Tag::tensor))
      return fmt::format("`{0}(x)` makes a tensor of {0}", name_of(*each.dtype));
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
    const bool is_argument = !subject.is_result() && !subject.whole;
    if (is_argument) hint = hint_for_argument(subject.signature, *subject.parameter().name, value);
    if (hint.empty()) hint = hint_for_parts(type, value);
    if (hint.empty() && is_argument) hint = hint_to_exchange(subject, value);
    if (hint.empty()) hint = hint_to_fit(type, value);
    if (hint.empty() && is_argument) hint = hint_to_write(type, value);
  }
  if (hint.empty() && takes_one_element(type) && value.is(Tag::tensor)) hint = hint_for_one_element(value);
  wrong(subject, name, describe(type), value, hints_of(std::move(hint)));
}

/// Returns the variable of a register: a captured dimension or parameter is in a cell.
Value& variable_at(Value& reg) { return reg.is(Tag::cell) ? reg.as<Cell>().value : reg; }

bool names_dim(const ValueType& type, Name name) {
  bool is_named = false;
  visit_dim_names(type, [&](const TypeAlternative::Dim& dim) { is_named |= dim.name == name; });
  return is_named;
}

/// Fails because two extents differ: names the parameter that bound the dimension. A note shows both types, unless the
/// body has run, since it may have released the parameters.
[[noreturn]] void wrong_dim(const Subject& subject, Name name, Dim bound, Dim found, const Value& value) {
  const Signature& signature = subject.signature;
  const std::string own = subject.is_result() ? "the result" : *signature.parameters[subject.index].name;
  const std::string path = subject.path();
  const std::string quoted =
      subject.is_result() ? path + (path.empty() ? "" : " of ") + own : fmt::format("'{}{}'", own, path);
  const bool is_parameter = std::any_of(signature.parameters.begin(), signature.parameters.end(),
                                        [name](const ParameterInfo& p) { return p.name == name; });
  for (size_t i = 0; i < signature.parameters.size() && i <= subject.index && !is_parameter; ++i) {
    const std::optional<ValueType>& type = signature.parameters[i].type;
    if (!type || !names_dim(*type, name)) continue;
    const Value& other = variable_at(subject.frame[i]);
    if (other.is(Tag::absent)) continue;  // its default comes later
    if (i == subject.index) {
      if (subject.whole) break;  // another part bound it
      fail_argument(ErrorName::signature_shape_mismatch, own,
                    fmt::format("dimension '{}' of {} is both {} and {} in {}", *name, signature.function, bound.hint(),
                                found.hint(), quoted));
    }
    const std::string& origin = *signature.parameters[i].name;
    std::vector<std::string> notes;
    if (!subject.is_result()) {
      notes.push_back(fmt::format("{}: {}   {}{}: {}", origin, describe(subject.context, other), own, path,
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
                fmt::format("'{}' of {} is a dimension and must be an int, not {}", *dim.name,
                            subject.signature.function, type_name(bound)));
}

/// Whether no argument has bound a dimension yet. Where an alternative without it was taken, it is nil.
bool is_unbound(const Subject& subject, const TypeAlternative::Dim& dim, const Value& bound) {
  return bound.is(Tag::absent) || (bound.is_nil() && dim.reg >= subject.signature.parameters.size());
}

/// Computes a size of an annotation; nothing while a name in it is not bound, or where a divisor is 0.
std::optional<Dim> extent_of(const Subject& subject, const TypeAlternative::Dim& dim) {
  if (dim.size >= 0) return Dim(dim.size);
  if (!dim.op) {
    const Value& bound = variable_at(subject.frame[dim.reg]);
    return is_unbound(subject, dim, bound) ? std::nullopt : std::optional(bound_dim(subject, dim, bound));
  }
  const std::optional<Dim> left = extent_of(subject, dim.operands[0]);
  const std::optional<Dim> right = extent_of(subject, dim.operands[1]);
  if (!left || !right) return std::nullopt;
  if (*dim.op == ScalarOp::add) return *left + *right;
  if (*dim.op == ScalarOp::sub) return *left - *right;
  if (*dim.op == ScalarOp::mul) return *left * *right;
  return *right == Dim(0) ? std::nullopt : std::optional(*left / *right);
}

/// Fails because an extent is not what an expression of dimensions says.
[[noreturn]] void wrong_extent(const Subject& subject, const TypeAlternative::Dim& dim, Dim wanted, Dim found) {
  std::string names;
  const auto note = [&](const TypeAlternative::Dim& each, const auto& self) -> void {
    for (const TypeAlternative::Dim& operand : each.operands) self(operand, self);
    if (!each.name) return;
    const std::string text = fmt::format("{} is {}", *each.name, extent_of(subject, each)->hint());
    if (names.find(text) == std::string::npos) names += (names.empty() ? ", where " : " and ") + text;
  };
  note(dim, note);
  const std::string path = subject.path();
  const std::string own = subject.is_result() ? "the result" : *subject.parameter().name;
  const std::string place =
      subject.is_result() ? path + (path.empty() ? "" : " of ") + own : fmt::format("'{}{}'", own, path);
  fail_argument(ErrorName::signature_shape_mismatch, own,
                fmt::format("dimension '{}' of {} is {}{}, but {} from {}", dim_text(dim), subject.signature.function,
                            wanted.hint(), names, found.hint(), place));
}

/// Whether each(dim, extent) holds for all annotated sizes of a shape with as many axes: names that stand alone first,
/// since others are computed from them.
template <class Each> bool all_axes(const TypeAlternative& tensor, const Shape& shape, Each each) {
  const size_t rank = static_cast<size_t>(shape.rank()), count = tensor.dims.size();
  const bool has_any_rank = tensor.has_any_rank();
  if (has_any_rank ? rank + 1 < count : rank != count) return false;
  for (const bool is_computed : {false, true}) {
    size_t axis = 0;
    for (const TypeAlternative::Dim& dim : tensor.dims) {
      if (dim.is_ellipsis) {
        axis += rank + 1 - count;
      } else if (const Dim extent = shape[static_cast<int>(axis++)]; dim.op.has_value() == is_computed) {
        if (!each(dim, extent)) return false;
      }
    }
  }
  return true;
}

void check_dims(const Subject& subject, const ValueType& type, const TypeAlternative& tensor, const Value& value) {
  const bool fits = all_axes(tensor, tensor_of(value).shape(), [&](const TypeAlternative::Dim& dim, Dim extent) {
    if (dim.size >= 0) return extent == Dim(dim.size);
    if (!dim.name && !dim.op) return true;
    const std::optional<Dim> known = extent_of(subject, dim);
    if (known && !(*known == extent)) {
      if (dim.op) wrong_extent(subject, dim, *known, extent);
      wrong_dim(subject, dim.name, *known, extent, value);
    }
    if (!known && dim.name) variable_at(subject.frame[dim.reg]) = from_dim(extent);
    return true;
  });
  if (!fits) wrong_type(subject, type, value, ErrorName::signature_shape_mismatch);
}

/// Whether check_dims() would pass, up to names that occur twice. Binds nothing.
bool fits_dims(const Subject& subject, const TypeAlternative& tensor, const Shape& shape) {
  return all_axes(tensor, shape, [&](const TypeAlternative::Dim& dim, Dim extent) {
    if (dim.size < 0 && !dim.name && !dim.op) return true;
    const std::optional<Dim> known = extent_of(subject, dim);
    return !known || *known == extent;
  });
}

bool has_dtype(const TypeAlternative& tensor, const Value& value) {
  if (tensor.kind || tensor.text || tensor.foreign || tensor.is_complex == value.is(Tag::tensor)) return false;
  const Tensor given = tensor_of(value);
  return given && (!tensor.dtype || *tensor.dtype == given.dtype());
}

/// Whether a value fits an alternative without a shape or parts.
bool fits_kind(const TypeAlternative& type, const Value& value) {
  if (type.has_parts) return false;
  if (type.kind) return type.kind->tags & tag_bit(type_tag(value)) || (type.kind->fits && type.kind->fits(value));
  if (type.text) return value.is(Tag::string) && value.as<String>().text == *type.text;
  if (type.foreign) return value.is(Tag::foreign) && value.as<Foreign>().type == type.foreign;
  if (type.has_shape) return false;
  return has_dtype(type, value) || (type.dtype == DType::boolean && type_tag(value) == Tag::boolean);
}

/// Whether a call with `count` arguments suits a function; builtins take what they are given.
bool takes_arguments(const Value& function, size_t count) {
  if (!function.is(Tag::function)) return true;
  const Signature& signature = function.as<Function>().info->signature;
  const auto is_needed = [](const ParameterInfo& parameter) { return !parameter.has_default; };
  const auto needed = std::count_if(signature.parameters.begin(), signature.parameters.end(), is_needed);
  return static_cast<size_t>(needed) <= count && (signature.rest || count <= signature.parameters.size());
}

/// Whether a value is what an alternative with parts describes, except for these.
bool fits_outside(const TypeAlternative& type, const Value& value) {
  if (!(type.kind->tags & tag_bit(value.tag()))) return false;
  if (type.is_function()) {
    return takes_arguments(value, type.parts.size() - type.has_result) &&
           !(value.is(Tag::function) && contradiction(value.as<Function>().info->signature, type));
  }
  if (value.is(Tag::tuple)) return value.as<Tuple>().items.size() == type.parts.size();
  return !value.is(Tag::record) || std::all_of(type.fields.begin(), type.fields.end(),
                                               [&](Name field) { return value.as<Record>().find(field) != nullptr; });
}

/// Whether each(type, part, place) holds for all parts of a value that fits from outside.
template <class Each> bool all_parts(const TypeAlternative& type, const Value& value, Each each) {
  if (type.is_function()) return true;
  if (value.is(Tag::record)) {
    count_work(kPartWork * static_cast<int64_t>(type.fields.size()));
    for (size_t i = 0; i < type.fields.size(); ++i) {
      if (!each(type.parts[i], *value.as<Record>().find(type.fields[i]), PathStep{0, type.fields[i]})) return false;
    }
    return true;
  }
  if (value.is(Tag::map)) {
    Value key, item;
    for (int64_t state = 0; next_entry(value, state, key, item);) {
      count_work(kPartWork);
      if (!each(type.parts[0], key, PathStep{0, nullptr, &key}) ||
          !each(type.parts[1], item, PathStep{0, nullptr, &key}))
        return false;
    }
    return true;
  }
  const bool is_tuple = value.is(Tag::tuple);
  const std::vector<Value>& items = is_tuple ? value.as<Tuple>().items : value.as<List>().items;
  for (size_t i = 0; i < items.size(); ++i) {
    count_work(kPartWork);
    if (!each(type.parts[is_tuple ? i : 0], items[i], PathStep{i})) return false;
  }
  return true;
}

std::string hint_for_parts(const ValueType& type, const Value& value) {
  for (const TypeAlternative& each : type.alternatives) {
    if (!each.has_parts || !(each.kind->tags & tag_bit(value.tag()))) continue;
    if (value.is(Tag::function)) {
      const Signature& signature = value.as<Function>().info->signature;
      const auto found = contradiction(signature, each);
      if (!found || !takes_arguments(value, each.parts.size() - each.has_result))
        return fmt::format("the function is {}", usage(signature, true));
      const std::string part = found->parameter ? fmt::format("'{}'", *found->parameter->name) : "the result";
      return fmt::format("{} of {} is {}, not {}", part, signature.function, describe(*found->own),
                         describe(*found->wanted));
    }
    if (value.is(Tag::tuple)) return fmt::format("it has {} items", value.as<Tuple>().items.size());
    if (!value.is(Tag::record)) continue;
    for (const Name field : each.fields) {
      if (!value.as<Record>().find(field)) return fmt::format("it has no field '{}'", *field);
    }
  }
  return "";
}

bool holds(const Subject& subject, const ValueType& type, const Value& value);

/// Whether check_alternative() would pass, up to names of dimensions that occur twice. Binds nothing.
bool holds(const Subject& subject, const TypeAlternative& type, const Value& value) {
  if (!type.has_parts) return has_dtype(type, value) && fits_dims(subject, type, tensor_of(value).shape());
  return fits_outside(type, value) && all_parts(type, value, [&](const ValueType& part, const Value& held, PathStep) {
           return holds(subject, part, held);
         });
}

bool holds(const Subject& subject, const ValueType& type, const Value& value) {
  return std::any_of(type.alternatives.begin(), type.alternatives.end(), [&](const TypeAlternative& each) {
    return fits_kind(each, value) || ((each.has_parts || each.has_shape) && holds(subject, each, value));
  });
}

void check(const Subject& subject, const ValueType& type, const Value& value);

/// Checks the sizes or the parts of a value against the alternative that is meant, and binds the names of dimensions.
void check_alternative(const Subject& subject, const ValueType& type, const TypeAlternative& meant,
                       const Value& value) {
  if (!meant.has_parts) return check_dims(subject, type, meant, value);
  all_parts(meant, value, [&](const ValueType& part, const Value& held, PathStep place) {
    check(subject.at(place), part, held);
    return true;
  });
}

/// Checks a value against the alternatives with a shape or parts. An error is about the nearest one.
void check_inside(const Subject& subject, const ValueType& type, const Value& value) {
  const TypeAlternative* nearest = nullptr;
  for (const TypeAlternative& each : type.alternatives) {
    const bool is_meant = each.has_parts ? fits_outside(each, value) : each.has_shape && has_dtype(each, value);
    if (!is_meant) continue;
    if (type.alternatives.size() == 1 || holds(subject, each, value))
      return check_alternative(subject, type, each, value);
    const bool is_near = each.has_shape && each.dims.size() == static_cast<size_t>(tensor_of(value).rank());
    if (!nearest || is_near) nearest = &each;
  }
  if (nearest) check_alternative(subject, type, *nearest, value);
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
  if (limits.low && !holds(limits.is_open ? ScalarOp::gt : ScalarOp::ge, *limits.low)) return false;
  return !limits.high || holds(limits.is_closed ? ScalarOp::le : ScalarOp::lt, *limits.high);
}

/// Refuses elements of a tensor that are not within limits, when they are known: the host does not wait for them.
void refuse_elements(const Subject& subject, const NumberLimits& limits, const Tensor& x) {
  if (x.dtype() == DType::boolean) return;
  Ops& ops = subject.context.ops();
  const auto holds = [&](Op op, double limit) { return ops.call(op, {x, Operand(Scalar::of(limit))}); };
  Tensor fits = limits.low ? holds(limits.is_open ? Op::gt : Op::ge, *limits.low) : Tensor();
  if (limits.high) {
    const Tensor below = holds(limits.is_closed ? Op::le : Op::lt, *limits.high);
    fits = fits ? ops.call(Op::bit_and, {fits, below}) : below;
  }
  const std::string& parameter = *subject.parameter().name;
  Error error{ErrorName::argument_out_of_range,
              fmt::format("elements of '{}{}' of {} must be {}", parameter, subject.path(), subject.signature.function,
                          limits_text(limits)),
              {},
              {},
              {}};
  error.parameter = parameter;
  refuse(ops, ops.call(Op::logical_not, {fits}), std::move(error));
}

void check_limits(const Subject& subject, const NumberLimits& limits, const Value& value) {
  walk_values(value, [&](const Value& v) {
    if (is_items(v)) return Walk::into;
    if (v.is(Tag::tensor)) refuse_elements(subject, limits, v.tensor());
    if (is_host_number(v) && !is_host_bool(v) && !is_within(limits, v))
      wrong(subject, ErrorName::argument_out_of_range, limits_text(limits), v);
    return Walk::over;
  });
}

bool fits_kind(const ValueType& type, const Value& value) {
  return std::any_of(type.alternatives.begin(), type.alternatives.end(),
                     [&](const TypeAlternative& each) { return fits_kind(each, value); });
}

void check(const Subject& subject, const ValueType& type, const Value& value) {
  // Only its text decides, or shows in the error.
  if (value.is(Tag::lazy_string)) return check(subject, type, make_string(to_string(subject.context, value)));
  if (!fits_kind(type, value)) check_inside(subject, type, value);
  if (type.limits) check_limits(subject, *type.limits, value);
  const bool binds_all = type.alternatives.size() == 1 && !type.alternatives[0].has_parts;
  if (binds_all || subject.whole) return;
  visit_dim_names(type, [&](const TypeAlternative::Dim& dim) {
    Value& bound = variable_at(subject.frame[dim.reg]);
    if (bound.is(Tag::absent)) bound = Value();
  });
}

}  // namespace

bool TypeAlternative::has_any_rank() const {
  return std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_ellipsis; });
}

void Signature::set_function(std::string name) {
  // Besides those that work on the parts one after the other. In alphabetical order.
  static constexpr std::string_view kKnowing[] = {"angle", "c128", "c64",   "concat", "conj",   "imag", "norm",
                                                  "prod",  "real", "stack", "std",    "tensor", "to",   "var"};
  function = std::move(name);
  knows_complex_lists = std::binary_search(std::begin(kKnowing), std::end(kKnowing), function);
}

void ParameterInfo::set_type(ValueType annotated) {
  tags = 0;
  takes_arrays = false;
  for (const TypeAlternative& each : annotated.alternatives) {
    takes_arrays = takes_arrays || (each.kind && each.kind == kind_named("array"));
    if (each.has_parts) continue;
    if (each.kind) tags |= each.kind->tags;
    else if (each.dtype == DType::boolean && !each.has_shape) tags |= tag_bit(Tag::boolean);
  }
  if (annotated.limits) {
    tags &= ~(tag_bit(Tag::integer) | tag_bit(Tag::real) | tag_bit(Tag::symbol) | tag_bit(Tag::list) |
              tag_bit(Tag::tuple) | tag_bit(Tag::tensor));
  }
  // An alternative without a name makes it nil.
  visit_dim_names(annotated, [this](const TypeAlternative::Dim&) { tags = 0; });
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
