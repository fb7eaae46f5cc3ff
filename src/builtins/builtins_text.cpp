// Defines builtins on strings.
#include <bitset>
#include <limits>
#include <unordered_set>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/format.h"
#include "value/runtime.h"
#include "value/text_builder.h"
#include "value/utf8.h"
#include "vm/arguments.h"
#include "vm/operators.h"

namespace tsl {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

/// A set of characters, in which each byte that is not part of one counts as one.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) {
    constexpr int64_t kCharacterWork = 64;
    for (size_t at = 0; at < characters.size();) {
      const std::string_view character = characters.substr(at, utf8_width(characters, at));
      count_work(kCharacterWork);
      if (character.size() == 1) bytes_.set(static_cast<unsigned char>(character[0]));
      else wide_.insert(character);
      at += character.size();
    }
  }
  bool contains(std::string_view character) const {
    return character.size() == 1 ? bytes_.test(static_cast<unsigned char>(character[0])) : wide_.contains(character);
  }

 private:
  std::bitset<256> bytes_;
  std::unordered_set<std::string_view> wide_;
};

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

/// Returns a copy of a text with the letters of a range shifted.
std::string mapped(std::string_view given, char first, char last, int shift) {
  require_host_bytes(given.size());
  std::string text = copy_text(given);
  polled_each(text.size(), 1, [&](size_t i) {
    if (text[i] >= first && text[i] <= last) text[i] = static_cast<char>(text[i] + shift);
  });
  return text;
}

Value upper_builtin(Context& context, Args args) {
  return make_string(mapped(expect_string(context, args[0], "upper's text"), 'a', 'z', 'A' - 'a'));
}
Value lower_builtin(Context& context, Args args) {
  return make_string(mapped(expect_string(context, args[0], "lower's text"), 'A', 'Z', 'a' - 'A'));
}

Value startswith_builtin(Context& context, Args args) {
  return expect_string(context, args[0], "startswith's text").starts_with(expect_string(context, args[1], "prefix"));
}

Value endswith_builtin(Context& context, Args args) {
  return expect_string(context, args[0], "endswith's text").ends_with(expect_string(context, args[1], "suffix"));
}

Value strip_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "strip's text");
  const CharacterSet stripped(args[1].is_nil() ? kWhiteSpace : expect_string(context, args[1], "strip's characters"));
  const size_t begin = find_character(text, 0, stripped, false);
  size_t end = begin;
  for (size_t at = begin; at < text.size(); at = find_character(text, end, stripped, false))
    end = find_character(text, at, stripped, true);
  return make_string(copy_text(std::string_view(text).substr(begin, end - begin)));
}

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
    if (!joined->pieces.empty()) joined->pieces.push_back({separator, kStrSpec});
    if (!item.is(Tag::lazy_string)) expect_string(context, item, "join's item");
    joined->pieces.push_back({item, kStrSpec});
  }
  const Value text(joined);
  return is_known(context, text) ? make_string(to_string(context, text)) : text;
}

constexpr Builtin kRows[] = {
    {"join", "join(strings: iterable, separator: iterable | nil = nil)",
     "the strings one after the other, with the separator between them", join_builtin, "host"},
    {"replace", "replace(text: str, old: str, new: str)", "text with every `old` replaced", replace_builtin, "host"},
    {"strip", "strip(text: str, chars: str | nil = nil)",
     "text without white space, or without any of chars, at its ends", strip_builtin, "host"},
    {"upper", "upper(text: str)", "text with a … z as capitals", upper_builtin, "host"},
    {"lower", "lower(text: str)", "text with A … Z as small letters", lower_builtin, "host"},
    {"startswith", "startswith(text: str, prefix: str)", "whether text starts with prefix", startswith_builtin, "host"},
    {"endswith", "endswith(text: str, suffix: str)", "whether text ends with suffix", endswith_builtin, "host"},
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
    const CharacterSet space(kWhiteSpace);
    for (size_t begin = find_character(text, 0, space, false); begin < text.size();) {
      const size_t end = is_last() ? text.find_last_not_of(kWhiteSpace) + 1 : find_character(text, begin, space, true);
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

std::span<const Builtin> text_builtins() { return kRows; }

}  // namespace tsl
