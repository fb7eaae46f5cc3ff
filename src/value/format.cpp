#include "value/format.h"

#include <utility>

#include "base/count_work.h"
#include "base/error_names.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/format_spec.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/signature.h"
#include "value/tensor_display.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

std::string_view escape_of(char c, std::string& room) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return room = fmt::format("\\x{:02x}", static_cast<unsigned>(c));
  }
}

bool needs_escape(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

void add_quoted(TextBuilder& to, std::string_view text) {
  std::string room;
  to += '"';
  size_t begin = 0;
  polled_each(text.size(), 2, [&](size_t at) {
    if (!needs_escape(text[at])) return;
    to += text.substr(begin, at - begin);
    to += escape_of(text[at], room);
    begin = at + 1;
  });
  to += text.substr(begin);
  to += '"';
}

}  // namespace

std::string quoted(const std::string& text) {
  TextBuilder builder;
  add_quoted(builder, text);
  return builder.take();
}

namespace {

// Deeper nesting is shown as "…": nobody reads it, and it must not exhaust the stack.
constexpr int kMaxFormatDepth = 100;

std::string number_text(Scalar value) {
  switch (value.type) {
    case ScalarType::boolean: return value.boolean ? "true" : "false";
    case ScalarType::integer: return std::to_string(value.integer);
    case ScalarType::real: return float_text(value.real);
  }
  return "";
}

void add_lazy_string(TextBuilder& to, Context& context, const LazyString& text) {
  for (const LazyString::Piece& piece : text.pieces) add_format(to, context, piece.value, piece.spec);
}

std::string join_lazy_string(Context& context, const LazyString& text) {
  TextBuilder joined;
  add_lazy_string(joined, context, text);
  return joined.take();
}

/// What is shown of tensors inside containers.
enum class Extent { cut, full };

void add_repr(TextBuilder& to, Context& context, const Value& value, Extent extent, int depth);

void add_items(TextBuilder& to, Context& context, const std::vector<Value>& items, Extent extent, int depth) {
  for (const Value& item : items) {
    if (&item != items.data()) to += ", ";
    add_repr(to, context, item, extent, depth + 1);
  }
}

bool is_identifier(const std::string& key) {
  if (key.empty() || (key[0] >= '0' && key[0] <= '9')) return false;
  for (char c : key) {  // bounded: the key is written, too
    if (c != '_' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) return false;
  }
  return true;
}

void add_record(TextBuilder& to, Context& context, const Record& record, Extent extent, int depth) {
  to += '{';
  for (size_t i = 0; i < record.values.size(); ++i) {
    const std::string& key = *record.keys->names[i];
    if (i > 0) to += ", ";
    if (is_identifier(key)) to += key;
    else add_quoted(to, key);
    to += ": ";
    add_repr(to, context, record.values[i], extent, depth + 1);
  }
  to += '}';
}

void add_map(TextBuilder& to, Context& context, const Value& map, Extent extent, int depth) {
  if (map.as<Map>().size() == 0) {
    to += "[:]";
    return;
  }
  to += '[';
  Value key, value;
  bool is_first = true;
  for (int64_t state = 0; next_entry(map, state, key, value);) {
    if (!std::exchange(is_first, false)) to += ", ";
    add_repr(to, context, key, extent, depth + 1);
    to += ": ";
    add_repr(to, context, value, extent, depth + 1);
  }
  to += ']';
}

std::string text_of_leaf(Context& context, const Value& value, Extent extent) {
  switch (value.tag()) {
    case Tag::nil: return "nil";
    case Tag::boolean:
    case Tag::integer:
    case Tag::real: return number_text(scalar_of(value));
    case Tag::symbol: return number_text(pinned(value, "text"));
    case Tag::dtype: return std::string(name_of(value.dtype()));
    case Tag::range: {
      const Range& range = value.as<Range>();
      return number_text(pinned(range.begin, "text")) + ".." + number_text(pinned(range.end, "text"));
    }
    case Tag::function: {
      const std::string name = value.as<Function>().info->display_name();
      return is_complex_dtype(value) ? name : fmt::format("<function {}>", name);
    }
    case Tag::builtin: return fmt::format("<function {}>", value.as<BuiltinFunction>().builtin->name);
    case Tag::module: return fmt::format("<module {}>", value.as<Module>().name);
    case Tag::foreign: return fmt::format("<{}>", type_name(value));
    case Tag::tensor: return display_tensor_inline(context, value.tensor(), extent == Extent::full);
    case Tag::absent:
    case Tag::string:
    case Tag::lazy_string:
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
    case Tag::map:
    case Tag::cell: break;
  }
  return "";
}

const Value& part_of(const Value& z, size_t part) { return z.as<Record>().values[part]; }

std::string text_of_complex(Context& context, const Value& z, Extent extent) {
  const Value &re = part_of(z, 0), &im = part_of(z, 1);
  if (is_complex_tensor(z)) return display_complex_inline(context, re.tensor(), im.tensor(), extent == Extent::full);
  return complex_text(number_text(pinned(re, "text")), number_text(pinned(im, "text")));
}

void add_repr(TextBuilder& to, Context& context, const Value& value, Extent extent, int depth) {
  count_work(64);
  if (depth > kMaxFormatDepth) {
    to += "…";
  } else if (value.is(Tag::string)) {
    add_quoted(to, value.as<String>().text);
  } else if (value.is(Tag::lazy_string)) {
    add_quoted(to, join_lazy_string(context, value.as<LazyString>()));
  } else if (value.is(Tag::list)) {
    to += '[';
    add_items(to, context, value.as<List>().items, extent, depth);
    to += ']';
  } else if (value.is(Tag::tuple)) {
    const std::vector<Value>& items = value.as<Tuple>().items;
    to += '(';
    add_items(to, context, items, extent, depth);
    to += items.size() == 1 ? ",)" : ")";
  } else if (is_complex(value)) {
    to += text_of_complex(context, value, extent);
  } else if (value.is(Tag::record)) {
    add_record(to, context, value.as<Record>(), extent, depth);
  } else if (value.is(Tag::map)) {
    add_map(to, context, value, extent, depth);
  } else if (value.is(Tag::cell)) {
    add_repr(to, context, value.as<Cell>().value, extent, depth + 1);
  } else {
    to += text_of_leaf(context, value, extent);
  }
}

}  // namespace

const Value* known_string(const Value& text) {
  const std::vector<LazyString::Piece>& pieces = text.as<LazyString>().pieces;
  return pieces.size() == 1 && pieces[0].value.is(Tag::string) && pieces[0].spec.empty() ? &pieces[0].value : nullptr;
}

Value joined(Context& context, const Value& text) {
  const Value* known = known_string(text);
  return known ? *known : make_string(join_lazy_string(context, text.as<LazyString>()));
}

namespace {

/// Formats the lazy strings inside a value during a trace. They may be nested to any depth, so the innermost come
/// first, without recursion.
Value with_joined_strings(Context& context, const Value& value) {
  Value shown = value;
  if (!context.runtime().is_tracing()) return shown;
  replace_leaves(shown, [&](const Value& leaf, Value& text) {
    if (!leaf.is(Tag::lazy_string)) return false;
    text = joined(context, leaf);
    return true;
  });
  return shown;
}

}  // namespace

namespace {

void add_value(TextBuilder& to, Context& context, const Value& value, Extent extent = Extent::cut) {
  limit_occurrences(value, "the text of a value is too long");
  add_repr(to, context, with_joined_strings(context, value), extent, 0);
}

/// Adds what str(v, full: true) returns.
void add_full(TextBuilder& to, Context& context, const Value& value) {
  if (is_text(value)) add_string(to, context, value);
  else if (value.is(Tag::tensor)) to += display_tensor(context, value.tensor(), true);
  else if (is_complex_tensor(value))
    to += display_complex(context, part_of(value, 0).tensor(), part_of(value, 1).tensor(), true);
  else add_value(to, context, value, Extent::full);
}

}  // namespace

void add_string(TextBuilder& to, Context& context, const Value& value) {
  if (value.is(Tag::string)) {
    to += value.as<String>().text;
  } else if (value.is(Tag::tensor)) {
    to += display_tensor(context, value.tensor());
  } else if (is_complex_tensor(value)) {
    to += display_complex(context, part_of(value, 0).tensor(), part_of(value, 1).tensor());
  } else if (value.is(Tag::lazy_string)) {
    const Value shown = with_joined_strings(context, value);
    if (shown.is(Tag::string)) to += shown.as<String>().text;
    else add_lazy_string(to, context, shown.as<LazyString>());
  } else {
    add_value(to, context, value);
  }
}

std::string to_string(Context& context, const Value& value) {
  if (value.is(Tag::tensor)) return display_tensor(context, value.tensor());
  TextBuilder text;
  add_string(text, context, value);
  return text.take();
}

std::string to_repr(Context& context, const Value& value) {
  TextBuilder text;
  add_value(text, context, value);
  return text.take();
}

namespace {

[[noreturn]] void fail_on_elements(const std::string& spec, const Tensor& tensor) {
  fail_with(ErrorName::unsuitable_format, fmt::format("the format spec '{}' does not suit {}", spec, describe(tensor)),
            {fmt::format("a spec formats one number, such as `{{mean(x):{}}}`; `{{x}}` shows a tensor", spec)});
}

}  // namespace

std::string format_value(Context& context, const Value& value, const std::string& spec) {
  if (spec == kStrSpec || (value.is(Tag::string) && spec.empty())) return to_string(context, value);
  if (spec == kReprSpec) return to_repr(context, value);
  if (spec == kNamedSpec) return is_text(value) ? to_repr(context, value) : format_value(context, value, "");
  const FormatSpec format(spec);
  Value shown = value;
  if (value.is(Tag::tensor)) {
    const Tensor tensor = value.tensor();
    const bool is_element = element_count(tensor.shape()) == Dim(1);
    if (!is_element && !spec.empty()) { fail_on_elements(spec, tensor); }
    if (!is_element) return display_tensor(context, tensor);
    shown = read_item(context, tensor);
    if (spec.empty() && is_float(tensor.dtype())) return float_text(pinned(shown, "text").real, tensor.dtype());
  }
  if (is_complex(value) && !spec.empty()) {
    return complex_text(format_value(context, part_of(value, 0), spec), format_value(context, part_of(value, 1), spec));
  }
  if (is_host_number(shown)) {
    const Scalar number = pinned(shown, "text");
    switch (number.type) {
      case ScalarType::boolean: return format.apply(number.boolean);
      case ScalarType::integer: return format.apply(number.integer);
      case ScalarType::real: return format.apply(number.real);
    }
  }
  if (shown.is(Tag::string)) return format.apply(std::string_view(shown.as<String>().text));
  return format.apply(std::string_view(to_string(context, shown)), type_name(shown));
}

void add_format(TextBuilder& to, Context& context, const Value& value, const std::string& spec) {
  if (spec == kStrSpec || (value.is(Tag::string) && spec.empty())) add_string(to, context, value);
  else if (spec == kReprSpec) add_value(to, context, value);
  else if (spec == kFullSpec) add_full(to, context, value);
  else to += format_value(context, value, spec);
}

void check_format(Context& context, const Value& value, const std::string& spec) {
  if (spec.empty() || spec == kStrSpec || spec == kReprSpec || spec == kNamedSpec || spec == kFullSpec) return;
  if (FormatSpec(spec).is_particular()) {
    format_value(context, value, spec);  // makes the trace depend on the number
  } else if (is_host_number(value)) {
    format_value(context, Value(scalar_of(value)), spec);
  } else if (is_complex(value)) {
    // bounded: the two parts of a complex number
    for (const Value& part : value.as<Record>().values) check_format(context, part, spec);
  } else if (!value.is(Tag::tensor)) {
    FormatSpec(spec).apply(std::string_view(), type_name(value));  // it is formatted as a string in any case
  } else if (element_count(value.tensor().shape()) == Dim(1)) {
    const DType dtype = value.tensor().dtype();
    format_value(context, is_float(dtype) ? Value(0.0) : dtype == DType::boolean ? Value(false) : Value(0), spec);
  } else {
    fail_on_elements(spec, value.tensor());
  }
}

namespace {

bool is_known_leaf(const Value& leaf) {
  const bool has_input = leaf.is(Tag::list) || leaf.is(Tag::map);
  return !leaf.is(Tag::symbol) && !has_input && !(leaf.is(Tag::tensor) && leaf.tensor_data()->recording != nullptr);
}

/// Whether a value has parts whose elements cannot be read: formatting it at once says so.
bool holds_example(const Ops& ops, const Value& value) {
  return ops.batch() &&
         any_leaf(value, [](const Value& leaf) { return leaf.is(Tag::tensor) && leaf.tensor_data()->batch; });
}

}  // namespace

bool is_known(Context& context, const Value& value) {
  return !context.runtime().is_tracing() || holds_example(context.ops(), value) ||
         !any_leaf(value, [](const Value& leaf) { return !is_known_leaf(leaf); });
}

}  // namespace tsl
