// Dispatches x[…] by the type of x, and implements it for everything but tensors.
#include "vm/indexing.h"

#include "base/error.h"
#include "value/context.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/runtime.h"
#include "value/utf8.h"
#include "vm/arguments.h"
#include "vm/indexing.h"
#include "vm/indexing_tensor.h"
#include "vm/operators.h"

namespace tsl {

namespace {

const IndexItem& only_item(std::span<const IndexItem> items, const Value& object) {
  if (items.size() == 1 && items[0].kind != IndexItem::Kind::ellipsis) return items[0];
  fail(ErrorKind::index, "a {} takes one index or slice", type_name(object));
}

int64_t position(Context& context, const Value& index, size_t length, const Value& object) {
  const int64_t given = index.is(Tag::integer) ? index.integer() : expect_int(context, index, "an index");
  const int64_t at = given < 0 ? given + static_cast<int64_t>(length) : given;
  if (at < 0 || at >= static_cast<int64_t>(length)) {
    fail(ErrorKind::index, "index {} is out of range for a {} of length {}", given, type_name(object), length);
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
  for (int64_t i = 0; i < at.count; ++i) result.push_back(items[static_cast<size_t>(at.start + i * at.step)]);
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
  if (at.step == 1) return make_string(std::string(characters(at.start, at.start + at.count)));
  std::string result;
  for (int64_t i = 0, n = at.start; i < at.count; ++i, n += at.step) result += characters(n, n + 1);
  return make_string(std::move(result));
}

Value get_in_range(Context& context, const Value& object, const IndexItem& item) {
  const Range& range = object.as<Range>();
  const Dim begin = dim_of(range.begin), end = dim_of(range.end);
  const Dim length = end < begin ? Dim(0) : end - begin;
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
  std::vector<Value> items;
  for (int64_t i = 0, n = bounds.count.pin(); i < n; ++i)
    items.push_back(from_dim(begin + bounds.start + Dim(i * bounds.step)));
  return make_list(std::move(items));
}

std::vector<std::string> keys_of(const Record& record) {
  std::vector<std::string> keys;
  if (record.keys)
    for (Name name : record.keys->names) keys.push_back(*name);
  return keys;
}

std::vector<std::string> suggestion(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  if (near.empty()) return {};
  return {fmt::format("did you mean '{}'?", near)};
}

[[noreturn]] void unknown_key(const Record& record, const std::string& key) {
  fail_with(ErrorKind::index, fmt::format("the record has no key '{}'", key), suggestion(key, keys_of(record)));
}

Name key_of(Context& context, const IndexItem& item) {
  if (item.kind != IndexItem::Kind::value) fail(ErrorKind::type, "a record is indexed by a key, not by a slice");
  return context.names().intern(expect_string(context, item.value, "a record's key"));
}

/// Returns the payload of `object` for a change, after copying it if it is shared.
template <class T> T& make_unique(Value& object) {
  if (!object.unique()) {
    object = Value(make_ref<T>(object.as<T>()));
    object.as<T>().count_bytes();
  }
  return object.as<T>();
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
    fail(ErrorKind::value, "cannot assign {} items to a slice of {}", given.size(), at.count);
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

}  // namespace

Value get_index(Context& context, const Value& object, std::span<const IndexItem> items) {
  if (object.is(Tag::tensor)) return tensor_get(context, object.tensor(), items);
  if (object.is(Tag::list) || object.is(Tag::tuple)) {
    const bool is_list = object.is(Tag::list);
    const std::vector<Value>& sequence = is_list ? object.as<List>().items : object.as<Tuple>().items;
    const IndexItem& item = only_item(items, object);
    if (item.kind == IndexItem::Kind::value) {
      return sequence[static_cast<size_t>(position(context, item.value, sequence.size(), object))];
    }
    std::vector<Value> part = slice_items(context, sequence, item);
    return is_list ? make_list(std::move(part)) : make_tuple(std::move(part));
  }
  if (object.is(Tag::record)) {
    const Name key = key_of(context, only_item(items, object));
    if (Value* found = object.as<Record>().find(key)) return *found;
    unknown_key(object.as<Record>(), *key);
  }
  if (object.is(Tag::string) || object.is(Tag::lazy_string))
    return get_in_string(context, object, only_item(items, object));
  if (object.is(Tag::range)) return get_in_range(context, object, only_item(items, object));
  fail(ErrorKind::type, "cannot index {}", type_name(object));
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
  if (object.is(Tag::record))
    return set_field(context, object, key_of(context, only_item(items, object)), std::move(value));
  fail(ErrorKind::type, "cannot assign to an element of {}", type_name(object));
}

void update_index(Context& context, Value& object, std::span<const IndexItem> items, ast::BinaryOp op,
                  const Value& value) {
  if (object.is(Tag::tensor)) return tensor_update(context, object, items, op, value);
  set_index(context, object, items, binary(context, op, get_index(context, object, items), value));
}

// ---- Fields ----------------------------------------------------------------------------------------

namespace {

constexpr const char* kTensorFields[] = {"shape", "dtype", "rank", "ndim", "T", "size", "device"};

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

[[noreturn]] void unknown_field(const std::string& owner, const std::string& field,
                                const std::vector<std::string>& known) {
  fail_with(ErrorKind::name, fmt::format("{} has no field '{}'", owner, field), suggestion(field, known));
}

Value module_field(Context& context, const Module& module, Name field) {
  if (Cell* cell = module.find(field)) {
    if (context.runtime().is_tracing()) context.runtime().enter(*cell);
    if (!cell->is_set)
      fail(ErrorKind::name, "'{}' of module {} is used before its declaration has run", *field, module.name);
    return cell->value;
  }
  std::vector<std::string> known;
  for (const auto& [name, cell] : module.exports) known.push_back(*name);
  unknown_field("module " + module.name, *field, known);
}

}  // namespace

std::span<const char* const> tensor_fields() { return kTensorFields; }

Value get_field(Context& context, const Value& object, Name field) {
  if (object.is(Tag::record)) {
    Record& record = object.as<Record>();
    if (const Value* found = record.find(field)) return *found;
    unknown_field("the record", *field, keys_of(record));
  }
  if (object.is(Tag::tensor)) {
    Value found = tensor_field(context, object.tensor(), *field);
    if (!found.is_nil()) return found;
    unknown_field(describe(object.tensor()), *field, {std::begin(kTensorFields), std::end(kTensorFields)});
  }
  if (object.is(Tag::module)) return module_field(context, object.as<Module>(), field);
  unknown_field(type_name(object), *field, {});
}

void set_field(Context&, Value& object, Name field, Value value) {
  if (!object.is(Tag::record)) fail(ErrorKind::type, "cannot set field '{}' of {}", *field, type_name(object));
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

bool next_entry(const Record& record, int64_t& state, Value& item) {
  const auto at = static_cast<size_t>(state);
  if (at >= record.values.size()) return false;
  Ref<Tuple> entry = make_ref<Tuple>();
  entry->items.reserve(2);
  entry->items.push_back(make_string(*record.keys->names[at]));
  entry->items.push_back(record.values[at]);
  item = Value(std::move(entry));
  ++state;
  return true;
}

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

bool next_row(Context& context, const Tensor& x, int64_t& state, Value& item) {
  if (x.rank() == 0) fail(ErrorKind::type, "cannot loop over {}: it has no axis", describe(x));
  if (!(Dim(state) < x.shape()[0])) return false;
  item = Value(context.ops().call(Op::select, {x}, {.axis = 0, .start = state++}));
  return true;
}

}  // namespace

bool iterate(Context& context, const Value& iterable, int64_t& state, Value& item) {
  if (iterable.is(Tag::list)) return next_item(iterable.as<List>().items, state, item);
  if (iterable.is(Tag::range)) return next_number(iterable.as<Range>(), state, item);
  if (iterable.is(Tag::tuple)) return next_item(iterable.as<Tuple>().items, state, item);
  if (iterable.is(Tag::record)) return next_entry(iterable.as<Record>(), state, item);
  if (iterable.is(Tag::tensor)) return next_row(context, iterable.tensor(), state, item);
  if (iterable.is(Tag::string) || iterable.is(Tag::lazy_string))
    return next_character(expect_string(context, iterable, "str"), state, item);
  fail(ErrorKind::type, "cannot loop over {}", type_name(iterable));
}

}  // namespace tsl
