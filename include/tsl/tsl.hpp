// TSL for programs in C++20: a header over tsl.h, which is the manual for what this leaves out.
//
//     auto engine = tsl::Engine::create().value();
//     engine.run("fn f(x) = x * 2.0 + 1.0").value();
//     double y = engine.call<double>("f", 20.5).value();
//
// Nothing here throws but Result::value(), which throws tsl::Exception if there is none.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "tsl/result.hpp"
#include "tsl/tsl.h"

namespace tsl {
inline namespace api0 {  // so that these names are none of the library's own

namespace detail {

inline tsl_string text(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(tsl_string text) { return text.length ? std::string(text.data, text.length) : std::string(); }

/// Reads the error of the engine's last call that failed.
inline Error error_of(tsl_engine engine, tsl_status status) {
  Error error;
  error.kind = status;
  tsl_error about = {};
  tsl_string shown = {nullptr, 0}, name = {nullptr, 0};
  if (tsl_get_error(engine, &about) != TSL_OK || about.kind != status) {
    engine = {0};  // the engine is none: the error is the thread's
    tsl_get_error(engine, &about);
  }
  tsl_get_error_text(engine, &shown);
  tsl_get_error_name(engine, &name);
  error.name = text(name);
  error.message = text(about.message);
  error.text = text(shown);
  error.file = text(about.file);
  error.line = about.line;
  error.column = about.column;
  tsl_get_exit_code(engine, &error.exit_code);
  for (size_t i = 0; i < about.frames; ++i) {
    tsl_frame frame = {};
    if (tsl_get_frame(engine, i, &frame) == TSL_OK)
      error.frames.push_back({text(frame.function), text(frame.file), frame.line});
  }
  tsl_string sentence = {nullptr, 0};
  for (size_t i = 0; i < about.hints; ++i) {
    if (tsl_get_hint(engine, i, &sentence) == TSL_OK) error.hints.push_back(text(sentence));
  }
  for (size_t i = 0; i < about.notes; ++i) {
    if (tsl_get_note(engine, i, &sentence) == TSL_OK) error.notes.push_back(text(sentence));
  }
  return error;
}

/// Makes an error of this header, which has no place.
inline Error error_here(tsl_status kind, std::string message) {
  Error error;
  error.kind = kind;
  error.name = "misuse";
  error.text = message;
  error.message = std::move(message);
  return error;
}

template <class T> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;

template <class T> constexpr tsl_dtype dtype_of() {
  if constexpr (std::same_as<T, bool>) return TSL_DTYPE_BOOL;
  else if constexpr (std::same_as<T, uint8_t>) return TSL_DTYPE_U8;
  else if constexpr (std::same_as<T, uint16_t>) return TSL_DTYPE_U16;
  else if constexpr (std::same_as<T, uint32_t>) return TSL_DTYPE_U32;
  else if constexpr (std::same_as<T, uint64_t>) return TSL_DTYPE_U64;
  else if constexpr (std::same_as<T, int8_t>) return TSL_DTYPE_I8;
  else if constexpr (std::same_as<T, int16_t>) return TSL_DTYPE_I16;
  else if constexpr (std::same_as<T, int32_t>) return TSL_DTYPE_I32;
  else if constexpr (std::same_as<T, int64_t>) return TSL_DTYPE_I64;
  else if constexpr (std::same_as<T, float>) return TSL_DTYPE_F32;
  else if constexpr (std::same_as<T, std::complex<float>>) return TSL_DTYPE_C64;
  else if constexpr (std::same_as<T, std::complex<double>>) return TSL_DTYPE_C128;
  else {
    static_assert(std::same_as<T, double>, "a tensor has no elements of this type");
    return TSL_DTYPE_F64;
  }
}

/// The address of a type of the program, by which engines know it.
template <class T> inline char type_address = 0;

template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;
/// A set: what has keys and no other values.
template <class T>
concept Set = requires {
  typename T::key_type;
}
&&std::same_as<typename T::key_type, typename T::value_type>;

template <class T> inline constexpr bool is_tuple = false;
template <class... T> inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class T>
concept Dictionary = requires {
  typename T::mapped_type;
};
template <class T>
concept KeyedByText = std::convertible_to<const typename T::key_type&, std::string_view>;
/// A container of what is no number, and so makes a list and no tensor.
template <class T>
concept ListLike = requires(const T& from) {
  typename T::value_type;
  from.begin();
}
&&!Dictionary<T> && !std::is_arithmetic_v<typename T::value_type> && !is_complex<typename T::value_type>;

}  // namespace detail

/// A counted reference to a value. It must not be used after its engine has ended, but may be destroyed then.
class Value {
 public:
  Value() = default;
  /// Takes over a handle.
  Value(tsl_engine engine, tsl_value handle) : engine_(engine), handle_(handle) {}
  Value(const Value& other) : engine_(other.engine_) {
    if (other.handle_.id != 0) tsl_retain(engine_, other.handle_, &handle_);
  }
  Value(Value&& other) noexcept : engine_(other.engine_), handle_(std::exchange(other.handle_, {0})) {}
  Value& operator=(Value other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Value() {
    if (handle_.id != 0) tsl_release(engine_, handle_);
  }

  tsl_engine engine() const { return engine_; }
  tsl_value handle() const { return handle_; }
  tsl_value detach() { return std::exchange(handle_, {0}); }

  tsl_kind kind() const {
    tsl_kind kind = TSL_KIND_NIL;
    tsl_get_kind(engine_, handle_, &kind);
    return kind;
  }
  /// Converts to bool, an integer, float or double, std::string, std::string_view (valid while this value is), Tensor,
  /// Value, or a pointer to an object of the program; a std::optional of these (nil is none of it), a std::vector (of a
  /// list, a tuple, or a tensor of one axis), a std::set and its like (of the keys of a map).
  template <class T> Result<T> as() const;
  /// Returns the object that Engine::make() took over, which lives as long as its value. TSL_MISUSE if the value is
  /// none of type T.
  template <class T> Result<T*> foreign() const {
    void* object = nullptr;
    const tsl_status status = tsl_get_foreign(engine_, handle_, &detail::type_address<std::remove_cv_t<T>>, &object);
    if (status != TSL_OK) return detail::error_of(engine_, status);
    return static_cast<T*>(object);
  }
  /// Formats the value as print() does; "" if a limit of a run or an interrupt ends that.
  std::string text() const {
    tsl_string text = {nullptr, 0};
    tsl_to_text(engine_, handle_, &text);
    return detail::text(text);
  }
  /// Formats the value as the prompt does.
  std::string display() const {
    tsl_string text = {nullptr, 0};
    tsl_display(engine_, handle_, &text);
    return detail::text(text);
  }
  size_t size() const {
    size_t size = 0;
    tsl_get_length(engine_, handle_, &size);
    return size;
  }
  Result<Value> operator[](size_t index) const {
    return made([&](tsl_value* result) { return tsl_get_item(engine_, handle_, index, result); });
  }
  Result<Value> operator[](std::string_view key) const {
    return made([&](tsl_value* result) { return tsl_get_field(engine_, handle_, detail::text(key), result); });
  }
  /// Reads a key of a map; 0 is the first. operator[] reads the values in the same order.
  Result<Value> key(size_t index) const {
    return made([&](tsl_value* result) { return tsl_get_map_key(engine_, handle_, index, result); });
  }
  /// Reads the value of a key of a map. TSL_INDEX if it has no such key.
  Result<Value> at(const Value& key) const {
    return made([&](tsl_value* result) { return tsl_get_map_value(engine_, handle_, key.handle(), result); });
  }

 protected:
  template <class Call> Result<Value> made(Call&& call) const {
    tsl_value result = {0};
    const tsl_status status = call(&result);
    if (status != TSL_OK) return detail::error_of(engine_, status);
    return Value(engine_, result);
  }

 private:
  template <class T> Result<T> items() const;
  template <class T> Result<T> keys() const;

  tsl_engine engine_ = {0};
  tsl_value handle_ = {0};
};

/// The elements of a tensor in host memory, without a copy. It keeps the tensor alive, but not its engine.
template <class T> class View {
 public:
  View(Value tensor, const T* data, const tsl_tensor_type& type)
      : tensor_(std::move(tensor)), data_(data), type_(type) {}

  const T* data() const { return data_; }
  int rank() const { return type_.rank; }
  int64_t extent(int axis) const { return type_.shape[axis]; }
  int64_t stride(int axis) const { return type_.strides[axis]; }  // in elements
  std::span<const int64_t> shape() const { return {type_.shape, static_cast<size_t>(type_.rank)}; }
  std::span<const int64_t> strides() const { return {type_.strides, static_cast<size_t>(type_.rank)}; }
  size_t size() const {
    size_t size = 1;
    for (const int64_t extent : shape()) size *= static_cast<size_t>(extent);
    return size;
  }
  /// Whether the elements are in row order, without gaps.
  bool is_contiguous() const {
    int64_t dense = 1;
    for (int i = rank() - 1; i >= 0; --i) {
      if (extent(i) != 1 && stride(i) != dense) return size() == 0;
      dense *= extent(i);
    }
    return true;
  }
  /// Returns an element; as many indices as the tensor has dimensions, which are not checked.
  template <std::integral... Index> const T& operator()(Index... index) const {
    int64_t offset = 0;
    int axis = 0;
    ((offset += static_cast<int64_t>(index) * type_.strides[axis++]), ...);
    return data_[offset];
  }

 private:
  Value tensor_;
  const T* data_;
  tsl_tensor_type type_;
};

/// The elements of a tensor in row order, without gaps: a range.
template <class T> class Span : public std::span<const T> {
 public:
  explicit Span(View<T> view) : std::span<const T>(view.data(), view.size()), view_(std::move(view)) {}

 private:
  View<T> view_;
};

/// A value that is a tensor.
class Tensor : public Value {
 public:
  using Value::Value;
  explicit Tensor(Value value) : Value(std::move(value)) {}

  tsl_tensor_type type() const {
    tsl_tensor_type type = {};
    tsl_tensor_get_type(engine(), handle(), &type);
    return type;
  }
  std::vector<int64_t> shape() const {
    const tsl_tensor_type found = type();
    return {found.shape, found.shape + found.rank};
  }
  /// Returns the number of elements.
  size_t count() const {
    const tsl_tensor_type found = type();
    size_t count = 1;
    for (int i = 0; i < found.rank; ++i) count *= static_cast<size_t>(found.shape[i]);
    return count;
  }
  /// Returns the elements of a tensor in host memory, without a copy. TSL_TYPE if they are not of type T, TSL_DEVICE if
  /// they are on a GPU.
  template <class T> Result<View<T>> view() const {
    const tsl_tensor_type found = type();
    const void* data = nullptr;
    const tsl_status status = tsl_tensor_map(engine(), handle(), &data);
    if (status != TSL_OK) return detail::error_of(engine(), status);
    if (found.dtype != detail::dtype_of<T>()) return detail::error_here(TSL_TYPE, "the tensor has another dtype");
    return View<T>(*this, static_cast<const T*>(data), found);
  }
  /// Returns them likewise as a range. TSL_VALUE if they are not in row order without gaps.
  template <class T> Result<Span<T>> span() const {
    Result<View<T>> found = view<T>();
    if (!found) return found.error();
    if (!found->is_contiguous()) return detail::error_here(TSL_VALUE, "the tensor's elements are not in row order");
    return Span<T>(std::move(*found));
  }

  /// Makes a tensor of another framework's, without a copy, and takes it over, also if that fails.
  static Result<Tensor> from_dlpack(tsl_engine engine, DLManagedTensorVersioned* from,
                                    tsl_access access = TSL_READ_ONLY, tsl_stream stream = TSL_NO_STREAM) {
    tsl_value result = {0};
    const tsl_status status = tsl_tensor_from_dlpack(engine, from, access, stream, &result);
    if (status != TSL_OK) return detail::error_of(engine, status);
    return Tensor(engine, result);
  }
  /// Makes a description for another framework, which calls its deleter.
  Result<DLManagedTensorVersioned*> to_dlpack(tsl_access access = TSL_READ_ONLY,
                                              tsl_stream stream = TSL_NO_STREAM) const {
    DLManagedTensorVersioned* result = nullptr;
    const tsl_status status = tsl_tensor_to_dlpack(engine(), handle(), access, stream, &result);
    if (status != TSL_OK) return detail::error_of(engine(), status);
    return result;
  }

  /// Copies the elements to memory of the program, in row order. TSL_TYPE if they are not of type T, TSL_MISUSE if they
  /// are not as many.
  template <class T> Result<void> read_into(std::span<T> elements) const {
    if (type().dtype != detail::dtype_of<T>()) return detail::error_here(TSL_TYPE, "the tensor has another dtype");
    const tsl_status status = tsl_tensor_read(engine(), handle(), elements.data(), elements.size_bytes());
    if (status != TSL_OK) return detail::error_of(engine(), status);
    return {};
  }
  /// Copies the elements likewise.
  template <class T> Result<std::vector<T>> read() const {
    std::vector<T> elements(count());
    const Result<void> copied = read_into(std::span<T>(elements));
    if (!copied) return copied.error();
    return elements;
  }
};

template <class T> Result<T> Value::items() const {
  using Item = typename T::value_type;
  if constexpr (std::is_arithmetic_v<Item> || detail::is_complex<Item>) {
    if (kind() == TSL_KIND_TENSOR) {
      if (Result<Tensor> tensor = as<Tensor>(); !tensor || tensor->shape().size() != 1)
        return detail::error_here(TSL_SHAPE, "a vector is made of a tensor of one axis");
      else return tensor->template read<Item>();
    }
  }
  T items;
  size_t count = 0;
  if (const tsl_status status = tsl_get_length(engine_, handle_, &count)) return detail::error_of(engine_, status);
  for (size_t i = 0; i < count; ++i) {
    Result<Value> item = (*this)[i];
    if (!item) return item.error();
    Result<Item> converted = item->template as<Item>();
    if (!converted) return converted.error();
    items.push_back(std::move(*converted));
  }
  return items;
}

template <class T> Result<T> Value::keys() const {
  T keys;
  for (size_t i = 0; i < size(); ++i) {
    Result<Value> found = key(i);
    if (!found) return found.error();
    Result<typename T::key_type> converted = found->template as<typename T::key_type>();
    if (!converted) return converted.error();
    keys.insert(std::move(*converted));
  }
  if (kind() != TSL_KIND_MAP) return detail::error_here(TSL_TYPE, "a set is made of the keys of a map");
  return keys;
}

template <class T> Result<T> Value::as() const {
  tsl_status status = TSL_OK;
  if constexpr (std::same_as<T, Value>) {
    return *this;
  } else if constexpr (std::same_as<T, Tensor>) {
    tsl_tensor_type type = {};
    status = tsl_tensor_get_type(engine_, handle_, &type);
    if (status == TSL_OK) return Tensor(*this);
  } else if constexpr (std::is_pointer_v<T>) {
    return foreign<std::remove_pointer_t<T>>();
  } else if constexpr (std::same_as<T, std::string>) {
    tsl_string text = {nullptr, 0};
    status = tsl_get_string(engine_, handle_, &text);
    if (status == TSL_OK) return detail::text(text);
  } else if constexpr (std::same_as<T, std::string_view>) {
    tsl_string text = {nullptr, 0};
    status = tsl_get_string(engine_, handle_, &text);
    if (status == TSL_OK) return std::string_view(text.data, text.length);
  } else if constexpr (std::same_as<T, bool>) {
    bool value = false;
    status = tsl_get_bool(engine_, handle_, &value);
    if (status == TSL_OK) return value;
  } else if constexpr (std::integral<T>) {
    int64_t value = 0;
    status = tsl_get_int(engine_, handle_, &value);
    if (status == TSL_OK && std::in_range<T>(value)) return static_cast<T>(value);
    if (status == TSL_OK) return detail::error_here(TSL_VALUE, "the int does not fit the type");
  } else if constexpr (detail::is_complex<T>) {
    double re = 0, im = 0;
    status = tsl_get_complex(engine_, handle_, &re, &im);
    using Part = typename T::value_type;
    if (status == TSL_OK) return T(static_cast<Part>(re), static_cast<Part>(im));
  } else if constexpr (detail::is_optional<T>) {
    if (kind() == TSL_KIND_NIL) return T();
    Result<typename T::value_type> value = as<typename T::value_type>();
    if (!value) return value.error();
    return T(std::move(*value));
  } else if constexpr (detail::is_vector<T>) {
    return items<T>();
  } else if constexpr (detail::Set<T>) {
    return keys<T>();
  } else {
    static_assert(std::floating_point<T>, "a value of TSL has no such type");
    double value = 0;
    status = tsl_get_float(engine_, handle_, &value);
    if (status == TSL_OK) return static_cast<T>(value);
  }
  return detail::error_of(engine_, status);
}

/// An argument of a call, or a field of a record, by its name.
template <class T> struct Named {
  std::string_view name;
  const T& value;
};
/// Names a value, which must live until the call that takes it returns: call("f", 1, named("by", 2.0)).
template <class T> Named<T> named(std::string_view name, const T& value) { return {name, value}; }

namespace detail {
template <class T> inline constexpr bool is_named = false;
template <class T> inline constexpr bool is_named<Named<T>> = true;
}  // namespace detail

/// How an engine is made; see tsl_config.
struct Config {
  uint32_t capabilities = 0;
  uint32_t threads = 0;
  std::string device = "cpu";
  uint64_t memory_limit = 0, source_limit = 0, step_limit = 0;
  double time_limit = 0;
  uint64_t seed = 0;
  std::function<void(std::string_view)> output = nullptr, diagnostics = nullptr;
  uint64_t host_memory_limit = 0, element_limit = 0;
  uint32_t depth_limit = 0;
  std::string logs = {};
  /// Returns the source of a module, or nothing: load_module(name, importer). It must not throw.
  std::function<std::optional<std::string>(std::string_view, std::string_view)> load_module = nullptr;
  /// Options of the program: {{"numerics", "fast"}, {"dump", "folder"}}; see tsl_option.
  std::vector<std::pair<std::string, std::string>> options = {};
  size_t stack_limit = 0;
  uint32_t rank = 0, ranks = 0, local_rank = 0, local_ranks = 0;
  std::string rendezvous = {};
  std::function<void(std::string_view)> progress = nullptr;
  /// Runs task(i) once for each i below `count`, in any threads, and returns when all have returned. It must not throw.
  std::function<void(uint32_t count, const std::function<void(uint32_t)>& task)> run_tasks = nullptr;
};

class Engine {
 public:
  static Result<Engine> create(Config config = {}) {
    Engine engine;
    engine.config_ = std::make_unique<Config>(std::move(config));
    const Config& from = *engine.config_;
    tsl_config to;
    tsl_config_init(&to);
    to.capabilities = from.capabilities;
    to.threads = from.threads;
    to.device = detail::text(from.device);
    to.memory_limit = from.memory_limit;
    to.source_limit = from.source_limit;
    to.step_limit = from.step_limit;
    to.time_limit = from.time_limit;
    to.seed = from.seed;
    to.host_memory_limit = from.host_memory_limit;
    to.element_limit = from.element_limit;
    to.depth_limit = from.depth_limit;
    to.rank = from.rank;
    to.ranks = from.ranks;
    to.local_rank = from.local_rank;
    to.local_ranks = from.local_ranks;
    to.rendezvous = detail::text(from.rendezvous);
    to.user = engine.config_.get();
    if (from.output)
      to.output = [](void* user, tsl_string text) { static_cast<Config*>(user)->output({text.data, text.length}); };
    if (from.diagnostics)
      to.diagnostics = [](void* user, tsl_string text) {
        static_cast<Config*>(user)->diagnostics({text.data, text.length});
      };
    if (from.progress)
      to.progress = [](void* user, tsl_string text) { static_cast<Config*>(user)->progress({text.data, text.length}); };
    to.logs = detail::text(from.logs);
    std::vector<tsl_option> options;
    for (const auto& [name, value] : from.options) options.push_back({detail::text(name), detail::text(value)});
    to.options = options.data();
    to.option_count = options.size();
    to.stack_limit = from.stack_limit;
    if (from.run_tasks)
      to.run_tasks = [](void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
        static_cast<Config*>(user)->run_tasks(count, [=](uint32_t i) { task(context, i); });
      };
    if (from.load_module)
      to.load_module = [](void* user, tsl_string name, tsl_string importer, tsl_write found, void* into) {
        const auto source =
            static_cast<Config*>(user)->load_module({name.data, name.length}, {importer.data, importer.length});
        if (source) found(into, detail::text(*source));
        return source.has_value();
      };
    const tsl_status status = tsl_engine_create(&to, &engine.handle_);
    if (status != TSL_OK) return detail::error_of({0}, status);
    return engine;
  }
  Engine(Engine&& other) noexcept : config_(std::move(other.config_)), handle_(std::exchange(other.handle_, {0})) {}
  Engine& operator=(Engine&& other) noexcept {
    std::swap(config_, other.config_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Engine() {
    if (handle_.id != 0) tsl_engine_destroy(handle_);
  }

  tsl_engine handle() const { return handle_; }
  /// Runs all later work for a GPU on a stream of the program; TSL_NO_STREAM: on the engine's own again.
  Result<void> set_stream(std::string_view device, tsl_stream stream) const {
    return done(tsl_engine_set_stream(handle_, detail::text(device), stream));
  }
  /// Ends the program that runs; may be called from any thread.
  void interrupt() const { tsl_interrupt(handle_); }

  Result<Value> run(std::string_view source, std::string_view name = "<host>") const {
    return made([&](tsl_value* result) { return tsl_run(handle_, detail::text(name), detail::text(source), result); });
  }
  Result<Value> run_file(std::string_view path) const {
    return made([&](tsl_value* result) { return tsl_run_file(handle_, detail::text(path), result); });
  }
  Result<Value> get(std::string_view name) const {
    return made([&](tsl_value* result) { return tsl_get(handle_, detail::text(name), result); });
  }
  template <class T> Result<void> set(std::string_view name, const T& value) const {
    Result<Value> converted = make(value);
    if (!converted) return converted.error();
    return done(tsl_set(handle_, detail::text(name), converted->handle()));
  }

  /// Makes a value: of a bool, a number, also a std::complex, a string, nullptr (nil), a span of numbers (a tensor, of
  /// a copy), another container (a list), a std::tuple, a map by strings (a record) or by other keys (a map). TSL_VALUE
  /// for an int that 64 bits do not hold. A std::optional is nil or its value, and a set a map of its items to true.
  template <class T> Result<Value> make(const T& from) const {
    if constexpr (std::derived_from<T, Value>) {
      return Value(from);
    } else if constexpr (detail::is_optional<T>) {
      return from ? make(*from) : make(nullptr);
    } else if constexpr (detail::Set<T>) {
      std::vector<std::pair<typename T::key_type, bool>> entries;
      for (const auto& item : from) entries.emplace_back(item, true);
      return map_of(entries);
    } else if constexpr (std::same_as<T, std::nullptr_t>) {
      return made([&](tsl_value* result) { return tsl_new_nil(handle_, result); });
    } else if constexpr (std::same_as<T, bool>) {
      return made([&](tsl_value* result) { return tsl_new_bool(handle_, from, result); });
    } else if constexpr (std::integral<T>) {
      if (!std::in_range<int64_t>(from)) return detail::error_here(TSL_VALUE, "an int of TSL has 64 bits");
      return made([&](tsl_value* result) { return tsl_new_int(handle_, static_cast<int64_t>(from), result); });
    } else if constexpr (std::floating_point<T>) {
      return made([&](tsl_value* result) { return tsl_new_float(handle_, static_cast<double>(from), result); });
    } else if constexpr (detail::is_complex<T>) {
      return made([&](tsl_value* result) { return tsl_new_complex(handle_, from.real(), from.imag(), result); });
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      return made(
          [&](tsl_value* result) { return tsl_new_string(handle_, detail::text(std::string_view(from)), result); });
    } else if constexpr (detail::is_tuple<T>) {
      return std::apply([&](const auto&... items) { return tuple(items...); }, from);
    } else if constexpr (detail::Dictionary<T> && !detail::KeyedByText<T>) {
      return map(from);
    } else if constexpr (detail::Dictionary<T>) {
      std::vector<std::string> keys;
      std::vector<Result<Value>> values;
      for (const auto& [key, value] : from) {
        keys.emplace_back(key);
        values.push_back(make(value));
      }
      return record_of(keys, values);
    } else if constexpr (detail::ListLike<T>) {
      std::vector<Result<Value>> items;
      for (const auto& item : from) items.push_back(make(item));
      return items_of(items, tsl_new_list);
    } else {
      const std::span elements(from);
      using Element = std::remove_cv_t<typename decltype(elements)::element_type>;
      const tsl_tensor_type type = {detail::dtype_of<Element>(), 1, {static_cast<int64_t>(elements.size())}, {0}, false,
                                    elements.size_bytes()};
      return made([&](tsl_value* result) { return tsl_tensor_copy(handle_, &type, elements.data(), result); });
    }
  }
  /// Make a list, a tuple and a record of values that make() takes: list(1, "a"), record(named("a", 1)).
  template <class... Items> Result<Value> list(const Items&... items) const {
    return items_of(std::vector<Result<Value>>{make(items)...}, tsl_new_list);
  }
  template <class... Items> Result<Value> tuple(const Items&... items) const {
    return items_of(std::vector<Result<Value>>{make(items)...}, tsl_new_tuple);
  }
  template <class... Items> Result<Value> record(const Named<Items>&... fields) const {
    return record_of({std::string(fields.name)...}, std::vector<Result<Value>>{make(fields.value)...});
  }
  /// Makes a map of the entries of a std::map or the like, also of one by strings.
  template <detail::Dictionary T> Result<Value> map(const T& from) const { return map_of(from); }
  /// Defines a type of the program's objects, by the name that scripts and signatures use: type<Body>("Body").
  template <class T> Result<void> type(std::string_view name) const {
    return done(tsl_define_type(handle_, &detail::type_address<T>, detail::text(name)));
  }
  /// Makes a value of an object of such a type, and takes it over: deletes it when nothing refers to the value any
  /// more.
  template <class T> Result<Value> make(std::unique_ptr<T> object) const {
    const auto release = [](void* data) { delete static_cast<T*>(data); };
    return made([&](tsl_value* result) {
      return tsl_new_foreign(handle_, &detail::type_address<T>, object.release(), release, result);
    });
  }
  /// Makes a value of an object that stays the program's, and must live as long as scripts may use the value.
  template <class T> Result<Value> refer(T& object) const {
    return made([&](tsl_value* result) {
      return tsl_new_foreign(handle_, &detail::type_address<T>, &object, nullptr, result);
    });
  }
  /// Makes a tensor of the program's memory, without a copy. The memory must live until `release` is called, once, in
  /// the thread that uses the engine, also if this fails; without it, as long as the tensor, in scripts, too, or until
  /// unwrap(). strides: in elements; none for elements in row order. TSL_SHAPE if the elements are not as many as the
  /// shape has, TSL_MISUSE if a stride leads beyond them.
  template <class T> Result<Tensor> wrap(std::span<T> elements, const std::vector<int64_t>& shape,
                                         tsl_access access = TSL_READ_ONLY, std::function<void()> release = nullptr,
                                         const std::vector<int64_t>& strides = {}) const {
    const auto fails = [&](tsl_status kind, const char* message) {
      if (release) release();
      return detail::error_here(kind, message);
    };
    tsl_tensor_type type = {};
    if (!describe(elements, shape, strides, type))
      return fails(TSL_SHAPE, "the shape does not fit the number of elements");
    if (std::is_const_v<T> && access != TSL_READ_ONLY) return fails(TSL_MISUSE, "constant memory is read-only");
    void* const data = const_cast<std::remove_cv_t<T>*>(elements.data());
    const tsl_release_function released = [](void* user) {
      const std::unique_ptr<std::function<void()>> function(static_cast<std::function<void()>*>(user));
      (*function)();
    };
    void* const user = release ? new std::function<void()>(std::move(release)) : nullptr;
    Result<Value> wrapped = made([&](tsl_value* result) {
      return tsl_tensor_wrap(handle_, &type, data, access, user ? released : nullptr, user, result);
    });
    if (!wrapped) return wrapped.error();
    return Tensor(std::move(*wrapped));
  }
  /// Gives the memory of a wrapped tensor back to the program, and calls its release function. What else refers to it,
  /// in scripts or by another Tensor, has a copy then: unwrap(std::move(x)) makes none if nothing does.
  Result<void> unwrap(Tensor tensor) const {
    const tsl_status status = tsl_tensor_unwrap(handle_, tensor.handle());
    if (status != TSL_OK) return detail::error_of(handle_, status);
    tensor.detach();
    return {};
  }

  /// Calls a function, by its value or its name, and converts the result to R. The last arguments may be named().
  template <class R = Value, class... Args> Result<R> call(const Value& function, const Args&... args) const {
    if constexpr (std::is_same_v<R, double> && (std::is_floating_point_v<Args> && ...)) {
      const double numbers[sizeof...(Args) + 1] = {static_cast<double>(args)..., 0};
      double result = 0;
      const tsl_status status = tsl_call_numbers(handle_, function.handle(), numbers, sizeof...(Args), &result);
      if (status != TSL_OK) return detail::error_of(handle_, status);
      return result;
    }
    Result<Value> made_args[sizeof...(Args) + 1] = {make_argument(args)..., Value()};
    tsl_string names[sizeof...(Args) + 1] = {argument_name(args)..., {nullptr, 0}};
    tsl_value handles[sizeof...(Args) + 1] = {};
    size_t named = 0;
    for (size_t i = 0; i < sizeof...(Args); ++i) {
      if (!made_args[i]) return made_args[i].error();
      handles[i] = made_args[i]->handle();
      if (names[i].data) names[named++] = names[i];
      else if (named > 0) return detail::error_here(TSL_MISUSE, "an argument without a name follows one with a name");
    }
    Result<Value> result = made([&](tsl_value* value) {
      return tsl_call_named(handle_, function.handle(), handles, sizeof...(Args), names, named, value);
    });
    if (!result) return result.error();
    return result->template as<R>();
  }
  template <class R = Value, class... Args> Result<R> call(std::string_view function, const Args&... args) const {
    Result<Value> found = get(function);
    if (!found) return found.error();
    return call<R>(*found, args...);
  }
  /// Calls a function likewise, and copies the tensor that it returns to memory of the program, in row order. TSL_TYPE
  /// if that has other elements, TSL_SHAPE if it has another shape.
  template <class T, class Function, class... Args>
  Result<void> call_into(std::span<T> into, const std::vector<int64_t>& shape, const Function& function,
                         const Args&... args) const {
    tsl_tensor_type type = {};
    if (!describe(into, shape, {}, type))
      return detail::error_here(TSL_SHAPE, "the shape does not fit the number of elements");
    Result<Tensor> result = call<Tensor>(function, args...);
    if (!result) return result.error();
    return done(tsl_tensor_read_into(handle_, result->handle(), &type, into.data()));
  }

  Result<void> start_profile() const { return done(tsl_profile_start(handle_)); }
  /// Ends the profile and formats it as JSON.
  Result<std::string> stop_profile() const {
    return text_of([&](tsl_string* text) { return tsl_profile_stop(handle_, text); });
  }
  /// Formats the profile so far as tables.
  Result<std::string> profile_text() const {
    return text_of([&](tsl_string* text) { return tsl_profile_text(handle_, text); });
  }
  /// Writes the reports that the options ask for, on what has run so far; the engine's end does so, too, but tells no
  /// error.
  Result<void> write_reports() const { return done(tsl_write_reports(handle_)); }
  /// Explains what was compiled for a function, or for all, since the first call.
  Result<std::string> explain(const Value& function = {}) const {
    return text_of([&](tsl_string* text) { return tsl_explain(handle_, function.handle(), text); });
  }

  /// Finds what is wrong with a source without running it, as a JSON array.
  Result<std::string> check(std::string_view source, std::string_view name = "") const {
    return text_of(
        [&](tsl_string* json) { return tsl_check(handle_, detail::text(name), detail::text(source), json); });
  }
  /// Finds what could stand at a byte of a source, as a JSON object.
  Result<std::string> complete(std::string_view source, size_t offset) const {
    return text_of([&](tsl_string* json) { return tsl_complete(handle_, detail::text(source), offset, json); });
  }
  /// Says whether no more lines of a source are to follow.
  Result<bool> is_complete(std::string_view source) const {
    bool result = false;
    const tsl_status status = tsl_is_complete(handle_, detail::text(source), &result);
    if (status != TSL_OK) return detail::error_of(handle_, status);
    return result;
  }
  /// Lays a source out as `tsl fmt` does.
  Result<std::string> format(std::string_view source, std::string_view name = "") const {
    return text_of(
        [&](tsl_string* text) { return tsl_format(handle_, detail::text(name), detail::text(source), text); });
  }

  /// Defines a function that scripts may call: def("scale(x: f32[n], by: float)", [](Tensor x, double by) { … }). The
  /// lambda takes what Value::as() makes and returns what make() takes, or nothing. Its exceptions are errors of the
  /// script.
  /// TSL_TYPE if the lambda has other parameters than the signature.
  template <class Function>
  Result<void> def(std::string_view signature, Function function, std::string_view doc = "") const;
  /// Defines a function that grad() passes: the derivative takes its arguments, its result and the gradient of that,
  /// and returns a list with the gradient of each argument, nil where none flows; of one argument, its gradient alone.
  template <class Function, class Derivative>
  requires(!std::convertible_to<Derivative, std::string_view>) Result<void> def(std::string_view signature,
                                                                                Function function,
                                                                                Derivative derivative,
                                                                                std::string_view doc = "")
  const;

 private:
  Engine() = default;
  Result<void> done(tsl_status status) const {
    if (status != TSL_OK) return detail::error_of(handle_, status);
    return {};
  }
  template <class Call> Result<Value> made(Call&& call) const {
    tsl_value result = {0};
    const tsl_status status = call(&result);
    if (status != TSL_OK) return detail::error_of(handle_, status);
    return Value(handle_, result);
  }
  template <class T> Result<Value> make_argument(const T& argument) const {
    if constexpr (detail::is_named<T>) return make(argument.value);
    else return make(argument);
  }
  template <class T> static tsl_string argument_name(const T& argument) {
    if constexpr (detail::is_named<T>) return {argument.name.data() ? argument.name.data() : "", argument.name.size()};
    else return {nullptr, 0};
  }
  /// Makes a container of values by a call of C, or returns the first error among them.
  template <class Call> Result<Value> items_of(const std::vector<Result<Value>>& items, Call&& call) const {
    std::vector<tsl_value> handles;
    for (const Result<Value>& item : items) {
      if (!item) return item.error();
      handles.push_back(item.value().handle());
    }
    return made([&](tsl_value* result) { return call(handle_, handles.data(), handles.size(), result); });
  }
  template <class Entries> Result<Value> map_of(const Entries& from) const {
    std::vector<Result<Value>> keys, values;
    std::vector<tsl_value> handles;
    for (const auto& [key, value] : from) {
      keys.push_back(make(key));
      values.push_back(make(value));
    }
    for (const Result<Value>& key : keys) {
      if (!key) return key.error();
      handles.push_back(key.value().handle());
    }
    return items_of(values, [&](tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result) {
      return tsl_new_map(engine, handles.data(), items, count, result);
    });
  }
  Result<Value> record_of(const std::vector<std::string>& keys, const std::vector<Result<Value>>& values) const {
    std::vector<tsl_string> texts;
    for (const std::string& key : keys) texts.push_back(detail::text(key));
    return items_of(values, [&](tsl_engine engine, const tsl_value* items, size_t count, tsl_value* result) {
      return tsl_new_record(engine, texts.data(), items, count, result);
    });
  }
  /// Describes memory of the program. Returns false if a shape has other elements than there are, or too many axes.
  template <class T> static bool describe(std::span<T> elements, const std::vector<int64_t>& shape,
                                          const std::vector<int64_t>& strides, tsl_tensor_type& type) {
    if (shape.size() > TSL_MAX_RANK || (!strides.empty() && strides.size() != shape.size())) return false;
    type.dtype = detail::dtype_of<std::remove_cv_t<T>>();
    type.rank = static_cast<int32_t>(shape.size());
    type.is_strided = !strides.empty();
    type.bytes = elements.size_bytes();
    size_t count = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      count *= static_cast<size_t>(type.shape[i] = shape[i]);
      if (type.is_strided) type.strides[i] = strides[i];
    }
    return type.is_strided || count == elements.size();
  }
  template <class Call> Result<std::string> text_of(Call&& call) const {
    tsl_string text = {nullptr, 0};
    const tsl_status status = call(&text);
    if (status != TSL_OK) return detail::error_of(handle_, status);
    return detail::text(text);
  }
  friend struct Borrowed;

  std::unique_ptr<Config> config_;
  tsl_engine handle_ = {0};
};

/// An engine of whose handle somebody else takes care.
struct Borrowed {
  explicit Borrowed(tsl_engine handle) { engine.handle_ = handle; }
  ~Borrowed() { engine.handle_ = {0}; }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Engine engine;
};

}  // namespace api0
}  // namespace tsl

#include "tsl/native.hpp"
