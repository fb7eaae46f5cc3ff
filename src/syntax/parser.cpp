#include "syntax/parser.h"

#include <algorithm>
#include <new>

#include "TslParser.h"
#include "syntax/error_strategy.h"
#include "syntax/fail_at.h"
#include "syntax/parser_lock.h"
#include "syntax/token_source.h"
#include "syntax/tree_builder.h"
#include "syntax/unicode.h"

namespace tsl {

namespace {

/// The stages from a source to its parse tree, which lives as long as this object.
class ParseRun {
 public:
  ParseRun(const Source& source, uint32_t id)
      : tokens_(source, id),
        stream_(&tokens_),
        parser_(&stream_),
        errors_(std::make_shared<ErrorStrategy>(source, id, tokens_)) {
    parser_.set_source(id);
    parser_.removeErrorListeners();
    parser_.setErrorHandler(errors_);
    // SLL prediction is fast, and exact for this grammar: no decision depends on what encloses a rule.
    parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  }

  grammar::TslParser::ModuleContext* run() { return checked(parser_.module()); }
  grammar::TslParser::DeclaredSignatureContext* run_declaration() { return checked(parser_.declaredSignature()); }
  const TokenSource& tokens() const { return tokens_; }
  bool is_at_end() const { return errors_->is_at_end(); }

 private:
  template <class Tree> Tree* checked(Tree* tree) {
    if (parser_.lacks_memory()) throw std::bad_alloc();
    return tree;
  }

  TokenSource tokens_;
  antlr4::CommonTokenStream stream_;
  grammar::TslParser parser_;
  std::shared_ptr<ErrorStrategy> errors_;
};

void check_text(const Source& source, uint32_t id) {
  const size_t bad = find_invalid_utf8(source.text());
  if (bad == std::string_view::npos) return;
  const auto at = static_cast<uint32_t>(bad);
  fail_at(ErrorKind::syntax, {id, at, at + 1},
          fmt::format("byte 0x{:02X} is not valid UTF-8", static_cast<unsigned char>(source.text()[bad])));
}

}  // namespace

std::unique_ptr<ast::Module> parse(const SourceMap& sources, uint32_t id, Interner& names) {
  const Source& source = sources.get(id);
  check_text(source, id);
  return with_runtime([&] {
    ParseRun run(source, id);
    grammar::TslParser::ModuleContext* tree = run.run();
    auto module = std::make_unique<ast::Module>();
    module->source = id;
    module->main = TreeBuilder(run.tokens(), source.text(), names, *module).build(tree);
    module->doc = run.tokens().module_doc();
    return module;
  });
}

std::unique_ptr<Declaration> parse_declaration(std::string_view text, Interner& names) {
  const Source source("<declaration>", std::string(text));
  check_text(source, 0);
  return with_runtime([&] {
    ParseRun run(source, 0);
    grammar::TslParser::DeclaredSignatureContext* tree = run.run_declaration();
    auto made = std::make_unique<Declaration>();
    made->function = TreeBuilder(run.tokens(), source.text(), names, made->tree).build(tree, made->rest);
    return made;
  });
}

std::vector<Span> find_comments(const Source& source) {
  const std::string_view text = source.text();
  std::vector<Span> comments;
  uint32_t at = 0;  // what follows is searched without a lexer
  if (find_invalid_utf8(text) == std::string_view::npos) {
    with_runtime([&] {
      TokenSource tokens(source, 0);
      while (tokens.nextToken()->getType() != antlr4::Token::EOF) {}
      comments = tokens.comments();
      at = static_cast<uint32_t>(text.size());
      if (tokens.error()) at = tokens.error()->span.begin;
    });
  }
  while ((at = static_cast<uint32_t>(std::min(text.find('#', at), text.size()))) < text.size()) {
    const auto end = static_cast<uint32_t>(std::min(text.find('\n', at), text.size()));
    comments.push_back({0, at, end});
    at = end;
  }
  return comments;
}

bool is_incomplete(const std::string& text) {
  if (find_invalid_utf8(text) != std::string_view::npos) return false;
  const Source source("", text);
  return with_runtime([&] {
    ParseRun run(source, 0);
    try {
      run.run();
    } catch (const Failure&) { return run.is_at_end(); }
    return false;
  });
}

}  // namespace tsl
