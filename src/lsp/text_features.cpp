// The text as a whole: its layout, an outline, and the kinds of its tokens.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/meaning.h"
#include "analysis/unfinished_source.h"
#include "lsp/features.h"
#include "syntax/source_format.h"
#include "syntax/tokens.h"
#include "syntax/tree_walk.h"

namespace tsl::lsp {

// ---- Formatting ----------------------------------------------------------------------------------------

Json formatting(analysis::Names&, const Document& document, const Json&) {
  std::string formatted;
  try {
    SourceMap sources;
    formatted = format_source(sources, sources.add("<text>", document.text()));
  } catch (const Failure&) { return nullptr; }  // diagnostics say why
  const std::string& text = document.text();
  if (formatted == text) return Json::array();
  const auto differ = std::mismatch(text.begin(), text.end(), formatted.begin(), formatted.end());
  size_t begin = static_cast<size_t>(differ.first - text.begin());
  begin = text.rfind('\n', begin == 0 ? 0 : begin - 1) + 1;  // 0 if there is none
  begin = std::min({begin, text.size(), formatted.size()});
  return Json::array({{{"range", document.range_of(begin, text.size())}, {"newText", formatted.substr(begin)}}});
}

// ---- Outline -------------------------------------------------------------------------------------------

namespace {

struct Symbol {
  std::string name;
  int kind;
  Span whole, named;
};

constexpr int kFunctionSymbol = 12, kVariableSymbol = 13, kConstantSymbol = 14;

/// Appends the names that a pattern at the top level binds.
void add_symbols(const analysis::Names& names, const ast::Pattern& pattern, Span whole, std::vector<Symbol>& symbols) {
  if (const ast::Variable* variable = pattern.variable)
    symbols.push_back({*variable->name, variable->is_mutable ? kVariableSymbol : kConstantSymbol, whole,
                       names.span_in_text(variable->span)});
  for (const ast::Pattern* item : pattern.items) add_symbols(names, *item, whole, symbols);
}

/// Lists functions and what is declared at the top level, each before those in it.
std::vector<Symbol> symbols_of(const analysis::Names& names, const ast::Module& module) {
  std::vector<Symbol> symbols;
  const std::unordered_set<const ast::Stmt*> top(module.main->body->statements.begin(),
                                                 module.main->body->statements.end());
  const auto at_statement = [&](const ast::Stmt& statement, bool) {
    if (statement.kind == ast::StmtKind::function) {
      const ast::Function& function = *ast::as<ast::FunctionStmt>(statement).function;
      symbols.push_back({*function.name, kFunctionSymbol, names.span_in_text(join(statement.span, function.span)),
                         names.span_in_text(function.name_span)});
    }
    if (statement.kind == ast::StmtKind::declare && top.count(&statement) != 0)
      add_symbols(names, *ast::as<ast::DeclareStmt>(statement).pattern, names.span_in_text(statement.span), symbols);
  };
  walk_tree(*module.main, {at_statement, [](const ast::Expr&, bool) {}});
  return symbols;
}

/// Describes a symbol and those that follow within it; moves `at` behind them.
Json nest(const Document& document, const std::vector<Symbol>& symbols, size_t& at) {
  const Symbol& symbol = symbols[at++];
  Json children = Json::array();
  const bool may_hold = symbol.kind == kFunctionSymbol;
  while (may_hold && at < symbols.size() && symbols[at].whole.end <= symbol.whole.end)
    children.push_back(nest(document, symbols, at));
  return {{"name", symbol.name},
          {"kind", symbol.kind},
          {"range", document.range_of(symbol.whole.begin, symbol.whole.end)},
          {"selectionRange", document.range_of(symbol.named.begin, symbol.named.end)},
          {"children", std::move(children)}};
}

}  // namespace

Json symbols(analysis::Names& names, const Document& document, const Json&) {
  Json found = Json::array();
  const auto module = analysis::read_unfinished(names, document.text(), document.path());
  if (!module) return found;
  const std::vector<Symbol> all = symbols_of(names, *module);
  for (size_t at = 0; at < all.size();) found.push_back(nest(document, all, at));
  return found;
}

// ---- Semantic tokens -----------------------------------------------------------------------------------

namespace {

enum class TokenKind : uint8_t {
  keyword,
  number,
  string,
  comment,
  operation,
  variable,
  function,
  name_space,
  type,
  property,
  parameter
};
constexpr const char* kTokenKinds[] = {"keyword",  "number",    "string", "comment",  "operator", "variable",
                                       "function", "namespace", "type",   "property", "parameter"};

/// Classifies the tokens of one text.
class TokenClassifier {
 public:
  TokenClassifier(analysis::Names& names, const Document& document)
      : names_(names), text_(document.text()), meanings_(names, text_, document.path()), tokens_(tokens_of(text_)) {}

  const std::vector<TextToken>& tokens() const { return tokens_; }

  /// Returns the kind of a token; nothing for one that is shown as it is. To be called for each in order.
  std::optional<TokenKind> classify(size_t at) {
    switch (tokens_[at].kind) {
      case TokenClass::keyword:
      case TokenClass::constant: return TokenKind::keyword;
      case TokenClass::number: return TokenKind::number;
      case TokenClass::string: return TokenKind::string;
      case TokenClass::comment: return TokenKind::comment;
      case TokenClass::operation: return TokenKind::operation;
      case TokenClass::opening: brackets_ += text_[tokens_[at].begin]; return {};
      case TokenClass::closing:
        if (!brackets_.empty()) brackets_.pop_back();
        return {};
      case TokenClass::error: brackets_.clear(); return {};
      case TokenClass::name: return kind_of_name(at);
    }
    return {};
  }

 private:
  std::string_view text_of(size_t at) const {
    return at < tokens_.size() ? text_.substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin) : "";
  }

  TokenKind kind_of_name(size_t at) {
    const bool is_member = at > 0 && text_of(at - 1) == ".";
    const bool is_called = text_of(at + 1) == "(";
    if (is_member) return is_called ? TokenKind::function : TokenKind::property;
    const bool is_key = text_of(at + 1) == ":" && !brackets_.empty();
    if (is_key && brackets_.back() == '(') return TokenKind::parameter;
    if (is_key && brackets_.back() == '{') return TokenKind::property;
    return kind_of_value(text_of(at));
  }

  TokenKind kind_of_value(std::string_view name) {
    const auto [known, is_new] = kinds_.try_emplace(name, TokenKind::variable);
    if (!is_new) return known->second;
    const Value* value = meanings_.find(name);
    if (!value) return known->second;
    if (value->is(Tag::function) || value->is(Tag::builtin)) known->second = TokenKind::function;
    if (value->is(Tag::module)) known->second = TokenKind::name_space;
    if (value->is(Tag::dtype)) known->second = TokenKind::type;
    return known->second;
  }

  analysis::Names& names_;
  const std::string_view text_;
  analysis::Meanings meanings_;
  const std::vector<TextToken> tokens_;
  std::string brackets_;  // that are open
  std::unordered_map<std::string_view, TokenKind> kinds_;
};

/// Writes tokens as the protocol does: each relative to the one before.
class TokenWriter {
 public:
  explicit TokenWriter(const Document& document) : document_(document) {}

  /// Adds a token, of several lines in parts.
  void add(size_t begin, size_t end, TokenKind kind) {
    const std::string_view text = document_.text();
    while (begin < end) {
      const size_t line_end = std::min(text.find_first_of("\r\n", begin), end);
      if (line_end > begin) add_part(begin, text.substr(begin, line_end - begin), kind);
      begin = std::min(text.find_first_not_of("\r\n", line_end), end);
    }
  }

  Json take() { return {{"data", std::move(data_)}}; }

 private:
  void add_part(size_t begin, std::string_view part, TokenKind kind) {
    const Position at = document_.position_at(begin);
    data_.push_back(at.line - last_.line);
    data_.push_back(at.line == last_.line ? at.character - last_.character : at.character);
    data_.push_back(units_of(part, document_.encoding()));
    data_.push_back(static_cast<int>(kind));
    data_.push_back(0);
    last_ = at;
  }

  const Document& document_;
  Position last_;
  Json data_ = Json::array();
};

}  // namespace

Json semantic_tokens(analysis::Names& names, const Document& document, const Json&) {
  TokenClassifier classifier(names, document);
  TokenWriter writer(document);
  for (size_t i = 0; i < classifier.tokens().size(); ++i) {
    const TextToken& token = classifier.tokens()[i];
    if (const auto kind = classifier.classify(i)) writer.add(token.begin, token.end, *kind);
  }
  return writer.take();
}

Json token_legend() { return {{"tokenTypes", kTokenKinds}, {"tokenModifiers", Json::array()}}; }

}  // namespace tsl::lsp
