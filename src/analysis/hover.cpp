#include "analysis/hover.h"

#include <algorithm>

#include "analysis/meaning.h"
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

}  // namespace

std::optional<Hover> hover(Names& names, std::string_view text, size_t offset, const std::string& path) {
  const std::vector<TextToken> tokens = tokens_of(text);
  const auto token = std::find_if(tokens.begin(), tokens.end(), [&](const TextToken& each) {
    return each.kind == TokenClass::name && each.begin <= offset && offset < each.end;
  });
  if (token == tokens.end()) return {};
  const Cursor cursor(text, token->end);
  Meanings meanings(names, text, path);
  const Value* value = value_at(names, meanings, cursor);
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
