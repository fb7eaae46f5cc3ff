#include "io/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "io/bytes.h"
#include "tensor/limits.h"
#include "value/context.h"
#include "value/format.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

// More than any data file needs, and far from exhausting the stack.
constexpr int kMaxDepth = 200;

/// Makes values while a text is parsed. nlohmann's own objects look through all their keys for each new one.
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(Context& context, const std::string& path) : context_(context), path_(path) {}

  Value take() { return std::move(root_); }

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(static_cast<int64_t>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX)) return add(static_cast<double>(value));
    return add(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(static_cast<double>(value)); }
  bool string(string_t& value) override { return add(make_string(std::move(value))); }
  bool binary(binary_t&) override { return add(Value()); }  // of other formats
  bool start_object(size_t) override { return open(Value(make_ref<Record>())); }
  bool key(string_t& value) override {
    open_.back().key = context_.names().intern(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(make_list({})); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail_to_load(path_, error.what());
  }

 private:
  struct Open {
    Value container;
    Name key = nullptr;  // of the value that is read next
  };

  bool add(Value value) {
    if (open_.empty()) root_ = std::move(value);
    else if (Value& into = open_.back().container; into.is(Tag::list)) {
      into.as<List>().items.push_back(std::move(value));
      into.as<List>().count_bytes();
    } else into.as<Record>().set(open_.back().key, std::move(value));
    return true;
  }
  bool open(Value container) {
    if (open_.size() > kMaxDepth) fail_to_load(path_, fmt::format("it is nested more than {} deep", kMaxDepth));
    open_.push_back({std::move(container)});
    return true;
  }
  bool close() {
    Value closed = std::move(open_.back().container);
    open_.pop_back();
    return add(std::move(closed));
  }

  Context& context_;
  const std::string& path_;
  Value root_;
  std::vector<Open> open_;  // the containers around what is read, the outermost first
};

/// A JSON value in memory and as text, about.
constexpr uint64_t kBytesPerValue = 64;

void check_json_size(const Value& v, const std::string& path) {
  const auto weigh = [](const Value& leaf) -> uint64_t {
    return leaf.is(Tag::tensor) ? 1 + static_cast<uint64_t>(element_count(leaf.tensor().shape()).hint()) : 1;
  };
  const uint64_t bytes = OccurrenceCounter(kMaxDepth, weigh).count(v) * kBytesPerValue;
  if (bytes <= static_cast<uint64_t>(memory_limit())) return;
  fail(ErrorKind::memory, "cannot save {}: the value takes {} as JSON", path, format_bytes(static_cast<double>(bytes)));
}

class JsonWriter {
 public:
  JsonWriter(Context& context, const std::string& path) : context_(context), path_(path) {}

  Json write(const Value& v, int depth) {
    if (depth > kMaxDepth) fail_to_save(path_, fmt::format("it is nested more than {} deep", kMaxDepth));
    switch (v.tag()) {
      case Tag::nil: return nullptr;
      case Tag::boolean:
      case Tag::integer:
      case Tag::real:
      case Tag::symbol: return number(pinned(v, "file"));
      case Tag::string:
      case Tag::lazy_string: return to_string(context_, v);
      case Tag::dtype: return std::string(name_of(v.dtype()));
      case Tag::list: return array(v.as<List>().items, depth);
      case Tag::tuple: return array(v.as<Tuple>().items, depth);
      case Tag::tensor: return write(to_nested_lists(context_, v.tensor()), depth);
      case Tag::record: {
        Json object = Json::object();
        // A record's keys differ, so they need no search for each: that would take quadratic time.
        auto& entries = static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
        const Record& record = v.as<Record>();
        entries.reserve(record.values.size());
        for (size_t i = 0; i < record.values.size(); ++i)
          entries.emplace_back(*record.keys->names[i], write(record.values[i], depth + 1));
        return object;
      }
      case Tag::absent:
      case Tag::range:
      case Tag::function:
      case Tag::builtin:
      case Tag::module:
      case Tag::cell: break;
    }
    fail_to_save(path_, fmt::format("JSON has no {}", type_name(v)));
  }

 private:
  Json array(const std::vector<Value>& items, int depth) {
    Json result = Json::array();
    for (const Value& item : items) result.push_back(write(item, depth + 1));
    return result;
  }

  Json number(Scalar value) const {
    if (value.type == ScalarType::boolean) return value.boolean;
    if (value.type == ScalarType::integer) return value.integer;
    if (!std::isfinite(value.real)) fail_to_save(path_, "JSON has no " + number_text(value.real));
    return value.real;
  }

  Context& context_;
  const std::string& path_;
};

}  // namespace

Value load_json(Context& context, const std::string& path) {
  const std::string text = read_text_file(path);
  ValueBuilder builder(context, path);
  Json::sax_parse(text, &builder);
  return builder.take();
}

void save_json(Context& context, const std::string& path, const Value& value) {
  check_json_size(value, path);
  const Json json = JsonWriter(context, path).write(value, 0);
  std::string text;
  try {
    text = json.dump(2) + "\n";
  } catch (const Json::exception&) { fail_to_save(path, "a string is not valid UTF-8"); }
  write_text_file(path, text);
}

}  // namespace tsl
