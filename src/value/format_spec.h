// Formats numbers and strings, plain and by a format spec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace tsl {

/// Returns the shortest text that reads back as the same number and always looks like a float: "1.0", "1e-05", "nan".
std::string float_text(double value);
/// As above for an element of a tensor, in its own precision: 0.1f32 is "0.1".
std::string float_text(double value, DType dtype);

/// A checked format spec, [[fill]align][sign][#][0][width][, or _][.precision][type]: as for std::format, with the
/// separators and the type % of Python; or the directives of a time in seconds since 1970: "%Y-%m-%d".
class FormatSpec {
 public:
  /// Parses a spec; throws Failure (value) if it is invalid.
  explicit FormatSpec(std::string_view text);

  bool empty() const { return text_.empty(); }
  /// Whether the spec suits some ints but not others.
  bool is_particular() const { return type_is("c"); }
  /// Format a value; throw Failure (value) if the spec does not suit the type.
  std::string apply(int64_t value) const;
  std::string apply(double value) const;
  std::string apply(bool value) const;
  /// `type` names the type of the value that the text shows, for an error.
  std::string apply(std::string_view value, std::string_view type = "str") const;

 private:
  [[noreturn]] void unsuitable(const std::string& type) const;
  std::string plain() const;
  std::string with_parts(std::string text) const;
  std::string shortest(double value) const;
  std::string padded(std::string text) const;
  bool type_is(std::string_view types) const { return type_ != 0 && types.find(type_) != std::string_view::npos; }

  std::string text_;
  bool is_moment_ = false;          // the whole text is directives of a time
  std::string alignment_;           // fill and align, or ""
  bool has_numeric_flags_ = false;  // a sign, #, 0 or a separator
  bool alternate_ = false;
  bool zero_ = false;
  std::string sign_;
  int width_ = 0;
  char separator_ = 0;
  int precision_ = -1;
  char type_ = 0;
};

}  // namespace tsl
