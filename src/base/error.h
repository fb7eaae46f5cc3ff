// Errors as data: the message, the position, and the calls that led there. One function renders them.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/source.h"

namespace tsl {

/// What an error is about. Its name says more.
enum class ErrorKind {
  syntax,
  name,
  type,
  shape,
  index,
  value,
  io,
  memory,
  device,
  limit,
  interrupt,
  exit,
  user,
  warning
};

std::string_view name_of(ErrorKind kind);

/// The stable name of an error: base/error_names.h, which only those who raise errors need.
enum class ErrorName : uint16_t;

/// Returns the name as it is written: "shape-mismatch".
std::string_view name_of(ErrorName name);
ErrorKind kind_of(ErrorName name);

/// One entry of "called from": the function that was running and the call in it.
struct CallSite {
  std::string function;
  Span span;
};

/// Another place that an error concerns, and what is there: "declared here".
struct RelatedPlace {
  Span span;
  std::string text;
};

struct Error {
  ErrorName name{};  // user_error
  std::string message;
  Span span;                            // invalid until the interpreter sets it
  std::vector<std::string> hints;       // what to write instead: printed as "= hint" lines under the caret
  std::vector<CallSite> called_from;    // innermost first
  std::vector<std::string> notes{};     // values and facts: printed as "- note" lines
  std::vector<RelatedPlace> related{};  // other places, printed with a caret each
  std::vector<Error> others{};          // further errors of the same source, in its order; they have no others
  std::string own_kind{};               // what the program calls its kind, if not one of TSL's: "parse"
  std::string parameter{};              // the parameter whose argument is wrong, until the call is known
  int argument = -1;                    // its position among the arguments of the call: the caret is under it
  bool is_located = false;              // the interpreter has filled in span and called_from
  bool is_final = false;                // no `try` of the program catches it
  bool is_warning = false;              // the program goes on
  uint8_t exit_code = 0;                // of an error of the kind exit

  ErrorKind kind() const { return kind_of(name); }
  /// Returns the kind that users see.
  std::string_view kind_text() const { return own_kind.empty() ? name_of(kind()) : std::string_view(own_kind); }
};

/// Makes a warning about a place of the program. Its kind is shown if warnings are errors.
Error make_warning(ErrorName name, std::string message, Span span, std::vector<std::string> hints = {});

/// Carries an Error from its origin to the `try`, prompt or program that handles it. Lower layers throw it without a
/// span; the interpreter adds the span of the running instruction.
class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::make_shared<Error>(std::move(error))) {}
  const char* what() const noexcept override { return error_->message.c_str(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::shared_ptr<Error> error_;  // shared: exceptions are copied while they propagate
};

[[noreturn]] void fail_with(ErrorName name, std::string message, std::vector<std::string> hints = {},
                            std::vector<std::string> notes = {});
/// As fail_with(), for an argument of the running function: the caret is under it, in the call.
[[noreturn]] void fail_argument(ErrorName name, std::string_view parameter, std::string message,
                                std::vector<std::string> hints = {}, std::vector<std::string> notes = {});

/// Throws a Failure that the program cannot catch.
[[noreturn]] void end_program(ErrorName name, std::string message);

/// Throws a Failure: fail(ErrorName::shape_mismatch, "cannot broadcast {} with {}", a, b).
template <class... Args> [[noreturn]] void fail(ErrorName name, fmt::format_string<Args...> format, Args&&... args) {
  fail_with(name, fmt::format(format, std::forward<Args>(args)...));
}

/// Formats the text that a user sees ("warning: message" for a warning):
///   error[kind]: message
///     --> file.tsl:9:16
///      9 | source line
///        |     ^^^^^
///     = hint
///     - note
///     called from f (file.tsl:13), <main> (file.tsl:21)
/// A related place comes after the caret, with its own. The other errors follow.
std::string render(const Error& error, const SourceMap& sources, bool color = false);

/// Returns the candidate nearest to `word` by edit distance (exchanged neighbours count one), of equals the first in
/// the alphabet; "" if none is near enough to suggest, or if `word` has one or two letters.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// Returns a hint for a name that does not exist: what TSL has for a name of another language (base/aliases.def), else
/// "did you mean 'len'?" for the nearest candidate; "" if there is nothing to say.
std::string suggest_name(std::string_view word, const std::vector<std::string>& candidates);
/// Returns what a name of another language is in TSL, or what to write instead; "" for any other word.
std::string translate_name(std::string_view word, const std::vector<std::string>& candidates);
/// Returns a hint for `module.word`, which does not exist: as suggest_name() among the members, but names of layers and
/// optimizers are those of functions (`nn.LSTM` is `nn.lstm`), and builtins need no module.
std::string suggest_member(std::string_view module, std::string_view word, const std::vector<std::string>& members,
                           const std::vector<std::string>& builtins);

}  // namespace tsl
