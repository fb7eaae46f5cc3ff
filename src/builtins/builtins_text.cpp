// Defines builtins on strings.
#include <bitset>
#include <limits>
#include <unordered_set>

#include "base/count_work.h"
#include "base/display_width.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "value/characters.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/text_builder.h"
#include "value/utf8.h"
#include "vm/arguments.h"
#include "vm/operators.h"

namespace tsl {

namespace {

/// A set of characters, in which each byte that is not part of one counts as one.
class CharacterSet {
 public:
  /// The set of all white space.
  CharacterSet() = default;
  explicit CharacterSet(std::string_view characters) : is_space_(false) {
    each_character(characters, [&](std::string_view character) {
      if (character.size() == 1) bytes_.set(static_cast<unsigned char>(character[0]));
      else wide_.insert(character);
    });
  }
  bool contains(std::string_view character) const {
    if (is_space_) return is_white_space(code_point_of(character));
    return character.size() == 1 ? bytes_.test(static_cast<unsigned char>(character[0])) : wide_.contains(character);
  }

 private:
  bool is_space_ = true;
  std::bitset<256> bytes_;
  std::unordered_set<std::string_view> wide_;
};

/// Reads a set of characters; nil stands for white space.
CharacterSet expect_characters(Context& context, const Value& given, const char* what) {
  return given.is_nil() ? CharacterSet() : CharacterSet(expect_string(context, given, what));
}

/// Returns the offset of the first character from `at` on that is in the set, or that is not.
size_t find_character(std::string_view text, size_t at, const CharacterSet& set, bool is_wanted) {
  constexpr int64_t kCharacterWork = 4;
  while (at < text.size()) {
    const size_t width = utf8_width(text, at);
    if (set.contains(text.substr(at, width)) == is_wanted) break;
    count_work(kCharacterWork);
    at += width;
  }
  return at;
}

Value startswith_builtin(Context& context, Args args) {
  return expect_string(context, args[0], "startswith's text").starts_with(expect_string(context, args[1], "prefix"));
}

Value endswith_builtin(Context& context, Args args) {
  return expect_string(context, args[0], "endswith's text").ends_with(expect_string(context, args[1], "suffix"));
}

Value removeprefix_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "removeprefix's text");
  const std::string& prefix = expect_string(context, args[1], "prefix");
  return text.starts_with(prefix) ? make_string(copy_text(std::string_view(text).substr(prefix.size()))) : args[0];
}

Value removesuffix_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "removesuffix's text");
  const std::string& suffix = expect_string(context, args[1], "suffix");
  if (!text.ends_with(suffix)) return args[0];
  return make_string(copy_text(std::string_view(text).substr(0, text.size() - suffix.size())));
}

/// Returns the offset behind the last character that is not in the set.
size_t end_without(std::string_view text, size_t begin, const CharacterSet& stripped) {
  size_t end = begin;
  for (size_t at = find_character(text, begin, stripped, false); at < text.size();
       at = find_character(text, end, stripped, false))
    end = find_character(text, at, stripped, true);
  return end;
}

template <bool kLeft, bool kRight> Value strip_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "strip's text");
  const CharacterSet stripped = expect_characters(context, args[1], "strip's characters");
  const size_t begin = kLeft ? find_character(text, 0, stripped, false) : 0;
  const size_t end = kRight ? end_without(text, begin, stripped) : text.size();
  return make_string(copy_text(std::string_view(text).substr(begin, end - begin)));
}

Value lines_builtin(Context& context, Args args) {
  const std::string_view text = expect_string(context, args[0], "lines' text");
  Collector all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(find_text(text, "\n", at), text.size());
    const bool has_return = end < text.size() && end > at && text[end - 1] == '\r';
    all.add(make_string(copy_text(text.substr(at, end - at - (has_return ? 1 : 0)))));
    at = end + 1;
  }
  return make_list(all.take());
}

// ---- Padding ---------------------------------------------------------------------------------------

int64_t width_of(std::string_view text) {
  int64_t width = 0;
  each_character(text, [&](std::string_view character) {
    const int32_t code = code_point_of(character);
    width += code < 0 ? 1 : columns_of(static_cast<char32_t>(code));
  });
  return width;
}

/// Fills a text up to a width, in columns of a terminal as in format specs, with so much of the fill before it.
template <int64_t (*kBefore)(int64_t)> Value pad_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "the text");
  const int64_t width = expect_int(context, args[1], "the width");
  const std::string& fill = expect_string(context, args[2], "the fill");
  if (fill.empty() || utf8_width(fill, 0) != fill.size() || width_of(fill) != 1) {
    fail_argument(ErrorName::argument_out_of_range, "fill",
                  fmt::format("the fill must be one character, in one column, not {}", quoted(fill)));
  }
  const int64_t missing = width - width_of(text);
  if (missing <= 0) return args[0];
  const int64_t before = kBefore(missing);
  TextBuilder padded;
  for (int64_t i = 0; i < before; ++i) padded += fill;  // bounded: the builder polls
  padded += text;
  for (int64_t i = before; i < missing; ++i) padded += fill;  // bounded: the builder polls
  return make_string(padded.take());
}

int64_t none(int64_t) { return 0; }
int64_t all(int64_t missing) { return missing; }
int64_t half(int64_t missing) { return missing / 2; }  // as in format specs

Value replace_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "replace's text");
  const std::string& old = expect_string(context, args[1], "the text to replace");
  const std::string& now = expect_string(context, args[2], "the replacement");
  if (old.empty()) fail(ErrorName::empty_text, "replace: the text to replace is empty");
  TextBuilder result;
  const std::string_view all = text;
  size_t at = 0;
  for (size_t found; (found = find_text(text, old, at)) != std::string::npos; at = found + old.size()) {
    result += all.substr(at, found - at);
    result += now;
  }
  result += all.substr(at);
  return make_string(result.take());
}

/// Joins the items of a list if all are strings; returns nil otherwise.
Value join_strings(const Value& list, const Value& separator) {
  if (!list.is(Tag::list) || !separator.is(Tag::string)) return Value();
  const std::string& between = separator.as<String>().text;
  size_t size = 0;
  const std::vector<Value>& items = list.as<List>().items;
  bool are_texts = true;
  polled_each(items.size(), 1, [&](size_t i) {
    if (are_texts &= items[i].is(Tag::string)) size += items[i].as<String>().text.size() + between.size();
  });
  if (!are_texts) return Value();
  require_host_bytes(size);
  std::string text;
  text.reserve(size);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) append_text(text, between);
    append_text(text, items[i].as<String>().text);
  }
  return make_string(std::move(text));
}

/// Joins strings whose texts are known.
std::string joined_items(Context& context, const Value& list, const Value& separator) {
  const std::string& between = expect_string(context, separator, "join's separator");
  TextBuilder text;
  Value item;
  bool is_first = true;
  for (int64_t state = 0; iterate(context, list, state, item); is_first = false) {  // bounded: the builder polls
    if (!is_first) text += between;
    text += expect_string(context, item, "join's item");
  }
  return text.take();
}

// Accepts join(list, separator), and join(separator, list) for ", ".join(list).
Value join_builtin(Context& context, Args args) {
  const bool text_first = is_text(args[0]);
  const Value& list = args[text_first ? 1 : 0];
  const Value& given = args[text_first ? 0 : 1];
  const Value separator = given.is_nil() && !text_first ? make_string("") : given;
  if (!separator.is(Tag::lazy_string)) expect_string(context, separator, "join's separator");
  if (Value text = join_strings(list, separator); !text.is_nil()) return text;
  if (!context.runtime().is_tracing()) return make_string(joined_items(context, list, separator));
  constexpr int64_t kPieceWork = 256;  // to make two pieces, and to free them
  Ref<LazyString> joined = make_ref<LazyString>();
  Value item;
  for (int64_t state = 0; iterate(context, list, state, item);) {
    count_work(kPieceWork);
    if (!joined->pieces.empty()) joined->pieces.push_back({separator, std::string(kStrSpec)});
    if (!item.is(Tag::lazy_string)) expect_string(context, item, "join's item");
    joined->pieces.push_back({item, std::string(kStrSpec)});
  }
  const Value text(joined);
  return is_known(context, text) ? make_string(to_string(context, text)) : text;
}

constexpr Builtin kTextRows[] = {
    {"join", "join(strings: iterable, separator: iterable | nil = nil)",
     "the strings one after the other, with the separator between them", join_builtin, "host"},
    {"replace", "replace(text: str, old: str, new: str)", "text with every `old` replaced", replace_builtin, "host"},
    {"strip", "strip(text: str, chars: str | nil = nil)",
     "text without white space, or without any of chars, at its ends", strip_builtin<true, true>, "host"},
    {"lstrip", "lstrip(text: str, chars: str | nil = nil)", "as strip, at the start alone", strip_builtin<true, false>,
     "host"},
    {"rstrip", "rstrip(text: str, chars: str | nil = nil)", "as strip, at the end alone", strip_builtin<false, true>,
     "host"},
    {"startswith", "startswith(text: str, prefix: str)", "whether text starts with prefix", startswith_builtin, "host"},
    {"endswith", "endswith(text: str, suffix: str)", "whether text ends with suffix", endswith_builtin, "host"},
    {"removeprefix", "removeprefix(text: str, prefix: str)", "text without prefix, if it starts with it",
     removeprefix_builtin, "host"},
    {"removesuffix", "removesuffix(text: str, suffix: str)", "text without suffix, if it ends with it",
     removesuffix_builtin, "host"},
    {"lines", "lines(text: str)", "the list of the lines of text, without what ends them", lines_builtin, "host"},
    {"ljust", "ljust(text: str, width: integer, fill: str = \" \")", "text at the left of so many columns",
     pad_builtin<none>, "host"},
    {"rjust", "rjust(text: str, width: integer, fill: str = \" \")", "text at the right of so many columns",
     pad_builtin<all>, "host"},
    {"center", "center(text: str, width: integer, fill: str = \" \")", "text in the middle of so many columns",
     pad_builtin<half>, "host"},
};

}  // namespace

Value split_text(Context& context, const Value& given, const Value& by, const Value& limit) {
  const std::string& text = expect_string(context, given, "split's text");
  const int64_t cuts =
      limit.is_nil() ? std::numeric_limits<int64_t>::max() : expect_int(context, limit, "split's limit");
  if (cuts < 0) fail(ErrorName::argument_out_of_range, "split: the limit must not be negative, got {}", cuts);
  Collector parts;
  const auto is_last = [&] { return static_cast<int64_t>(parts.size()) == cuts; };
  if (by.is_nil()) {
    const CharacterSet space;
    for (size_t begin = find_character(text, 0, space, false); begin < text.size();) {
      const size_t end = is_last() ? end_without(text, begin, space) : find_character(text, begin, space, true);
      parts.add(make_string(copy_text(std::string_view(text).substr(begin, end - begin))));
      begin = find_character(text, end, space, false);
    }
    return make_list(parts.take());
  }
  const std::string& separator = expect_string(context, by, "split's separator");
  if (separator.empty()) fail(ErrorName::empty_text, "split: the separator is empty");
  size_t at = 0;
  for (size_t found; !is_last() && (found = find_text(text, separator, at)) != std::string::npos;
       at = found + separator.size()) {
    parts.add(make_string(copy_text(std::string_view(text).substr(at, found - at))));
  }
  parts.add(make_string(copy_text(std::string_view(text).substr(at))));
  return make_list(parts.take());
}

std::span<const Builtin> text_builtins() { return kTextRows; }

}  // namespace tsl
