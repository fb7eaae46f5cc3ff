#include "value/value.h"

namespace tsl {

namespace {

// Values that may hold many others are taken apart with a list of work, because recursion as deep as the
// nesting (a long linked chain) would overflow the stack.
bool holds_values(const Value& v) {
  switch (v.tag()) {
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
    case Tag::function:
    case Tag::builtin:
    case Tag::cell:
    case Tag::module:
    case Tag::lazy_string: return true;
    case Tag::nil:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::range:
    case Tag::tensor: return false;
  }
  return false;
}

void move_out(std::vector<Value>& items, std::vector<Value>& pending) {
  for (Value& item : items) {
    if (item.is(Tag::tensor)) item.take_tensor();  // goes here, as what holds many values mostly holds tensors
    else if (holds_values(item)) pending.push_back(std::move(item));
  }
}

/// Moves the values inside a container that is about to go to `pending`, unless they hold none themselves.
void move_parts_out(Tag tag, Object* object, std::vector<Value>& pending) {
  switch (tag) {
    case Tag::list: return move_out(static_cast<List*>(object)->items, pending);
    case Tag::tuple: return move_out(static_cast<Tuple*>(object)->items, pending);
    case Tag::record: return move_out(static_cast<Record*>(object)->values, pending);
    case Tag::builtin: return move_out(static_cast<BuiltinFunction*>(object)->bound, pending);
    case Tag::function:
      for (Ref<Cell>& cell : static_cast<Function*>(object)->captures) pending.push_back(Value(std::move(cell)));
      static_cast<Function*>(object)->captures.clear();
      return;
    case Tag::cell: {
      Value& value = static_cast<Cell*>(object)->value;
      if (holds_values(value)) pending.push_back(std::move(value));
      return;
    }
    case Tag::module:
      for (auto& entry : static_cast<Module*>(object)->exports) pending.push_back(Value(std::move(entry.second)));
      static_cast<Module*>(object)->exports.clear();
      return;
    case Tag::lazy_string:
      for (LazyString::Piece& piece : static_cast<LazyString*>(object)->pieces) {
        if (holds_values(piece.value)) pending.push_back(std::move(piece.value));
      }
      return;
    case Tag::nil:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::dtype:
    case Tag::absent:
    case Tag::symbol:
    case Tag::string:
    case Tag::range:
    case Tag::tensor: return;
  }
}

void destroy(Tag tag, Object* object) {
  std::vector<Value> pending;
  move_parts_out(tag, object, pending);
  delete object;
  while (!pending.empty()) {
    Value value = std::move(pending.back());
    pending.pop_back();
    if (!holds_values(value) || !value.unique()) continue;
    // Nothing nested is left in it when it goes.
    tag = value.tag();
    object = value.take_object();
    move_parts_out(tag, object, pending);
    delete object;
  }
}

}  // namespace

Value::Value(Scalar s) {
  switch (s.type) {
    case ScalarType::boolean: *this = Value(s.boolean); break;
    case ScalarType::integer: *this = Value(s.integer); break;
    case ScalarType::real: *this = Value(s.real); break;
  }
}

void Value::release_counted() {
  const Tag tag = std::exchange(tag_, Tag::nil);
  if (tag == Tag::tensor) {
    if (payload_.tensor->release()) TensorData::destroy(payload_.tensor);
  } else if (payload_.object->release()) {
    if (tag == Tag::string || tag == Tag::range) delete payload_.object;
    else destroy(tag, payload_.object);
  }
}

int RecordKeys::find(Name name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

Value* Record::find(Name name) {
  const int at = keys ? keys->find(name) : -1;
  return at < 0 ? nullptr : &values[static_cast<size_t>(at)];
}

void Record::set(Name name, Value value) {
  if (Value* slot = find(name)) {
    *slot = std::move(value);
    return;
  }
  if (!keys.unique()) {
    Ref<RecordKeys> copy = make_ref<RecordKeys>();
    if (keys) copy->names = keys->names;
    keys = std::move(copy);
  }
  keys->names.push_back(name);
  values.push_back(std::move(value));
}

Cell* Module::find(Name name) const {
  for (auto entry = exports.rbegin(); entry != exports.rend(); ++entry) {  // a later declaration hides an earlier one
    if (entry->first == name) return entry->second.get();
  }
  return nullptr;
}

Value make_string(std::string text) { return Value(make_ref<String>(std::move(text))); }

Value make_list(std::vector<Value> items) {
  Ref<List> list = make_ref<List>();
  list->items = std::move(items);
  return Value(std::move(list));
}

Value make_tuple(std::vector<Value> items) {
  Ref<Tuple> tuple = make_ref<Tuple>();
  tuple->items = std::move(items);
  return Value(std::move(tuple));
}

Value make_record(std::vector<std::pair<Name, Value>> entries) {
  Ref<Record> record = make_ref<Record>();
  record->keys = make_ref<RecordKeys>();
  for (auto& [name, value] : entries) record->set(name, std::move(value));
  return Value(std::move(record));
}

const char* type_name(const Value& value) {
  switch (value.tag()) {
    case Tag::nil:
    case Tag::absent: return "nil";
    case Tag::boolean: return "bool";
    case Tag::integer: return "int";
    case Tag::real: return "float";
    case Tag::dtype: return "dtype";
    case Tag::symbol:
      switch (value.symbol()->hint.type) {
        case ScalarType::boolean: return "bool";
        case ScalarType::integer: return "int";
        case ScalarType::real: return "float";
      }
      return "int";
    case Tag::string:
    case Tag::lazy_string: return "str";
    case Tag::list: return "list";
    case Tag::tuple: return "tuple";
    case Tag::record: return "record";
    case Tag::range: return "range";
    case Tag::function:
    case Tag::builtin: return "function";
    case Tag::module: return "module";
    case Tag::tensor: return "tensor";
    case Tag::cell: return "cell";
  }
  return "nil";
}

}  // namespace tsl
