// bounded loops: from one mark of the index to the next.
#include "value/code_points.h"

#include "base/count_work.h"

namespace tsl {

namespace {

constexpr size_t kSpacing = 16;
constexpr size_t kMaxWidth = 4;  // bytes of a code point

}  // namespace

/// Forgets the code points near the end: more bytes may complete one that was cut off.
void CodePointIndex::restart_before_end() {
  while (starts_.size() > 1 && starts_.back() + kMaxWidth > bytes_) starts_.pop_back();
  bytes_ = starts_.back();
  count_ = ascii_bytes_ + (starts_.size() - 1) * kSpacing;
}

void CodePointIndex::extend(std::string_view text) {
  if (bytes_ == text.size()) return;
  if (starts_.empty()) {
    ascii_bytes_ += ascii_prefix(text.substr(ascii_bytes_));
    bytes_ = count_ = ascii_bytes_;
    if (bytes_ == text.size()) return;
    starts_.push_back(bytes_);
  } else {
    restart_before_end();
  }
  for (; bytes_ < text.size(); ++count_) {
    if (count_ - ascii_bytes_ == starts_.size() * kSpacing) {
      count_work(4 * kSpacing);
      starts_.push_back(bytes_);
    }
    bytes_ += utf8_width(text, bytes_);
  }
}

size_t CodePointIndex::offset(std::string_view text, size_t number) const {
  if (number >= count_) return text.size();
  if (number <= ascii_bytes_) return number;
  const size_t start = (number - ascii_bytes_) / kSpacing;
  size_t at = starts_[start];
  for (size_t left = (number - ascii_bytes_) % kSpacing; left > 0; --left) at += utf8_width(text, at);
  return at;
}

}  // namespace tsl
