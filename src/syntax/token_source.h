// Processes tokens between the generated lexer and the generated parser: newlines, braces, f-strings, doc comments.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "antlr4-runtime.h"

#include "TslLexer.h"
#include "base/error.h"
#include "base/run_watch.h"
#include "base/source.h"
#include "syntax/byte_stream.h"
#include "syntax/recovery.h"

namespace tsl {

/// An open bracket. FSTRING_OPEN is one as well: this class reads an f-string's text, not the lexer.
struct OpenBracket {
  size_t type;  // PAREN_OPEN, BRACKET_OPEN, BRACE_OPEN (a block), RECORD_OPEN, FSTRING_OPEN, HOLE_OPEN or FORMAT_SPEC
  Span span;
};

/// Supplies the parser with the tokens of one source. The first lexical error is stored, and an ERROR token takes its
/// place in the stream, so that the first error in the text is reported, lexical or not.
class TokenSource final : public antlr4::TokenSource {
 public:
  /// The most open brackets. The parser's own limit would be next.
  static constexpr size_t kMaxOpenBrackets = 1000;

  /// `repairs` are in the order of the text.
  TokenSource(const Source& source, uint32_t id, std::vector<Repair> repairs = {});

  /// Sets where the bytes of the tokens are counted. It throws Failure (limit).
  void count_in(GrowingBytes& bytes) { bytes_ = &bytes; }
  std::unique_ptr<antlr4::Token> nextToken() override;

  /// Returns the error that the ERROR token represents.
  const std::optional<Error>& error() const { return error_; }
  /// Returns the comments read so far.
  const std::vector<Span>& comments() const { return comments_; }
  /// Returns the `##` lines at the top of the file, unless they belong to its first function.
  const std::string& module_doc() const { return module_doc_; }
  /// Returns the `##` lines directly before the token at a byte offset, or "".
  std::string_view doc_before(uint32_t offset) const;

  size_t getLine() const override { return 0; }  // positions are byte offsets
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return &stream_; }
  std::string getSourceName() override { return source_.name(); }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override { return lexer_.getTokenFactory(); }

 private:
  using TokenPtr = std::unique_ptr<antlr4::Token>;

  TokenPtr read_significant();
  TokenPtr read_raw();
  TokenPtr apply_repair(const Repair& repair);
  TokenPtr accept(TokenPtr token);
  TokenPtr fstring_token();
  TokenPtr fstring_text(size_t begin);
  TokenPtr open_value(size_t begin);
  TokenPtr format_spec(size_t begin);
  TokenPtr make(size_t type, size_t begin, size_t end) const;
  TokenPtr fail(ErrorName name, Span span, std::string message, std::vector<std::string> notes = {});
  TokenPtr fail_in_hole();
  TokenPtr fail_lexically(const antlr4::Token& token);

  void open(const antlr4::Token& token);
  TokenPtr close(TokenPtr token);
  bool ends_statement(const antlr4::Token& next) const;
  bool is_key(const antlr4::Token& keyword) const;
  bool is_use(const antlr4::Token& name) const;
  bool in_statements() const;
  bool top_is(size_t type) const { return !open_.empty() && open_.back().type == type; }
  const OpenBracket* open_hole() const;
  size_t quotes_of_fstring() const;

  void note_doc(const antlr4::Token& comment);
  void note_newline();
  void attach_doc(const antlr4::Token& token);
  Span span_of(const antlr4::Token& token) const;

  const Source& source_;
  uint32_t id_;
  ByteStream stream_;
  grammar::TslLexer lexer_;

  std::vector<OpenBracket> open_;
  size_t previous_;                // type of the last token returned
  std::optional<Span> separator_;  // a newline or ';' after that token
  bool is_semicolon_ = false;
  TokenPtr pending_;  // the token after an END
  std::vector<Repair> repairs_;
  size_t repaired_ = 0;           // how many of them were applied
  std::vector<size_t> inserted_;  // types of tokens that a repair inserts, last first
  std::optional<Error> error_;
  GrowingBytes* bytes_ = nullptr;

  std::vector<Span> comments_;
  std::vector<std::string> doc_lines_;  // not yet attached
  int newlines_after_doc_ = 0;
  bool seen_token_ = false;
  std::string module_doc_;
  std::unordered_map<uint32_t, std::string> docs_;  // by the offset of the next token
};

}  // namespace tsl
