#include "cli/test_script.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/error_names.h"
#include "cli/program.h"
#include "engine/modules.h"
#include "syntax/parser.h"

namespace tsl {

namespace {

constexpr const char* kSpaces = " \r";  // a carriage return is the end of a line on some systems

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

/// Splits printed text into lines without spaces at their ends, since comments have none either.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(trimmed(line));
  return lines;
}

std::vector<Expectation> read_expectations(const std::string& text) {
  std::vector<Expectation> expected;
  const Source source("", text);
  for (const Span& span : find_comments(source)) {
    const std::string comment = text.substr(span.begin, span.end - span.begin);
    for (const std::string mark : {"# expect error:", "# expect:"}) {
      const size_t at = comment.rfind(mark);
      if (at == std::string::npos) continue;
      const auto begin = static_cast<uint32_t>(span.begin + at + mark.size());
      expected.push_back({mark != "# expect:", trimmed(comment.substr(at + mark.size())), source.line_of(span.begin),
                          begin, span.end});
      break;
    }
  }
  return expected;
}

/// What one run of a text did.
struct Outcome {
  std::vector<std::string> printed;
  std::optional<Error> error;
  std::string place;            // of the error
  std::vector<Span> in_script;  // where it was raised, and the calls that led there, innermost first
  std::string rendered;         // the error with the calls that led to it
};

Outcome run_once(const std::string& path, std::string text, EngineOptions options) {
  options.defer_errors = true;  // as for scripts
  Engine engine(std::move(options));
  Outcome outcome;
  std::string output;
  engine.output = [&output](std::string_view printed) { output += printed; };
  engine.show_warning = [&engine](const Error& warning) { show(warning, engine.sources(), {}); };
  try {
    engine.modules().run_script(path, std::move(text), path);
  } catch (const Failure& failure) {
    const bool is_end = failure.error().kind() == ErrorKind::exit && failure.error().exit_code == 0;
    if (!is_end) outcome.error = failure.error();
  }
  outcome.printed = lines_of(output);
  if (!outcome.error) return outcome;
  const Error& error = *outcome.error;
  const auto note = [&](const Span& span) {
    if (span.valid() && engine.sources().get(span.source).name() == path) outcome.in_script.push_back(span);
  };
  note(error.span);
  for (const CallSite& call : error.called_from) note(call.span);
  outcome.place = error.span.valid() ? engine.sources().location(error.span) : "no line";
  outcome.rendered = render(error, engine.sources());
  return outcome;
}

/// The text of a script in which statements that fail as expected do not end the run. Lines keep their numbers.
class TolerantText {
 public:
  explicit TolerantText(std::string text) : text_(std::move(text)) { find_statements(); }

  std::string text() const {
    std::string result;
    uint32_t at = 0;
    for (const Span& span : caught_) {
      result.append(text_, at, span.begin - at).append(kTry);
      result.append(text_, span.begin, span.end - span.begin).append(kCatch);
      at = span.end;
    }
    return result + text_.substr(at);
  }

  /// Lets the script go on after the error at a place of text(). Returns whether anything follows.
  bool go_on_after(const Error& error, const Span& place) {
    const uint32_t at = position_in_script(place.begin);
    const auto holds = [&](const Span& span) { return span.begin <= at && at < span.end; };
    const auto statement = std::find_if(statements_.begin(), statements_.end(), holds);
    if (error.kind() == ErrorKind::syntax || statement == statements_.end()) {
      const size_t before = text_.rfind('\n', at), end = std::min(text_.find('\n', at), text_.size());
      blank(before == std::string::npos ? 0 : before + 1, end);
    } else if (is_caught(place)) {
      const Span span = *statement;
      std::erase(caught_, span);
      blank(span.begin, span.end);
    } else if (statement + 1 == statements_.end()) {
      return false;
    } else {
      caught_.insert(std::upper_bound(caught_.begin(), caught_.end(), *statement,
                                      [](const Span& a, const Span& b) { return a.begin < b.begin; }),
                     *statement);
    }
    return true;
  }

  /// Whether the error at a place of text() comes from a statement that has failed before: no `try` catches it, or it
  /// is raised before the script runs.
  bool is_caught(const Span& place) const {
    const uint32_t at = position_in_script(place.begin);
    return std::any_of(caught_.begin(), caught_.end(), [&](const Span& s) { return s.begin <= at && at < s.end; });
  }

 private:
  static constexpr std::string_view kTry = "try { ", kCatch = " } catch _ { }";

  uint32_t position_in_script(uint32_t at) const {
    uint32_t added = 0;
    for (const Span& span : caught_) {
      if (at >= span.begin + added + kTry.size()) added += kTry.size();
      if (at >= span.end + added + kCatch.size()) added += kCatch.size();
    }
    return at - added;
  }

  void blank(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (text_[i] != '\n') text_[i] = ' ';
    }
    find_statements();
  }

  void find_statements() {
    statements_.clear();
    SourceMap sources;
    Interner names;
    try {
      const auto module = parse(sources, sources.add("", text_), names);
      for (const ast::Stmt* statement : module->main->body->statements) statements_.push_back(statement->span);
    } catch (const Failure&) {}  // a script that does not parse has none
  }

  std::string text_;
  std::vector<Span> statements_;  // of the outermost level
  std::vector<Span> caught_;      // those whose errors are caught, in order
};

/// A script that runs until it ends or fails in a way that is not expected.
struct FullRun {
  std::vector<std::string> printed;
  std::vector<const Expectation*> missing;  // errors that were not raised
  std::optional<Outcome> failed;            // the run that ended with another error
};

bool is_on_line(const Outcome& outcome, const std::string& text, uint32_t line) {
  const Source source("", text);
  return std::any_of(outcome.in_script.begin(), outcome.in_script.end(),
                     [&](const Span& span) { return source.line_of(span.begin) == line; });
}

/// Runs a script again after each error that `is_expected`, without it.
template <class Accept> FullRun run_fully(const std::string& path, const std::string& text,
                                          const EngineOptions& options, const std::vector<Expectation>& expected,
                                          const Accept& is_expected) {
  TolerantText script(text);
  FullRun run;
  for (const Expectation& expectation : expected) {
    if (expectation.is_error) run.missing.push_back(&expectation);
  }
  for (;;) {
    Outcome outcome = run_once(path, script.text(), options);
    run.printed = outcome.printed;
    if (!outcome.error) return run;
    const bool is_known = !outcome.in_script.empty() && script.is_caught(outcome.in_script.back());
    if (!is_known) {
      const auto found = std::find_if(run.missing.begin(), run.missing.end(), [&](const Expectation* wanted) {
        return is_on_line(outcome, script.text(), wanted->line) && is_expected(*wanted, *outcome.error);
      });
      if (found == run.missing.end()) {
        run.failed = std::move(outcome);
        return run;
      }
      run.missing.erase(found);
    }
    if (!script.go_on_after(*outcome.error, outcome.in_script.back())) return run;
  }
}

EngineOptions options_of(EngineOptions options, const Tier& tier) {
  options.compile_annotated = tier.compile_annotated;
  options.compile_all = tier.compile_all;
  options.show_device = false;  // what is expected is the same on every device
  return options;
}

std::string describe_errors(const FullRun& run, const std::string& path) {
  std::string text;
  for (const Expectation* wanted : run.missing)
    text += fmt::format("    {}:{}: expected the error: {}\n", path, wanted->line, wanted->text);
  if (!run.failed) return text;
  if (run.missing.empty()) return text + "    " + run.failed->rendered;
  return text + fmt::format("    raised at {}: {}\n", run.failed->place, run.failed->error->message);
}

}  // namespace

TestScript::TestScript(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)), expected_(read_expectations(text_)) {}

std::string TestScript::run(const EngineOptions& options, const Tier& tier) const {
  const FullRun run =
      run_fully(path_, text_, options_of(options, tier), expected_,
                [](const Expectation& wanted, const Error& error) { return wanted.text == error.message; });
  std::vector<const Expectation*> output;
  for (const Expectation& expectation : expected_) {
    if (!expectation.is_error) output.push_back(&expectation);
  }
  for (size_t i = 0; i < std::max(output.size(), run.printed.size()); ++i) {
    const bool is_expected = i < output.size(), is_printed = i < run.printed.size();
    if (is_expected && is_printed && output[i]->text == run.printed[i]) continue;
    const std::string place =
        is_expected ? fmt::format("{}:{}", path_, output[i]->line) : path_ + ", after all comments";
    return fmt::format("    {}\n    expected: {}\n    printed:  {}\n", place,
                       is_expected ? output[i]->text : "(nothing)", is_printed ? run.printed[i] : "(nothing)") +
           describe_errors(run, path_);
  }
  return describe_errors(run, path_);
}

std::string TestScript::updated(const EngineOptions& options) const {
  std::vector<Expectation> now = expected_;
  const auto adopt = [&](const Expectation& wanted, const Error& error) {
    now[static_cast<size_t>(&wanted - expected_.data())].text = error.message;
    return true;
  };
  const FullRun run = run_fully(path_, text_, options_of(options, kTiers[0]), expected_, adopt);
  const auto count = std::count_if(now.begin(), now.end(), [](const Expectation& e) { return !e.is_error; });
  if (run.printed.size() != static_cast<size_t>(count))
    fail(ErrorName::test_not_updated, "{} was not updated: it prints {} lines, and has {} comments for them", path_,
         run.printed.size(), count);
  std::string text;
  uint32_t at = 0;
  auto printed = run.printed.begin();
  for (const Expectation& expectation : now) {
    const std::string& message = expectation.is_error ? expectation.text : *printed++;
    text += text_.substr(at, expectation.begin - at) + (message.empty() ? "" : " ") + message;
    at = expectation.end;
  }
  return text + text_.substr(at);
}

}  // namespace tsl
