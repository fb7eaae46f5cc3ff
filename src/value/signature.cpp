#include "value/signature.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "value/numbers.h"

namespace tsl {

std::string FunctionInfo::display_name() const {
  if (is_module) return name ? fmt::format("<{}>", *name) : "<main>";
  return name ? *name : "<lambda>";
}

namespace {

// ---- Reading the signatures of builtins ----------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

/// Splits `text` at commas outside brackets and quotes.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const bool at_end = i == text.size();
    if (!at_end && text[i] == '"') quoted = !quoted;
    if (!at_end && !quoted) depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
    if (at_end || (text[i] == ',' && depth == 0 && !quoted)) {
      const std::string_view piece = trimmed(text.substr(begin, i - begin));
      if (!piece.empty()) pieces.push_back(piece);
      begin = i + 1;
    }
  }
  return pieces;
}

template <class Number> bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Value read_default(std::string_view text) {
  if (text == "nil") return Value();
  if (text == "true") return Value(true);
  if (text == "false") return Value(false);
  int64_t integer = 0;
  if (read_number(text, integer)) return Value(integer);
  double real = 0;
  if (read_number(text, real)) return Value(real);
  if (const auto dtype = dtype_named(text)) return Value(*dtype);
  if (text.size() >= 2 && text.front() == '"') {
    std::string decoded;
    for (size_t i = 1; i + 1 < text.size(); ++i) {
      if (text[i] == '\\' && text[i + 1] == 'n') {
        decoded += '\n';
        ++i;
      } else decoded += text[i];
    }
    return make_string(std::move(decoded));
  }
  const bool is_list = text.front() == '[';
  if (!is_list && text.front() != '(') fail(ErrorKind::value, "'{}' cannot be a default in a signature", text);
  std::vector<Value> items;
  for (std::string_view item : split_list(text.substr(1, text.size() - 2))) items.push_back(read_default(item));
  return is_list ? make_list(std::move(items)) : make_tuple(std::move(items));
}

ParameterInfo read_parameter(std::string_view text, Interner& names) {
  ParameterInfo parameter;
  const size_t equals = text.find('=');
  parameter.has_default = equals != std::string_view::npos;
  std::string_view name = trimmed(text.substr(0, equals));
  name = trimmed(name.substr(0, name.find(':')));  // a type is only documentation
  parameter.name = names.intern(name);
  if (parameter.has_default) parameter.default_value = read_default(trimmed(text.substr(equals + 1)));
  return parameter;
}

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

Signature parse_signature(std::string_view text, Interner& names) {
  Signature signature;
  const size_t open = text.find('(');
  signature.function = std::string(trimmed(text.substr(0, open)));
  if (open == std::string_view::npos) return signature;
  for (std::string_view piece : split_list(text.substr(open + 1, text.rfind(')') - open - 1))) {
    if (piece.substr(0, 3) == "...") signature.has_rest = true;
    else signature.parameters.push_back(read_parameter(piece, names));
  }
  return signature;
}

size_t bind_arguments(const Signature& signature, Value* slots, size_t given, const CallShape* shape) {
  const size_t parameters = signature.parameters.size();
  const size_t positional = shape ? shape->positional : given;
  if (positional > parameters && !signature.has_rest) too_many(signature, given);
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

}  // namespace tsl
