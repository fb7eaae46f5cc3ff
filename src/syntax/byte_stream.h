// The input of the generated lexer.
#pragma once

#include <string_view>

#include "antlr4-runtime.h"

namespace tsl {

/// Supplies a text byte by byte, so that token positions are byte offsets, as in spans. (ANTLR's own stream decodes to
/// UTF-32 and counts code points.) Views the text, which must outlive the stream.
class ByteStream final : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++position_; }
  size_t LA(ssize_t i) override {
    const size_t at = position_ + static_cast<size_t>(i) - (i > 0 ? 1 : 0);
    return at < text_.size() ? static_cast<unsigned char>(text_[at]) : IntStream::EOF;
  }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return position_; }
  void seek(size_t index) override { position_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return ""; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const size_t begin = static_cast<size_t>(interval.a);
    return std::string(text_.substr(begin, static_cast<size_t>(interval.b) + 1 - begin));
  }
  std::string toString() const override { return std::string(text_); }

  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace tsl
