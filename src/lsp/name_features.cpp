// Where a name is declared and used, and renaming it.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "analysis/occurrences.h"
#include "analysis/program_names.h"
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

analysis::FileText file_of(analysis::Names& names, const Document& document) {
  return {document.path(), document.text(), analysis::read_unfinished(names, document.text(), document.path())};
}

/// Returns the text of a file as an editor has it, or as it was read.
Document document_of(const Project& project, const analysis::FileText& file) {
  const auto open = std::find_if(project.open.begin(), project.open.end(),
                                 [&](const auto& each) { return each.second.path() == file.path; });
  if (open != project.open.end()) return open->second;
  const Encoding encoding = project.open.empty() ? Encoding::utf16 : project.open.begin()->second.encoding();
  return Document(uri_of(file.path), file.text, encoding);
}

/// Returns the name at a position, or directly before it, that other files may share.
std::optional<analysis::SharedName> shared_name(const Project& project, const Document& document,
                                                const Json& parameters) {
  const analysis::FileText file = file_of(project.names, document);
  if (!file.tree || file.path.empty()) return {};
  const size_t offset = document.offset_at(read_position(parameters.at("position")));
  auto found = analysis::shared_name_at(project.names, file, offset);
  if (!found && offset > 0) found = analysis::shared_name_at(project.names, file, offset - 1);
  return found;
}

/// Returns the files that may name what a file declares: the open ones, what they import, and those beside it.
std::vector<analysis::FileText> files_of(const Project& project, const Document& document,
                                         const analysis::SharedName& shared) {
  std::vector<analysis::FileText> files{file_of(project.names, document)};
  for (const auto& [uri, other] : project.open) {
    if (other.path().empty() || other.path() == document.path()) continue;
    analysis::FileText file = file_of(project.names, other);
    if (file.tree) files.push_back(std::move(file));
  }
  return analysis::with_neighbours(project.names, analysis::with_imports(project.names, std::move(files)), shared);
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

  /// Whether an occurrence is the name of what an import takes, and of its variable.
  bool is_imported(Span span) const { return imported_.count(span.begin) != 0; }
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

Json definition(const Project& project, const Document& document, const Json& parameters) {
  if (const auto shared = shared_name(project, document, parameters)) {
    for (const analysis::FileText& file : files_of(project, document, *shared)) {
      const auto declared =
          file.path == shared->file ? analysis::declaration_of(project.names, file, shared->name) : std::nullopt;
      if (declared) return location_of(document_of(project, file), *declared);
    }
  }
  const auto found = occurrences_at(project.names, document, parameters);
  return found ? location_of(document, found->declaration) : Json(nullptr);
}

Json references(const Project& project, const Document& document, const Json& parameters) {
  const bool with_declaration =
      !parameters.contains("context") || parameters["context"].value("includeDeclaration", true);
  Json places = Json::array();
  const auto add = [&](const Document& in, const std::vector<Span>& spans, std::optional<Span> declaration) {
    for (const Span& span : spans) {
      if (with_declaration || span != declaration) places.push_back(location_of(in, span));
    }
  };
  if (const auto shared = shared_name(project, document, parameters)) {
    for (const analysis::FileText& file : files_of(project, document, *shared)) {
      const bool declares = file.path == shared->file;
      add(document_of(project, file), analysis::places_of(project.names, file, *shared),
          declares ? analysis::declaration_of(project.names, file, shared->name) : std::nullopt);
    }
    return places;
  }
  const auto found = occurrences_at(project.names, document, parameters);
  if (!found) return nullptr;
  add(document, found->spans, found->declaration);
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

Json prepare_rename(const Project& project, const Document& document, const Json& parameters) {
  const size_t offset = document.offset_at(read_position(parameters.at("position")));
  const auto found = occurrences_at(project.names, document, parameters);
  std::vector<Span> spans = found ? found->spans : std::vector<Span>();
  if (const auto shared = shared_name(project, document, parameters)) {
    const std::vector<Span> more = analysis::places_of(project.names, file_of(project.names, document), *shared);
    spans.insert(spans.end(), more.begin(), more.end());
  }
  for (const Span& span : spans) {
    if (span.begin <= offset && offset <= span.end)
      return {{"range", document.range_of(span.begin, span.end)}, {"placeholder", text_at(document, span)}};
  }
  return nullptr;
}

namespace {

/// Renames in one text, which may name what it imports otherwise than the file that declares it.
Json rename_here(const Project& project, const Document& document, const std::vector<Span>& spans,
                 const std::string& name) {
  const auto module = analysis::read_unfinished(project.names, document.text(), document.path());
  const SharedNames shared(project.names, *module);
  std::vector<std::pair<Span, std::string>> edits;
  Json changes = Json::array();
  for (const Span& span : spans) {
    edits.emplace_back(span, shared.replacement(document.text(), span, name));
    changes.push_back({{"range", document.range_of(span.begin, span.end)}, {"newText", edits.back().second}});
  }
  check_renamed(project.names, document, edits, name);
  return {{"changes", {{document.uri(), changes}}}};
}

/// Refuses a new name that stands in a file already, whatever it means there.
void check_free(const analysis::FileText& file, const std::string& name) {
  for (const TextToken& token : tokens_of(file.text)) {
    const std::string_view text = std::string_view(file.text).substr(token.begin, token.end - token.begin);
    if (token.kind == TokenClass::name && text == name)
      throw Refusal(ErrorCode::request_failed, fmt::format("{} has the name '{}' already", file.path, name));
  }
}

/// Renames what a file declares there and in all files that name it; null if that is one.
Json rename_everywhere(const Project& project, const Document& document, const analysis::SharedName& shared,
                       const std::string& name) {
  std::vector<std::pair<analysis::FileText, std::vector<Span>>> found;
  for (const analysis::FileText& file : files_of(project, document, shared)) {
    std::vector<Span> places = analysis::places_of(project.names, file, shared);
    if (!places.empty()) found.emplace_back(file, std::move(places));
  }
  if (found.size() <= 1) return nullptr;
  Json changes = Json::object();
  for (const auto& [file, places] : found) {
    check_free(file, name);
    const Document in = document_of(project, file);
    const SharedNames keys(project.names, *file.tree);
    Json edits = Json::array();
    for (const Span& span : places) {
      const std::string text = keys.is_imported(span) ? name : keys.replacement(file.text, span, name);
      edits.push_back({{"range", in.range_of(span.begin, span.end)}, {"newText", text}});
    }
    changes[in.uri()] = std::move(edits);
  }
  return {{"changes", changes}};
}

}  // namespace

Json rename(const Project& project, const Document& document, const Json& parameters) {
  const std::string name = parameters.at("newName");
  if (!is_name(name)) throw Refusal(ErrorCode::invalid_params, fmt::format("'{}' is no name", name));
  if (const auto shared = shared_name(project, document, parameters)) {
    Json changes = rename_everywhere(project, document, *shared, name);
    if (!changes.is_null()) return changes;
  }
  const auto found = occurrences_at(project.names, document, parameters);
  if (!found) throw Refusal(ErrorCode::request_failed, "this text does not declare what is at the cursor");
  return rename_here(project, document, found->spans, name);
}

}  // namespace tsl::lsp
