// What stands before a place in a text that is being typed.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "syntax/tokens.h"

namespace tsl::analysis {

/// A call whose arguments are being typed.
struct OpenCall {
  size_t bracket = 0;                    // the token that opens them
  size_t position = 0;                   // of the argument at the cursor
  std::optional<std::string_view> name;  // of that argument, if it has one
};

class Cursor {
 public:
  /// `text` must outlive the cursor.
  Cursor(std::string_view text, size_t offset);

  /// The text before the cursor, and its tokens without the word that is being typed.
  std::string_view text() const { return text_; }
  const std::vector<TextToken>& tokens() const { return tokens_; }
  std::string_view text_of(size_t token) const;
  /// Where the word begins that is being typed, and what there is of it.
  size_t word_begin() const { return word_; }
  std::string_view word() const { return text_.substr(word_); }

  /// Whether the last token before the word is this one.
  bool ends_with(std::string_view token) const;
  bool is_in_comment() const;
  /// Returns where the text of a string begins that the cursor is in.
  std::optional<size_t> open_string() const;
  /// Returns the call whose arguments are being typed, the innermost.
  std::optional<OpenCall> open_call() const;
  /// Returns the names, joined by dots, that end before a token: of `a.b(`, a and b; none if anything else is before
  /// them, as in `f().b(`.
  std::vector<std::string_view> path_before(size_t token) const;
  /// Returns where these names and dots begin.
  size_t path_begin(size_t token) const;

 private:
  const std::string_view text_;
  std::vector<TextToken> tokens_;
  size_t word_;
};

}  // namespace tsl::analysis
