#include "syntax/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tsl {

CodePoint decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const uint32_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  uint32_t value = lead & (0xFF >> (size + 1));
  // bounded: the bytes of a code point
  for (uint32_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (value < kLeast[size] || value > 0x10FFFF || is_surrogate) return {};
  return {value, size};
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    count_work(1);
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint point = decode_utf8(text.substr(at));
    if (point.size == 0) return at;
    at += point.size;
  }
  return std::string_view::npos;
}

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Whole blocks instead of exact character classes: this suffices to report a pasted quote, dash or no-break space where
// it is, while letters of every script, subscripts and primes are allowed.
constexpr std::array<Range, 9> kUnnameable = {{{0x80, 0xA9},
                                               {0xAB, 0xB1},
                                               {0xB4, 0xB4},
                                               {0xB6, 0xB8},
                                               {0xBB, 0xBF},
                                               {0x2000, 0x2031},
                                               {0x203A, 0x206F},
                                               {0x3000, 0x3004},
                                               {0xFEFF, 0xFEFF}}};

bool is_unnameable(uint32_t value) {
  if (value == 0xD7 || value == 0xF7) return true;      // × ÷
  if (value >= 0x2190 && value <= 0x2BFF) return true;  // arrows, operators, shapes
  // bounded: the known ranges
  for (const Range& range : kUnnameable) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

}  // namespace

size_t find_unnameable(std::string_view name) {
  for (size_t at = 0; at < name.size();) {
    count_work(1);
    if (static_cast<unsigned char>(name[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint point = decode_utf8(name.substr(at));
    if (is_unnameable(point.value)) return at;
    at += point.size;
  }
  return std::string_view::npos;
}

const Lookalike* lookalike(uint32_t point) {
  constexpr std::string_view kQuote = "strings are written with \" quotes";
  constexpr std::string_view kMinus = "type the minus of the keyboard, `-`";
  constexpr std::string_view kSpace = "type an ordinary space";
  constexpr std::string_view kNothing = "delete it: it cannot be seen";
  static constexpr Lookalike kLookalikes[] = {
      {0xA0, "a no-break space", kSpace},
      {0x2007, "a figure space", kSpace},
      {0x2009, "a thin space", kSpace},
      {0x202F, "a narrow no-break space", kSpace},
      {0x3000, "an ideographic space", kSpace},
      {0xAD, "a soft hyphen", kNothing},
      {0x200B, "a zero-width space", kNothing},
      {0xFEFF, "a byte order mark", kNothing},
      {0x2010, "a hyphen", kMinus},
      {0x2011, "a no-break hyphen", kMinus},
      {0x2013, "an en dash", kMinus},
      {0x2014, "an em dash", kMinus},
      {0x2212, "a minus sign", kMinus},
      {0xD7, "a multiplication sign", "type `*`"},
      {0xF7, "a division sign", "type `/`"},
      {0x2018, "a curly quote", kQuote},
      {0x2019, "a curly quote", kQuote},
      {0x201C, "a curly quote", kQuote},
      {0x201D, "a curly quote", kQuote},
      {0x201E, "a low quote", kQuote},
      {0xAB, "a guillemet", kQuote},
      {0xBB, "a guillemet", kQuote},
      {0x2026, "an ellipsis", "type three dots, `...`"},
      {0x2192, "an arrow", "type `->`"},
      {0x2260, "not equal", "type `!=`"},
      {0x2264, "less than or equal", "type `<=`"},
      {0x2265, "greater than or equal", "type `>=`"},
  };
  const auto* found = std::find_if(std::begin(kLookalikes), std::end(kLookalikes),
                                   [point](const Lookalike& each) { return each.point == point; });
  return found == std::end(kLookalikes) ? nullptr : found;
}

}  // namespace tsl
