// The cells of a table in text.
#pragma once

#include <string>
#include <string_view>

#include "base/count_work.h"
#include "base/error_names.h"
#include "io/bytes.h"
#include "io/csv.h"

namespace tsl {

/// A cell as it is written.
struct CsvCell {
  std::string_view text;           // between the quotes, if it has some
  bool has_quotes_within = false;  // written twice each

  /// Returns the text that is meant.
  std::string value() const;
  /// Returns the text without blanks at its ends.
  std::string_view trimmed() const;
};

/// Goes over the rows of a text. Blank lines and comments are none.
class CsvScanner {
 public:
  CsvScanner(const std::string& path, std::string_view text, const CsvOptions& options, ReadProgress& progress)
      : path_(path), text_(text), separator_(options.separator), comment_(options.comment), progress_(progress) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    if (declared_separator(text_)) skip_line();
    skip_lines(options.skipped);
    skip_blank_lines();
  }
  /// Returns the text of the rows that are left.
  std::string_view rest() const { return text_.substr(at_); }
  /// Returns the separator in a first line such as "sep=;", which spreadsheets write; 0 if there is none.
  static char declared_separator(std::string_view text);
  /// Whether a character ends a line: lines end with "\n", "\r\n" or "\r".
  static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

  /// Calls cell(index, CsvCell) for each cell of the next row. Returns how many there were; 0 at the end.
  template <class OnCell> size_t next_row(OnCell&& on_cell) {
    row_ = at_;
    size_t count = 0;
    if (at_ == text_.size()) return count;
    do on_cell(count++, next_cell());
    while (!is_row_over_);
    skip_blank_lines();
    count_work(kRowWork + static_cast<int64_t>(at_ - row_));
    progress_.count(at_ - row_);
    return count;
  }
  /// Throws Failure (io) about the last row.
  [[noreturn]] void fail_in_row(const std::string& problem) const { fail_at(row_, problem); }

 private:
  static constexpr int64_t kRowWork = 32;

  CsvCell next_cell();
  CsvCell quoted_cell();
  void skip_blank_lines();
  void skip_line();
  void skip_lines(int64_t count);
  /// Goes past a comment, and blanks before it, up to the end of the line. Returns whether there was one.
  bool skip_comment();
  /// Goes past what ends a cell. Returns false if something else is there.
  bool pass_end();
  [[noreturn]] void fail_at(size_t at, const std::string& problem) const;

  const std::string& path_;
  std::string_view text_;
  const char separator_, comment_;
  ReadProgress& progress_;
  size_t at_ = 0;
  size_t row_ = 0;  // where the last row begins
  bool is_row_over_ = false;
};

}  // namespace tsl
