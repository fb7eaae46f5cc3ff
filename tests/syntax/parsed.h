// Parsing in tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "syntax/dump.h"
#include "syntax/parser.h"

namespace tsl::test {

/// A module and all that it refers to.
struct Parsed {
  SourceMap sources;
  Interner names;
  uint32_t id = 0;
  std::unique_ptr<ast::Module> module;

  /// The source text of a span.
  std::string text(Span span) const {
    return sources.get(span.source).text().substr(span.begin, span.end - span.begin);
  }
  const ast::Stmt& statement(size_t i) const { return *module->main->body->statements[i]; }
};

inline std::unique_ptr<Parsed> parse_text(const std::string& text) {
  auto parsed = std::make_unique<Parsed>();
  parsed->id = parsed->sources.add("test.tsl", text);
  parsed->module = parse(parsed->sources, parsed->id, parsed->names);
  return parsed;
}

/// The tree of a text.
inline std::string tree_of(const std::string& text) { return dump(*parse_text(text)->module); }

/// Parses and resolves; `print`, `sum` and `f32` are the builtins.
inline std::unique_ptr<Parsed> resolve_text(const std::string& text) {
  auto parsed = parse_text(text);
  const std::vector<std::string> builtins = {"print", "sum", "f32"};
  ResolveOptions options;
  options.is_builtin = [&](Name name) {
    for (const std::string& builtin : builtins) {
      if (builtin == *name) return true;
    }
    return false;
  };
  options.builtin_names = [&] { return builtins; };
  resolve(*parsed->module, options);
  return parsed;
}

/// An error, the text it points at, and its hints joined by '|'.
struct Complaint {
  ErrorKind kind{};
  std::string message;
  std::string at;
  uint32_t line = 0;
  std::string hints;
};

/// What `run` (parse_text or resolve_text) says of a text; the message is "" if it is content.
template <class Run> Complaint complaint_of(const std::string& text, Run run) {
  try {
    run(text);
  } catch (const Failure& failure) {
    const Error& error = failure.error();
    Complaint complaint{error.kind(), error.message, "", 0, ""};
    for (const std::string& hint : error.hints) complaint.hints += (complaint.hints.empty() ? "" : "|") + hint;
    const Source source("", text);
    complaint.line = source.line_of(error.span.begin);
    if (error.span.begin < text.size()) {
      complaint.at = text.substr(error.span.begin, error.span.end - error.span.begin);
    }
    return complaint;
  }
  return {};
}

inline Complaint syntax_error(const std::string& text) { return complaint_of(text, parse_text); }
inline Complaint name_error(const std::string& text) { return complaint_of(text, resolve_text); }

}  // namespace tsl::test
