#include "io/json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/count_work.h"
#include "base/error_names.h"
#include "io/atomic_file.h"
#include "io/bytes.h"
#include "io/json_problem.h"
#include "tensor/limits.h"
#include "value/context.h"
#include "value/format.h"
#include "value/format_spec.h"
#include "value/hints.h"
#include "value/host_tensor.h"
#include "value/map.h"
#include "value/numbers.h"
#include "value/text_builder.h"
#include "value/utf8.h"
#include "value/value_walk.h"

namespace tsl {

namespace {

using Json = nlohmann::ordered_json;

// More than any data file needs, and far from exhausting the stack.
constexpr int kMaxDepth = 200;
constexpr int64_t kWorkOfItem = 100;  // for a value or a key

/// Goes over the bytes of a text, and polls: a long string or many blanks take the parser long.
class PolledBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  PolledBytes(const char* at, ReadProgress* progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  PolledBytes& operator++() {
    constexpr uintptr_t kPart = 1 << 14;
    if (reinterpret_cast<uintptr_t>(++at_) % kPart == 0) {
      count_work(kPart);
      if (progress_) progress_->count(kPart);
    }
    return *this;
  }
  PolledBytes operator++(int) {
    const PolledBytes before = *this;
    ++*this;
    return before;
  }
  bool operator==(const PolledBytes& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  ReadProgress* progress_;  // null: nobody asks
};

/// Makes values while a text is parsed. nlohmann's own objects look through all their keys for each new one.
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(Context& context, const std::string& path, const std::string& text)
      : context_(context), path_(path), text_(text) {}

  /// Returns the value, after the parser has. Fails if it took a character for the end.
  Value take() {
    if (parsed_end() < text_.size()) fail_at_token(parsed_end());
    return std::move(root_);
  }

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
  bool start_object(size_t) override { return open(make_record({})); }
  bool key(string_t& value) override {
    count_work(kWorkOfItem);
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
    size_t begin = says("unexpected end of input") ? parsed_end() : last_token(text_, end);
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
    count_work(kWorkOfItem);
    has_value_ = true;
    if (open_.empty()) root_ = std::move(value);
    else if (Value& into = open_.back().container; into.is(Tag::list)) {
      into.as<List>().make_room(1);
      into.as<List>().items.push_back(std::move(value));
    } else into.as<Record>().set(open_.back().key, std::move(value));
    return true;
  }
  bool open(Value container) {
    if (open_.size() > kMaxDepth) fail_to_read(fmt::format("it is nested more than {} deep", kMaxDepth));
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
    if (open_.empty()) return before == 0 ? "a value" : end();
    const bool is_list = open_.back().container.is(Tag::list);
    if (before == ':') return "a value";
    if (before == '[') return "a value or ']'";
    if (before == '{') return "a key or '}'";
    if (before == ',') return is_list ? "a value" : "a key, a string in double quotes";
    if (is_list) return "',' or ']'";
    return has_value_ ? "',' or '}'" : "':'";
  }

  /// Returns where the text ends for the parser, which takes NUL for the end.
  size_t parsed_end() const { return std::min(text_.find('\0'), text_.size()); }

  bool is_file() const { return !path_.empty(); }
  const char* end() const { return is_file() ? "the end of the file" : "the end of the text"; }

  [[noreturn]] void fail_to_read(const std::string& why) const {
    if (is_file()) fail_to_load(ErrorName::malformed_file, path_, why);
    fail_argument(ErrorName::malformed_json, "text", "the text is not JSON: " + why);
  }

  [[noreturn]] void fail_at(size_t at, const std::string& problem, const std::string& hint) const {
    const std::string_view before = std::string_view(text_).substr(0, at);
    const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    const auto column =
        1 + std::count_if(before.begin() + static_cast<ptrdiff_t>(line_start), before.end(), starts_character);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    if (is_file())
      fail_with(ErrorName::malformed_file, fmt::format("cannot load {}:{}:{}: {}", path_, line, column, problem),
                hints_of(hint));
    fail_argument(ErrorName::malformed_json, "text",
                  fmt::format("the text is not JSON: line {}, column {}: {}", line, column, problem), hints_of(hint));
  }

  /// Fails because of the token at a place, or of the end of the file.
  [[noreturn]] void fail_at_token(size_t begin) const {
    const bool is_end = begin >= text_.size();
    const size_t last = begin == 0 ? std::string::npos : text_.find_last_not_of(" \t\r\n", begin - 1);
    const char before = last == std::string::npos ? '\0' : text_[last];
    const std::string found = is_end ? end() : shown_token(begin);
    fail_at(begin, fmt::format("expected {}, found {}", expected_at(before), found), hint_at(begin, before, is_end));
  }

  /// Quotes the token at a place; what a line may not show is named by its number.
  std::string shown_token(size_t begin) const {
    const std::string_view token = token_at(text_, begin);
    const auto first = static_cast<unsigned char>(token[0]);
    if (first >= ' ' && first < 0x7F) return fmt::format("'{}'", token);
    uint32_t point = token.size() == 1 ? first : first & (0x7FU >> token.size());
    // bounded: the bytes of a code point
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
    if (expected == end())
      return fmt::format("a {} holds one value; several are one list: `[1, 2]`", is_file() ? "file" : "text");
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
};

/// A JSON value in memory and as text, about.
constexpr uint64_t kBytesPerValue = 64;

/// Fails to save a file, or, without a path, because of the argument of to_json().
[[noreturn]] void fail_to_write(const std::string& path, ErrorName of_argument, const std::string& why) {
  if (!path.empty()) fail_to_save(ErrorName::unsaveable_value, path, why);
  fail_argument(of_argument, "value", "to_json: " + why);
}

void check_json_size(const Value& v, const std::string& path) {
  const auto weigh = [](const Value& leaf) -> uint64_t {
    if (leaf.is(Tag::string)) return 1 + 2 * leaf.as<String>().text.size() / kBytesPerValue;  // copied, and as text
    return leaf.is(Tag::tensor) ? 1 + static_cast<uint64_t>(element_count(leaf.tensor().shape()).hint()) : 1;
  };
  const uint64_t bytes = OccurrenceCounter(kMaxDepth, weigh).count(v) * kBytesPerValue;
  require_host_bytes(bytes);
  if (bytes <= static_cast<uint64_t>(memory_limit())) return;
  fail(ErrorName::file_too_large, "cannot {}: the value takes {} as JSON",
       path.empty() ? "make a text" : "save " + path, format_bytes(static_cast<double>(bytes)));
}

/// Writes a value as text, item by item, so that it ends where the run ends.
class JsonWriter {
 public:
  JsonWriter(Context& context, const std::string& path, int indent) : context_(context), path_(path), indent_(indent) {}

  std::string text(const Value& v) {
    write(v, 0);
    return out_.take();
  }

 private:
  void write(const Value& v, int depth) {
    count_work(kWorkOfItem);
    if (depth > kMaxDepth)
      fail_to_write(path_, ErrorName::argument_out_of_range, fmt::format("it is nested more than {} deep", kMaxDepth));
    switch (v.tag()) {
      case Tag::nil: out_ += "null"; return;
      case Tag::boolean:
      case Tag::integer:
      case Tag::real:
      case Tag::symbol: number(pinned(v, "file")); return;
      case Tag::string:
      case Tag::lazy_string: string(to_string(context_, v)); return;
      case Tag::dtype: string(name_of(v.dtype())); return;
      case Tag::list: array(v.as<List>().items, depth); return;
      case Tag::tuple: array(v.as<Tuple>().items, depth); return;
      case Tag::tensor: write(to_nested_lists(context_, v.tensor()), depth); return;
      case Tag::record:
      case Tag::map: object(v, depth); return;
      case Tag::absent:
      case Tag::range:
      case Tag::function:
      case Tag::builtin:
      case Tag::module:
      case Tag::foreign:
      case Tag::cell: break;
    }
    fail_to_write(path_, ErrorName::wrong_argument_type, fmt::format("JSON has no {}", type_name(v)));
  }

  void new_line(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    // bounded: by the depth that a tree may have
    for (int blanks = indent_ * depth; blanks > 0; --blanks) out_ += ' ';
  }

  template <class WriteItem> void items(char open, char close, size_t count, int depth, WriteItem&& write_item) {
    out_ += open;
    for (size_t i = 0; i < count; ++i) {  // bounded: write() counts each item
      if (i > 0) out_ += ',';
      new_line(depth + 1);
      write_item(i);
    }
    if (count > 0) new_line(depth);
    out_ += close;
  }

  void array(const std::vector<Value>& values, int depth) {
    items('[', ']', values.size(), depth, [&](size_t i) { write(values[i], depth + 1); });
  }

  void object(const Value& container, int depth) {
    Value key, value;
    int64_t state = 0;
    items('{', '}', count_entries(container), depth, [&](size_t) {
      next_entry(container, state, key, value);
      if (!key.is(Tag::string)) {
        fail_to_write(
            path_, ErrorName::wrong_argument_type,
            fmt::format("the keys of a JSON object are strs, not {}; `str(key)` makes a str of a key", type_name(key)));
      }
      string(key.as<String>().text);
      out_ += indent_ < 0 ? ":" : ": ";
      write(value, depth + 1);
    });
  }

  void number(Scalar value) {
    if (value.type == ScalarType::boolean) out_ += value.boolean ? "true" : "false";
    else if (value.type == ScalarType::integer) out_ += fmt::format_int(value.integer).c_str();
    else real(value.real);
  }

  void real(double value) {
    if (!std::isfinite(value))
      fail_to_write(path_, ErrorName::argument_out_of_range, "JSON has no " + float_text(value));
    out_ += float_text(value);
  }

  /// Whether a text stands for itself between quotes.
  static bool is_plain(std::string_view text) {
    const auto is_itself = [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
    return std::all_of(text.begin(), text.end(), is_itself);
  }

  /// Writes a string part by part, so that a long one polls.
  void string(std::string_view text) {
    constexpr size_t kPart = 1 << 14;
    out_ += '"';
    while (!text.empty()) {
      count_work(kPart);
      size_t end = std::min(kPart, text.size());
      for (int i = 0; i < 3 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++i) --end;
      part(text.substr(0, end));
      text.remove_prefix(end);
    }
    out_ += '"';
  }

  void part(std::string_view text) {
    if (is_plain(text)) {
      out_ += text;
      return;
    }
    try {
      const std::string quoted = Json(std::string(text)).dump();
      out_ += std::string_view(quoted).substr(1, quoted.size() - 2);
    } catch (const Json::exception&) {
      fail_to_write(path_, ErrorName::argument_out_of_range, "a string is not valid UTF-8");
    }
  }

  Context& context_;
  const std::string& path_;
  const int indent_;
  TextBuilder out_;
};

std::string text_of(Context& context, const Value& value, const std::string& path, int indent) {
  check_json_size(value, path);
  return JsonWriter(context, path, indent).text(value);
}

}  // namespace

namespace {

Value parse(Context& context, const std::string& text, const std::string& path, ReadProgress* progress) {
  ValueBuilder builder(context, path, text);
  const char* const begin = text.data();
  Json::sax_parse(PolledBytes(begin, progress), PolledBytes(begin + text.size(), nullptr), &builder);
  return builder.take();
}

}  // namespace

Value load_json(Context& context, const std::string& path) {
  constexpr uint64_t kPasses = 2;  // to read and to parse
  ReadProgress progress(path, kPasses);
  const std::string text = read_text_file(path, progress);
  return parse(context, text, path, &progress);
}

Value parse_json(Context& context, const std::string& text, const std::string& path) {
  return parse(context, text, path, nullptr);
}

void save_json(Context& context, const std::string& path, const Value& value) {
  constexpr int kIndent = 2;
  write_text_file(path, text_of(context, value, path, kIndent) + "\n");
}

std::string to_json(Context& context, const Value& value, int indent) { return text_of(context, value, "", indent); }

}  // namespace tsl
