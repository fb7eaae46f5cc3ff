// Defines builtins that look for a part of a string, or an item of a list: find, rfind, count, contains.
#include <algorithm>

#include "base/count_work.h"
#include "base/error_names.h"
#include "base/long_text.h"
#include "builtins/builtins.h"
#include "value/characters.h"
#include "value/context.h"
#include "vm/arguments.h"
#include "vm/operators.h"

namespace tsl {

namespace {

constexpr int64_t kCompareWork = 16;

const std::vector<Value>& items_in(const Value& v) {
  return v.is(Tag::list) ? v.as<List>().items : v.as<Tuple>().items;
}

const std::string& expect_part(Context& context, const Value& v, std::string_view name) {
  if (!is_text(v)) {
    fail_argument(ErrorName::wrong_argument_type, "item",
                  fmt::format("{} looks for a str in a str, not for {}", name, type_name(v)));
  }
  return expect_string(context, v, "the text to look for");
}

/// Returns where a search that was told to begin at `start` begins; a negative one counts from the end.
int64_t first_of(Context& context, const Value& start, size_t count) {
  const int64_t at = expect_int(context, start, "find's start");
  return at < 0 ? std::max(at + static_cast<int64_t>(count), int64_t{0}) : at;
}

int64_t number_of(const String& text, size_t offset) {
  return offset == std::string::npos ? -1 : static_cast<int64_t>(character_number(text.code_points(), offset));
}

Value find_builtin(Context& context, Args args) {
  if (is_text(args[0])) {
    const std::string& part = expect_part(context, args[1], "find");
    const String& text = expect_text(context, args[0], "find's text");
    const CodePoints points = text.code_points();
    const int64_t first = first_of(context, args[2], points.count());
    const size_t from = points.offset(static_cast<size_t>(first));
    return number_of(text, find_text(text.text, part, from));
  }
  const std::vector<Value>& items = items_in(args[0]);
  for (auto i = static_cast<size_t>(first_of(context, args[2], items.size())); i < items.size(); ++i) {
    count_work(kCompareWork);
    if (deep_equal(context, items[i], args[1])) return static_cast<int64_t>(i);
  }
  return int64_t{-1};
}

std::string reversed_bytes(std::string_view text) {
  require_host_bytes(text.size());
  std::string reversed = copy_text(text);
  polled_each(text.size() / 2, 1, [&](size_t i) { std::swap(reversed[i], reversed[text.size() - 1 - i]); });
  return reversed;
}

/// Returns where a part is last. Searches both backwards, which takes linear time as find_text() does.
size_t find_last(std::string_view text, std::string_view part) {
  const size_t found = find_text(reversed_bytes(text), reversed_bytes(part));
  return found == std::string_view::npos ? found : text.size() - found - part.size();
}

Value rfind_builtin(Context& context, Args args) {
  if (is_text(args[0])) {
    const std::string& part = expect_part(context, args[1], "rfind");
    const String& text = expect_text(context, args[0], "rfind's text");
    return number_of(text, find_last(text.text, part));
  }
  const std::vector<Value>& items = items_in(args[0]);
  for (size_t i = items.size(); i > 0; --i) {
    count_work(kCompareWork);
    if (deep_equal(context, items[i - 1], args[1])) return static_cast<int64_t>(i - 1);
  }
  return int64_t{-1};
}

Value count_builtin(Context& context, Args args) {
  int64_t count = 0;
  if (is_text(args[0])) {
    const std::string& part = expect_part(context, args[1], "count");
    const std::string& text = expect_string(context, args[0], "count's text");
    if (part.empty()) fail(ErrorName::empty_text, "count: the text to count is empty");
    for (size_t at = 0; (at = find_text(text, part, at)) != std::string::npos; at += part.size()) ++count;
    return count;
  }
  const std::vector<Value>& items = items_in(args[0]);
  polled_each(items.size(), kCompareWork, [&](size_t i) { count += deep_equal(context, items[i], args[1]) ? 1 : 0; });
  return count;
}

Value contains_builtin(Context& context, Args args) {
  if (is_text(args[0])) expect_part(context, args[1], "contains");
  return binary(context, ast::BinaryOp::in, args[1], args[0]);
}

constexpr Builtin kSearchRows[] = {
    {"find", "find(x: str | list | tuple, item: any, start: integer = 0)",
     "where a part of a str, or an item of a list, is first, from start on; -1 if it is not there", find_builtin,
     "host"},
    {"rfind", "rfind(x: str | list | tuple, item: any)", "where a part of a str, or an item of a list, is last, or -1",
     rfind_builtin, "host"},
    {"count", "count(x: str | list | tuple, item: any)",
     "how often a str has a part, without overlaps, or a list an item", count_builtin, "host"},
    {"contains", "contains(x: iterable, item: any)", "whether x has the item, key or part: `item in x`",
     contains_builtin, "host"},
};

}  // namespace

std::span<const Builtin> search_builtins() { return kSearchRows; }

}  // namespace tsl
