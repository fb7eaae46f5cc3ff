// bounded loops: freeing takes less time than making did, and may not fail; names are found in a table that is half
// empty, and are counted where they are made.
#include "value/value.h"

#include <bit>
#include <functional>
#include <string_view>

#include "base/seeded_hash.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

bool holds_values(const Value& v) {
  switch (v.tag()) {
    case Tag::list:
    case Tag::tuple:
    case Tag::record:
    case Tag::map:
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
    case Tag::foreign:
    case Tag::tensor: return false;
  }
  return false;
}

/// Frees an object and all that only it holds. Recursion as deep as the nesting (a long linked chain) would overflow
/// the stack, and a destructor must not allocate: what waits to be freed is a list threaded through its own first
/// parts.
class Destruction {
 public:
  explicit Destruction(Value last) { add(std::move(last)); }
  void run() {
    for (;;) {
      if (Function* function = std::exchange(functions_, functions_ ? functions_->next : nullptr)) free(function);
      else if (!waiting_.is_nil()) free_container();
      else return;
    }
  }

 private:
  /// Adds a value that nothing else references. Its first part makes room for the link, and is added in its turn.
  void add(Value value) {
    while (holds_values(value) && !value.is(Tag::module)) {
      if (value.is(Tag::function)) return add_function(static_cast<Function*>(value.take_object()));
      const Tag tag = value.tag();
      Object* object = value.take_object();
      Value* first = first_part(tag, object);
      if (!first) {
        delete object;
        return;
      }
      value = std::exchange(*first, std::move(waiting_));
      waiting_ = Value::adopt(tag, object);
      if (!value.unique()) return;
    }
    if (value.is(Tag::module)) free_module(static_cast<Module*>(value.take_object()));
  }

  void add_function(Function* function) {
    function->leave_ring();
    function->next = std::exchange(functions_, function);
  }

  void free(Function* function) {
    function->next = nullptr;
    for (Ref<Cell>& cell : function->captures) release(Value(std::move(cell)));
    delete function;
  }

  /// Recursion is only as deep as modules import each other.
  void free_module(Module* module) {
    for (auto& entry : module->exports) release(Value(std::move(entry.second)));
    delete module;
  }

  void free_container() {
    const Tag tag = waiting_.tag();
    Object* object = waiting_.take_object();
    waiting_ = std::move(*first_part(tag, object));
    if (std::vector<Value>* items = elements_of::values_in(tag, object)) {
      for (Value& item : *items) add_part(item);
    } else if (tag == Tag::lazy_string) {
      for (LazyString::Piece& piece : static_cast<LazyString*>(object)->pieces) add_part(piece.value);
    }
    delete object;
  }

  void add_part(Value& part) {
    if (part.is(Tag::tensor)) part.take_tensor();  // here, as what holds many values mostly holds tensors
    else if (holds_values(part)) release(std::move(part));
  }

  /// Releases one reference, at once: the same object may be another part of what is being freed.
  void release(Value part) {
    if (part.unique()) add(std::move(part));
  }

  static Value* first_part(Tag tag, Object* object) {
    if (std::vector<Value>* items = elements_of::values_in(tag, object))
      return items->empty() ? nullptr : items->data();
    if (tag == Tag::cell) return &static_cast<Cell*>(object)->value;
    std::vector<LazyString::Piece>& pieces = static_cast<LazyString*>(object)->pieces;
    return pieces.empty() ? nullptr : &pieces[0].value;
  }

  Value waiting_;                  // the first container that waits; its first part is the next one
  Function* functions_ = nullptr;  // likewise; `next` is the next one
};

}  // namespace

void List::open() {
  std::vector<Value> all = prefix->elements();
  all.insert(all.end(), items.begin(), items.end());
  items = std::move(all);
  prefix = nullptr;
  count_bytes();
}

Value with_items(const Value& list, const std::vector<Value>& more) {
  if (more.empty()) return list;
  const std::vector<Value>& items = list.as<List>().items;
  std::vector<Value> all;
  all.reserve(items.size() + more.size());
  polled_each(items.size(), 2, [&](size_t i) { all.push_back(items[i]); });
  all.insert(all.end(), more.begin(), more.end());
  return make_list(std::move(all));
}

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
    if (tag == Tag::string || tag == Tag::range || tag == Tag::foreign) delete payload_.object;
    else Destruction(adopt(tag, payload_.object)).run();
  }
}

namespace {

// Texts that are shorter are read again at each use: that takes less time than an index.
constexpr size_t kMinIndexedBytes = 128;

}  // namespace

void String::compute_hash() const {
  count_work(static_cast<int64_t>(text.size() / 8));
  hash_ = static_cast<uint32_t>(seeded_hash(text));
  hashed_size_ = text.size();
}

Name String::find_name(const Interner& names) const {
  const Name found = names.find(text);
  name_ = HeldName(found);
  return found;
}

CodePoints String::code_points() const {
  if (text.size() < kMinIndexedBytes) return CodePoints(text);
  if (!index_) index_ = std::make_unique<CodePointIndex>();
  index_->extend(text);
  return CodePoints(text, *index_);
}

namespace {

// Comparing this many names takes no longer than a look into a hash table.
constexpr size_t kMaxLinearNames = 16;

/// Spreads the addresses of names, which are multiples of 16, over the slots of a table of a power of two.
size_t slot_of(Name name, size_t slots) {
  return static_cast<size_t>(reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
}

}  // namespace

int RecordKeys::find(Name name) const {
  const HeldName* const begin = names.data();
  const HeldName* const end = begin + names.size();
  if (static_cast<size_t>(end - begin) > kMaxLinearNames) return find_hashed(name);
  for (const HeldName* at = begin; at != end; ++at) {
    if (*at == name) return static_cast<int>(at - begin);
  }
  return -1;
}

int RecordKeys::find_hashed(Name name) const {
  for (size_t at = slot_of(name, slots_.size()); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    if (names[slots_[at] - 1] == name) return static_cast<int>(slots_[at] - 1);
  }
  return -1;
}

void RecordKeys::add(Name name) {
  if (names.size() == names.capacity()) make_room();
  names.emplace_back(name);
  is_complex = false;
  if (names.size() <= kMaxLinearNames) return;
  if (2 * names.size() <= slots_.size()) return hash(names.size() - 1);
  slots_.assign(std::bit_ceil(4 * names.size()), 0);
  for (size_t i = 0; i < names.size(); ++i) hash(i);
}

/// Counts the room before it is taken, so that a refused name leaves as many names as a record has values.
void RecordKeys::make_room() {
  constexpr size_t kLeast = 4;
  const auto bytes_of = [](size_t capacity) {
    const size_t slots = capacity <= kMaxLinearNames ? 0 : 4 * capacity;
    return sizeof(RecordKeys) + capacity * sizeof(HeldName) + slots * sizeof(uint32_t);
  };
  const size_t capacity = std::max(kLeast, 2 * names.capacity());
  require_host_bytes(bytes_of(capacity) - bytes_of(names.capacity()));
  names.reserve(capacity);
  bytes_.note(bytes_of(capacity));
}

void RecordKeys::hash(size_t position) {
  size_t at = slot_of(names[position], slots_.size());
  while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = static_cast<uint32_t>(position + 1);
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
  if (!keys.unique()) keys = keys ? make_ref<RecordKeys>(*keys) : make_ref<RecordKeys>();
  keys->add(name);
  values.push_back(std::move(value));
  count_bytes();
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
  list->count_bytes();
  return Value(std::move(list));
}

Value make_tuple(std::vector<Value> items) {
  Ref<Tuple> tuple = make_ref<Tuple>();
  tuple->items = std::move(items);
  tuple->count_bytes();
  return Value(std::move(tuple));
}

Value make_record(std::vector<std::pair<Name, Value>> entries) {
  Ref<Record> record = make_ref<Record>();
  record->keys = make_ref<RecordKeys>();
  for (auto& [name, value] : entries) record->set(name, std::move(value));
  return Value(std::move(record));
}

std::span<const char* const> tensor_fields() {
  static constexpr const char* kFields[] = {"shape", "dtype", "rank", "ndim", "T", "size", "device"};
  return kFields;
}

bool is_complex(const Value& value) {
  if (!value.is(Tag::record)) return false;
  const Record& record = value.as<Record>();
  if (!record.has_complex_keys()) return false;
  const auto is_part = [](const Value& v) {
    return v.is(Tag::tensor) || v.is(Tag::real) || v.is(Tag::integer) || v.is(Tag::symbol);
  };
  return is_part(record.values[0]) && is_part(record.values[1]) &&
         record.values[0].is(Tag::tensor) == record.values[1].is(Tag::tensor);
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
    case Tag::record: return is_complex(value) ? "complex" : "record";
    case Tag::map: return "map";
    case Tag::range: return "range";
    case Tag::function:
    case Tag::builtin: return "function";
    case Tag::module: return "module";
    case Tag::foreign: return value.as<Foreign>().type->name.c_str();
    case Tag::tensor: return "tensor";
    case Tag::cell: return "cell";
  }
  return "nil";
}

}  // namespace tsl
