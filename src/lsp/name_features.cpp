// Where a name is declared and used, and renaming it.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "analysis/occurrences.h"
#include "analysis/unfinished_source.h"
#include "lsp/features.h"
#include "syntax/tokens.h"
#include "syntax/tree_walk.h"

namespace tsl::lsp {

namespace {

/// Returns the occurrences of the name at a position, or directly before it.
std::optional<analysis::Occurrences> occurrences_at(analysis::Names& names, const Document& document,
                                                    const Json& parameters) {
  const size_t offset = document.offset_at(read_position(parameters.at("position")));
  auto found = analysis::find_occurrences(names, document.text(), offset, document.path());
  if (!found && offset > 0) found = analysis::find_occurrences(names, document.text(), offset - 1, document.path());
  return found;
}

Json location_of(const Document& document, Span span) {
  return {{"uri", document.uri()}, {"range", document.range_of(span.begin, span.end)}};
}

std::string_view text_at(const Document& document, Span span) {
  return std::string_view(document.text()).substr(span.begin, span.end - span.begin);
}

bool is_name(std::string_view text) {
  const std::vector<TextToken> tokens = tokens_of(text);
  return tokens.size() == 1 && tokens[0].kind == TokenClass::name && tokens[0].end == text.size();
}

/// Finds the occurrences that stand for a key as well, as x does in `{x}` and in `from m import x`.
class SharedNames {
 public:
  SharedNames(const analysis::Names& names, const ast::Module& module) : names_(names) {
    const auto at_statement = [this](const ast::Stmt& statement, bool) {
      if (statement.kind == ast::StmtKind::declare) add(*ast::as<ast::DeclareStmt>(statement).pattern);
      if (statement.kind == ast::StmtKind::for_) add(*ast::as<ast::ForStmt>(statement).pattern);
      if (statement.kind == ast::StmtKind::function) add(*ast::as<ast::FunctionStmt>(statement).function);
      if (statement.kind == ast::StmtKind::import) add(ast::as<ast::ImportStmt>(statement));
    };
    const auto at_expression = [this](const ast::Expr& e, bool) {
      if (e.kind == ast::ExprKind::record) add(ast::as<ast::RecordExpr>(e));
      if (e.kind == ast::ExprKind::lambda) add(*ast::as<ast::LambdaExpr>(e).function);
    };
    walk_tree(*module.main, {at_statement, at_expression});
  }

  /// Returns what replaces an occurrence that begins at an offset.
  std::string replacement(std::string_view text, Span span, const std::string& name) const {
    const std::string old(text.substr(span.begin, span.end - span.begin));
    const size_t before = text.substr(0, span.begin).find_last_not_of(" \t\r\n");
    const bool has_key = before != std::string_view::npos && text[before] == ':';
    if (keys_.count(span.begin) != 0 && !has_key) return fmt::format("{}: {}", old, name);
    return imported_.count(span.begin) != 0 ? fmt::format("{} as {}", old, name) : name;
  }

 private:
  void add(const ast::RecordExpr& record) {
    for (const ast::RecordEntry& entry : record.entries) {
      const bool is_name = entry.key && entry.value->kind == ast::ExprKind::name;
      if (is_name && ast::as<ast::NameExpr>(*entry.value).name == entry.key) keys_.insert(begin_of(entry.value->span));
    }
  }
  void add(const ast::Pattern& pattern) {
    for (size_t i = 0; i < pattern.items.size(); ++i) {
      const ast::Variable* variable = pattern.items[i]->variable;
      const bool is_key = pattern.kind == ast::Pattern::Kind::fields && i < pattern.keys.size();
      if (is_key && variable && variable->name == pattern.keys[i]) keys_.insert(begin_of(variable->span));
      add(*pattern.items[i]);
    }
  }
  void add(const ast::Function& function) {
    for (const ast::Parameter& parameter : function.parameters) {
      if (parameter.pattern) add(*parameter.pattern);
    }
  }
  void add(const ast::ImportStmt& import) {
    if (import.variable && !import.is_file && import.variable->name == import.path)
      imported_.insert(begin_of(import.variable->span));
    for (const ast::ImportedName& item : import.names) {
      if (item.variable->name == item.name) imported_.insert(begin_of(item.variable->span));
    }
  }

  uint32_t begin_of(Span span) const { return names_.span_in_text(span).begin; }

  const analysis::Names& names_;
  std::unordered_set<uint32_t> keys_, imported_;  // offsets
};

size_t count_errors(const Json& diagnostics) {
  return static_cast<size_t>(
      std::count_if(diagnostics.begin(), diagnostics.end(), [](const Json& each) { return each["severity"] == 1; }));
}

/// Refuses edits, last first, with which the text would have more errors.
void check_renamed(analysis::Names& names, const Document& document,
                   const std::vector<std::pair<Span, std::string>>& edits, const std::string& name) {
  std::string text = document.text();
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
    text.replace(edit->first.begin, edit->first.end - edit->first.begin, edit->second);
  const size_t before = count_errors(find_diagnostics(names, document));
  const Json after = find_diagnostics(names, Document(document.uri(), text, document.encoding()));
  if (count_errors(after) <= before) return;
  std::string message = after.back()["message"];
  throw Refusal(ErrorCode::request_failed,
                fmt::format("with the name '{}': {}", name, message.substr(0, message.find('\n'))));
}

}  // namespace

Json definition(analysis::Names& names, const Document& document, const Json& parameters) {
  const auto found = occurrences_at(names, document, parameters);
  return found ? location_of(document, found->declaration) : Json(nullptr);
}

Json references(analysis::Names& names, const Document& document, const Json& parameters) {
  const auto found = occurrences_at(names, document, parameters);
  if (!found) return nullptr;
  const bool with_declaration =
      !parameters.contains("context") || parameters["context"].value("includeDeclaration", true);
  Json places = Json::array();
  for (const Span& span : found->spans) {
    if (with_declaration || span != found->declaration) places.push_back(location_of(document, span));
  }
  return places;
}

Json highlights(analysis::Names& names, const Document& document, const Json& parameters) {
  const auto found = occurrences_at(names, document, parameters);
  if (!found) return nullptr;
  Json places = Json::array();
  for (const Span& span : found->spans) {
    constexpr int kRead = 2, kWrite = 3;
    const int kind = span == found->declaration ? kWrite : kRead;
    places.push_back({{"range", document.range_of(span.begin, span.end)}, {"kind", kind}});
  }
  return places;
}

Json prepare_rename(analysis::Names& names, const Document& document, const Json& parameters) {
  const auto found = occurrences_at(names, document, parameters);
  if (!found) return nullptr;
  const size_t offset = document.offset_at(read_position(parameters.at("position")));
  for (const Span& span : found->spans) {
    if (span.begin <= offset && offset <= span.end)
      return {{"range", document.range_of(span.begin, span.end)}, {"placeholder", text_at(document, span)}};
  }
  return nullptr;
}

Json rename(analysis::Names& names, const Document& document, const Json& parameters) {
  const std::string name = parameters.at("newName");
  if (!is_name(name)) throw Refusal(ErrorCode::invalid_params, fmt::format("'{}' is no name", name));
  const auto found = occurrences_at(names, document, parameters);
  if (!found) throw Refusal(ErrorCode::request_failed, "this text does not declare what is at the cursor");
  const auto module = analysis::read_unfinished(names, document.text(), document.path());
  const SharedNames shared(names, *module);
  std::vector<std::pair<Span, std::string>> edits;
  Json changes = Json::array();
  for (const Span& span : found->spans) {
    edits.emplace_back(span, shared.replacement(document.text(), span, name));
    changes.push_back({{"range", document.range_of(span.begin, span.end)}, {"newText", edits.back().second}});
  }
  check_renamed(names, document, edits, name);
  return {{"changes", {{document.uri(), changes}}}};
}

}  // namespace tsl::lsp
