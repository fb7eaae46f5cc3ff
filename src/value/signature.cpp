#include "value/signature.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "value/numbers.h"

namespace tsl {

std::string FunctionInfo::display_name() const {
  if (is_module) return name ? fmt::format("<{}>", *name) : "<main>";
  return name ? *name : "<lambda>";
}

namespace {

// ---- Binding arguments ---------------------------------------------------------------------------------

std::string counted_arguments(size_t n) { return fmt::format("{} argument{}", n, n == 1 ? "" : "s"); }

[[noreturn]] void too_many(const Signature& signature, size_t given) {
  const size_t most = signature.parameters.size();
  const size_t least = static_cast<size_t>(std::count_if(signature.parameters.begin(), signature.parameters.end(),
                                                         [](const auto& p) { return !p.has_default; }));
  const std::string takes =
      least == most ? counted_arguments(most) : fmt::format("{} to {}", least, counted_arguments(most));
  fail(ErrorKind::type, "{} takes {}, not {}", signature.function, most == 0 ? "no arguments" : takes, given);
}

size_t parameter_named(const Signature& signature, Name name) {
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    if (signature.parameters[i].name == name) return i;
  }
  std::vector<std::string> candidates;
  for (const ParameterInfo& parameter : signature.parameters) candidates.push_back(*parameter.name);
  const std::string near = nearest_name(*name, candidates);
  std::vector<std::string> notes;
  if (!near.empty()) notes.push_back(fmt::format("did you mean '{}'?", near));
  fail_with(ErrorKind::type, fmt::format("{} has no parameter '{}'", signature.function, *name), std::move(notes));
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
    const size_t at = parameter_named(signature, shape.names[i]);
    if (at < shape.positional || !slots[at].is(Tag::absent)) {
      fail(ErrorKind::type, "{} is given '{}' twice", signature.function, *shape.names[i]);
    }
    slots[at] = std::move(values[i]);
  }
}

}  // namespace

size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape) {
  const size_t parameters = signature.parameters.size();
  const size_t positional = shape ? shape->positional : given;
  if (positional > parameters && !signature.rest) too_many(signature, given);
  if (shape && !shape->names.empty()) {
    if (positional > parameters) {  // a positional argument has its parameter
      parameter_named(signature, shape->names[0]);
      fail(ErrorKind::type, "{} is given '{}' twice", signature.function, *shape->names[0]);
    }
    place_named(signature, slots, *shape);
  } else {
    for (size_t i = given; i < parameters; ++i) slots[i] = Value::absent();
  }
  for (size_t i = positional; i < parameters; ++i) {
    if (slots[i].is(Tag::absent) && !signature.parameters[i].has_default) {
      fail(ErrorKind::type, "{} is missing its argument '{}'", signature.function, *signature.parameters[i].name);
    }
  }
  return std::max(parameters, positional);
}

int argument_position(const Signature& signature, std::string_view name, size_t given, const CallShape* shape) {
  const size_t positional = shape ? shape->positional : given;
  for (size_t i = 0; i < positional && i < signature.parameters.size(); ++i) {
    if (*signature.parameters[i].name == name) return static_cast<int>(i);
  }
  for (size_t i = 0; shape && i < shape->names.size(); ++i) {
    if (*shape->names[i] == name) return static_cast<int>(positional + i);
  }
  return -1;
}

}  // namespace tsl
