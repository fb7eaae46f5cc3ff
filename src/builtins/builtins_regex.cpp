// Defines builtins on regular expressions. RE2 matches in linear time, whatever the pattern.
#include <re2/re2.h>

#include <list>
#include <memory>

#include "base/count_work.h"
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/characters.h"
#include "value/context.h"
#include "value/text_builder.h"
#include "value/utf8.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

// RE2 cannot be interrupted, so a single search must not take long: at worst, each byte meets each part of the pattern,
// and each meeting copies the places of all groups.
constexpr size_t kMaxText = size_t{1} << 24;
constexpr size_t kMaxWork = size_t{1} << 28;
constexpr size_t kGroupsPerWork = 4;  // copied in the time of one meeting
constexpr size_t kMaxPattern = size_t{1} << 12;
constexpr int64_t kMaxPatternMemory = int64_t{1} << 22;  // of a pattern, with the states that a search makes
constexpr size_t kKeptPatterns = 16;

using Groups = std::vector<re2::StringPiece>;

std::shared_ptr<const re2::RE2> compiled(const std::string& pattern) {
  if (pattern.size() > kMaxPattern) {
    fail_argument(ErrorName::malformed_pattern, "pattern",
                  fmt::format("a pattern has at most {} bytes, not {}", kMaxPattern, pattern.size()),
                  {"`find(s, part)` and `replace(s, old, new)` take texts of any length"});
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxPatternMemory);
  auto made = std::make_shared<const re2::RE2>(pattern, options);
  if (!made->ok()) {
    fail_argument(ErrorName::malformed_pattern, "pattern",
                  fmt::format("'{}' is not a regular expression: {}", pattern, made->error()),
                  {"a backslash before `. * + ? ( ) [ ] { } | ^ $` takes the character as it is"});
  }
  return made;
}

/// Returns a compiled pattern. Keeps the last few: programs use the same ones in loops.
std::shared_ptr<const re2::RE2> pattern_of(Context& context, const Value& v) {
  thread_local std::list<std::shared_ptr<const re2::RE2>> kept;
  const std::string& text = expect_string(context, v, "the pattern");
  // bounded: by kKeptPatterns
  for (auto at = kept.begin(); at != kept.end(); ++at) {
    if ((*at)->pattern() != text) continue;
    kept.splice(kept.begin(), kept, at);
    return kept.front();
  }
  kept.push_front(compiled(text));
  if (kept.size() > kKeptPatterns) kept.pop_back();
  return kept.front();
}

const String& searched_text(Context& context, const Value& v, const re2::RE2& pattern) {
  const String& text = expect_text(context, v, "the text");
  const auto parts = static_cast<size_t>(std::max(pattern.ProgramSize(), 1));
  const auto groups = static_cast<size_t>(pattern.NumberOfCapturingGroups());
  const size_t most = std::min(kMaxText, kMaxWork / (parts * (1 + groups / kGroupsPerWork)));
  if (text.text.size() <= most) return text;
  fail_argument(ErrorName::argument_out_of_range, "text",
                fmt::format("this pattern is matched with texts of at most {} bytes, not {}", most, text.text.size()),
                {"`lines(text)` makes a list of the lines"});
}

/// Finds the matches of a pattern in a text, one after the other.
class Matches {
 public:
  Matches(const re2::RE2& pattern, const std::string& text, size_t from = 0)
      : pattern_(pattern),
        text_(text),
        at_(from),
        groups_(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1) {}

  /// Advances to the next match, which may be empty; returns false if there is none.
  bool next() {
    if (at_ > text_.size()) return false;
    constexpr size_t kBytesPerWork = 16;
    count_work(static_cast<int64_t>((text_.size() - at_) / kBytesPerWork + 64 * groups_.size()));
    if (!pattern_.Match(text_, at_, text_.size(), re2::RE2::UNANCHORED, groups_.data(),
                        static_cast<int>(groups_.size())))
      return false;
    at_ = end();
    if (groups_[0].empty()) at_ += at_ < text_.size() ? utf8_width(text_, at_) : 1;
    return true;
  }

  // Of the present match:
  size_t begin() const { return static_cast<size_t>(groups_[0].data() - text_.data()); }
  size_t end() const { return begin() + groups_[0].size(); }
  const Groups& groups() const { return groups_; }

 private:
  const re2::RE2& pattern_;
  const std::string& text_;
  size_t at_;
  Groups groups_;
};

std::string_view view_of(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

/// Returns the text of a group; nil if it has no part in the match.
Value text_of(const re2::StringPiece& group) {
  return group.data() ? make_string(std::string(view_of(group))) : Value();
}

std::vector<Value> groups_of(const Matches& match) {
  Collector groups;
  for (size_t i = 1; i < match.groups().size(); ++i) groups.add(text_of(match.groups()[i]));
  return groups.take();
}

/// Returns what search() tells of a match: positions count characters, as indices do.
Value record_of(Context& context, const String& text, const Matches& match) {
  const CodePoints points = text.code_points();
  const auto number = [&](size_t offset) { return Value(static_cast<int64_t>(character_number(points, offset))); };
  const auto name = [&](const char* field) { return context.names().intern(field); };
  return make_record({{name("text"), text_of(match.groups()[0])},
                      {name("start"), number(match.begin())},
                      {name("end"), number(match.end())},
                      {name("groups"), make_list(groups_of(match))}});
}

Value search_builtin(Context& context, Args args) {
  const auto pattern = pattern_of(context, args[0]);
  const String& text = searched_text(context, args[1], *pattern);
  const int64_t start = expect_int(context, args[2], "the start");
  if (start < 0) fail_argument(ErrorName::argument_out_of_range, "start", "search: the start must not be negative");
  const size_t from = text.code_points().offset(static_cast<size_t>(start));
  Matches matches(*pattern, text.text, from);
  return matches.next() ? record_of(context, text, matches) : Value();
}

Value findall_builtin(Context& context, Args args) {
  const auto pattern = pattern_of(context, args[0]);
  const String& text = searched_text(context, args[1], *pattern);
  Collector found;
  for (Matches matches(*pattern, text.text); matches.next();) {
    const Groups& groups = matches.groups();
    if (groups.size() <= 2) found.add(text_of(groups.back()));
    else found.add(make_tuple(groups_of(matches)));
  }
  return make_list(found.take());
}

/// Adds a replacement, in which `\1` stands for the first group and `\0` for the whole match.
void add_replacement(TextBuilder& to, std::string_view replacement, const Groups& groups) {
  size_t at = 0;
  // bounded: the builder polls
  for (size_t mark; (mark = replacement.find('\\', at)) != std::string_view::npos; at = mark + 2) {
    to += replacement.substr(at, mark - at);
    const char c = mark + 1 < replacement.size() ? replacement[mark + 1] : ' ';
    const auto group = static_cast<size_t>(c - '0');
    if (c == '\\') {
      to += '\\';
    } else if (c >= '0' && c <= '9' && group < groups.size()) {
      to += view_of(groups[group]);
    } else {
      fail_argument(ErrorName::malformed_pattern, "replacement",
                    fmt::format("'\\{}' stands for no group of the pattern, which has {}", c, groups.size() - 1),
                    {"`\\\\1` in a string is the first group, `\\\\0` the whole match, `\\\\\\\\` a backslash"});
    }
  }
  to += replacement.substr(at);
}

Value substitute_builtin(Context& context, Args args) {
  const auto pattern = pattern_of(context, args[0]);
  const Value subject = args[1], replacement = args[2];
  const String& text = searched_text(context, subject, *pattern);
  const int64_t limit = args[3].is_nil() ? std::numeric_limits<int64_t>::max() : expect_int(context, args[3], "limit");
  const std::string_view all = text.text;
  TextBuilder result;
  size_t at = 0;
  Matches matches(*pattern, text.text);
  for (int64_t count = 0; count < limit && matches.next(); ++count) {
    result += all.substr(at, matches.begin() - at);
    at = matches.end();
    if (is_text(replacement)) {
      add_replacement(result, expect_string(context, replacement, "the replacement"), matches.groups());
    } else {
      Value match = record_of(context, text, matches);
      const Value made = context.call(replacement, {&match, 1});
      result += expect_string(context, made, "what the function makes of a match");
    }
  }
  result += all.substr(at);
  return make_string(result.take());
}

constexpr Builtin kRegexRows[] = {
    {"search", "search(pattern: str, text: str, start: integer = 0)",
     "the first match of a regular expression, a record of its text, start, end and groups; nil if there is none",
     search_builtin, "host"},
    {"findall", "findall(pattern: str, text: str)",
     "the list of the texts of all matches; of their group if the pattern has one, or tuples of their groups",
     findall_builtin, "host"},
    with_effect({"substitute", "substitute(pattern: str, text: str, replacement: str | fn, limit: integer | nil = nil)",
                 "text with what replaces each match: a str, in which `\\1` is the first group, or f(match)",
                 substitute_builtin, "host"}),
};

}  // namespace

std::span<const Builtin> regex_builtins() { return kRegexRows; }

}  // namespace tsl
