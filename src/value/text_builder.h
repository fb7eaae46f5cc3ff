// Builds texts within the limits of a run.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/count_work.h"
#include "base/run_watch.h"

namespace tsl {

/// Builds a text from parts. Asks for the bytes before it takes them, and polls, so the parts may be any number.
class TextBuilder {
 public:
  using Sink = std::function<void(std::string_view)>;

  TextBuilder() = default;
  /// Passes the text on instead of keeping it: whenever much of it is there, and at flush().
  explicit TextBuilder(Sink sink) : sink_(std::move(sink)) {}

  TextBuilder& operator+=(std::string_view part) {
    count_work(kWorkOfPart + static_cast<int64_t>(part.size() / kBytesPerWork));
    if (part.size() <= text_.capacity() - text_.size() || has_room(part)) text_ += part;
    return *this;
  }
  TextBuilder& operator+=(char c) { return *this += std::string_view(&c, 1); }
  /// Takes the room for so many bytes at once.
  void reserve(size_t bytes);

  bool empty() const { return text_.empty(); }
  void flush();
  std::string take() {
    bytes_.set(0);
    return std::move(text_);
  }

 private:
  static constexpr int64_t kWorkOfPart = 8;
  static constexpr size_t kBytesPerWork = 8;

  /// Makes room for a part. Returns false if it has been passed on instead.
  bool has_room(std::string_view part);

  Sink sink_;
  std::string text_;
  HostBytes bytes_;
};

}  // namespace tsl
