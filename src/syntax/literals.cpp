#include "syntax/literals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/count_work.h"
#include "base/error_names.h"
#include "syntax/fail_at.h"

namespace tsl {

namespace {

constexpr int kIntBits = 63;  // of an int, without its sign

struct Dtype {
  std::string_view name;
  int bits;  // of an integer's value, without its sign; 0 for floats, -1 for bool, which ends no number
  bool is_signed;
};

namespace bits_of {
constexpr int unsigned_integer(int bytes) { return std::min(8 * bytes, kIntBits); }  // a literal is an int at most
constexpr int signed_integer(int bytes) { return 8 * bytes - 1; }
constexpr int floating(int) { return 0; }
constexpr int boolean(int) { return -1; }
}  // namespace bits_of

constexpr Dtype kDtypes[] = {
#define TSL_DTYPE(id, name, element, bytes, kind, ...) \
  {name, bits_of::kind(bytes), std::string_view(#kind) != "unsigned_integer"},
#include "tensor/bodies/dtypes.def"
#undef TSL_DTYPE
};

const Dtype* find_dtype(std::string_view name) {
  // bounded: the dtypes
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name && dtype.bits >= 0) return &dtype;
  }
  return nullptr;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

int base_of(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 10;
  switch (text[1]) {
    case 'x':
    case 'X': return 16;
    case 'b':
    case 'B': return 2;
    case 'o':
    case 'O': return 8;
    default: return 10;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The parts of a number token.
struct NumberParts {
  int base = 10;
  bool is_real = false;
  std::string digits;  // without prefix, separators and suffix
  std::string_view suffix;
};

void check_separators(std::string_view digits, Span span) {
  for (size_t i = 0; i < digits.size(); ++i) {
    count_work(1);
    if (digits[i] != '_') continue;
    if (i == 0 || i + 1 == digits.size() || digits[i + 1] == '_') {
      fail_at(ErrorName::malformed_number, span, "'_' in a number stands between two digits");
    }
  }
}

NumberParts split_prefixed(std::string_view text, int base, Span span) {
  size_t end = 2;
  while (end < text.size() && (text[end] == '_' || digit_value(text[end]) < base)) ++end;
  count_work(static_cast<int64_t>(end));
  NumberParts parts;
  parts.base = base;
  parts.suffix = text.substr(end);
  const std::string_view digits = text.substr(2, end - 2);
  if (digits.empty()) {
    if (parts.suffix.empty()) {
      fail_at(ErrorName::malformed_number, span, fmt::format("expected digits after '{}'", text.substr(0, 2)));
    }
    fail_at(ErrorName::malformed_number, span,
            fmt::format("'{}' is no digit of a base-{} number", parts.suffix[0], base));
  }
  check_separators(digits, span);
  for (char c : digits) {
    if (c != '_') parts.digits += c;
  }
  return parts;
}

NumberParts split_decimal(std::string_view text, Span span) {
  NumberParts parts;
  size_t end = 0;
  const auto take_digits = [&] {
    const size_t begin = end;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '_')) ++end;
    check_separators(text.substr(begin, end - begin), span);
    count_work(static_cast<int64_t>(end - begin));
    for (char c : text.substr(begin, end - begin)) {
      if (c != '_') parts.digits += c;
    }
  };
  take_digits();
  if (end < text.size() && text[end] == '.') {
    parts.is_real = true;
    parts.digits += '.';
    ++end;
    take_digits();
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits >= text.size() || !is_digit(text[digits])) {
      fail_at(ErrorName::malformed_number, span, "expected digits in the exponent");
    }
    parts.is_real = true;
    parts.digits += 'e';
    if (text[end + 1] == '-') parts.digits += '-';
    end = digits;
    take_digits();
  }
  parts.suffix = text.substr(end);
  return parts;
}

double read_real(const NumberParts& parts, Span span) {
  double value = 0;
  const char* end = parts.digits.data() + parts.digits.size();
  const auto result = std::from_chars(parts.digits.data(), end, value);
  // from_chars reports both overflow and underflow as "out of range"; underflow gives 0.
  if (result.ec == std::errc::result_out_of_range) {
    const size_t exponent = parts.digits.find('e');
    const bool is_tiny = exponent != std::string::npos && parts.digits[exponent + 1] == '-';
    if (!is_tiny && parts.digits.compare(0, 2, "0.") != 0) {
      fail_at(ErrorName::literal_out_of_range, span, "this number is too large for a float");
    }
    return 0;
  }
  return value;
}

/// Returns the magnitude, or nothing if it exceeds 64 bits.
std::optional<uint64_t> read_magnitude(const NumberParts& parts) {
  uint64_t value = 0;
  const char* end = parts.digits.data() + parts.digits.size();
  const auto result = std::from_chars(parts.digits.data(), end, value, parts.base);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

int64_t read_integer(const NumberParts& parts, const Dtype& dtype, Span span, bool negative) {
  const std::optional<uint64_t> magnitude = read_magnitude(parts);
  uint64_t most = (uint64_t{1} << dtype.bits) - 1;
  if (negative) most = dtype.is_signed ? most + 1 : 0;
  if (!magnitude || *magnitude > most) {
    if (parts.suffix.empty()) {
      fail_at(ErrorName::literal_out_of_range, span, "this number is too large for an int, which has 64 bits",
              {"write it as a float, such as 1e20, if it need not be exact"});
    }
    const bool fits_u64 = magnitude && !negative && !dtype.is_signed && dtype.bits == kIntBits;
    if (fits_u64) {
      fail_at(ErrorName::literal_out_of_range, span, "this number is too large for an int, which has 64 bits",
              {"arithmetic makes greater elements of u64: `~0u64` is the greatest"});
    }
    fail_at(ErrorName::literal_out_of_range, span, fmt::format("this number is out of the range of {}", dtype.name));
  }
  return static_cast<int64_t>(negative ? uint64_t{0} - *magnitude : *magnitude);
}

std::vector<std::string> suggest_dtype(std::string_view suffix) {
  std::vector<std::string> names;
  // bounded: the dtypes
  for (const Dtype& dtype : kDtypes) {
    if (dtype.bits >= 0) names.emplace_back(dtype.name);
  }
  const std::string nearest = nearest_name(suffix, names);
  if (nearest.empty()) return {"a number may end in a dtype, such as 2i32 or 0.5bf16"};
  return {fmt::format("did you mean '{}'?", nearest)};
}

Number read_imaginary(const NumberParts& parts, Span span, bool negative) {
  Number number;
  number.is_integer = false;
  number.real = negative ? -read_real(parts, span) : read_real(parts, span);
  number.dtype = kImaginary;
  return number;
}

}  // namespace

Number read_number(std::string_view text, Span span, bool negative) {
  const int base = base_of(text);
  const NumberParts parts = base == 10 ? split_decimal(text, span) : split_prefixed(text, base, span);
  if (parts.suffix == kImaginary && base == 10) return read_imaginary(parts, span, negative);
  const Dtype* dtype = find_dtype(parts.suffix.empty() ? "i64" : parts.suffix);
  if (!dtype) {
    const bool is_wrong_digit = base != 10 && is_digit(parts.suffix[0]);
    if (is_wrong_digit) {
      fail_at(ErrorName::malformed_number, span,
              fmt::format("'{}' is no digit of a base-{} number", parts.suffix[0], base));
    }
    fail_at(ErrorName::malformed_number, span, fmt::format("'{}' is no suffix of a number", parts.suffix),
            suggest_dtype(parts.suffix));
  }
  Number number;
  number.dtype = parts.suffix;
  const bool is_float_dtype = dtype->bits == 0;
  number.is_integer = !(parts.is_real && parts.suffix.empty()) && !is_float_dtype;
  if (number.is_integer) {
    if (parts.is_real) {
      fail_at(ErrorName::literal_out_of_range, span, fmt::format("{} holds no fractions: '{}'", dtype->name, text));
    }
    number.integer = read_integer(parts, *dtype, span, negative);
  } else {
    number.real = read_real(parts, span);
    if (negative) number.real = -number.real;
  }
  return number;
}

namespace {

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Reads escapes; `at` is after the backslash and advances past the escape.
class EscapeReader {
 public:
  EscapeReader(std::string_view text, Span span) : text_(text), span_(span) {}

  void read(size_t& at, std::string& out) const {
    const size_t begin = at - 1;
    const char kind = text_[at++];
    switch (kind) {
      case 'n': out += '\n'; return;
      case 't': out += '\t'; return;
      case 'r': out += '\r'; return;
      case '\\': out += '\\'; return;
      case '"': out += '"'; return;
      case '0': out += '\0'; return;
      case 'x': append_utf8(out, read_hex(begin, at, 2)); return;
      case 'u': read_unicode(begin, at, out); return;
      default: break;
    }
    // bounded: includes all bytes of a code point in the message
    while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0) == 0x80) ++at;
    fail_at(ErrorName::malformed_escape, span_at(begin, at),
            fmt::format("'{}' is no escape", text_.substr(begin, at - begin)),
            {"escapes are \\n \\t \\r \\\\ \\\" \\0 \\xHH \\u{...}"});
  }

 private:
  Span span_at(size_t begin, size_t end) const {
    return {span_.source, span_.begin + static_cast<uint32_t>(begin), span_.begin + static_cast<uint32_t>(end)};
  }

  uint32_t read_hex(size_t begin, size_t& at, size_t digits) const {
    uint32_t value = 0;
    // bounded: two digits
    for (size_t i = 0; i < digits; ++i, ++at) {
      if (at >= text_.size() || digit_value(text_[at]) > 15) {
        fail_at(ErrorName::malformed_escape, span_at(begin, at), "expected two hexadecimal digits after '\\x'");
      }
      value = value * 16 + static_cast<uint32_t>(digit_value(text_[at]));
    }
    return value;
  }

  void read_unicode(size_t begin, size_t& at, std::string& out) const {
    const size_t close = text_.find('}', at);
    if (at >= text_.size() || text_[at] != '{' || close == std::string_view::npos) {
      fail_at(ErrorName::malformed_escape, span_at(begin, at), "expected '\\u{...}' with hexadecimal digits");
    }
    const std::string_view digits = text_.substr(at + 1, close - at - 1);
    at = close + 1;
    uint32_t code = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const bool is_read = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    if (!is_read || code > 0x10FFFF || is_surrogate) {
      fail_at(ErrorName::malformed_escape, span_at(begin, at), fmt::format("'{}' is no Unicode code point", digits));
    }
    append_utf8(out, code);
  }

  std::string_view text_;
  Span span_;
};

}  // namespace

bool is_long_string(std::string_view text) { return text.size() >= 6 && text.starts_with("\"\"\""); }

std::string with_unix_lines(std::string_view text) {
  std::string lines;
  for (size_t at = 0; at < text.size(); ++at) {
    count_work(1);
    if (!text.substr(at).starts_with("\r\n")) lines += text[at];
  }
  return lines;
}

std::string decode_text(std::string_view text, Span span, bool in_fstring) {
  std::string out;
  out.reserve(text.size());
  const EscapeReader escapes(text, span);
  for (size_t at = 0; at < text.size();) {
    count_work(1);
    const char c = text[at++];
    if (c == '\\') {
      escapes.read(at, out);
    } else if (c == '\r' && at < text.size() && text[at] == '\n') {
      continue;
    } else {
      out += c;
      if (in_fstring && (c == '{' || c == '}')) ++at;  // doubled, as the token source has checked
    }
  }
  return out;
}

std::string encode_text(std::string_view text, bool in_fstring) {
  std::string out;
  for (const char c : text) {
    count_work(1);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '{':
      case '}': out.append(in_fstring ? 2 : 1, c); break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace tsl
