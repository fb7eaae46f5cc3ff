#include "analysis/unfinished_source.h"

#include "syntax/tokens.h"

namespace tsl::analysis {

std::string closing_brackets(std::string_view text) {
  std::string open;
  for (const TextToken& token : tokens_of(text)) {
    if (token.kind == TokenClass::opening) open += text[token.begin];
    else if (token.kind == TokenClass::closing && !open.empty()) open.pop_back();
  }
  std::string closing;
  for (; !open.empty(); open.pop_back()) closing += open.back() == '(' ? ")" : open.back() == '[' ? "]" : "\n}";
  return closing;
}

namespace {

ReadableSource read(Names& names, const std::string& name, const std::string& text, const std::string& path) {
  const uint32_t source = names.add_source(name, text, path);
  try {
    return parse_readable(names.sources(), source, names.interner(), resolve_options(names));
  } catch (const Failure& failure) {
    if (failure.error().is_final) throw;
    return {nullptr, {failure.error()}};  // no UTF-8, or nested too deeply
  }
}

}  // namespace

ReadText Names::read_text(const std::string& name, const std::string& text, const std::string& path) {
  ReadableSource as_it_is = read(*this, name, text, path);
  const std::string closing = as_it_is.errors.empty() ? "" : closing_brackets(text);
  if (closing.empty()) return {std::move(as_it_is.module), std::move(as_it_is.errors)};
  ReadableSource closed = read(*this, "<closed text>", text + closing, path);
  const bool is_better = closed.module && (!as_it_is.module || closed.errors.size() <= as_it_is.errors.size());
  return {std::move(is_better ? closed.module : as_it_is.module), std::move(as_it_is.errors)};
}

std::shared_ptr<const ast::Module> read_unfinished(Names& names, const std::string& text, const std::string& path) {
  return names.read_text(path.empty() ? "<text>" : path, text, path).module;
}

}  // namespace tsl::analysis
