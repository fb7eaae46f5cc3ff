#include "base/long_text.h"

#include <cstring>

#include "base/count_work.h"

namespace tsl {

namespace {

constexpr size_t kPart = 1 << 18;      // bytes between two polls
constexpr size_t kMaxShort = 1 << 14;  // bytes of a part that is searched by the C library, again for each kPart bytes
constexpr size_t kBytesPerWork = 8;    // that are compared or copied in a unit of work

/// A part that is split for the two-way algorithm (Crochemore, Perrin 1991), which takes linear time and no memory.
struct Split {
  size_t at;      // of the second half, which is compared first
  size_t period;  // of the second half
};

/// Finds the greatest suffix of a part in the order of bytes, or in the reverse one.
Split greatest_suffix(std::string_view part, bool is_reversed) {
  size_t start = 0, candidate = 1, offset = 0, period = 1;
  while (candidate + offset < part.size()) {
    count_work(1);
    const auto ours = static_cast<unsigned char>(part[start + offset]),
               theirs = static_cast<unsigned char>(part[candidate + offset]);
    if (ours == theirs) {
      if (++offset == period) {
        candidate += period;
        offset = 0;
      }
    } else if ((theirs < ours) != is_reversed) {
      candidate += offset + 1;
      offset = 0;
      period = candidate - start;
    } else {
      start = candidate++;
      offset = 0;
      period = 1;
    }
  }
  return {start, period};
}

Split split(std::string_view part) {
  const Split forward = greatest_suffix(part, false), reverse = greatest_suffix(part, true);
  return forward.at > reverse.at ? forward : reverse;
}

/// Finds a long part, with the two-way algorithm.
size_t find_long(std::string_view text, std::string_view part, size_t from) {
  const size_t size = part.size();
  auto [middle, step] = split(part);
  const bool is_periodic = equal_texts(part.substr(0, middle), part.substr(step, middle));
  if (!is_periodic) step = std::max(middle, size - middle) + 1;
  size_t known = 0;  // bytes at the start of the part that are known to match, where it is periodic
  for (size_t at = from; text.size() - at >= size;) {
    const size_t first = std::max(middle, known);
    size_t i = first;
    while (i < size && part[i] == text[at + i]) ++i;
    count_work(static_cast<int64_t>(i - first) + 1);
    if (i < size) {
      at += i - middle + 1;
      known = 0;
      continue;
    }
    for (i = middle; i > known && part[i - 1] == text[at + i - 1];) --i;
    count_work(static_cast<int64_t>(middle - i) + 1);
    if (i <= known) return at;
    at += step;
    known = is_periodic ? size - step : 0;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || part.size() > text.size() - from) return std::string_view::npos;
  if (part.size() > kMaxShort) return find_long(text, part, from);
  const auto find_in = [&part](std::string_view piece) {
    return part.size() == 1 ? std::memchr(piece.data(), part[0], piece.size())
                            : memmem(piece.data(), piece.size(), part.data(), part.size());
  };
  while (text.size() - from >= part.size()) {
    const std::string_view piece = text.substr(from, kPart + part.size());
    const void* found = find_in(piece);
    const size_t at = found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : from + kPart;
    count_work(static_cast<int64_t>(at - from) + 1);
    if (found) return at;
    if (piece.size() < kPart + part.size()) break;
    from += kPart + 1;
  }
  return std::string_view::npos;
}

int compare_texts(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t at = 0; at < common && a.data() != b.data(); at += kPart) {
    const size_t bytes = std::min(kPart, common - at);
    const int order = std::memcmp(a.data() + at, b.data() + at, bytes);
    count_work(static_cast<int64_t>(bytes / kBytesPerWork) + 1);
    if (order != 0) return order < 0 ? -1 : 1;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

void append_text(std::string& to, std::string_view part) {
  for (size_t at = 0; at < part.size(); at += kPart) {
    const std::string_view piece = part.substr(at, kPart);
    to += piece;
    count_work(static_cast<int64_t>(piece.size() / kBytesPerWork) + 1);
  }
}

std::string copy_text(std::string_view text) {
  constexpr size_t kShort = 256;
  if (text.size() <= kShort) {
    count_work(static_cast<int64_t>(text.size() / kBytesPerWork) + 1);
    return std::string(text);
  }
  std::string copy;
  copy.reserve(text.size());
  append_text(copy, text);
  return copy;
}

}  // namespace tsl
