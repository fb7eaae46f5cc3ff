// Finds code points in long texts without reading them from the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "value/utf8.h"

namespace tsl {

/// Remembers where every 64th code point of a text begins. The text may grow at its end between calls.
class CodePointIndex {
 public:
  /// Reads what has been added to the text since the last call.
  void extend(std::string_view text);
  /// Returns the number of code points.
  size_t count() const { return count_; }
  /// Returns the byte offset of the code point with this number; text.size() beyond the end.
  size_t offset(std::string_view text, size_t number) const;

 private:
  void restart_before_end();

  size_t bytes_ = 0;            // that have been read
  size_t count_ = 0;            // of code points in them
  size_t ascii_bytes_ = 0;      // before the first byte that is not ASCII
  std::vector<size_t> starts_;  // of the code points ascii_bytes_, ascii_bytes_ + 64, …; empty: all bytes are ASCII
};

/// The code points of a text, which must outlive this and not change.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : text_(text), is_ascii_(ascii_prefix(text) == text.size()) {}
  CodePoints(std::string_view text, const CodePointIndex& index) : text_(text), index_(&index) {}

  size_t count() const { return index_ ? index_->count() : is_ascii_ ? text_.size() : utf8_length(text_); }
  /// Returns the byte offset of the code point with this number; the text's size beyond the end.
  size_t offset(size_t number) const {
    if (index_) return index_->offset(text_, number);
    return is_ascii_ ? std::min(number, text_.size()) : utf8_offset(text_, number);
  }

 private:
  std::string_view text_;
  const CodePointIndex* index_ = nullptr;
  bool is_ascii_ = false;
};

}  // namespace tsl
