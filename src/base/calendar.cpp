#include "base/calendar.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/error_names.h"
#include "base/integers.h"

namespace tsl {

namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr int64_t kMicroseconds = 1'000'000;
constexpr int64_t kDay = 86'400;  // seconds
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr size_t kShort = 3;  // letters of a name that is cut

/// A moment taken apart.
struct Moment {
  explicit Moment(double seconds) {
    const auto total = static_cast<int64_t>(std::floor(seconds * kMicroseconds + 0.5));
    const int64_t whole = total >= 0 ? total / kMicroseconds : -ceil_div(-total, kMicroseconds);
    microsecond = total - whole * kMicroseconds;
    const int64_t day = whole >= 0 ? whole / kDay : -ceil_div(-whole, kDay);
    second = whole - day * kDay;
    day_point = sys_days(days(day));
    date = year_month_day(day_point);
  }
  int year() const { return static_cast<int>(date.year()); }
  unsigned month() const { return static_cast<unsigned>(date.month()); }
  unsigned day() const { return static_cast<unsigned>(date.day()); }
  std::string_view weekday() const { return kWeekdays[std::chrono::weekday(day_point).c_encoding()]; }
  int64_t day_of_year() const { return (day_point - sys_days(date.year() / 1 / 1)).count() + 1; }

  sys_days day_point;
  year_month_day date;
  int64_t second = 0, microsecond = 0;  // of the day; of the second
};

/// Formats one directive; "" if there is no such one.
std::string formatted(const Moment& at, char directive) {
  const int64_t hour = at.second / 3600, minute = at.second / 60 % 60, second = at.second % 60;
  switch (directive) {
    case 'Y': return fmt::format("{:04}", at.year());
    case 'y': return fmt::format("{:02}", at.year() % 100);
    case 'm': return fmt::format("{:02}", at.month());
    case 'd': return fmt::format("{:02}", at.day());
    case 'H': return fmt::format("{:02}", hour);
    case 'I': return fmt::format("{:02}", (hour + 11) % 12 + 1);
    case 'p': return hour < 12 ? "AM" : "PM";
    case 'M': return fmt::format("{:02}", minute);
    case 'S': return fmt::format("{:02}", second);
    case 'f': return fmt::format("{:06}", at.microsecond);
    case 'j': return fmt::format("{:03}", at.day_of_year());
    case 'A': return std::string(at.weekday());
    case 'a': return std::string(at.weekday().substr(0, kShort));
    case 'B': return std::string(kMonths[at.month() - 1]);
    case 'b': return std::string(kMonths[at.month() - 1].substr(0, kShort));
    case 'F': return fmt::format("{:04}-{:02}-{:02}", at.year(), at.month(), at.day());
    case 'T': return fmt::format("{:02}:{:02}:{:02}", hour, minute, second);
    case 'z': return "+0000";
    case 'Z': return "UTC";
    case '%': return "%";
    default: return "";
  }
}

}  // namespace

namespace {

[[noreturn]] void refuse_directive(char directive) {
  fail_with(
      ErrorName::malformed_format,
      fmt::format("a time has no directive '%{}'", directive ? std::string(1, directive) : ""),
      {"there are %Y %m %d %H %M %S %f, %y %j %I %p %a %A %b %B, %F and %T for all of a date and a time, and %%"});
}

}  // namespace

std::string format_moment(double seconds, std::string_view format) {
  constexpr double kFirst = -62'135'596'800.0, kEnd = 253'402'300'800.0;  // of the years 1 to 9999
  if (!(seconds >= kFirst && seconds < kEnd - 1))
    fail_argument(ErrorName::number_out_of_range, "seconds",
                  fmt::format("{} is no second of the years 1 to 9999", seconds));
  const Moment at(seconds);
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const char directive = ++i < format.size() ? format[i] : '\0';
    const std::string part = formatted(at, directive);
    if (part.empty()) refuse_directive(directive);
    text += part;
  }
  return text;
}

namespace {

/// Reads numbers and marks of a text in order.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool is_done() const { return rest_.empty(); }
  bool is_ok() const { return is_ok_; }
  bool has_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  bool take_utc() {
    const bool is_utc = is_next("UTC");
    if (is_utc) rest_.remove_prefix(3);
    return is_utc;
  }
  bool take(char mark) {
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char mark) { is_ok_ = take(mark) && is_ok_; }
  /// Reads so many digits.
  int number(size_t digits) {
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') {
        is_ok_ = false;
        return 0;
      }
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  /// Reads a number with so many digits that is at most `most`.
  int number(size_t digits, int most) {
    const int value = number(digits);
    is_ok_ = is_ok_ && value <= most;
    return value;
  }
  /// Reads a number of one to so many digits that lies from `least` to `most`.
  int number_within(size_t digits, int least, int most) {
    size_t count = 0;
    while (count < digits && count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') ++count;
    const int value = number(std::max<size_t>(count, 1));
    is_ok_ = is_ok_ && value >= least && value <= most;
    return value;
  }
  /// Reads one of some names in any case, all of it or the first letters. Returns its place.
  template <size_t kCount> int name(const std::array<std::string_view, kCount>& names) {
    for (size_t i = 0; i < kCount; ++i) {
      for (const std::string_view text : {names[i], names[i].substr(0, kShort)}) {
        if (!is_next(text)) continue;
        rest_.remove_prefix(text.size());
        return static_cast<int>(i);
      }
    }
    is_ok_ = false;
    return 0;
  }
  /// Reads the digits behind a point: "25" is .25.
  double fraction() {
    double value = 0, unit = 1;
    size_t digits = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++digits) {
      value = value * 10 + (rest_[0] - '0');
      unit *= 10;
      rest_.remove_prefix(1);
    }
    constexpr size_t kMostDigits = 15;
    is_ok_ = is_ok_ && digits > 0 && digits <= kMostDigits;
    return value / unit;
  }

 private:
  bool is_next(std::string_view text) const {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return rest_.size() >= text.size() &&
           std::equal(text.begin(), text.end(), rest_.begin(), [&](char a, char b) { return lower(a) == lower(b); });
  }

  std::string_view rest_;
  bool is_ok_ = true;
};

/// Reads a zone: "Z", "+02:00", "-0330" or "+01". Returns seconds east of UTC.
int read_zone(Reader& reader) {
  if (reader.take('Z') || reader.is_done()) return 0;
  const bool is_west = reader.take('-');
  if (!is_west) reader.expect('+');
  constexpr int kMostHours = 23, kMostMinutes = 59;
  int seconds = reader.number(2, kMostHours) * 3600;
  if (reader.take(':') || !reader.is_done()) seconds += reader.number(2, kMostMinutes) * 60;
  return is_west ? -seconds : seconds;
}

}  // namespace

std::optional<double> parse_moment(std::string_view text) {
  Reader reader(text);
  const int year = reader.number(4);
  reader.expect('-');
  const int month = reader.number(2);
  reader.expect('-');
  const int day = reader.number(2);
  const year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  if (!reader.is_ok() || !date.ok() || year < 1) return std::nullopt;
  int64_t seconds = sys_days(date).time_since_epoch().count() * kDay;
  if (reader.is_done()) return static_cast<double>(seconds);
  if (!reader.take('T') && !reader.take('t')) reader.expect(' ');
  constexpr int kMostHours = 23, kMost = 59;
  double fraction = 0;
  seconds += reader.number(2, kMostHours) * 3600;
  reader.expect(':');
  seconds += reader.number(2, kMost) * 60;
  if (reader.take(':')) {
    seconds += reader.number(2, kMost);
    if (reader.take('.') || reader.take(',')) fraction = reader.fraction();
  }
  seconds -= read_zone(reader);
  if (!reader.is_ok() || !reader.is_done()) return std::nullopt;
  return static_cast<double>(seconds) + fraction;
}

namespace {

/// The parts of a moment, as directives read them.
struct ReadParts {
  int year = 1970, month = 1, day = 1, day_of_year = 0;  // 0: not given
  int hour = 0, minute = 0, second = 0;
  int half = -1;  // of the day, for hours up to 12; -1: not given
  double fraction = 0;
  int zone = 0;  // seconds east of UTC

  std::optional<double> moment() const {
    const year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day)));
    if (!date.ok() || year < 1) return std::nullopt;
    sys_days at(date);
    if (day_of_year > 0) at = sys_days(date.year() / 1 / 1) + days(day_of_year - 1);
    if (day_of_year > 0 && year_month_day(at).year() != date.year()) return std::nullopt;
    const int hours = half < 0 ? hour : hour % 12 + 12 * half;
    const int64_t seconds = at.time_since_epoch().count() * kDay + hours * 3600 + minute * 60 + second - zone;
    return static_cast<double>(seconds) + fraction;
  }
};

/// Reads "+02:00", "-0330", "+01" or "Z" before more text.
int read_inner_zone(Reader& reader) {
  if (reader.take('Z')) return 0;
  const bool is_west = reader.take('-');
  if (!is_west) reader.expect('+');
  constexpr int kMostHours = 23, kMostMinutes = 59;
  int seconds = reader.number(2, kMostHours) * 3600;
  if (reader.take(':') || reader.has_digit()) seconds += reader.number(2, kMostMinutes) * 60;
  return is_west ? -seconds : seconds;
}

void read_directive(Reader& reader, char directive, ReadParts& parts) {
  constexpr int kLastYear = 9999, kCentury = 100, kPivot = 69;  // %y: 69 is 1969, 68 is 2068
  switch (directive) {
    case 'Y': parts.year = reader.number_within(4, 1, kLastYear); return;
    case 'y':
      parts.year = reader.number_within(2, 0, kCentury - 1);
      parts.year += parts.year < kPivot ? 20 * kCentury : 19 * kCentury;
      return;
    case 'm': parts.month = reader.number_within(2, 1, 12); return;
    case 'd': parts.day = reader.number_within(2, 1, 31); return;
    case 'H': parts.hour = reader.number_within(2, 0, 23); return;
    case 'I': parts.hour = reader.number_within(2, 1, 12); return;
    case 'p': parts.half = reader.name(std::array<std::string_view, 2>{"AM", "PM"}); return;
    case 'M': parts.minute = reader.number_within(2, 0, 59); return;
    case 'S': parts.second = reader.number_within(2, 0, 59); return;
    case 'f': parts.fraction = reader.fraction(); return;
    case 'j': parts.day_of_year = reader.number_within(3, 1, 366); return;
    case 'A':
    case 'a': reader.name(kWeekdays); return;
    case 'B':
    case 'b': parts.month = reader.name(kMonths) + 1; return;
    case 'z':
    case 'Z': parts.zone = reader.take_utc() ? 0 : read_inner_zone(reader); return;
    case '%': reader.expect('%'); return;
    default: refuse_directive(directive);
  }
}

}  // namespace

std::optional<double> parse_moment(std::string_view text, std::string_view format) {
  Reader reader(text);
  ReadParts parts;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      reader.expect(format[i]);
      continue;
    }
    const char directive = ++i < format.size() ? format[i] : '\0';
    if (directive == 'F' || directive == 'T') {
      const std::string_view inner = directive == 'F' ? "Y-m-d" : "H:M:S";
      for (size_t k = 0; k < inner.size(); ++k) {
        if (k % 2 == 1) reader.expect(inner[k]);
        else read_directive(reader, inner[k], parts);
      }
    } else {
      read_directive(reader, directive, parts);
    }
  }
  if (!reader.is_ok() || !reader.is_done()) return std::nullopt;
  return parts.moment();
}

}  // namespace tsl
