#include "io/json.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

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

Value value_of(Context& context, const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(INT64_MAX)) return static_cast<double>(number);
      return static_cast<int64_t>(number);
    }
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return make_string(json.get<std::string>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(value_of(context, item));
      return make_list(std::move(items));
    }
    case Json::value_t::object: {
      std::vector<std::pair<Name, Value>> entries;
      for (const auto& [key, item] : json.items())
        entries.emplace_back(context.names().intern(key), value_of(context, item));
      return make_record(std::move(entries));
    }
    case Json::value_t::null:
    case Json::value_t::binary:  // of other formats
    case Json::value_t::discarded: break;
  }
  return Value();
}

/// A JSON value in memory and as text, about.
constexpr uint64_t kBytesPerValue = 64;

/// Counts the values that a file would hold: a list that is shared is written wherever it occurs, but counted once.
class ValueCounter {
 public:
  uint64_t count(const Value& v, int depth = 0) {
    if (v.is(Tag::tensor)) return 1 + static_cast<uint64_t>(element_count(v.tensor().shape()).hint());
    const bool is_nested = v.is(Tag::list) || v.is(Tag::tuple) || v.is(Tag::record);
    if (!is_nested || depth > kMaxDepth) return 1;
    if (!v.unique()) {
      const auto known = counts_.find(&v.as<Object>());
      if (known != counts_.end()) return known->second;
    }
    uint64_t total = 1;
    for (size_t i = 0; i < parts::count(v); ++i) total = std::min(total + count(parts::at(v, i), depth + 1), kTooMany);
    if (!v.unique()) counts_.emplace(&v.as<Object>(), total);
    return total;
  }

 private:
  static constexpr uint64_t kTooMany = uint64_t{1} << 50;  // its bytes do not wrap around

  std::unordered_map<const Object*, uint64_t> counts_;  // of shared values
};

void check_json_size(const Value& v, const std::string& path) {
  const uint64_t bytes = ValueCounter().count(v) * kBytesPerValue;
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
        const Record& record = v.as<Record>();
        for (size_t i = 0; i < record.values.size(); ++i)
          object[*record.keys->names[i]] = write(record.values[i], depth + 1);
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
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) fail_to_load(path, fmt::format("it is nested more than {} deep", kMaxDepth));
    return true;
  };
  try {
    return value_of(context, Json::parse(text, check_depth));
  } catch (const Json::exception& error) { fail_to_load(path, error.what()); }
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
