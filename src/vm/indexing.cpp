// Dispatches x[…] by the type of x, and implements it for everything but tensors.
#include "vm/indexing.h"

#include <algorithm>
#include <iterator>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "value/builtin.h"
#include "value/context.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/materialize.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/signature.h"
#include "value/utf8.h"
#include "vm/arguments.h"
#include "vm/complex.h"
#include "vm/indexing.h"
#include "vm/indexing_tensor.h"
#include "vm/keys.h"
#include "vm/operators.h"

namespace tsl {

namespace {

const IndexItem& only_item(std::span<const IndexItem> items, const Value& object) {
  if (items.size() == 1 && items[0].kind != IndexItem::Kind::ellipsis) return items[0];
  if (object.is(Tag::map))
    fail_with(ErrorName::wrong_index, "a map takes one key", {"a tuple can be a key: `m[(a, b)]`"});
  const bool is_sequence = is_items(object);
  fail_with(
      ErrorName::wrong_index, fmt::format("a {} takes one index or slice", type_name(object)),
      hints_of(is_sequence ? "`xs[i][j]` indexes an item of an item; a tensor takes several: `tensor(xs)[i, j]`" : ""));
}

int64_t position(Context& context, const Value& index, size_t length, const Value& object) {
  if (index.is(Tag::string)) {
    fail_with(
        ErrorName::wrong_index_type, "an index must be an int, not str",
        {fmt::format("items of a {} are numbered from 0: `x[0]`; a map has keys: `[\"a\": 1]`", type_name(object))});
  }
  if (index.is(Tag::range)) {
    fail_with(ErrorName::wrong_index_type, "an index must be an int, not range",
              {"a part is read with a colon: `x[a:b]`, which ends before b"});
  }
  const int64_t given = index.is(Tag::integer) ? index.integer() : expect_int(context, index, "an index");
  const int64_t at = given < 0 ? given + static_cast<int64_t>(length) : given;
  if (at < 0 || at >= static_cast<int64_t>(length)) {
    std::string hint = length == 0 ? "" : fmt::format("indices go from 0 to {}, or from -{} to -1", length - 1, length);
    fail_with(ErrorName::index_out_of_range,
              fmt::format("index {} is out of range for a {} of length {}", given, type_name(object), length),
              hints_of(std::move(hint)));
  }
  return at;
}

/// The elements of a host sequence that a slice selects: start, start+step, …
struct Positions {
  int64_t start, count, step;
};

Positions positions(Context& context, const IndexItem& item, size_t length) {
  const SliceBounds bounds = slice_bounds(context, item.start, item.stop, item.step, static_cast<int64_t>(length));
  return {bounds.start.pin(), bounds.count.pin(), bounds.step};
}

std::vector<Value> slice_items(Context& context, const std::vector<Value>& items, const IndexItem& item) {
  const Positions at = positions(context, item, items.size());
  std::vector<Value> result;
  result.reserve(static_cast<size_t>(at.count));
  polled_each(static_cast<size_t>(at.count), 2, [&](size_t i) {
    result.push_back(items[static_cast<size_t>(at.start + static_cast<int64_t>(i) * at.step)]);
  });
  return result;
}

Value get_in_string(Context& context, const Value& object, const IndexItem& item) {
  const String& string = expect_text(context, object, "str");
  const std::string& text = string.text;
  const CodePoints points = string.code_points();
  const auto characters = [&](int64_t first, int64_t end) {
    const size_t begin = points.offset(static_cast<size_t>(first));
    return std::string_view(text).substr(begin, points.offset(static_cast<size_t>(end)) - begin);
  };
  if (item.kind == IndexItem::Kind::value) {
    const size_t begin = points.offset(static_cast<size_t>(position(context, item.value, points.count(), object)));
    return make_string(text.substr(begin, utf8_width(text, begin)));
  }
  const Positions at = positions(context, item, points.count());
  if (at.step == 1) return make_string(copy_text(characters(at.start, at.start + at.count)));
  std::string result;
  for (int64_t i = 0, n = at.start; i < at.count; ++i, n += at.step) append_text(result, characters(n, n + 1));
  return make_string(std::move(result));
}

Value get_in_range(Context& context, const Value& object, const IndexItem& item) {
  const Range& range = object.as<Range>();
  const Dim begin = dim_of(range.begin), length = count_between(begin, dim_of(range.end));
  if (item.kind == IndexItem::Kind::value) {
    if (!is_host_int(item.value))
      return begin.pin() + position(context, item.value, static_cast<size_t>(length.pin()), object);
    return from_dim(begin + checked_index(item.value, length, 0));
  }
  const SliceBounds bounds = slice_bounds(context, item.start, item.stop, item.step, length);
  if (bounds.step == 1) {
    Ref<Range> part = make_ref<Range>();
    part->begin = from_dim(begin + bounds.start);
    part->end = from_dim(begin + bounds.start + bounds.count);
    return Value(part);
  }
  Collector items;
  for (int64_t i = 0, n = bounds.count.pin(); i < n; ++i)
    items.add(from_dim(begin + bounds.start + Dim(i * bounds.step)));
  return make_list(items.take());
}

std::vector<std::string> without_empty(std::vector<std::string> hints) {
  std::erase(hints, "");
  return hints;
}

/// Says what to write where an object takes no index.
std::string hint_for_index(const Value& object) {
  if (object.is(Tag::function) || object.is(Tag::builtin)) return "a function is called with parentheses: `f(x)`";
  if (object.is(Tag::module)) return "a member of a module is read with a dot: `nn.relu`";
  if (is_host_number(object)) return "a number has no items: write it without brackets";
  return hint_for_nil(object);
}

/// Says how to change what cannot be changed in part.
std::string hint_for_assignment(const Value& object) {
  if (is_text(object)) return "a str cannot change; make a new one: `s[:i] + \"x\" + s[i + 1:]`";
  if (object.is(Tag::tuple)) return "a tuple cannot change; a list can: `[1, 2]`";
  return hint_for_index(object);
}

const Value& key_of(const IndexItem& item, const Value& object) {
  if (item.kind != IndexItem::Kind::value)
    fail(ErrorName::wrong_index_type, "a {} is indexed by a key, not by a slice", type_name(object));
  if (object.is(Tag::record) && is_host_number(item.value)) {
    fail_with(ErrorName::wrong_index_type, fmt::format("a record's key must be a str, not {}", type_name(item.value)),
              {"keys are strs: `r[\"a\"]`; `values(r)[0]` is the first value of a record; a map has keys of other "
               "types: `[1: x]`"});
  }
  return item.value;
}

void set_in_map(Context& context, Value& object, const Value& given, Value value) {
  const Value key = as_key(context, given);
  materialize_pending(context, {&value, 1});
  unique_map(object).set(key, std::move(value));
}

std::vector<Value> items_to_assign(Context& context, const Value& value) {
  Collector items;
  Value item;
  for (int64_t state = 0; iterate(context, value, state, item);) items.add(item);
  return items.take();
}

void assign_slice(Context& context, Value& object, const IndexItem& item, const Value& value) {
  const Positions at = positions(context, item, object.as<List>().items.size());
  std::vector<Value> given = items_to_assign(context, value);
  if (at.step == 1) {
    std::vector<Value>& items = make_unique<List>(object).items;
    const auto first = items.begin() + at.start;
    items.insert(items.erase(first, first + at.count), given.begin(), given.end());
    object.as<List>().count_bytes();
    return;
  }
  if (static_cast<int64_t>(given.size()) != at.count) {
    fail(ErrorName::length_mismatch, "cannot assign {} items to a slice of {}", given.size(), at.count);
  }
  std::vector<Value>& items = make_unique<List>(object).items;
  for (int64_t i = 0; i < at.count; ++i)
    items[static_cast<size_t>(at.start + i * at.step)] = std::move(given[static_cast<size_t>(i)]);
}

void set_in_list(Context& context, Value& object, const IndexItem& item, Value value) {
  if (item.kind == IndexItem::Kind::value) {
    const int64_t at = position(context, item.value, object.as<List>().items.size(), object);
    make_unique<List>(object).items[static_cast<size_t>(at)] = std::move(value);
  } else {
    assign_slice(context, object, item, value);
  }
}

/// Whether the only index is a str, the key of a record.
bool is_text_key(std::span<const IndexItem> items) { return items.size() == 1 && is_text(items[0].value); }

}  // namespace

Value get_index(Context& context, const Value& object, std::span<const IndexItem> items) {
  if (object.is(Tag::tensor)) return tensor_get(context, object.tensor(), items);
  if (is_items(object)) {
    const bool is_list = object.is(Tag::list);
    const std::vector<Value>& sequence = is_list ? object.as<List>().items : object.as<Tuple>().items;
    const IndexItem& item = only_item(items, object);
    if (item.kind == IndexItem::Kind::value) {
      return sequence[static_cast<size_t>(position(context, item.value, sequence.size(), object))];
    }
    std::vector<Value> part = slice_items(context, sequence, item);
    return is_list ? make_list(std::move(part)) : make_tuple(std::move(part));
  }
  if (is_complex_tensor(object) && !is_text_key(items)) {
    return make_complex(context, get_index(context, complex_part(object, false), items),
                        get_index(context, complex_part(object, true), items));
  }
  if (has_entries(object)) {
    const Value& key = key_of(only_item(items, object), object);
    if (const Value* found = find_entry(context, object, key)) return *found;
    unknown_key(context, object, key);
  }
  if (is_text(object)) return get_in_string(context, object, only_item(items, object));
  if (object.is(Tag::range)) return get_in_range(context, object, only_item(items, object));
  fail_with(ErrorName::not_indexable, fmt::format("cannot index {}", type_name(object)),
            hints_of(hint_for_index(object)));
}

Value take_index(Context& context, Value& object, std::span<const IndexItem> items) {
  const bool is_slice = items.size() == 1 && items[0].kind == IndexItem::Kind::slice;
  if (!is_slice || !object.is(Tag::list)) return get_index(context, object, items);
  const Positions at = positions(context, items[0], object.as<List>().items.size());
  if (at.step != 1 || !object.unique()) return get_index(context, object, items);
  std::vector<Value>& values = object.as<List>().items;
  values.erase(values.begin() + at.start + at.count, values.end());
  values.erase(values.begin(), values.begin() + at.start);
  return std::move(object);
}

void set_index(Context& context, Value& object, std::span<const IndexItem> items, Value value) {
  if (object.is(Tag::tensor)) return tensor_set(context, object, items, value);
  if (object.is(Tag::list)) return set_in_list(context, object, only_item(items, object), std::move(value));
  if (object.is(Tag::map))
    return set_in_map(context, object, key_of(only_item(items, object), object), std::move(value));
  if (is_complex_tensor(object) && !is_text_key(items)) {
    for (const bool is_imaginary : {false, true}) {
      Value& part = make_unique<Record>(object).values[is_imaginary ? 1 : 0];
      set_index(context, part, items, complex_part(value, is_imaginary));
    }
    return;
  }
  if (object.is(Tag::record)) {
    const Value& key = key_of(only_item(items, object), object);
    const std::string& text = expect_string(context, key, "a record's key");
    const Name known = key.is(Tag::string) ? key.as<String>().name(context.names()) : nullptr;
    return set_field(context, object, known ? HeldName(known) : HeldName(context.names(), text), std::move(value));
  }
  fail_with(ErrorName::not_assignable, fmt::format("cannot assign to an element of {}", type_name(object)),
            hints_of(hint_for_assignment(object)));
}

void update_index(Context& context, Value& object, std::span<const IndexItem> items, ast::BinaryOp op,
                  const Value& value) {
  if (object.is(Tag::tensor)) return tensor_update(context, object, items, op, value);
  set_index(context, object, items, binary(context, op, get_index(context, object, items), value));
}

// ---- Fields ----------------------------------------------------------------------------------------

namespace {

Value tensor_field(Context& context, const Tensor& x, const std::string& field) {
  if (field == "shape") {
    std::vector<Value> extents;
    for (const Dim& extent : x.shape()) extents.push_back(from_dim(extent));
    return make_tuple(std::move(extents));
  }
  if (field == "dtype") return x.dtype();
  if (field == "rank" || field == "ndim") return static_cast<int64_t>(x.rank());
  if (field == "size") return from_dim(element_count(x.shape()));
  if (field == "T") {
    std::vector<int64_t> order;
    for (int axis = x.rank() - 1; axis >= 0; --axis) order.push_back(axis);
    return permute(context.ops(), x, order);
  }
  if (field == "device") return make_string(to_string(x.device()));
  return Value();
}

/// Returns the builtins that take an object as their first argument, and so can be called as its methods.
std::vector<std::string> methods_of(Context& context, const Value& object) {
  std::vector<std::string> names;
  if (object.is(Tag::module) || object.is_nil()) return names;
  for (std::string& name : context.builtins().names()) {
    const Value* builtin = context.builtins().native(context.names().find(name));
    if (!builtin || !builtin->is(Tag::builtin)) {
      if (object.is(Tag::tensor) && !builtin) names.push_back(std::move(name));  // those of the prelude take tensors
      continue;
    }
    const Signature& signature = context.builtins().signature(*builtin->as<BuiltinFunction>().builtin);
    if (!signature.parameters.empty() && signature.parameters[0].type && fits(signature.parameters[0], object) &&
        signature.parameters[0].tags != ParameterInfo::kAnyTag)
      names.push_back(std::move(name));
  }
  return names;
}

[[noreturn]] void unknown_field(Context& context, const Value& object, const std::string& owner,
                                const std::string& field, const std::vector<std::string>& known) {
  std::string hint = hint_for_nil(object);
  if (hint.empty()) {
    hint = hint_for_field(object, field, known, methods_of(context, object));
    if (hint.empty() && object.is(Tag::record)) hint = list_keys(known);
  }
  std::vector<std::string> hints;
  if (object.is(Tag::record)) hints = hints_of(reason_unread(object.as<Record>(), field));
  hints.push_back(std::move(hint));
  fail_with(ErrorName::unknown_field, fmt::format("{} has no field '{}'", owner, field),
            without_empty(std::move(hints)));
}

Value module_field(Context& context, const Value& object, Name field) {
  const Module& module = object.as<Module>();
  if (Cell* cell = module.find(field)) {
    if (context.runtime().is_tracing()) context.runtime().enter(*cell);
    if (!cell->is_set)
      fail(ErrorName::used_before_declaration, "'{}' of module {} is used before its declaration has run", *field,
           module.name);
    return cell->value;
  }
  std::vector<std::string> known;
  for (const auto& [name, cell] : module.exports) known.push_back(*name);
  unknown_field(context, object, "module " + module.name, *field, known);
}

}  // namespace

Value get_field(Context& context, const Value& object, Name field) {
  if (object.is(Tag::record)) {
    Record& record = object.as<Record>();
    if (const Value* found = record.find(field)) return *found;
    if (is_complex(object)) {
      Value found = complex_field(context, object, *field);
      if (!found.is_nil()) return found;
    }
    unknown_field(context, object, "the record", *field, text_keys(object));
  }
  if (object.is(Tag::tensor)) {
    Value found = tensor_field(context, object.tensor(), *field);
    if (!found.is_nil()) return found;
    unknown_field(context, object, describe(object.tensor()), *field, {tensor_fields().begin(), tensor_fields().end()});
  }
  if (object.is(Tag::module)) return module_field(context, object, field);
  unknown_field(context, object, type_name(object), *field, {});
}

std::string hint_for_method(Context& context, const Value& object, const std::string& name) {
  if (object.is_nil()) return hint_for_nil(object);
  if (object.is(Tag::tensor)) {
    const bool is_field = std::find(tensor_fields().begin(), tensor_fields().end(), name) != tensor_fields().end();
    if (name == "size") return "`x.shape` is what PyTorch's `x.size()` gives; `x.size` is the number of elements";
    if (is_field) return fmt::format("'{}' is a field of a tensor: write `x.{}`", name, name);
    std::string hint = hint_for_tensor_member(name);
    if (!hint.empty()) return hint;
    for (const char* appends : {"append", "push", "extend", "insert"}) {
      if (name == appends) return "`concat([a, b])` joins tensors, `stack([a, b])` along a new axis";
    }
  }
  if (object.is(Tag::record)) {
    const std::vector<std::string> keys = text_keys(object);
    const std::string near = nearest_name(name, keys);
    if (!near.empty()) return fmt::format("did you mean '{}'?", near);
    const std::string advice = suggest_name(name, context.builtins().names());
    return advice.empty() ? list_keys(keys) : advice;
  }
  if (is_items(object) && (name == "shape" || name == "size")) return "did you mean 'len'?";
  return suggest_name(name, context.builtins().names());
}

void set_field(Context&, Value& object, Name field, Value value) {
  if (!object.is(Tag::record)) {
    std::string hint =
        object.is(Tag::tensor) && *field == "shape" ? "`x = reshape(x, [2, 3])` gives x another shape" : "";
    if (object.is(Tag::list))
      hint = "an item of a list is set with brackets, `xs[0] = v`; a record has fields: `{a: 1}`";
    if (object.is(Tag::map)) hint = fmt::format("a value of a map is set with brackets: `m[\"{}\"] = v`", *field);
    fail_with(ErrorName::not_assignable, fmt::format("cannot set field '{}' of {}", *field, type_name(object)),
              hints_of(hint.empty() ? hint_for_nil(object) : std::move(hint)));
  }
  make_unique<Record>(object).set(field, std::move(value));
}

// ---- Loops -----------------------------------------------------------------------------------------

namespace {

bool next_item(const std::vector<Value>& items, int64_t& state, Value& item) {
  if (state >= static_cast<int64_t>(items.size())) return false;
  item = items[static_cast<size_t>(state++)];
  return true;
}

bool next_number(const Range& range, int64_t& state, Value& item) {
  const Dim at = dim_of(range.begin) + Dim(state);
  if (!(at < dim_of(range.end))) return false;
  item = from_dim(at);
  ++state;
  return true;
}

bool next_pair(const Value& container, int64_t& state, Value& item) {
  Value key, value;
  if (!next_entry(container, state, key, value)) return false;
  Ref<Tuple> entry = make_ref<Tuple>();
  entry->items.reserve(2);
  entry->items.push_back(std::move(key));
  entry->items.push_back(std::move(value));
  item = Value(std::move(entry));
  return true;
}

bool next_row(Context& context, const Tensor& x, int64_t& state, Value& item) {
  if (x.rank() == 0) fail(ErrorName::not_iterable, "cannot loop over {}: it has no axis", describe(x));
  if (!(Dim(state) < x.shape()[0])) return false;
  item = Value(context.ops().call(Op::select, {x}, {.axis = 0, .start = state++}));
  return true;
}

bool next_complex(Context& context, const Value& z, int64_t& state, Value& item) {
  int64_t other = state;
  Value im;
  if (!next_row(context, complex_part(z, false).tensor(), state, item)) return false;
  next_row(context, complex_part(z, true).tensor(), other, im);
  item = make_complex(context, std::move(item), std::move(im));
  return true;
}

}  // namespace

bool next_character(const std::string& text, int64_t& state, Value& item) {
  const auto at = static_cast<size_t>(state);
  if (at >= text.size()) return false;
  const size_t width = utf8_width(text, at);
  const auto character = std::string_view(text).substr(at, width);
  if (item.is(Tag::string) && item.unique()) item.as<String>().assign(character);  // of the loop's last turn
  else item = make_string(std::string(character));
  state += static_cast<int64_t>(width);
  return true;
}

bool iterate(Context& context, const Value& iterable, int64_t& state, Value& item) {
  if (iterable.is(Tag::list)) return next_item(iterable.as<List>().items, state, item);
  if (iterable.is(Tag::range)) return next_number(iterable.as<Range>(), state, item);
  if (iterable.is(Tag::tuple)) return next_item(iterable.as<Tuple>().items, state, item);
  if (is_complex_tensor(iterable)) return next_complex(context, iterable, state, item);
  if (has_entries(iterable)) return next_pair(iterable, state, item);
  if (iterable.is(Tag::tensor)) return next_row(context, iterable.tensor(), state, item);
  if (is_text(iterable)) return next_character(expect_string(context, iterable, "str"), state, item);
  fail_with(ErrorName::not_iterable, fmt::format("cannot loop over {}", type_name(iterable)),
            hints_of(hint_for_loop(iterable)));
}

}  // namespace tsl
