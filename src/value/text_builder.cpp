#include "value/text_builder.h"

#include <algorithm>

namespace tsl {

namespace {

constexpr size_t kMostKept = 1 << 16;       // of a text that is passed on
constexpr size_t kMostUncounted = 1 << 12;  // of a text that need not ask yet

}  // namespace

void TextBuilder::reserve(size_t bytes) {
  if (bytes <= text_.capacity()) return;
  require_host_bytes(bytes);
  text_.reserve(bytes);
  bytes_.set(text_.capacity());
}

void TextBuilder::flush() {
  if (!text_.empty()) sink_(text_);
  text_.clear();
}

bool TextBuilder::has_room(std::string_view part) {
  if (sink_ && text_.size() + part.size() > kMostKept) {
    flush();
    if (part.size() > kMostKept) {
      sink_(part);
      return false;
    }
  }
  const size_t size = text_.size() + part.size();
  if (size <= kMostUncounted) return true;
  if (size > text_.capacity()) reserve(std::max(size, text_.empty() ? size : 2 * text_.capacity()));
  return true;
}

}  // namespace tsl
