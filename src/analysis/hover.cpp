#include "analysis/hover.h"

#include <algorithm>

#include "analysis/meaning.h"
#include "analysis/occurrences.h"
#include "value/result_display.h"

namespace tsl::analysis {

namespace {

/// Returns the value of the word at the cursor: of a name, of `a.b.word`, or of a method.
const Value* value_at(Names& names, Meanings& meanings, const Cursor& cursor) {
  if (!cursor.ends_with(".")) return meanings.find(cursor.word());
  std::vector<std::string_view> path = cursor.path_before(cursor.tokens().size() - 1);
  if (!path.empty()) {
    path.push_back(cursor.word());
    if (const Value* member = meanings.find(path)) return member;
  }
  return names.builtins().find(names.interner().intern(cursor.word()));
}

/// Returns the line of a text around an offset, without blanks before it.
std::string line_at(std::string_view text, size_t offset) {
  const size_t begin = text.find_first_not_of(' ', text.rfind('\n', offset) + 1);  // 0 if there is none
  return std::string(text.substr(begin, text.find('\n', offset) - begin));
}

}  // namespace

std::optional<Hover> hover(Names& names, std::string_view text, size_t offset, const std::string& path) {
  const std::vector<TextToken> tokens = tokens_of(text);
  const auto token = std::find_if(tokens.begin(), tokens.end(), [&](const TextToken& each) {
    return each.kind == TokenClass::name && each.begin <= offset && offset < each.end;
  });
  if (token == tokens.end()) return {};
  const Cursor cursor(text, token->end);
  const auto occurrences = cursor.ends_with(".") ? std::nullopt : find_occurrences(names, text, offset, path);
  Meanings meanings(names, text, path);
  const Value* value = value_at(names, meanings, cursor);
  const bool is_ours = value && (value->is(Tag::function) || value->is(Tag::module));
  if (occurrences && !is_ours) return Hover{token->begin, token->end, line_at(text, occurrences->declaration.begin)};
  if (!value) return {};
  std::string about = declaration_of(names, *value);
  if (about.empty()) {
    const bool is_module = value->is(Tag::module);
    about = is_module ? "module " + value->as<Module>().name : fmt::format("{}: {}", cursor.word(), type_text(*value));
  }
  const std::string_view doc = documentation_of(*value);
  if (!doc.empty()) about += "\n" + std::string(doc);
  return Hover{token->begin, token->end, std::move(about)};
}

}  // namespace tsl::analysis
