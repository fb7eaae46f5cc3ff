#include "io/json.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error_names.h"
#include "base/number_text.h"
#include "io/atomic_file.h"
#include "io/json_problem.h"
#include "tensor/limits.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/utf8.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

// More than any data file needs, and far from exhausting the stack.
constexpr int kMaxDepth = 200;
constexpr int64_t kWorkOfItem = 100;  // for a value or a key

/// Makes values while a text is parsed. nlohmann's own objects look through all their keys for each new one.
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(Context& context, const std::string& path, const std::string& text)
      : context_(context), path_(path), text_(text) {}

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
    meter_.count(kWorkOfItem);
    open_.back().key = HeldName(context_.names(), value);
    has_value_ = false;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(make_list({})); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const auto says = [&](std::string_view words) { return what.find(words) != std::string_view::npos; };
    const size_t end = std::min(position, text_.size());
    size_t begin = says("unexpected end of input") ? text_.size() : last_token(text_, end);
    if ((says("invalid number") || says("invalid literal")) && end > 0) {
      const size_t before = last_token(text_, end - 1);
      if (is_wrong_word(text_, before)) begin = before;  // whose end was only noticed at the character behind it
    }
    if (says("number overflow")) fail_at(begin, fmt::format("{} is beyond all floats", token_at(text_, begin)), "");
    if (const auto problem = problem_of_token(text_, begin)) fail_at(problem->at, problem->what, problem->hint);
    if (says("invalid string")) fail_at(begin, "a string is no UTF-8", "");
    fail_at_token(begin);
  }

 private:
  struct Open {
    Value container;
    HeldName key;  // of the value that is read next
  };

  bool add(Value value) {
    meter_.count(kWorkOfItem);
    has_value_ = true;
    if (open_.empty()) root_ = std::move(value);
    else if (Value& into = open_.back().container; into.is(Tag::list)) {
      into.as<List>().items.push_back(std::move(value));
      into.as<List>().count_bytes();
    } else into.as<Record>().set(open_.back().key, std::move(value));
    return true;
  }
  bool open(Value container) {
    if (open_.size() > kMaxDepth)
      fail_to_load(ErrorName::malformed_file, path_, fmt::format("it is nested more than {} deep", kMaxDepth));
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool close() {
    Value closed = std::move(open_.back().container);
    open_.pop_back();
    return add(std::move(closed));
  }

  /// Says what may stand at a place, from what stands before it.
  std::string expected_at(char before) const {
    if (open_.empty()) return before == 0 ? "a value" : "the end of the file";
    const bool is_list = open_.back().container.is(Tag::list);
    if (before == ':') return "a value";
    if (before == '[') return "a value or ']'";
    if (before == '{') return "a key or '}'";
    if (before == ',') return is_list ? "a value" : "a key, a string in double quotes";
    if (is_list) return "',' or ']'";
    return has_value_ ? "',' or '}'" : "':'";
  }

  [[noreturn]] void fail_at(size_t at, const std::string& problem, const std::string& hint) const {
    const std::string_view before = std::string_view(text_).substr(0, at);
    const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    const auto column =
        1 + std::count_if(before.begin() + static_cast<ptrdiff_t>(line_start), before.end(), starts_character);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    fail_with(ErrorName::malformed_file, fmt::format("cannot load {}:{}:{}: {}", path_, line, column, problem),
              hints_of(hint));
  }

  /// Fails because of the token at a place, or of the end of the file.
  [[noreturn]] void fail_at_token(size_t begin) const {
    const bool is_end = begin >= text_.size();
    const size_t last = begin == 0 ? std::string::npos : text_.find_last_not_of(" \t\r\n", begin - 1);
    const char before = last == std::string::npos ? '\0' : text_[last];
    const std::string found = is_end ? "the end of the file" : shown_token(begin);
    fail_at(begin, fmt::format("expected {}, found {}", expected_at(before), found), hint_at(begin, before, is_end));
  }

  /// Quotes the token at a place; what a line may not show is named by its number.
  std::string shown_token(size_t begin) const {
    const std::string_view token = token_at(text_, begin);
    const auto first = static_cast<unsigned char>(token[0]);
    if (first >= ' ' && first < 0x7F) return fmt::format("'{}'", token);
    uint32_t point = token.size() == 1 ? first : first & (0x7FU >> token.size());
    for (const char c : token.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3F);
    return fmt::format("the character U+{:04X}", point);
  }

  std::string hint_at(size_t begin, char before, bool is_end) const {
    if (is_end)
      return open_.empty() ? ""
                           : fmt::format("a {} is not closed", open_.back().container.is(Tag::list) ? "'['" : "'{'");
    const char found = text_[begin];
    if (found == '\'') return "strings of JSON stand in double quotes";
    if (before == ',' && (found == ']' || found == '}')) return fmt::format("JSON has no comma before '{}'", found);
    if (found == ',') return "JSON has no empty items: a value stands before each comma";
    const std::string expected = expected_at(before);
    if (expected[0] == 'a' && expected[2] == 'k') return "keys stand in double quotes: `{\"a\": 1}`";
    if (expected == "':'") return "a colon stands between a key and its value: `{\"a\": 1}`";
    if (expected == "the end of the file") return "a file holds one value; several are one list: `[1, 2]`";
    if (expected == "',' or ']'") return "a comma stands between two items: `[1, 2]`";
    if (expected == "',' or '}'") return "a comma stands between two entries: `{\"a\": 1, \"b\": 2}`";
    if (found == '/' || found == '#') return "JSON has no comments";
    const std::string word(token_at(text_, begin));
    for (const char* constant : {"True", "False", "None", "NaN", "Infinity", "nan", "inf", "nil"}) {
      if (word == constant) return "the words of JSON are true, false and null";
    }
    const std::string near = nearest_name(word, {"true", "false", "null"});
    return near.empty() ? "" : fmt::format("did you mean {}?", near);
  }

  Context& context_;
  const std::string& path_;
  const std::string& text_;
  bool has_value_ = true;  // whether the last key has its value
  Value root_;
  std::vector<Open> open_;  // the containers around what is read, the outermost first
  StopMeter meter_;
};

/// A JSON value in memory and as text, about.
constexpr uint64_t kBytesPerValue = 64;

void check_json_size(const Value& v, const std::string& path) {
  const auto weigh = [](const Value& leaf) -> uint64_t {
    if (leaf.is(Tag::string)) return 1 + 2 * leaf.as<String>().text.size() / kBytesPerValue;  // copied, and as text
    return leaf.is(Tag::tensor) ? 1 + static_cast<uint64_t>(element_count(leaf.tensor().shape()).hint()) : 1;
  };
  const uint64_t bytes = OccurrenceCounter(kMaxDepth, weigh).count(v) * kBytesPerValue;
  require_host_bytes(bytes);
  if (bytes <= static_cast<uint64_t>(memory_limit())) return;
  fail(ErrorName::file_too_large, "cannot save {}: the value takes {} as JSON", path,
       format_bytes(static_cast<double>(bytes)));
}

class JsonWriter {
 public:
  JsonWriter(Context& context, const std::string& path) : context_(context), path_(path) {}

  Json write(const Value& v, int depth) {
    meter_.count(kWorkOfItem);
    if (depth > kMaxDepth)
      fail_to_save(ErrorName::unsaveable_value, path_, fmt::format("it is nested more than {} deep", kMaxDepth));
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
      case Tag::map: return object_of(v, depth);
      case Tag::absent:
      case Tag::range:
      case Tag::function:
      case Tag::builtin:
      case Tag::module:
      case Tag::foreign:
      case Tag::cell: break;
    }
    fail_to_save(ErrorName::unsaveable_value, path_, fmt::format("JSON has no {}", type_name(v)));
  }

 private:
  Json array(const std::vector<Value>& items, int depth) {
    Json result = Json::array();
    for (const Value& item : items) result.push_back(write(item, depth + 1));
    return result;
  }

  Json object_of(const Value& map, int depth) {
    Json object = Json::object();
    auto& entries = static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
    entries.reserve(count_entries(map));
    Value key, value;
    for (int64_t state = 0; next_entry(map, state, key, value);) {
      if (!key.is(Tag::string)) {
        fail_to_save(
            ErrorName::unsaveable_value, path_,
            fmt::format("the keys of a JSON object are strs, not {}; `str(key)` makes a str of a key", type_name(key)));
      }
      entries.emplace_back(key.as<String>().text, write(value, depth + 1));
    }
    return object;
  }

  Json number(Scalar value) const {
    if (value.type == ScalarType::boolean) return value.boolean;
    if (value.type == ScalarType::integer) return value.integer;
    if (!std::isfinite(value.real))
      fail_to_save(ErrorName::unsaveable_value, path_, "JSON has no " + number_text(value.real));
    return value.real;
  }

  Context& context_;
  const std::string& path_;
  StopMeter meter_;
};

}  // namespace

Value load_json(Context& context, const std::string& path) { return parse_json(context, read_text_file(path), path); }

Value parse_json(Context& context, const std::string& text, const std::string& path) {
  ValueBuilder builder(context, path, text);
  Json::sax_parse(text, &builder);
  return builder.take();
}

void save_json(Context& context, const std::string& path, const Value& value) {
  check_json_size(value, path);
  const Json json = JsonWriter(context, path).write(value, 0);
  std::string text;
  try {
    text = json.dump(2) + "\n";
  } catch (const Json::exception&) { fail_to_save(ErrorName::unsaveable_value, path, "a string is not valid UTF-8"); }
  write_text_file(path, text);
}

}  // namespace tsl
