// Defines builtins on strings.
#include <limits>

#include "base/error_names.h"
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

/// Returns a copy of a text with the letters of a range shifted.
std::string mapped(const std::string& given, char first, char last, int shift) {
  require_host_bytes(given.size());
  std::string text = given;
  for (char& c : text)
    if (c >= first && c <= last) c = static_cast<char>(c + shift);
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
  const std::string chars =
      args[1].is_nil() ? std::string(kWhiteSpace) : expect_string(context, args[1], "strip's characters");
  auto is_stripped = [&](size_t at) { return chars.find(text.substr(at, utf8_width(text, at))) != std::string::npos; };
  size_t begin = 0;
  while (begin < text.size() && is_stripped(begin)) begin += utf8_width(text, begin);
  size_t end = begin;
  for (size_t at = begin; at < text.size();) {
    const bool keep = !is_stripped(at);
    at += utf8_width(text, at);
    if (keep) end = at;
  }
  return make_string(text.substr(begin, end - begin));
}

Value replace_builtin(Context& context, Args args) {
  const std::string& text = expect_string(context, args[0], "replace's text");
  const std::string& old = expect_string(context, args[1], "the text to replace");
  const std::string& now = expect_string(context, args[2], "the replacement");
  if (old.empty()) fail(ErrorName::empty_text, "replace: the text to replace is empty");
  TextBuilder result;
  const std::string_view all = text;
  size_t at = 0;
  for (size_t found; (found = text.find(old, at)) != std::string::npos; at = found + old.size()) {
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
  for (const Value& item : list.as<List>().items) {
    if (!item.is(Tag::string)) return Value();
    size += item.as<String>().text.size() + between.size();
  }
  require_host_bytes(size);
  std::string text;
  text.reserve(size);
  for (const Value& item : list.as<List>().items) {
    if (&item != list.as<List>().items.data()) text += between;
    text += item.as<String>().text;
  }
  return make_string(std::move(text));
}

/// Joins strings whose texts are known.
std::string joined_items(Context& context, const Value& list, const Value& separator) {
  const std::string& between = expect_string(context, separator, "join's separator");
  TextBuilder text;
  Value item;
  bool is_first = true;
  for (int64_t state = 0; iterate(context, list, state, item); is_first = false) {
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
  Ref<LazyString> joined = make_ref<LazyString>();
  Value item;
  for (int64_t state = 0; iterate(context, list, state, item);) {
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
  std::vector<Value> parts;
  const auto is_last = [&] { return static_cast<int64_t>(parts.size()) == cuts; };
  if (by.is_nil()) {
    for (size_t begin = text.find_first_not_of(kWhiteSpace); begin != std::string::npos;) {
      const size_t end = is_last() ? text.find_last_not_of(kWhiteSpace) + 1 : text.find_first_of(kWhiteSpace, begin);
      parts.push_back(make_string(text.substr(begin, end - begin)));
      begin = end == std::string::npos ? end : text.find_first_not_of(kWhiteSpace, end);
    }
    return make_list(std::move(parts));
  }
  const std::string& separator = expect_string(context, by, "split's separator");
  if (separator.empty()) fail(ErrorName::empty_text, "split: the separator is empty");
  size_t at = 0;
  for (size_t found; !is_last() && (found = text.find(separator, at)) != std::string::npos;
       at = found + separator.size()) {
    parts.push_back(make_string(text.substr(at, found - at)));
  }
  parts.push_back(make_string(text.substr(at)));
  return make_list(std::move(parts));
}

std::span<const Builtin> text_builtins() { return kRows; }

}  // namespace tsl
