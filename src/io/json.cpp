#include "io/json.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "io/bytes.h"
#include "tensor/limits.h"
#include "value/context.h"
#include "value/format.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/numbers.h"
#include "value/utf8.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

// More than any data file needs, and far from exhausting the stack.
constexpr int kMaxDepth = 200;

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
    open_.back().key = context_.names().intern(value);
    has_value_ = false;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(make_list({})); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const bool is_end = what.find("unexpected end of input") != std::string_view::npos;
    const bool is_string = what.find("invalid string") != std::string_view::npos;
    fail_at_token(is_end ? text_.size() : begin_of(std::min(position, text_.size()), is_string ? token.size() : 0));
  }

 private:
  struct Open {
    Value container;
    Name key = nullptr;  // of the value that is read next
  };

  bool add(Value value) {
    has_value_ = true;
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

  /// Returns where the token begins that ends at `end`. `size` is that of a string, else 0.
  size_t begin_of(size_t end, size_t size) const {
    if (size > 0) return end - std::min(end, size);
    size_t begin = end > 0 ? end - 1 : 0;
    const auto is_in_word = [&](size_t at) { return std::isalnum(static_cast<unsigned char>(text_[at])) != 0; };
    while (begin > 0 && is_in_word(begin) && is_in_word(begin - 1)) --begin;
    return begin;
  }

  /// Fails because of the token at a place, or of the end of the file.
  [[noreturn]] void fail_at_token(size_t begin) const {
    const bool is_end = begin >= text_.size();
    const size_t last = begin == 0 ? std::string::npos : text_.find_last_not_of(" \t\r\n", begin - 1);
    const char before = last == std::string::npos ? '\0' : text_[last];
    const size_t line_start = begin == 0 ? 0 : text_.rfind('\n', begin - 1) + 1;  // npos + 1 is 0
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(begin), '\n');
    const std::string found = is_end ? "the end of the file" : fmt::format("'{}'", word_at(begin));
    const std::string problem = !is_end && text_[begin] == '"'
                                    ? "a string is not closed, or holds a character that JSON writes with '\\'"
                                    : fmt::format("expected {}, found {}", expected_at(before), found);
    fail_with(ErrorKind::io, fmt::format("cannot load {}:{}:{}: {}", path_, line, begin - line_start + 1, problem),
              hints_of(hint_at(begin, before, is_end)));
  }

  /// Returns the word or the character at a place.
  std::string word_at(size_t begin) const {
    size_t end = begin;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    return text_.substr(begin, std::max<size_t>(end - begin, utf8_width(text_, begin)));
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
    const std::string word = word_at(begin);
    for (const char* constant : {"True", "False", "None", "NaN", "Infinity", "nan", "inf", "nil"}) {
      if (word == constant) return "the words of JSON are true, false and null";
    }
    return "";
  }

  Context& context_;
  const std::string& path_;
  const std::string& text_;
  bool has_value_ = true;  // whether the last key has its value
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
      case Tag::foreign:
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
  } catch (const Json::exception&) { fail_to_save(path, "a string is not valid UTF-8"); }
  write_text_file(path, text);
}

}  // namespace tsl
