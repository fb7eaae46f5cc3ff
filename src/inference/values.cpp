#include "inference/values.h"

#include <algorithm>

#include "value/numbers.h"

namespace tsl::inference {

namespace {

constexpr int kMostParts = 1000;      // of a value that is looked at
constexpr int kMostShownParts = 200;  // of a type
constexpr int kMostDepth = 16;        // of sums of sizes

bool is_any_number(const Symbol& symbol) { return symbol.kind == Symbol::Kind::input && !symbol.is_extent; }

const std::vector<Value>& items_in(const Value& v) {
  return v.is(Tag::record) ? v.as<Record>().values : v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
}

bool has_items(const Value& v) { return is_items(v) || v.is(Tag::record); }

/// Whether two lists, tuples or records have items in the same places.
bool is_alike(const Value& a, const Value& b) {
  if (a.tag() != b.tag() || !has_items(a) || items_in(a).size() != items_in(b).size()) return false;
  return !a.is(Tag::record) || a.as<Record>().has_keys(b.as<Record>().keys);
}

/// Returns such a value with other items.
Value with_these(const Value& like, std::vector<Value> items) {
  if (like.is(Tag::list)) return make_list(std::move(items));
  if (like.is(Tag::tuple)) return make_tuple(std::move(items));
  Ref<tsl::Record> record = make_ref<Record>();
  record->keys = like.as<Record>().keys;
  record->values = std::move(items);
  return Value(std::move(record));
}

bool is_same_number(const Value& a, const Value& b) {
  if (identical(a, b)) return true;
  if (scalar_of(a).type != scalar_of(b).type) return false;
  return a.is(Tag::symbol) && b.is(Tag::symbol) && is_any_number(*a.symbol()) && is_any_number(*b.symbol());
}

bool is_same_tensor(const Value& a, const Value& b) {
  return a.tensor_data()->dtype == b.tensor_data()->dtype && same(a.tensor().shape(), b.tensor().shape());
}

}  // namespace

const Value& unknown() {
  static const ForeignType& type = *new ForeignType{"unknown"};
  static const Value& value = *new Value(make_ref<Foreign>(&type));
  return value;
}

namespace {

bool holds_unknown_part(const Value& value, int& parts_left) {  // bounded recursion: by kMostParts
  if (is_unknown(value) || value.is(Tag::absent) || --parts_left < 0) return true;
  if (!has_items(value)) return false;
  const std::vector<Value>& items = items_in(value);
  return std::any_of(items.begin(), items.end(), [&](const Value& v) { return holds_unknown_part(v, parts_left); });
}

bool is_same_part(const Value& a, const Value& b, int& parts_left) {  // bounded recursion: by kMostParts
  if (identical(a, b)) return true;
  if (is_host_number(a) && is_host_number(b)) return is_same_number(a, b);
  if (a.tag() != b.tag() || --parts_left < 0) return false;
  if (a.is(Tag::tensor)) return is_same_tensor(a, b);
  if (a.is(Tag::string)) return a.as<String>().text == b.as<String>().text;
  if (!is_alike(a, b)) return false;
  const std::vector<Value>&x = items_in(a), &y = items_in(b);
  return std::equal(x.begin(), x.end(), y.begin(),
                    [&](const Value& v, const Value& w) { return is_same_part(v, w, parts_left); });
}

// bounded recursion: by kMostParts
Value join_parts(SymbolTable& symbols, const Value& a, const Value& b, int& parts_left) {
  if (--parts_left < 0) return unknown();
  if (!has_items(a) && is_same(a, b)) return a;
  if (is_host_number(a) && is_host_number(b) && scalar_of(a).type == scalar_of(b).type)
    return Value(symbols.input(scalar_of(a)));
  if (!is_alike(a, b)) return unknown();
  std::vector<Value> items;
  for (size_t i = 0; i < items_in(a).size(); ++i)
    items.push_back(join_parts(symbols, items_in(a)[i], items_in(b)[i], parts_left));
  return with_these(a, std::move(items));
}

}  // namespace

bool holds_unknown(const Value& value) {
  int parts_left = kMostParts;
  return holds_unknown_part(value, parts_left);
}

bool is_same(const Value& a, const Value& b) {
  int parts_left = kMostParts;
  return is_same_part(a, b, parts_left);
}

Value join(SymbolTable& symbols, const Value& a, const Value& b) {
  int parts_left = kMostParts;
  return is_same(a, b) ? a : join_parts(symbols, a, b, parts_left);
}

// ---- Texts ---------------------------------------------------------------------------------------------

namespace {

const char* sign_of(ScalarOp op) {
  if (op == ScalarOp::add) return "+";
  if (op == ScalarOp::sub) return "-";
  if (op == ScalarOp::mul) return "*";
  return op == ScalarOp::floordiv ? "//" : nullptr;
}

/// Formats a size; `_` if no names say it.
std::string symbol_text(const Symbol& symbol, const SizeNames& names,
                        int depth = 0) {  // bounded recursion: by kMostDepth
  if (const auto name = names.find(&symbol); name != names.end()) return name->second;
  if (symbol.kind == Symbol::Kind::constant) return fmt::format("{}", symbol.hint.integer);
  const char* const sign = symbol.kind == Symbol::Kind::expression && symbol.b ? sign_of(symbol.op) : nullptr;
  if (!sign || depth > kMostDepth) return "_";
  const Symbol *a = symbol.a, *b = symbol.b;
  const bool is_number_last = symbol.op == ScalarOp::mul && b->kind == Symbol::Kind::constant;
  if (is_number_last) std::swap(a, b);
  const auto operand = [&](const Symbol* s) {
    const std::string text = symbol_text(*s, names, depth + 1);
    const bool is_plain = s->kind != Symbol::Kind::expression || symbol.op == ScalarOp::add || names.contains(s);
    return is_plain || text == "_" ? text : "(" + text + ")";
  };
  const std::string left = operand(a), right = operand(b);
  if (a == b && symbol.op == ScalarOp::add && left != "_") return "2 * " + left;
  return left == "_" || right == "_" ? "_" : fmt::format("{} {} {}", left, sign, right);
}

std::string tensor_text(std::string_view dtype, const Shape& shape, const SizeNames& names) {
  std::string text(dtype);
  text += '[';
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i].symbol() ? symbol_text(*shape[i].symbol(), names) : fmt::format("{}", shape[i].hint());
  }
  return text + "]";
}

ShownType items_type(const Value& value, const SizeNames& names, int& parts_left);

ShownType value_type(const Value& value, const SizeNames& names, int& parts_left) {  // bounded recursion: by kMostParts
  if (value.is(Tag::tensor))
    return {tensor_text(name_of(value.tensor_data()->dtype), value.tensor().shape(), names), true};
  if (is_complex(value)) {
    const Value& part = value.as<Record>().values[0];
    if (!part.is(Tag::tensor)) return {"complex"};
    return {tensor_text(complex_name_of(part.tensor_data()->dtype), part.tensor().shape(), names), true};
  }
  if (has_items(value)) return --parts_left < 0 ? ShownType{} : items_type(value, names, parts_left);
  if (is_unknown(value) || value.is(Tag::absent)) return {};
  return {type_name(value)};
}

/// Formats the types in a list, a tuple or a record; those of a list only if they are one.
ShownType items_type(const Value& value, const SizeNames& names, int& parts_left) {  // bounded recursion: by kMostParts
  const std::vector<Value>& items = items_in(value);
  if (items.empty()) return {type_name(value)};
  ShownType shown;
  std::string first;
  for (size_t i = 0; i < items.size(); ++i) {
    const ShownType item = value_type(items[i], names, parts_left);
    shown.has_tensor |= item.has_tensor;
    const std::string text = item.text.empty() ? "any" : item.text;
    if (i == 0) first = text;
    if (value.is(Tag::list) && (text != first || text == "any")) return {"list"};
    if (i > 0) shown.text += ", ";
    if (value.is(Tag::record)) shown.text += *value.as<Record>().keys->names[i] + ": ";
    shown.text += text;
  }
  if (value.is(Tag::list)) shown.text = fmt::format("list[{}]", first);
  else shown.text = value.is(Tag::record) ? "{" + shown.text + "}" : fmt::format("tuple[{}]", shown.text);
  return shown;
}

}  // namespace

ShownType shown_type(const Value& value, const SizeNames& names) {
  int parts_left = kMostShownParts;
  ShownType shown = value_type(value, names, parts_left);
  return parts_left < 0 ? ShownType{} : shown;
}

}  // namespace tsl::inference
