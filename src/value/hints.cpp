// bounded loops: tables of names.
#include "value/hints.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "base/words.h"
#include "value/builtin.h"
#include "value/numbers.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

/// Whether a string reads as a number. What is in a lazy string is not known.
bool is_number_text(const Value& v) {
  if (!v.is(Tag::string)) return false;
  const std::string& text = v.as<String>().text;
  double number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem != std::errc::invalid_argument && stop == text.data() + text.size();
}

bool is_one_element(const Value& v) { return v.is(Tag::tensor) && element_count(v.tensor().shape()) == Dim(1); }

/// Whether all items, at any depth, can be elements of a tensor.
bool holds_numbers(const Value& v) {
  return walk_values(v, [](const Value& item) {
    if (is_items(item)) return Walk::into;
    return is_host_number(item) || item.is(Tag::tensor) ? Walk::over : Walk::end;
  });
}

std::string to_make_tensor(const Value& given) {
  if (is_items(given) && holds_numbers(given)) {
    return fmt::format("`tensor(xs)` makes a tensor of a {} of numbers", type_name(given));
  }
  if (is_host_number(given)) {
    return fmt::format("`tensor(x)` makes a tensor of {} {}", given.is(Tag::integer) ? "an" : "a", type_name(given));
  }
  if (given.is(Tag::range)) return "`tensor(r)` makes a tensor of a range";
  if (given.is(Tag::record)) return "a value of a record is read with `r.key` or `r[\"key\"]`";
  if (given.is(Tag::map)) return "`tensor(values(m))` makes a tensor of the values of a map";
  return "";
}

std::string to_make_list(const Value& given) {
  if (given.is(Tag::tensor)) return "`tolist(x)` makes a list of a tensor";
  if (given.is(Tag::record)) return "`keys(r)` and `values(r)` make lists of a record";
  if (given.is(Tag::map)) return "`keys(m)`, `values(m)` and `items(m)` make lists of a map";
  return "";
}

std::string to_make_text(const Value& given) {
  if (given.is_nil() || given.is(Tag::function) || given.is(Tag::builtin)) return "";
  if (given.is(Tag::tensor)) return "`str(x, full: true)` makes a str of all elements of a tensor";
  if (any_leaf(given, [](const Value& leaf) { return leaf.is(Tag::tensor); })) return "";
  return fmt::format("`str(x)` makes a str of {} {}", given.is(Tag::integer) ? "an" : "a", type_name(given));
}

std::string to_make_integer(const Value& given) {
  if (given.is(Tag::tensor)) {
    if (given.tensor().rank() == 0) return "`int(x)` makes an int of a tensor of one element";
    return is_float(given.tensor_data()->dtype) ? "`i64(x)` makes integers of a float tensor" : "";
  }
  if (is_number_text(given)) return "`int(s)` reads an int of a str";
  if (is_host_number(given)) return fmt::format("`int(x)` makes an int of a {}", type_name(given));
  if (is_items(given) && holds_numbers(given)) return "`map(int, xs)` makes ints of the numbers of a list";
  return "";
}

std::string to_make_real(const Value& given) {
  if (is_one_element(given)) return "`x.item()` reads the number in a tensor of one element";
  if (is_number_text(given)) return "`float(s)` reads a number of a str";
  if (is_host_bool(given)) return "`int(b)` makes 0 or 1 of a bool";
  return "";
}

std::string to_make_boolean(const Value& given) {
  if (given.is_nil()) return "`x != nil` tests whether there is a value";
  if (given.is(Tag::tensor) && given.tensor().rank() > 0) {
    return given.tensor_data()->dtype == DType::boolean
               ? "`any(x)` or `all(x)` makes one bool; element by element write `~a` for `not a`, `a & b` for `a and "
                 "b`, `a | b` for `a or b`"
               : "write a comparison and `any` or `all`: `any(x != 0)`";
  }
  if (is_host_number(given) || given.is(Tag::tensor)) return "write a comparison: `x != 0`";
  if (is_text(given) || is_items(given) || given.is(Tag::record) || given.is(Tag::map) || given.is(Tag::range)) {
    if (is_text(given))
      return "`len(s) > 0` tests whether a str has characters; `true` and `false` stand without quotes";
    return fmt::format("`len(x) > 0` tests whether a {} has items", type_name(given));
  }
  if (given.is(Tag::function) || given.is(Tag::builtin)) return "a function is called with parentheses: `f()`";
  return "";
}

const std::vector<std::string>& dtype_names() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all;
    for (const DTypeRow& row : kDTypes) all.emplace_back(row.name);
    return all;
  }());
  return names;
}

std::string to_make_dtype(const Value& given) {
  if (given.is(Tag::string)) {
    const std::string& text = given.as<String>().text;
    if (dtype_named(text)) return fmt::format("a dtype is written without quotes: `{}`", text);
    return suggest_name(text, dtype_names());
  }
  if (given.is(Tag::builtin)) return "dtypes are named by their size: f32, f64, i32, i64, …";
  return "";
}

constexpr const char* kNilHint = "nil is what a function without `return` gives; `x == nil` tests for it";

}  // namespace

std::string hint_to_make(Wanted wanted, const Value& given) {
  switch (wanted) {
    case Wanted::tensor: return to_make_tensor(given);
    case Wanted::list: return to_make_list(given);
    case Wanted::text: return to_make_text(given);
    case Wanted::integer: return to_make_integer(given);
    case Wanted::real: return to_make_real(given);
    case Wanted::boolean: return to_make_boolean(given);
    case Wanted::function: return given.is_nil() ? "a function is passed without parentheses: `f`, not `f()`" : "";
    case Wanted::dtype: return to_make_dtype(given);
  }
  return "";
}

std::string hint_for_kind(std::string_view kind) {
  struct Writing {
    std::string_view kind, hint;
  };
  static constexpr Writing kWritings[] = {
      {"int", "an int is written without a point: `3`"},
      {"integer", "an int is written without a point: `3`"},
      {"integers", "one int or a list of ints is written here: `3`, `[2, 3]`"},
      {"float", "a number is written without quotes or brackets: `0.5`"},
      {"number", "a number is written without quotes or brackets: `0.5`"},
      {"str", "a str is written in double quotes: `\"text\"`"},
      {"list", "a list is written `[a, b]`"},
      {"tuple", "a tuple is written `(a, b)`"},
      {"record", "a record is written `{key: value}`"},
      {"map", "a map is written `[key: value]`, an empty one `[:]`"},
      {"range", "a range is written `0..n`"},
      {"fn", "a function is given by its name, or written `fn(x) = x + 1`"},
      {"function", "a function is given by its name, or written `fn(x) = x + 1`"},
      {"tensor", "a tensor is made of a list of numbers: `tensor([1.0, 2.0])`"},
      {"array", "an array is a number, or a tensor, list or range of numbers: `[1.0, 2.0]`"},
      {"iterable", "lists, tuples, strs, records, maps, ranges and tensors have items: `[1, 2]`, `0..n`"},
  };
  if (kind == "dtype") return fmt::format("a dtype is one of {}", fmt::join(dtype_names(), ", "));
  const auto found =
      std::find_if(std::begin(kWritings), std::end(kWritings), [&](const Writing& w) { return w.kind == kind; });
  return found == std::end(kWritings) ? "" : std::string(found->hint);
}

std::vector<std::string> hints_of(std::string hint) {
  std::vector<std::string> hints;
  if (!hint.empty()) hints.push_back(std::move(hint));
  return hints;
}

std::vector<std::string> hints_to_make(Wanted wanted, const Value& given) {
  return hints_of(hint_to_make(wanted, given));
}

std::string hint_for_nil(const Value& given) { return given.is_nil() ? kNilHint : ""; }

std::string hint_for_call(const Value& callee) {
  if (callee.is(Tag::tensor) || is_items(callee) || is_text(callee) || callee.is(Tag::range)) {
    return fmt::format("an item of a {} is read with brackets: `x[0]`", type_name(callee));
  }
  if (callee.is(Tag::map)) return "a value of a map is read with brackets: `m[key]`";
  if (callee.is(Tag::record)) return "a value of a record is read with `r.key` or `r[\"key\"]`";
  if (callee.is(Tag::module)) return fmt::format("call a function of the module: `{}.f(…)`", callee.as<Module>().name);
  if (is_host_number(callee) && !is_host_bool(callee)) return "a product is written with `*`: `2 * (a + b)`";
  return hint_for_nil(callee);
}

bool is_type_beside_name(const Value& function, const Value& name) {
  if (!function.is(Tag::builtin) || !name.is(Tag::string)) return false;
  constexpr std::string_view kTypes = "int float bool str list tuple range record map tensor complex dict";
  return has_word(kTypes, function.as<BuiltinFunction>().builtin->name) && has_word(kTypes, name.as<String>().text);
}

std::string hint_for_loop(const Value& iterable) {
  if (is_host_int(iterable)) return "`for i in 0..n { … }` counts from 0 to n - 1";
  if (iterable.is(Tag::function) || iterable.is(Tag::builtin)) return "a function is called with parentheses: `f()`";
  return hint_for_nil(iterable);
}

std::string hint_for_tensor_member(std::string_view name) {
  struct Member {
    std::string_view theirs, hint;
  };
  static constexpr Member kMembers[] = {
      {"t mT H", "the transpose is a field: `x.T`"}, {"double", "`f64(x)` converts a tensor"},
      {"half", "`f16(x)` converts a tensor"},        {"long", "`i64(x)` converts a tensor"},
      {"short", "`i16(x)` converts a tensor"},       {"char", "`i8(x)` converts a tensor"},
      {"byte", "`u8(x)` converts a tensor"},
  };
  for (const Member& member : kMembers) {
    if (has_word(member.theirs, name)) return std::string(member.hint);
  }
  return "";
}

std::string hint_for_field(const Value& object, const std::string& field, const std::vector<std::string>& members,
                           const std::vector<std::string>& functions) {
  const auto has = [&](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.is(Tag::tensor)) {
    std::string hint = hint_for_tensor_member(field);
    if (!hint.empty()) return hint;
  }
  if (object.is(Tag::tensor) && field == "grad") return "`grad(f)(x)` is the gradient of f at x";
  if (object.is(Tag::tensor) && field == "data") return "a tensor is its own data: write `x`, or `tolist(x)` for lists";
  if (has(functions, field)) return fmt::format("'{}' is a function: write `x.{}()`", field, field);
  if (is_items(object) &&
      (field == "shape" || field == "ndim" || field == "size" || field == "T" || field == "dtype")) {
    return field == "size" ? "`len(xs)` counts the items"
                           : fmt::format("`tensor(xs)` makes a tensor, which has the field '{}'", field);
  }
  if (is_host_number(object) && (field == "shape" || field == "ndim" || field == "dtype"))
    return fmt::format("`tensor(x)` makes a tensor of a number, which has the field '{}'", field);
  if (object.is(Tag::map)) return fmt::format("a value of a map is read with brackets: `m[\"{}\"]`", field);
  if (object.is(Tag::record) || object.is(Tag::module)) {
    const std::string near = nearest_name(field, members);
    return near.empty() ? "" : fmt::format("did you mean '{}'?", near);
  }
  std::vector<std::string> known = members;
  known.insert(known.end(), functions.begin(), functions.end());
  std::string hint = suggest_name(field, known);
  if (hint.empty() && object.is(Tag::tuple))
    return "items of a tuple are numbered: `t[0]`; `let (a, b) = t` and `for (k, v) in r` take it apart";
  constexpr std::string_view kStart = "did you mean '";
  if (hint.rfind(kStart, 0) != 0) return hint;
  const std::string name = hint.substr(kStart.size(), hint.size() - kStart.size() - 2);
  return has(members, name) ? hint : fmt::format("did you mean `x.{}()`?", name);
}

}  // namespace tsl
