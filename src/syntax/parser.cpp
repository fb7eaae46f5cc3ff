#include "syntax/parser.h"

#include <algorithm>
#include <new>
#include <utility>

#include "TslParser.h"
#include "base/error_names.h"
#include "base/run_watch.h"
#include "syntax/error_strategy.h"
#include "syntax/fail_at.h"
#include "syntax/habits.h"
#include "syntax/parser_lock.h"
#include "syntax/raw_tokens.h"
#include "syntax/recovery.h"
#include "syntax/token_source.h"
#include "syntax/tree_builder.h"
#include "syntax/unicode.h"

namespace tsl {

namespace {

/// The stages from a source to its parse tree, which lives as long as this object.
class ParseRun {
 public:
  /// `is_counted`: whether the tokens and the tree count towards the limit of host memory.
  ParseRun(const Source& source, uint32_t id, const std::vector<Repair>& repairs = {}, bool is_counted = false)
      : tokens_(source, id, repairs),
        stream_(&tokens_),
        parser_(&stream_),
        errors_(std::make_shared<ErrorStrategy>(source, id, tokens_)) {
    parser_.set_source(id);
    if (is_counted) {
      parser_.count_in(bytes_);
      tokens_.count_in(bytes_);
    }
    parser_.removeErrorListeners();
    parser_.setErrorHandler(errors_);
    // SLL prediction is fast, and exact for this grammar: no decision depends on what encloses a rule.
    parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  }

  grammar::TslParser::ModuleContext* run() { return checked(parser_.module()); }
  grammar::TslParser::DeclaredSignatureContext* run_declaration() { return checked(parser_.declaredSignature()); }
  const TokenSource& tokens() const { return tokens_; }
  /// Returns the tokens that the parser has read so far.
  std::vector<antlr4::Token*> tokens_read() { return stream_.getTokens(); }
  bool is_at_end() const { return errors_->is_at_end(); }

 private:
  template <class Tree> Tree* checked(Tree* tree) {
    if (parser_.lacks_memory()) throw std::bad_alloc();
    return tree;
  }

  GrowingBytes bytes_;  // of the tokens and the tree
  TokenSource tokens_;
  antlr4::CommonTokenStream stream_;
  grammar::TslParser parser_;
  std::shared_ptr<ErrorStrategy> errors_;
};

void check_text(const Source& source, uint32_t id) {
  const size_t bad = find_invalid_utf8(source.text());
  if (bad == std::string_view::npos) return;
  const auto at = static_cast<uint32_t>(bad);
  fail_at(ErrorName::invalid_utf8, {id, at, at + 1},
          fmt::format("byte 0x{:02X} is not valid UTF-8", static_cast<unsigned char>(source.text()[bad])));
}

// ---- Several errors ------------------------------------------------------------------------------------

/// The most parts that are skipped: an error that only follows from another is not shown.
constexpr size_t kMaxRepairs = 60;

/// Parses a source; after an error, parses it again without the statement at fault.
class RepairingParser {
 public:
  RepairingParser(const Source& source, uint32_t id, TextNames& names) : source_(source), id_(id), names_(names) {}

  /// Returns the module without its broken statements; null if nothing could be read.
  std::unique_ptr<ast::Module> parse() {
    // bounded: by kMaxRepairs
    for (;;) {
      ParseRun run(source_, id_, repairs_, names_.counts_tree());
      try {
        return build(run);
      } catch (Failure& failure) {
        if (failure.error().kind() != ErrorKind::syntax) throw;
        if (!repair(failure.error(), run)) return nullptr;
      }
    }
  }

  std::vector<Error> take_errors() { return std::move(errors_); }
  const std::vector<Repair>& repairs() const { return repairs_; }

 private:
  std::unique_ptr<ast::Module> build(ParseRun& run) {
    grammar::TslParser::ModuleContext* tree = run.run();
    auto module = std::make_unique<ast::Module>();
    module->source = id_;
    if (names_.counts_tree()) module->arena.count();
    module->main = TreeBuilder(run.tokens(), source_.text(), names_, *module).build(tree);
    module->doc = run.tokens().module_doc();
    return module;
  }

  /// Stores the error, and what to skip because of it. Returns false if parsing cannot go on.
  bool repair(Error& error, ParseRun& run);
  bool follows(const Error& error, uint32_t start) const;
  bool insert(const Repair& made);

  const Source& source_;
  uint32_t id_;
  TextNames& names_;
  std::vector<Repair> repairs_;
  std::vector<Error> errors_;
  bool was_at_end_ = false;  // an error was that the text ends too early
  uint32_t last_error_ = 0;  // offset, also of an error that is not shown
};

bool RepairingParser::repair(Error& error, ParseRun& run) {
  const uint32_t at = error.span.begin;
  if (run.is_at_end()) {
    if (const auto missing = find_missing_brace(source_, id_, run.tokens_read())) {
      error.span = missing->before;
      error.message =
          fmt::format("expected '}}' to close '{{' opened at line {}", source_.line_of(missing->opening.begin));
      error.notes = {"this line is indented as if the block had ended before it"};
      error.related = {{missing->opening, "opened here"}};
      errors_.push_back(std::move(error));
      const uint32_t before = missing->before.begin;
      return insert({Repair::Kind::close_block, before, before});
    }
  }
  if (run.is_at_end() && std::exchange(was_at_end_, true)) return false;  // another block that is not closed
  const uint32_t start = statement_start(run.tokens_read(), at);
  const Repair made = repair_statement(source_.text(), start, at);
  if (!follows(error, start)) {
    std::string hint = habit_hint(source_.text(), start, at);
    if (!hint.empty()) error.hints = {std::move(hint)};
    errors_.push_back(std::move(error));
  }
  last_error_ = at;
  return insert(made);
}

/// Whether an error only follows from an earlier one: it is on the same line, or directly behind a repaired block.
bool RepairingParser::follows(const Error& error, uint32_t start) const {
  if (errors_.empty()) return false;
  const uint32_t line = source_.line_of(error.span.begin), last_line = source_.line_of(last_error_);
  if (line == last_line) return true;
  const bool ends_string = error.message == "unterminated string" && error.message == errors_.back().message;
  if (ends_string && line == last_line + 1) return true;  // of a string on several lines
  const size_t before =
      start == 0 ? std::string_view::npos : std::string_view(source_.text()).find_last_not_of(" \t", start - 1);
  return before != std::string_view::npos && source_.text()[before] == '}';
}

/// Adds a repair in the order of the text. Returns false if it changes nothing, or there are too many.
bool RepairingParser::insert(const Repair& made) {
  if (errors_.size() >= kMaxSourceErrors || repairs_.size() >= kMaxRepairs) return false;
  const auto is_before = [](const Repair& a, const Repair& b) { return a.begin < b.begin; };
  const auto at = std::lower_bound(repairs_.begin(), repairs_.end(), made, is_before);
  const bool overlaps_next = at != repairs_.end() && at->begin < std::max(made.end, made.begin + 1);
  const bool overlaps_last = at != repairs_.begin() && made.begin < std::prev(at)->end;
  if (overlaps_next || overlaps_last) return false;
  repairs_.insert(at, made);
  return true;
}

/// Adds the names of the skipped text: it may declare them.
void note_skipped_names(const Source& source, const std::vector<Repair>& repairs, TextNames& names,
                        std::unordered_set<Name>& skipped) {
  const std::string_view text = source.text();
  // bounded: by kMaxRepairs; raw_tokens() counts
  for (const Repair& repair : repairs) {
    for (const RawToken& token : raw_tokens(text, repair.begin, repair.end)) {  // bounded: likewise
      if (token.type != grammar::TslParser::NAME) continue;
      skipped.insert(names.intern(text.substr(token.begin, token.end - token.begin)));
    }
  }
}

}  // namespace

std::unique_ptr<ast::Module> parse(const SourceMap& sources, uint32_t id, Interner& interner) {
  check_text(sources.get(id), id);
  TextNames names(interner, TextNames::Lifetime::permanent);
  RepairingParser parser(sources.get(id), id, names);
  std::unique_ptr<ast::Module> module = with_runtime([&] { return parser.parse(); });
  if (std::vector<Error> errors = parser.take_errors(); !errors.empty()) fail_with_all(std::move(errors));
  return module;
}

namespace {

ParsedSource parse_text(const SourceMap& sources, uint32_t id, TextNames& names) {
  const Source& source = sources.get(id);
  check_text(source, id);
  RepairingParser parser(source, id, names);
  ParsedSource parsed;
  parsed.module = with_runtime([&] {
    std::unique_ptr<ast::Module> read = parser.parse();
    note_skipped_names(source, parser.repairs(), names, parsed.skipped);
    return read;
  });
  parsed.errors = parser.take_errors();
  return parsed;
}

ReadableSource read(const SourceMap& sources, uint32_t id, TextNames& names, ResolveOptions options) {
  ParsedSource parsed = parse_text(sources, id, names);
  options.maybe_declared.merge(parsed.skipped);
  options.is_incomplete = !parsed.errors.empty();
  if (parsed.module) {
    // bounded: by kMaxSourceErrors
    for (Error& error : find_name_errors(*parsed.module, options)) {
      if (parsed.errors.size() < kMaxSourceErrors) parsed.errors.push_back(std::move(error));
    }
  }
  return {std::move(parsed.module), std::move(parsed.errors)};
}

}  // namespace

ParsedSource parse_unbound(const SourceMap& sources, uint32_t id, Interner& interner) {
  TextNames names(interner, TextNames::Lifetime::permanent);
  return parse_text(sources, id, names);
}

ReadableSource parse_readable(const SourceMap& sources, uint32_t id, Interner& interner, ResolveOptions options) {
  TextNames names(interner, TextNames::Lifetime::permanent);
  return read(sources, id, names, std::move(options));
}

std::unique_ptr<ast::Module> parse_resolved(const SourceMap& sources, uint32_t id, TextNames& names,
                                            ResolveOptions options) {
  ReadableSource readable = read(sources, id, names, std::move(options));
  if (!readable.errors.empty()) fail_with_all(std::move(readable.errors));
  return std::move(readable.module);
}

std::unique_ptr<ast::Module> parse_resolved(const SourceMap& sources, uint32_t id, Interner& interner,
                                            ResolveOptions options) {
  TextNames names(interner, TextNames::Lifetime::permanent);
  return parse_resolved(sources, id, names, std::move(options));
}

std::unique_ptr<Declaration> parse_declaration(std::string_view text, Interner& interner) {
  const Source source("<declaration>", std::string(text));
  check_text(source, 0);
  TextNames names(interner, TextNames::Lifetime::permanent);
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
    } catch (const Failure& failure) {
      if (failure.error().is_final) throw;
      return run.is_at_end() || failure.error().name == ErrorName::unexpected_end;
    }
    return false;
  });
}

}  // namespace tsl
