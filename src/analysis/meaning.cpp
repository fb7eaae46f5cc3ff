#include "analysis/meaning.h"

namespace tsl::analysis {

const Value* Meanings::find(std::string_view name) {
  const Name known = names_.interner().intern(name);
  const Value* declared = declared_.find(known);
  if (declared && declared->is(Tag::absent)) return names_.value(known);  // as in `let p = p.field` at a prompt
  return declared ? declared : find_value(names_, known);
}

const Value* Meanings::find(std::span<const std::string_view> path) {
  const Value* value = path.empty() ? nullptr : find(path[0]);
  for (size_t i = 1; value && i < path.size(); ++i) value = member_of(*value, names_.interner().intern(path[i]));
  return value;
}

Callee Meanings::callee(const Cursor& cursor, size_t bracket) {
  const std::vector<std::string_view> path = cursor.path_before(bracket);
  if (const Value* function = find(path)) {
    const size_t begin = cursor.path_begin(bracket);
    return {function, begin > 0 && cursor.text_of(begin - 1) == "|>"};
  }
  const bool is_method =
      bracket > 1 && cursor.tokens()[bracket - 1].kind == TokenClass::name && cursor.text_of(bracket - 2) == ".";
  if (!is_method) return {};
  return {names_.builtins().find(names_.interner().intern(cursor.text_of(bracket - 1))), true};
}

std::string declaration_of(Names& names, const Value& callee) {
  const Value* at = &callee;
  for (; at->is(Tag::builtin); at = &at->as<BuiltinFunction>().bound[0]) {
    const BuiltinFunction& native = at->as<BuiltinFunction>();
    const bool forwards = native.builtin->forwards && !native.bound.empty();
    if (!forwards) return std::string(native.builtin->signature);
  }
  if (at->is(Tag::function)) return declaration_text(*at->as<Function>().info, names.sources());
  return at->is(Tag::dtype) ? fmt::format("{}(x: array)", name_of(at->dtype())) : "";
}

std::vector<ByteRange> parameter_ranges(const std::string& declaration) {
  std::vector<ByteRange> ranges;
  int depth = 0;
  bool begins = false;  // a parameter begins at the next token
  for (const TextToken& token : tokens_of(declaration)) {
    if (token.kind == TokenClass::closing && --depth == 0) break;
    if (depth == 1 && declaration[token.begin] == ',') {
      begins = true;
      continue;
    }
    if (begins) ranges.push_back({token.begin, token.end});
    else if (depth > 0) ranges.back().end = token.end;
    begins = token.kind == TokenClass::opening && depth++ == 0;
  }
  return ranges;
}

std::string_view documentation_of(const Value& value) {
  if (value.is(Tag::builtin)) return value.as<BuiltinFunction>().builtin->doc;
  if (value.is(Tag::function)) return value.as<Function>().info->doc;
  return value.is(Tag::module) ? std::string_view(value.as<Module>().doc) : "";
}

}  // namespace tsl::analysis
