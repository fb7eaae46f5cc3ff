#include "syntax/error_strategy.h"

#include "TslParser.h"
#include "base/count_work.h"
#include "base/error_names.h"
#include "syntax/fail_at.h"

namespace tsl {

using antlr4::Token;
using grammar::TslParser;

namespace {

/// Describes one syntax error by the tokens that the parser expected, the previous token and the open brackets.
class Diagnosis {
 public:
  Diagnosis(const Source& source, TslParser& parser, const Token& found, bool is_expectation_known)
      : source_(source), parser_(parser), found_(found) {
    if (is_expectation_known) expected_ = parser.getExpectedTokens();
    scan_tokens();
  }

  std::string message() const {
    const std::string what = expectation();
    return fmt::format("expected {}, found {}", what, describe(found_));
  }

  std::vector<std::string> notes() const;

  /// Returns the end of the last token before the error.
  uint32_t previous_end() const { return previous_ ? static_cast<uint32_t>(previous_->getStopIndex() + 1) : 0; }

 private:
  void scan_tokens();
  std::string expectation() const;
  std::string expect_name() const;
  std::string expect_operand() const;
  std::string operand() const;
  std::string expect_more() const;
  std::string expect_closer() const;
  std::string expect_any() const;
  std::string describe(const Token& token) const;
  std::string after() const;
  bool expects(size_t type) const { return expected_.contains(type); }
  bool expects_operand() const;
  bool starts_statement() const;
  bool ends_operand() const;
  std::string_view text_of(const Token& token) const {
    return std::string_view(source_.text())
        .substr(token.getStartIndex(), token.getStopIndex() + 1 - token.getStartIndex());
  }

  const Source& source_;
  TslParser& parser_;
  const Token& found_;
  antlr4::misc::IntervalSet expected_;
  const Token* previous_ = nullptr;  // the token before `found_`
  std::vector<const Token*> open_;   // the brackets open at `found_`
};

void Diagnosis::scan_tokens() {
  constexpr int64_t kTokenWork = 8;
  auto& stream = static_cast<antlr4::BufferedTokenStream&>(*parser_.getTokenStream());
  for (size_t i = 0; i < stream.size() && stream.get(i) != &found_; ++i) {
    const Token* token = stream.get(i);
    count_work(kTokenWork);
    previous_ = token;
    switch (token->getType()) {
      case TslParser::PAREN_OPEN:
      case TslParser::BRACKET_OPEN:
      case TslParser::BRACE_OPEN:
      case TslParser::RECORD_OPEN:
      case TslParser::HOLE_OPEN:
      case TslParser::FSTRING_OPEN: open_.push_back(token); break;
      case TslParser::PAREN_CLOSE:
      case TslParser::BRACKET_CLOSE:
      case TslParser::BRACE_CLOSE:
      case TslParser::HOLE_CLOSE:
      case TslParser::FSTRING_CLOSE:
        if (!open_.empty()) open_.pop_back();
        break;
      default: break;
    }
  }
}

std::string Diagnosis::describe(const Token& token) const {
  switch (token.getType()) {
    case Token::EOF: return "the end of the text";
    case TslParser::END: return text_of(token) == ";" ? "';'" : "the end of the line";
    case TslParser::FSTRING_OPEN:
    case TslParser::FSTRING_TEXT:
    case TslParser::FSTRING_CLOSE: return "an f-string";
    case TslParser::FORMAT_SPEC: return "a format spec";
    case TslParser::HOLE_CLOSE: return "'}'";
    default: break;
  }
  const std::string_view text = text_of(token);
  constexpr size_t kLongest = 32;
  if (token.getType() == TslParser::STRING && text.size() > kLongest) return "a string";
  return token.getType() == TslParser::STRING ? std::string(text) : fmt::format("'{}'", text);
}

/// Returns " after 'x'", where it helps.
std::string Diagnosis::after() const {
  if (!previous_ || previous_->getType() == TslParser::END) return "";
  return " after " + describe(*previous_);
}

bool Diagnosis::starts_statement() const {
  return !previous_ || previous_->getType() == TslParser::END || previous_->getType() == TslParser::BRACE_OPEN;
}

bool Diagnosis::ends_operand() const {
  if (!previous_) return false;
  switch (previous_->getType()) {
    case TslParser::NAME:
    case TslParser::NUMBER:
    case TslParser::STRING:
    case TslParser::FSTRING_CLOSE:
    case TslParser::PAREN_CLOSE:
    case TslParser::BRACKET_CLOSE:
    case TslParser::BRACE_CLOSE:
    case TslParser::TRUE:
    case TslParser::FALSE:
    case TslParser::NIL:
    case TslParser::ELLIPSIS: return true;
    default: return false;
  }
}

/// Whether the parser failed where an operand had to start. If it failed in lookahead, the previous token decides.
bool Diagnosis::expects_operand() const {
  if (!expected_.isEmpty()) return expects(TslParser::NUMBER) && expects(TslParser::TRUE);
  return !ends_operand();
}

std::string Diagnosis::expectation() const {
  if (expects_operand()) return expect_operand();
  if (expects(TslParser::NAME)) return expect_name();
  if (expects(TslParser::FN)) return "'fn'" + after();
  if (expects(TslParser::BRACE_OPEN) && !expects(TslParser::PLUS))
    return (expects(TslParser::ASSIGN) ? "'{' or '='" : "'{'") + after();
  return expect_more();
}

std::string Diagnosis::expect_operand() const {
  if (starts_statement()) return "a statement";
  if (previous_->getType() == TslParser::HOLE_OPEN) return "an expression in the braces of the f-string";
  if (previous_->getType() == TslParser::ELSE) return "'{' or 'if' after 'else'";
  return operand() + after();
}

/// Returns what the current rule consists of.
std::string Diagnosis::operand() const {
  switch (parser_.getRuleContext()->getRuleIndex()) {
    case TslParser::RuleSignature: return "a parameter's name";
    case TslParser::RulePattern:
    case TslParser::RuleParts:
    case TslParser::RuleModuleImport: return "a name";
    case TslParser::RuleBracketed: return "a size or a name";
    case TslParser::RuleAlternative: return "a field's name";
    case TslParser::RuleRecord: return "a key";
    case TslParser::RuleSuffix: return open_.back()->getType() == TslParser::BRACKET_OPEN ? "an index" : "an argument";
    case TslParser::RuleIndexItem: return "an index";
    default: return "an expression";
  }
}

std::string Diagnosis::expect_name() const {
  if (expects(TslParser::NUMBER)) return "a size or a name" + after();
  if (expects(TslParser::FN) && expects(TslParser::NIL)) return "a type" + after();
  if (expects(TslParser::STRING) && expects(TslParser::ELLIPSIS)) return "a key" + after();
  if (expects(TslParser::STRING)) return "a module's name or path" + after();
  if (expects(TslParser::PAREN_OPEN) && previous_ && previous_->getType() != TslParser::FN) {
    return "a name or '('" + after();
  }
  return "a name" + after();
}

/// Returns what may follow a whole operand or construct.
std::string Diagnosis::expect_more() const {
  if (starts_statement() && found_.getType() != Token::EOF) return "a statement";
  const bool in_block = open_.empty() || open_.back()->getType() == TslParser::BRACE_OPEN;
  const bool may_end = expected_.isEmpty() || expects(TslParser::END) || expects(TslParser::BRACE_CLOSE) ||
                       expects(Token::EOF) || expects(TslParser::PLUS);
  if (in_block && may_end) {
    const bool is_unclosed = found_.getType() == Token::EOF && !open_.empty();
    if (!is_unclosed) return "a new line or ';'" + after();
    return fmt::format("'}}' to close '{{' opened at line {}", source_.line_of(open_.back()->getStartIndex()));
  }
  if (open_.empty() || in_block) return expect_any();
  return expect_closer();
}

/// Returns what is expected within brackets, after an operator or an opening bracket.
std::string Diagnosis::expect_closer() const {
  const Token& opening = *open_.back();
  if (opening.getType() == TslParser::HOLE_OPEN) return "'}' to close '{' in this f-string";
  const bool is_at_end = found_.getType() == Token::EOF;
  if (previous_ == &opening && !is_at_end) return operand() + after();
  const bool is_round = opening.getType() == TslParser::PAREN_OPEN;
  const bool is_square = opening.getType() == TslParser::BRACKET_OPEN;
  const size_t closer = is_round    ? TslParser::PAREN_CLOSE
                        : is_square ? TslParser::BRACKET_CLOSE
                                    : TslParser::BRACE_CLOSE;
  if (!expected_.isEmpty() && !expects(closer) && !expects(TslParser::PLUS)) return expect_any();
  const std::string_view pair = is_round ? "()" : is_square ? "[]" : "{}";
  return fmt::format("{}'{}' to close '{}' opened at line {}", ends_operand() && !is_at_end ? "',' or " : "", pair[1],
                     pair[0], source_.line_of(static_cast<uint32_t>(opening.getStartIndex())));
}

/// Lists the expected tokens; only called when there are few.
std::string Diagnosis::expect_any() const {
  std::string list;
  size_t count = 0;
  // bounded: by the types of tokens
  for (const ssize_t type : expected_.toList()) {
    if (++count > 4) break;
    std::string name = parser_.getVocabulary().getDisplayName(static_cast<size_t>(type));
    if (name == "END") name = "a new line";
    if (!list.empty()) list += " or ";
    list += name;
  }
  return (list.empty() ? "something else" : list) + after();
}

std::vector<std::string> Diagnosis::notes() const {
  const size_t type = found_.getType();
  const bool is_keyword = type >= TslParser::LET && type <= TslParser::FINALLY;
  if (expects(TslParser::CATCH)) return {"a `try` needs its `catch`: `try { … } catch e { … }`"};
  if (is_keyword && expects(TslParser::NAME) && !expects_operand()) {
    return {fmt::format("'{}' is a keyword", text_of(found_))};
  }
  return {};
}

}  // namespace

void ErrorStrategy::raise(antlr4::Parser& parser, const Token& found, bool is_expectation_known) {
  if (found.getType() == TslParser::ERROR) throw Failure(*tokens_.error());
  is_at_end_ = found.getType() == Token::EOF;
  const Diagnosis diagnosis(source_, static_cast<TslParser&>(parser), found, is_expectation_known);
  Span span{id_, static_cast<uint32_t>(found.getStartIndex()), static_cast<uint32_t>(found.getStopIndex() + 1)};
  // Reports what is missing at the end of a line or of the text directly after the last token.
  if (is_at_end_ || found.getType() == TslParser::END) {
    span.begin = diagnosis.previous_end();
    span.end = span.begin + 1;
  }
  fail_at(is_at_end_ ? ErrorName::unexpected_end : ErrorName::unexpected_token, span, diagnosis.message(),
          diagnosis.notes());
}

Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) { raise(*parser, *parser->getCurrentToken(), true); }

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
  const Token* found = error.getOffendingToken();
  if (!found) found = parser->getCurrentToken();
  raise(*parser, *found, found == parser->getCurrentToken());
}

}  // namespace tsl
