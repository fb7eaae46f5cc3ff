// Values of the language: 16 bytes, a tag and a payload. Heap payloads are reference-counted and copied on write.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/count_work.h"
#include "base/intern.h"
#include "base/ref.h"
#include "base/run_watch.h"
#include "base/source.h"
#include "tensor/scalar.h"
#include "tensor/tensor.h"
#include "value/code_points.h"

namespace tsl {

struct FunctionInfo;
struct Builtin;

enum class Tag : uint8_t {
  nil,
  boolean,
  integer,
  real,
  dtype,   // immediate
  absent,  // immediate: in a parameter's register, an argument that was not given; a dimension that is not bound yet
  symbol,  // immediate: a host number of a trace, whose value is only known as a hint
  // The tags from here on have counted payloads.
  string,
  list,
  tuple,
  record,
  map,
  range,
  function,
  builtin,
  module,
  foreign,
  tensor,
  lazy_string,
  cell,
};

struct Object : Counted {
  Object() { bytes_.note(kLeastBytes); }
  Object(const Object& other) : Counted(other) { bytes_.note(kLeastBytes); }
  Object& operator=(const Object&) = default;
  virtual ~Object() = default;
  /// Counts the bytes that the object takes now. Called when it is made, and after it has grown. Throws Failure
  /// (limit).
  void count_bytes(uint64_t bytes) { bytes_.set(bytes); }

 private:
  static constexpr uint64_t kLeastBytes = 96;  // about, with what the system's allocator adds

  HostBytes bytes_;
};

class Value;
struct String;
struct List;
struct Tuple;
struct Record;
struct Map;
struct Range;
struct Function;
struct BuiltinFunction;
struct Module;
struct Foreign;
struct TensorValue;
struct Cell;

/// A value. Copies share counted payloads; a payload is made unique before it is changed.
class Value {
 public:
  Value() = default;
  Value(bool v) : tag_(Tag::boolean) { payload_.integer = v ? 1 : 0; }
  Value(int64_t v) : tag_(Tag::integer) { payload_.integer = v; }
  Value(int v) : Value(static_cast<int64_t>(v)) {}
  Value(double v) : tag_(Tag::real) { payload_.real = v; }
  Value(DType v) : tag_(Tag::dtype) { payload_.integer = static_cast<int64_t>(v); }
  Value(const Symbol* s) : tag_(Tag::symbol) { payload_.symbol = s; }
  Value(Scalar s);
  static Value absent() {
    Value v(int64_t{0});
    v.tag_ = Tag::absent;
    return v;
  }
  /// A tensor's payload is the TensorData itself, without an Object.
  Value(const Tensor& t) : tag_(Tag::tensor) {
    payload_.tensor = t.get();
    payload_.tensor->retain();
  }
  template <class T>
  requires std::is_base_of_v<Object, T> Value(Ref<T> object) : tag_(T::kTag) { payload_.object = object.detach(); }

  Value(const Value& other) : tag_(other.tag_), payload_(other.payload_) { retain(); }
  Value(Value&& other) noexcept : tag_(std::exchange(other.tag_, Tag::nil)), payload_(other.payload_) {}
  Value& operator=(const Value& other) {
    Value copy(other);
    swap(copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    Value moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Value() { release(); }
  void swap(Value& other) noexcept {
    std::swap(tag_, other.tag_);
    std::swap(payload_, other.payload_);
  }

  /// Assigns a number. Equal to `=`, but faster; the interpreter's arithmetic depends on it.
  void become(int64_t v) {
    release();
    tag_ = Tag::integer;
    payload_.integer = v;
  }
  void become(double v) {
    release();
    tag_ = Tag::real;
    payload_.real = v;
  }
  /// Assigns a tensor, likewise.
  void become(const Tensor& t) {
    t->retain();
    release();
    tag_ = Tag::tensor;
    payload_.tensor = t.get();
  }

  Tag tag() const { return tag_; }
  bool is(Tag tag) const { return tag_ == tag; }
  bool is_nil() const { return tag_ == Tag::nil; }
  bool is_number() const { return tag_ == Tag::integer || tag_ == Tag::real; }  // host, not symbolic

  // Unchecked access: the tag must match.
  bool boolean() const {
    expect(Tag::boolean);
    return payload_.integer != 0;
  }
  int64_t integer() const {
    expect(Tag::integer);
    return payload_.integer;
  }
  double real() const {
    expect(Tag::real);
    return payload_.real;
  }
  DType dtype() const {
    expect(Tag::dtype);
    return static_cast<DType>(payload_.integer);
  }
  const Symbol* symbol() const {
    expect(Tag::symbol);
    return payload_.symbol;
  }
  Tensor tensor() const {
    expect(Tag::tensor);
    return Tensor(Ref<TensorData>(payload_.tensor));
  }
  TensorData* tensor_data() const {
    expect(Tag::tensor);
    return payload_.tensor;
  }
  template <class T> T& as() const {
    if constexpr (requires { T::kTag; }) expect(T::kTag);
    return *static_cast<T*>(payload_.object);
  }
  /// Moves the tensor out, and leaves nil.
  Tensor take_tensor() {
    expect(Tag::tensor);
    tag_ = Tag::nil;
    return Tensor(Ref<TensorData>::adopt(payload_.tensor));
  }

  /// Takes over an object and a count of it, as take_object() gives them.
  static Value adopt(Tag tag, Object* object) {
    Value v;
    v.tag_ = tag;
    v.payload_.object = object;
    return v;
  }
  /// Moves the object out, with the reference held here.
  Object* take_object() {
    tag_ = Tag::nil;
    return payload_.object;
  }

  /// Whether this is the only reference to its payload; always true for immediates.
  bool unique() const {
    if (!counted()) return true;
    return (tag_ == Tag::tensor ? payload_.tensor->use_count() : payload_.object->use_count()) == 1;
  }
  /// Whether both are the same object in memory, or the same immediate. For guards and caches, not for the language's
  /// `==`.
  friend bool identical(const Value& a, const Value& b) {
    return a.tag_ == b.tag_ && a.payload_.integer == b.payload_.integer;
  }

 private:
  void expect([[maybe_unused]] Tag tag) const { assert(tag_ == tag); }
  bool counted() const { return tag_ >= Tag::string; }
  void retain() const {
    if (!counted()) return;
    if (tag_ == Tag::tensor) payload_.tensor->retain();
    else payload_.object->retain();
  }
  void release() {
    if (counted()) release_counted();
  }
  void release_counted();

  Tag tag_ = Tag::nil;
  union Payload {
    int64_t integer = 0;
    double real;
    const Symbol* symbol;
    Object* object;
    TensorData* tensor;
  } payload_;
};
static_assert(sizeof(Value) == 16);

/// Whether a value is a string, formatted or lazy.
inline bool is_text(const Value& v) { return v.is(Tag::string) || v.is(Tag::lazy_string); }
/// Whether a value is a list or a tuple.
inline bool is_items(const Value& v) { return v.is(Tag::list) || v.is(Tag::tuple); }

/// A string. Its text may grow at its end, and is changed otherwise by assign() alone.
struct String : Object {
  static constexpr Tag kTag = Tag::string;
  std::string text;
  explicit String(std::string t) : text(std::move(t)) { count_bytes(); }
  void count_bytes() { Object::count_bytes(sizeof *this + text.capacity()); }
  /// Appends a text, after counting the room that it needs.
  void append(std::string_view more) {
    if (text.capacity() - text.size() < more.size()) {
      const size_t capacity = std::max(2 * text.capacity(), text.size() + more.size());
      require_host_bytes(capacity - text.capacity());
      text.reserve(capacity);
      count_bytes();
    }
    text += more;
  }
  /// Replaces the text.
  void assign(std::string_view t) {
    text = t;
    index_.reset();
    hashed_size_ = kNotHashed;
    name_ = {};
  }
  /// Returns the text's code points. A long text is indexed when it is first asked, and not read again.
  CodePoints code_points() const;
  /// Returns a hash of the text, which is computed when it is first asked.
  uint32_t hash() const {
    if (hashed_size_ != text.size()) compute_hash();
    return hash_;
  }
  /// Returns the text as a name; null if it is none.
  Name name(const Interner& names) const {
    return name_.is_of(names) && name_->size() == text.size() ? Name(name_) : find_name(names);
  }

 private:
  static constexpr size_t kNotHashed = SIZE_MAX;

  void compute_hash() const;
  Name find_name(const Interner& names) const;

  mutable std::unique_ptr<CodePointIndex> index_;
  mutable HeldName name_;                    // of this text, if it was asked for
  mutable size_t hashed_size_ = kNotHashed;  // of the text when it was hashed; it only grows since
  mutable uint32_t hash_ = 0;
};

/// An object that holds values in order: a list or a tuple.
struct Sequence : Object {
  std::vector<Value> items;
  /// Makes room for more items; a refused one leaves the list as it is.
  void make_room(size_t more) {
    if (reserve_counted(items, more)) count_bytes();
  }
  void count_bytes() { Object::count_bytes(sizeof *this + items.capacity() * sizeof(Value)); }
};

/// The elements of a list in a trace that come from an input, while nothing has looked at them: the trace does not
/// depend on them, nor on how many there are.
struct ListPrefix : Counted {
  virtual ~ListPrefix() = default;
  /// Returns the elements, as the code of the trace sees them.
  virtual std::vector<Value> elements() = 0;

  Value list;                      // of the input; nil where only its number in the run is known
  const Symbol* length = nullptr;  // how many elements it has
};

struct List : Sequence {
  static constexpr Tag kTag = Tag::list;
  Ref<ListPrefix> prefix;  // elements in front of `items`; null outside a trace
  /// Adds the elements of the prefix to the items.
  void open();
};

/// Returns a list without opening it: `items` are only those that follow its prefix.
inline List& unopened(const Value& list) { return static_cast<List&>(list.as<Object>()); }

/// Returns a list with more items at its end; the list itself if there are none.
Value with_items(const Value& list, const std::vector<Value>& more);

/// Opens the list: what looks at elements sees all of them.
template <> inline List& Value::as<List>() const {
  expect(Tag::list);
  List& list = unopened(*this);
  if (list.prefix) [[unlikely]]
    list.open();
  return list;
}

struct Tuple : Sequence {
  static constexpr Tag kTag = Tag::tuple;
};

template <> inline Sequence& Value::as<Sequence>() const {
  if (is(Tag::list)) return as<List>();
  return as<Tuple>();
}

/// Ordered string keys. Records of equal shape share their key list, so comparing pointers usually suffices.
struct RecordKeys : Counted {
  std::vector<HeldName> names;  // grows through add() alone
  bool is_complex = false;      // of complex numbers and tensors alone (make_complex()); add() makes others of them
  // What the file that the record was read from holds besides, by name, and why it was not read; null: nothing.
  std::shared_ptr<const std::vector<std::pair<std::string, std::string>>> unread;
  int find(Name name) const;  // -1 if there is no such key
  void add(Name name);        // appends a key, which must be new; throws Failure (limit)

 private:
  int find_hashed(Name name) const;
  void make_room();
  void hash(size_t position);

  std::vector<uint32_t> slots_;  // a hash table: position in `names` + 1, or 0; empty while there are few names
  HostBytes bytes_;
};

struct Record : Object {
  static constexpr Tag kTag = Tag::record;
  Ref<RecordKeys> keys;
  std::vector<Value> values;
  Value* find(Name name);
  void set(Name name, Value value);  // appends the key if it is new, after copying shared keys
  void count_bytes() { Object::count_bytes(sizeof *this + values.capacity() * sizeof(Value)); }
  /// Whether the keys are those of complex numbers.
  bool has_complex_keys() const { return keys && keys->is_complex; }
  /// Whether the keys are these, in this order, and those of complex numbers if these are.
  bool has_keys(const Ref<RecordKeys>& others) const {
    if (keys == others) return true;
    return keys && others && keys->is_complex == others->is_complex && keys->names == others->names;
  }
};

struct Range : Object {
  static constexpr Tag kTag = Tag::range;
  Value begin, end;  // ints or symbols; half-open
};

/// A captured variable.
struct Cell : Object {
  static constexpr Tag kTag = Tag::cell;
  Value value;
  bool is_set = false;      // using a module-level name before its declaration has run is an error
  bool is_mutable = false;  // `let` and `fn` cells never change after they are set, so they need no guards
};

/// A function of the language, with the cells it captured.
struct Function : Object {
  static constexpr Tag kTag = Tag::function;
  const FunctionInfo* info = nullptr;  // its signature and name, at the start of its Proto (bytecode.h)
  std::vector<Ref<Cell>> captures;
  // Links closures with captures in a ring, so that cycles through them can be found (cycles.h).
  Function* previous = nullptr;
  Function* next = nullptr;
  ~Function() override { leave_ring(); }
  void leave_ring() {
    if (!next) return;
    previous->next = next;
    next->previous = previous;
    next = previous = nullptr;
  }
};

/// A builtin, possibly with bound values (grad(f) binds f).
struct BuiltinFunction : Object {
  static constexpr Tag kTag = Tag::builtin;
  const Builtin* builtin = nullptr;
  std::vector<Value> bound;
  bool has_state = false;  // it depends on more than its bound values, so guards compare its identity
};

struct Module : Object {
  static constexpr Tag kTag = Tag::module;
  std::string name;
  std::string doc;
  std::vector<std::pair<Name, Ref<Cell>>> exports;
  Cell* find(Name name) const;
};

/// A type of the host program's values.
struct ForeignType {
  std::string name;
};

/// A value of the host program: programs pass it on, and compare it by identity. During a trace, inputs of this kind
/// are stand-ins with a symbol, so that no plan depends on one of them or keeps it alive.
struct Foreign final : Object {
  static constexpr Tag kTag = Tag::foreign;
  const ForeignType* type;
  void* data = nullptr;
  void (*finalizer)(void*) = nullptr;  // called with `data` by the destructor; null: nothing is called
  Value original;                      // of a stand-in
  const Symbol* symbol = nullptr;      // of a stand-in: its identity
  explicit Foreign(const ForeignType* t) : type(t) { count_bytes(sizeof *this); }
  ~Foreign() override {
    if (finalizer) finalizer(data);
  }
  /// Returns an int that no other foreign value has at the same time, or a symbol for one.
  Value identity() const {
    return symbol ? Value(symbol) : Value(static_cast<int64_t>(reinterpret_cast<intptr_t>(this)));
  }
};

/// Returns the foreign value itself, where `value` may be a stand-in for it.
inline const Value& original_of(const Value& value) {
  const Foreign& foreign = value.as<Foreign>();
  return foreign.symbol ? foreign.original : value;
}

/// A string whose pieces are formatted and joined when a compiled region runs.
struct LazyString : Object {
  static constexpr Tag kTag = Tag::lazy_string;
  struct Piece {
    Value value;       // a string, or any argument of str(), including deferred tensors and symbols
    std::string spec;  // format spec of an f-string
  };
  std::vector<Piece> pieces;
};

/// Collects the items of a list. Counts their bytes as they grow, and polls, so it may collect any number.
class Collector {
 public:
  void add(Value item) {
    count_work(kItemWork);
    const size_t before = items_.capacity();
    items_.push_back(std::move(item));
    if (items_.capacity() != before) bytes_.set(items_.capacity() * sizeof(Value));
  }
  size_t size() const { return items_.size(); }
  std::vector<Value> take() {
    bytes_.set(0);
    return std::move(items_);
  }

 private:
  static constexpr int64_t kItemWork = 64;
  std::vector<Value> items_;
  HostBytes bytes_;
};

Value make_string(std::string text);
Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);
Value make_record(std::vector<std::pair<Name, Value>> entries);

/// Whether the value is a complex number or tensor (value/numbers.h): a record that make_complex() made, or what walks
/// over it made of its parts, as long as these are two numbers or two tensors.
bool is_complex(const Value& value);

/// Returns the name that `type(v)` returns: "nil", "bool", "int", "float", "str", "list", "tuple", "record", "complex",
/// "map", "range", "function", "module", "dtype", "tensor", or a type of the host program. A symbol has its hint's
/// type; a lazy string is a "str".
const char* type_name(const Value& value);
/// Returns the names of the fields that every tensor has.
std::span<const char* const> tensor_fields();

}  // namespace tsl
