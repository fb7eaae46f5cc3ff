#include "base/calendar.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/error_names.h"

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
    const int64_t whole = total >= 0 ? total / kMicroseconds : -((-total + kMicroseconds - 1) / kMicroseconds);
    microsecond = total - whole * kMicroseconds;
    const int64_t day = whole >= 0 ? whole / kDay : -((-whole + kDay - 1) / kDay);
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
    if (part.empty())
      fail_with(
          ErrorName::malformed_format,
          fmt::format("a time has no directive '%{}'", directive ? format.substr(i, 1) : ""),
          {"there are %Y %m %d %H %M %S %f, %y %j %I %p %a %A %b %B, %F and %T for all of a date and a time, and %%"});
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

}  // namespace tsl
