// Values: making and reading them.
#include <fmt/format.h>

#include "api/host.h"
#include "base/error_names.h"
#include "drawing/braille.h"
#include "syntax/unicode.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/result_display.h"
#include "vm/keys.h"

using namespace tsl;
using namespace tsl::api;

namespace {

tsl_status make(tsl_engine engine, tsl_value* result, auto&& value) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    host.put(result, value(host));
  });
}

std::vector<Value> values_of(const Host& host, const tsl_value* handles, size_t count, const char* argument) {
  require_array(handles, count, argument);
  std::vector<Value> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = host.value(handles[i], fmt::format("{}[{}]", argument, i));
  return values;
}

tsl_kind kind_of_value(const Value& value) {
  switch (value.tag()) {
    case Tag::nil:
    case Tag::absent: return TSL_KIND_NIL;
    case Tag::boolean: return TSL_KIND_BOOL;
    case Tag::integer: return TSL_KIND_INT;
    case Tag::real: return TSL_KIND_FLOAT;
    case Tag::symbol: return value.symbol()->hint.type == ScalarType::real ? TSL_KIND_FLOAT : TSL_KIND_INT;
    case Tag::dtype: return TSL_KIND_DTYPE;
    case Tag::string:
    case Tag::lazy_string: return TSL_KIND_STRING;
    case Tag::list: return TSL_KIND_LIST;
    case Tag::tuple: return TSL_KIND_TUPLE;
    case Tag::record:
      if (is_complex(value)) return is_complex_tensor(value) ? TSL_KIND_TENSOR : TSL_KIND_COMPLEX;
      return TSL_KIND_RECORD;
    case Tag::map: return TSL_KIND_MAP;
    case Tag::range: return TSL_KIND_RANGE;
    case Tag::function:
    case Tag::builtin:
    case Tag::cell: return TSL_KIND_FUNCTION;
    case Tag::module: return TSL_KIND_MODULE;
    case Tag::foreign: return TSL_KIND_FOREIGN;
    case Tag::tensor: return TSL_KIND_TENSOR;
  }
  return TSL_KIND_NIL;
}

/// Reads something of a value: read(host, value).
tsl_status read(tsl_engine engine, tsl_value handle, const void* result, auto&& body) {
  return run_call(engine, [&](Host& host) {
    require_pointer(result, "result");
    body(host, host.value(handle, "value"));
  });
}

[[noreturn]] void wrong_kind(const Value& value, const char* expected) {
  throw Misuse{fmt::format("'value' is {}, not {}", type_name(value), expected)};
}

/// Returns the element of a tensor of rank 0, and any other value as it is.
Value element_of(Host& host, const Value& value) {
  if (!value.is(Tag::tensor) || value.tensor().rank() > 0) return value;
  return read_item(host.engine(), value.tensor());
}

std::span<const Value> items_of(const Value& value) {
  if (value.is(Tag::list)) return value.as<List>().items;
  if (value.is(Tag::tuple)) return value.as<Tuple>().items;
  if (value.is(Tag::record)) return value.as<Record>().values;
  if (value.is(Tag::map)) return value.as<Map>().values;  // without removed keys: see Host::put()
  wrong_kind(value, "a list, a tuple, a record or a map");
}

void require_index(size_t index, size_t count) {
  if (index >= count) fail(ErrorName::index_out_of_range, "there is no item {} of {}", index, count);
}

}  // namespace

tsl_status tsl_new_nil(tsl_engine engine, tsl_value* result) {
  return make(engine, result, [](Host&) { return Value(); });
}
tsl_status tsl_new_bool(tsl_engine engine, bool value, tsl_value* result) {
  return make(engine, result, [=](Host&) { return Value(value); });
}
tsl_status tsl_new_int(tsl_engine engine, int64_t value, tsl_value* result) {
  return make(engine, result, [=](Host&) { return Value(value); });
}
tsl_status tsl_new_float(tsl_engine engine, double value, tsl_value* result) {
  return make(engine, result, [=](Host&) { return Value(value); });
}

tsl_status tsl_new_complex(tsl_engine engine, double re, double im, tsl_value* result) {
  return make(engine, result, [=](Host& host) { return make_complex(host.engine(), re, im); });
}

tsl_status tsl_new_string(tsl_engine engine, tsl_string text, tsl_value* result) {
  return make(engine, result, [=](Host&) {
    const std::string_view given = text_of(text, "text");
    if (find_invalid_utf8(given) != std::string_view::npos) fail(ErrorName::text_not_utf8, "the text is no UTF-8");
    return make_string(std::string(given));
  });
}

tsl_status tsl_new_list(tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result) {
  return make(engine, result, [=](Host& host) { return make_list(values_of(host, items, count, "items")); });
}

tsl_status tsl_new_tuple(tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result) {
  return make(engine, result, [=](Host& host) { return make_tuple(values_of(host, items, count, "items")); });
}

tsl_status tsl_new_record(tsl_engine engine, const tsl_string* keys, const tsl_value* values, size_t count,
                          tsl_value* result) {
  return make(engine, result, [=](Host& host) {
    require_array(keys, count, "keys");
    std::vector<Value> items = values_of(host, values, count, "values");
    Ref<Record> record = make_ref<Record>();
    record->keys = make_ref<RecordKeys>();
    for (size_t i = 0; i < count; ++i) {
      const HeldName key(host.engine().names(), text_of(keys[i], "keys"));
      if (record->keys->find(key) >= 0) fail(ErrorName::key_already_there, "the record has the key '{}' already", *key);
      record->set(key, std::move(items[i]));
    }
    return Value(std::move(record));
  });
}

tsl_status tsl_new_map(tsl_engine engine, const tsl_value* keys, const tsl_value* values, size_t count,
                       tsl_value* result) {
  return make(engine, result, [=](Host& host) {
    const std::vector<Value> given = values_of(host, keys, count, "keys");
    std::vector<Value> items = values_of(host, values, count, "values");
    Ref<Map> map = make_ref<Map>();
    for (size_t i = 0; i < count; ++i) {
      const Value key = as_key(host.engine(), given[i]);
      if (map->find(key)) fail(ErrorName::key_already_there, "the map has the key {} already", key_label(key));
      map->set(key, std::move(items[i]));
    }
    return Value(std::move(map));
  });
}

tsl_status tsl_retain(tsl_engine engine, tsl_value value, tsl_value* result) {
  return make(engine, result, [=](Host& host) { return host.value(value, "value"); });
}

tsl_status tsl_release(tsl_engine engine, tsl_value value) {
  return run_call(engine, [=](Host& host) {
    if (value.id != 0 && !host.handles().release(value)) host.value(value, "value");  // which says what is wrong
  });
}

tsl_status tsl_scope_begin(tsl_engine engine) {
  return run_call(engine, [](Host& host) { host.handles().begin_scope(); });
}

tsl_status tsl_scope_end(tsl_engine engine, tsl_value kept) {
  return run_call(engine, [=](Host& host) {
    if (kept.id != 0) host.value(kept, "kept");
    if (!host.handles().end_scope(kept)) throw Misuse{"no scope has begun"};
  });
}

tsl_status tsl_get_kind(tsl_engine engine, tsl_value value, tsl_kind* kind) {
  return read(engine, value, kind, [=](Host&, const Value& v) { *kind = kind_of_value(v); });
}

tsl_status tsl_get_bool(tsl_engine engine, tsl_value value, bool* result) {
  return read(engine, value, result, [=](Host& host, const Value& given) {
    const Value v = element_of(host, given);
    if (!v.is(Tag::boolean)) wrong_kind(v, "a bool");
    *result = v.boolean();
  });
}

tsl_status tsl_get_int(tsl_engine engine, tsl_value value, int64_t* result) {
  return read(engine, value, result, [=](Host& host, const Value& given) {
    const Value v = element_of(host, given);
    if (!v.is(Tag::integer)) wrong_kind(v, "an int");
    *result = v.integer();
  });
}

double tsl::api::number_of(Host& host, const Value& value, const char* expected) {
  if (value.is(Tag::real)) return value.real();
  const Value v = element_of(host, value);
  if (!v.is_number()) wrong_kind(v, expected);
  return v.is(Tag::real) ? v.real() : static_cast<double>(v.integer());
}

tsl_status tsl_get_float(tsl_engine engine, tsl_value value, double* result) {
  return read(engine, value, result, [=](Host& host, const Value& given) { *result = number_of(host, given); });
}

tsl_status tsl_get_complex(tsl_engine engine, tsl_value value, double* re, double* im) {
  return read(engine, value, re, [=](Host& host, const Value& given) {
    require_pointer(im, "im");
    const auto number = [&](bool is_imaginary) {
      return number_of(host, complex_part(given, is_imaginary), "a complex number");
    };
    const double first = number(false);
    *im = number(true);
    *re = first;
  });
}

tsl_status tsl_get_string(tsl_engine engine, tsl_value value, tsl_string* result) {
  return read(engine, value, result, [=](Host&, const Value& v) {
    if (!v.is(Tag::string)) wrong_kind(v, "a str");
    *result = string_of(v.as<String>().text);
  });
}

tsl_status tsl_get_length(tsl_engine engine, tsl_value value, size_t* length) {
  return read(engine, value, length, [=](Host&, const Value& v) { *length = items_of(v).size(); });
}

tsl_status tsl_get_item(tsl_engine engine, tsl_value value, size_t index, tsl_value* result) {
  return read(engine, value, result, [=](Host& host, const Value& v) {
    const std::span<const Value> items = items_of(v);
    require_index(index, items.size());
    host.put(result, items[index]);
  });
}

tsl_status tsl_get_key(tsl_engine engine, tsl_value record, size_t index, tsl_string* key) {
  return read(engine, record, key, [=](Host&, const Value& v) {
    if (!v.is(Tag::record)) wrong_kind(v, "a record");
    require_index(index, v.as<Record>().values.size());
    *key = string_of(*v.as<Record>().keys->names[index]);
  });
}

tsl_status tsl_get_map_key(tsl_engine engine, tsl_value map, size_t index, tsl_value* result) {
  return read(engine, map, result, [=](Host& host, const Value& v) {
    if (!v.is(Tag::map)) wrong_kind(v, "a map");
    require_index(index, v.as<Map>().size());
    host.put(result, Value(v.as<Map>().keys->all()[index]));
  });
}

tsl_status tsl_get_map_value(tsl_engine engine, tsl_value map, tsl_value key, tsl_value* result) {
  return read(engine, map, result, [=](Host& host, const Value& v) {
    if (!v.is(Tag::map)) wrong_kind(v, "a map");
    const Value wanted = as_key(host.engine(), host.value(key, "key"));
    const Value* found = v.as<Map>().find(wanted);
    if (!found) fail(ErrorName::missing_key, "the map has no key {}", key_label(wanted));
    host.put(result, Value(*found));
  });
}

tsl_status tsl_get_field(tsl_engine engine, tsl_value record, tsl_string key, tsl_value* result) {
  return read(engine, record, result, [=](Host& host, const Value& v) {
    const std::string_view wanted = text_of(key, "key");
    const Name name = host.engine().names().find(wanted);
    const Value* found = nullptr;
    if (v.is(Tag::record)) {
      found = v.as<Record>().find(name);
    } else if (v.is(Tag::module)) {
      const Cell* const cell = v.as<Module>().find(name);
      if (cell && cell->is_set) found = &cell->value;
    } else {
      wrong_kind(v, "a record or a module");
    }
    if (!found) fail(ErrorName::unknown_field, "the {} has no '{}'", type_name(v), wanted);
    host.put(result, Value(*found));
  });
}

tsl_status tsl_display(tsl_engine engine, tsl_value value, tsl_string* text) {
  return read(engine, value, text, [=](Host& host, const Value& v) {
    const RunWatch::Scope scope(host.engine().watch, host.engine().options().limits);
    host.text = shown_result(host.engine(), v);
    *text = string_of(host.text);
  });
}

tsl_status tsl_to_text(tsl_engine engine, tsl_value value, tsl_string* text) {
  return read(engine, value, text, [=](Host& host, const Value& v) {
    const RunWatch::Scope scope(host.engine().watch, host.engine().options().limits);
    host.text = to_string(host.engine(), v);
    *text = string_of(host.text);
  });
}
