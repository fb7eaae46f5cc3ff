#include "io/csv_cells.h"

#include <algorithm>

#include "value/utf8.h"

namespace tsl {

std::string CsvCell::value() const {
  std::string meant(text);
  if (!has_quotes_within) return meant;
  size_t end = 0;
  for (size_t at = 0; at < meant.size(); ++at) {
    count_work(1);
    meant[end++] = meant[at];
    if (meant[at] == '"') ++at;  // the second one
  }
  meant.resize(end);
  return meant;
}

std::string_view CsvCell::trimmed() const {
  std::string_view rest = text;
  // bounded: the scanner has counted the cell
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  // bounded: likewise
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t')) rest.remove_suffix(1);
  return rest;
}

void CsvScanner::fail_at(size_t at, const std::string& problem) const {
  const std::string_view before = text_.substr(0, at);
  const size_t line_start = before.find_last_of("\r\n") + 1;  // npos + 1 is 0
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  for (size_t i = 0; i < at; ++i) line += text_[i] == '\r' && text_.substr(i, 2) != "\r\n";  // bounded: by the text
  fail_with(ErrorName::malformed_file,
            fmt::format("cannot load {}:{}:{}: {}", path_, line, 1 + utf8_length(before.substr(line_start)), problem));
}

char CsvScanner::declared_separator(std::string_view text) {
  constexpr std::string_view kMark = "sep=", kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const bool is_declared = text.starts_with(kMark) && text.size() > kMark.size() + 1 &&
                           !is_line_end(text[kMark.size()]) && is_line_end(text[kMark.size() + 1]);
  return is_declared ? text[kMark.size()] : '\0';
}

void CsvScanner::skip_line() { at_ = std::min(text_.find_first_of("\r\n", at_), text_.size()); }

void CsvScanner::skip_lines(int64_t count) {
  for (; count > 0 && at_ < text_.size(); --count) {
    const size_t begin = at_;
    skip_line();
    at_ += text_.substr(at_, 2) == "\r\n" ? 2 : at_ < text_.size() ? 1 : 0;
    count_work(static_cast<int64_t>(at_ - begin));
  }
}

void CsvScanner::skip_blank_lines() {
  for (; at_ < text_.size(); ++at_) {
    if (!is_line_end(text_[at_]) && !skip_comment()) return;
    count_work(1);
    if (at_ == text_.size()) return;
  }
}

bool CsvScanner::skip_comment() {
  if (comment_ == '\0') return false;
  const size_t begin = text_.find_first_not_of(" \t", at_);
  if (begin == std::string_view::npos || text_[begin] != comment_) return false;
  at_ = begin;
  skip_line();
  return true;
}

bool CsvScanner::pass_end() {
  is_row_over_ = true;
  skip_comment();
  if (at_ == text_.size()) return true;
  if (text_[at_] == separator_) is_row_over_ = false;
  else if (text_.substr(at_, 2) == "\r\n") ++at_;
  else if (!is_line_end(text_[at_])) return false;
  ++at_;
  return true;
}

CsvCell CsvScanner::next_cell() {
  if (at_ < text_.size() && text_[at_] == '"') return quoted_cell();
  const size_t begin = at_;
  const char separator = separator_, comment = comment_;
  const auto is_within = [&](char c) { return c != separator && !is_line_end(c) && (c != comment || c == '\0'); };
  // bounded: pass_end() counts it
  while (at_ < text_.size() && is_within(text_[at_])) ++at_;
  size_t end = at_;
  if (at_ < text_.size() && text_[at_] == comment && comment != '\0') {
    // bounded: likewise
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
  }
  pass_end();
  return {text_.substr(begin, end - begin)};
}

CsvCell CsvScanner::quoted_cell() {
  const size_t begin = at_++;
  CsvCell cell;
  for (;; at_ += 2) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) {
      at_ = begin;
      fail_at(begin, "the quote that begins here does not end");
    }
    if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
    cell.has_quotes_within = true;
    count_work(2);
  }
  cell.text = text_.substr(begin + 1, at_ - begin - 1);
  const size_t quote = at_++;
  if (!pass_end()) fail_at(quote, "a quote within quotes is written twice: \"\"");
  return cell;
}

}  // namespace tsl
