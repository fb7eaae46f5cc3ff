// Checks values against annotations.
#include <algorithm>

#include "base/error.h"
#include "value/numbers.h"
#include "value/signature.h"

namespace tsl {

namespace {

std::string describe(const ValueType& type) {
  if (!type.kind.empty()) return type.kind;
  std::string text = type.dtype ? std::string(name_of(*type.dtype)) : "";
  if (!type.has_shape) return text;
  text += '[';
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const ValueType::Dim& dim = type.dims[i];
    if (i > 0) text += ", ";
    text += dim.name ? *dim.name : dim.size >= 0 ? std::to_string(dim.size) : "_";
  }
  return text + ']';
}

std::string describe(const Value& value) {
  return value.is(Tag::tensor) ? describe(value.tensor()) : std::string(type_name(value));
}

/// Names the subject of a check: "argument 'x'" or "the result".
struct Subject {
  const Signature& signature;
  Value* frame;
  size_t index;  // of a parameter; the number of parameters for the result
  bool is_result() const { return index == signature.parameters.size(); }
};

[[noreturn]] void wrong_type(const Subject& subject, const ValueType& type, const Value& value, ErrorKind kind) {
  const std::string& function = subject.signature.function;
  const std::string what = subject.is_result()
                               ? fmt::format("the result of {}", function)
                               : fmt::format("'{}' of {}", *subject.signature.parameters[subject.index].name, function);
  fail(kind, "{} must be {}, not {}", what, describe(type), describe(value));
}

bool fits_kind(const std::string& kind, const Value& value) {
  const std::string_view actual = type_name(value);
  if (kind == "fn") return actual == "function";
  if (kind == "float") return actual == "float" || actual == "int";
  return kind == actual;
}

/// Returns the variable of a register: a captured dimension or parameter is in a cell.
Value& variable_at(Value& reg) { return reg.is(Tag::cell) ? reg.as<Cell>().value : reg; }

const ValueType::Dim* dim_named(const ValueType& type, Name name, int& axis) {
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i].name == name) {
      axis = static_cast<int>(i);
      return &type.dims[i];
    }
  }
  return nullptr;
}

/// Fails because two extents differ: names the parameter that bound the dimension, with both types as a note.
[[noreturn]] void wrong_dim(const Subject& subject, Name name, Dim bound, Dim found, const Value& value) {
  const Signature& signature = subject.signature;
  const std::string own = subject.is_result() ? "the result" : *signature.parameters[subject.index].name;
  const std::string quoted = subject.is_result() ? own : fmt::format("'{}'", own);
  const bool is_parameter = std::any_of(signature.parameters.begin(), signature.parameters.end(),
                                        [name](const ParameterInfo& p) { return p.name == name; });
  for (size_t i = 0; i < signature.parameters.size() && i <= subject.index && !is_parameter; ++i) {
    const std::optional<ValueType>& type = signature.parameters[i].type;
    int axis = 0;
    if (!type || !dim_named(*type, name, axis)) continue;
    const Value& other = variable_at(subject.frame[i]);
    if (!other.is(Tag::tensor) || axis >= other.tensor().rank()) continue;
    if (i == subject.index) {
      fail(ErrorKind::shape, "dimension '{}' of {} is both {} and {} in {}", *name, signature.function, bound.hint(),
           found.hint(), quoted);
    }
    fail_with(ErrorKind::shape,
              fmt::format("dimension '{}' of {} is {} from '{}' but {} from {}", *name, signature.function,
                          bound.hint(), *signature.parameters[i].name, found.hint(), quoted),
              {fmt::format("{}: {}   {}: {}", *signature.parameters[i].name, describe(other), own, describe(value))});
  }
  fail(ErrorKind::shape, "dimension '{}' of {} is {} but {} from {}", *name, signature.function, bound.hint(),
       found.hint(), quoted);
}

/// Returns the value of a dimension. A parameter may have the same name, and then any value.
Dim bound_dim(const Subject& subject, const ValueType::Dim& dim, const Value& bound) {
  if (is_host_int(bound)) return dim_of(bound);
  fail(ErrorKind::type, "'{}' of {} is a dimension and must be int, not {}", *dim.name, subject.signature.function,
       type_name(bound));
}

void check_dims(const Subject& subject, const ValueType& type, const Value& value, const Shape& shape) {
  if (shape.rank() != static_cast<int>(type.dims.size())) wrong_type(subject, type, value, ErrorKind::shape);
  for (int i = 0; i < shape.rank(); ++i) {
    const ValueType::Dim& dim = type.dims[static_cast<size_t>(i)];
    if (dim.size >= 0 && !(shape[i] == Dim(dim.size))) wrong_type(subject, type, value, ErrorKind::shape);
    if (!dim.name) continue;
    Value& bound = variable_at(subject.frame[dim.reg]);
    if (bound.is(Tag::absent)) {
      bound = from_dim(shape[i]);
      continue;
    }
    const Dim known = bound_dim(subject, dim, bound);
    if (!(known == shape[i])) wrong_dim(subject, dim.name, known, shape[i], value);
  }
}

void check(const Subject& subject, const ValueType& type, const Value& value) {
  if (!type.kind.empty()) {
    if (!fits_kind(type.kind, value)) wrong_type(subject, type, value, ErrorKind::type);
    return;
  }
  const bool host_bool =
      type.dtype == DType::boolean && !type.has_shape && std::string_view(type_name(value)) == "bool";
  if (host_bool) return;
  if (!value.is(Tag::tensor)) wrong_type(subject, type, value, ErrorKind::type);
  const Tensor tensor = value.tensor();
  if (type.dtype && *type.dtype != tensor.dtype()) wrong_type(subject, type, value, ErrorKind::type);
  if (type.has_shape) check_dims(subject, type, value, tensor.shape());
}

}  // namespace

void check_parameter(const Signature& signature, size_t index, Value* frame) {
  const std::optional<ValueType>& type = signature.parameters[index].type;
  if (!type) return;
  const Value value = variable_at(frame[index]);
  check({signature, frame, index}, *type, value);
}

void check_parameters(const Signature& signature, Value* frame) {
  for (uint16_t reg : signature.dim_registers) frame[reg] = Value::absent();
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (!frame[i].is(Tag::absent)) check_parameter(signature, i, frame);
  }
}

void check_result(const Signature& signature, const Value& result, Value* frame) {
  if (signature.result) check({signature, frame, signature.parameters.size()}, *signature.result, result);
}

}  // namespace tsl
