// bounded loops: a width of 100,000 characters at most.
#include "value/format_spec.h"

#include <charconv>
#include <cmath>

#include "base/calendar.h"
#include "base/display_width.h"
#include "base/error_names.h"
#include "base/number_text.h"
#include "base/run_watch.h"
#include "tensor/elements.h"
#include "value/utf8.h"

namespace tsl {

namespace {

// Enough for any table, but small enough that a mistake cannot exhaust memory.
constexpr int kMaxSpecWidth = 100'000;
constexpr int kMaxPrecision = 1'000;

std::string with_point(std::string digits) {
  return digits.find_first_of(".enif") == std::string::npos ? digits + ".0" : digits;
}

}  // namespace

std::string float_text(double value) { return with_point(number_text(value)); }

std::string float_text(double value, DType dtype) {
  if (dtype == DType::f64 || !std::isfinite(value)) return float_text(value);
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::f32) return with_point(fmt::format("{}", narrow));
  const bool is_half = dtype == DType::f16;
  auto bits = [&](float x) { return is_half ? float_to_f16(x) : float_to_bf16(x); };
  for (int digits = 1; digits < 8; ++digits) {  // the first text that reads back as the same 16-bit float
    const std::string text = fmt::format("{:.{}g}", narrow, digits);
    float back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);  // strtof would read as the locale says
    if (bits(back) == bits(narrow)) return with_point(fmt::format("{}", back));
  }
  return float_text(value);
}

namespace {

bool is_align(char c) { return c == '<' || c == '>' || c == '^'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int read_number(std::string_view text, size_t& at, int limit) {
  int number = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    number = number * 10 + (text[at] - '0');
    if (number > limit) fail(ErrorName::malformed_format, "'{}' asks for more than {} characters", text, limit);
  }
  return number;
}

}  // namespace

namespace {

/// Says what serves for what format specs of other languages hold, else what a spec is made of.
std::string hint_for_spec(std::string_view text) {
  const size_t point = text.find('.');
  if (point != std::string_view::npos && text.find_first_of(",_", point) != std::string_view::npos)
    return "what separates thousands stands before the point: `{x:,.2f}`";
  return "a spec has the form [[fill]align][sign][#][0][width][, or _][.precision][type], such as `{x:>8.3f}`";
}

}  // namespace

FormatSpec::FormatSpec(std::string_view text) : text_(text) {
  is_moment_ = text.size() > 1 && text[0] == '%' && is_letter(text[1]);
  if (is_moment_) {
    format_moment(0, text);  // fails for an unknown directive
    return;
  }
  size_t at = 0;
  auto bad = [&] {
    fail_with(ErrorName::malformed_format, fmt::format("'{}' is not a format spec", text), {hint_for_spec(text)});
  };
  if (!text.empty()) {
    const size_t fill = utf8_width(text, 0);
    if (fill < text.size() && is_align(text[fill])) at = fill + 1;
    else if (is_align(text[0])) at = 1;
    alignment_ = std::string(text.substr(0, at));
    if (!alignment_.empty() && (alignment_[0] == '{' || alignment_[0] == '}')) bad();
    if (fill > 1 && at == fill + 1 && (static_cast<unsigned char>(text[0]) < 0xC0)) bad();
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) sign_ = text[at++];
  if (at < text.size() && text[at] == '#') alternate_ = true, ++at;
  if (at < text.size() && text[at] == '0') zero_ = true, ++at;
  width_ = read_number(text, at, kMaxSpecWidth);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) separator_ = text[at++];
  has_numeric_flags_ = !sign_.empty() || alternate_ || zero_ || separator_ != 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (at == text.size() || !is_digit(text[at])) bad();
    precision_ = read_number(text, at, kMaxPrecision);
  }
  if (at < text.size()) type_ = text[at++];
  if (at != text.size() || (type_ != 0 && std::string_view("bBcdoxXaAeEfFgGs%").find(type_) == std::string_view::npos))
    bad();
  if (separator_ != 0 && type_is(separator_ == ',' ? "bBoxXcaAs" : "caAs")) bad();
}

void FormatSpec::unsuitable(const std::string& given) const {
  std::vector<std::string> hints;
  if (is_moment_) hints = {"these directives show a time in seconds since 1970, such as `now()`"};
  if (given == "a float" && type_is("bBcdoxX"))
    hints = {"`{int(x):d}` formats an int, `{x:.0f}` a float without digits"};
  if (given == "an int" && precision_ >= 0 && type_ == 0)
    hints = {"`{n:.2f}` shows an int with digits after the point"};
  if (given == "a str" && (type_is("eEfFgGd%") || separator_ != 0))
    hints = {"this format is for numbers: `{s}` shows a str, `{s:>8}` in 8 columns"};
  if (given == "a list" || given == "a tuple")
    hints = {fmt::format("it is {}: `{{xs[0]:{}}}` formats an item, `{{xs}}` shows all", given, text_)};
  if (given == "a record")
    hints = {fmt::format("it is a record: `{{r.key:{}}}` formats a value of it, `{{r}}` shows all", text_)};
  fail_with(ErrorName::unsuitable_format, fmt::format("the format spec '{}' does not suit {}", text_, given),
            std::move(hints));
}

/// Returns the part of the spec that the library knows, without what with_parts() does.
std::string FormatSpec::plain() const {
  const std::string precision = precision_ >= 0 ? fmt::format(".{}", precision_) : "";
  const std::string type = type_ == 0 ? "" : std::string(1, type_is("%") ? 'f' : type_);
  return fmt::format("{{:{}{}{}{}}}", sign_, alternate_ ? "#" : "", precision, type);
}

/// Puts separators, and zeros up to the width, into the digits of a number, and aligns it.
std::string FormatSpec::with_parts(std::string text) const {
  const bool is_hexadecimal = type_is("xX");
  const auto is_counted = [&](char c) {
    return is_digit(c) || (is_hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
  };
  size_t begin = !text.empty() && !is_counted(text[0]) ? 1 : 0;  // behind the sign
  if (alternate_ && type_is("bBoxX")) begin += 2;
  size_t end = begin;
  while (end < text.size() && is_counted(text[end])) ++end;
  if (end > begin) {
    const size_t group = separator_ == 0 ? std::string::npos : type_is("bBoxX") ? 4 : 3;
    size_t digits = end - begin;
    const size_t others = text.size() - digits, wanted = zero_ && alignment_.empty() ? static_cast<size_t>(width_) : 0;
    while (digits + (digits - 1) / group + others < wanted) ++digits;
    text.insert(begin, digits - (end - begin), '0');
    for (size_t left = digits; left > group; left -= group) text.insert(begin + left - group, 1, separator_);
  }
  const std::string alignment = alignment_.empty() ? ">" : alignment_;
  return fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", alignment, width_ ? std::to_string(width_) : "")), text);
}

std::string FormatSpec::apply(int64_t value) const {
  if (empty()) return fmt::format("{}", value);
  if (is_moment_) return format_moment(static_cast<double>(value), text_);
  if (type_is("aAeEfFgG%")) return apply(static_cast<double>(value));
  if (precision_ >= 0 || type_is("s")) unsuitable("an int");
  if (type_is("c") && (value < 0 || value > 127 || has_numeric_flags_)) unsuitable("this int");
  if (separator_ != 0) return with_parts(fmt::format(fmt::runtime(plain()), value));
  return fmt::format(fmt::runtime("{:" + text_ + "}"), value);
}

std::string FormatSpec::apply(double value) const {
  if (empty()) return float_text(value);
  if (is_moment_) return format_moment(value, text_);
  if (type_is("bBcdoxXs")) unsuitable("a float");
  if (type_is("%")) return with_parts(fmt::format(fmt::runtime(plain()), without_nan_sign(100 * value)) + "%");
  const bool is_shortest = type_ == 0 && precision_ < 0;
  if (separator_ != 0) {
    const double shown = without_nan_sign(value);
    return with_parts(is_shortest && std::isfinite(shown) ? shortest(shown)
                                                          : fmt::format(fmt::runtime(plain()), shown));
  }
  if (!is_shortest || !std::isfinite(value)) {
    // What is not finite is aligned as other numbers are; fmt has it to the left.
    const std::string alignment = !std::isfinite(value) && alignment_.empty() && !zero_ ? ">" : "";
    return fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", alignment, text_)), without_nan_sign(value));
  }
  return with_parts(shortest(value));
}

/// Returns the shortest text of a number, which must still look like a float.
std::string FormatSpec::shortest(double value) const {
  const std::string sign = std::signbit(value) ? "-" : sign_ == "-" ? "" : sign_;
  return sign + float_text(std::fabs(value));
}

std::string FormatSpec::apply(bool value) const {
  if (type_is("bBdoxX")) return apply(static_cast<int64_t>(value));
  return apply(std::string_view(value ? "true" : "false"));
}

std::string FormatSpec::apply(std::string_view value, std::string_view type) const {
  if (is_moment_ || has_numeric_flags_ || (type_ != 0 && type_ != 's'))
    unsuitable(type == "nil" ? "nil" : fmt::format("a {}", type));
  require_host_bytes(value.size());
  return padded(precision_ < 0 ? std::string(value) : fmt::format("{:.{}}", value, precision_));
}

/// Aligns a text by the columns that a terminal shows: marks that combine with letters take none.
std::string FormatSpec::padded(std::string text) const {
  if (width_ == 0) return text;
  const size_t shown = display_width(text), wanted = static_cast<size_t>(width_);
  if (shown >= wanted) return text;
  const char align = alignment_.empty() ? '<' : alignment_.back();
  const std::string fill = alignment_.size() > 1 ? alignment_.substr(0, alignment_.size() - 1) : " ";
  const size_t gap = wanted - shown, before = align == '>' ? gap : align == '^' ? gap / 2 : 0;
  std::string out;
  out.reserve(text.size() + gap * fill.size());
  for (size_t i = 0; i < before; ++i) out += fill;  // bounded: by kMaxSpecWidth
  out += text;
  for (size_t i = before; i < gap; ++i) out += fill;  // bounded: by kMaxSpecWidth
  return out;
}

}  // namespace tsl
