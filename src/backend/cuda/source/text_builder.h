// Builds text from strings, literals and numbers. Kernels' sources are built this way because it is much cheaper than
// formatting.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tsl::cuda {

/// room_for() returns an upper bound of the characters of a piece. write() writes the piece and returns its end.
inline size_t room_for(std::string_view piece) { return piece.size(); }
inline char* write(char* to, std::string_view piece) {
  return std::copy_n(piece.data(), piece.size(), to);  // the piece may be empty and have no address
}
template <size_t kSize> size_t room_for(const char (&)[kSize]) { return kSize - 1; }
template <size_t kSize> char* write(char* to, const char (&literal)[kSize]) {
  std::memcpy(to, literal, kSize - 1);
  return to + kSize - 1;
}
inline size_t room_for(std::integral auto) { return 20; }
inline char* write(char* to, std::integral auto number) {
  if (0 <= number && number <= 9) return *to = static_cast<char>('0' + number), to + 1;  // the usual case
  const fmt::format_int digits(number);
  return write(to, std::string_view(digits.data(), digits.size()));
}

/// A string buffer that grows at its end.
class TextBuilder {
 public:
  /// Reserves memory for `room` characters, so that the text does not grow step by step.
  explicit TextBuilder(size_t room) : text_(room, '\0') {}

  template <class... Pieces> void add(const Pieces&... pieces) {
    const size_t most = size_ + (room_for(pieces) + ...);
    if (most > text_.size()) text_.resize(2 * most);
    char* end = text_.data() + size_;
    ((end = write(end, pieces)), ...);
    size_ = static_cast<size_t>(end - text_.data());
  }
  void indent(size_t spaces) {
    for (; spaces >= 2; spaces -= 2) add("  ");
  }
  bool empty() const { return size_ == 0; }
  /// Returns the text and leaves this builder empty.
  std::string take() {
    text_.resize(std::exchange(size_, 0));
    return std::move(text_);
  }

 private:
  std::string text_;  // characters from size_ on are not written yet
  size_t size_ = 0;
};

/// Joins a few pieces into a string.
template <class... Pieces> std::string text_of(const Pieces&... pieces) {
  constexpr size_t kShort = 64;
  const size_t most = (room_for(pieces) + ...);
  if (most <= kShort) {
    char text[kShort];
    char* end = text;
    ((end = write(end, pieces)), ...);
    return {text, end};
  }
  TextBuilder text(most);
  text.add(pieces...);
  return text.take();
}

}  // namespace tsl::cuda
