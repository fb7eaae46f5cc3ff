#include "vm/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "value/builtin.h"
#include "value/map.h"
#include "value/numbers.h"

namespace tsl {

namespace {

// A terminal shows about this many changes a second, and a person reads fewer.
constexpr std::chrono::milliseconds kInterval(100);
constexpr int kBarWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";

constexpr Builtin kBar{"progress bar", "progress_bar()", "", nullptr, "host"};

/// Formats a time: "1:05", "2:00:09".
std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e9));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}/s", rate) : fmt::format("{:.2g}/s", rate);
}

}  // namespace

void ProgressLine::show(std::string_view text) {
  write(fmt::format("{}{}", kClearLine, text));
  is_shown_ = true;
}

void ProgressLine::leave(bool is_nested) {
  if (is_nested) return hide();
  write("\n");
  is_shown_ = false;
}

void ProgressLine::hide() {
  if (is_shown_) write(kClearLine);
  is_shown_ = false;
}

ProgressBar::ProgressBar(ProgressLine& line, std::optional<int64_t> total)
    : line_(line), total_(total), start_(Clock::now()), next_(start_ + kInterval) {
  builtin = &kBar;
  has_state = true;
  ++line_.bars_;
}

/// Leaves the last state of an outermost loop's bar on the terminal, and nothing of a nested one.
ProgressBar::~ProgressBar() {
  const bool is_nested = --line_.bars_ > 0;
  if (!is_nested) line_.show(text(Clock::now()));
  line_.leave(is_nested);
}

void ProgressBar::count() {
  ++done_;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  line_.show(text(now));
}

std::string ProgressBar::text(Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const int64_t done = std::max<int64_t>(done_, 0);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  if (!total_ || *total_ == 0) return fmt::format("{} in {}, {}", done, clock_text(seconds), rate_text(rate));
  const double part = std::min(static_cast<double>(done) / static_cast<double>(*total_), 1.0);
  const auto filled = static_cast<size_t>(part * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  std::string text = fmt::format("{:3.0f} % |{}| {}/{}, {}", part * 100, bar, done, *total_, rate_text(rate));
  if (done == *total_) return text + ", in " + clock_text(seconds);
  return done == 0 ? text : text + ", " + clock_text(static_cast<double>(*total_ - done) / rate) + " left";
}

std::optional<int64_t> count_of_items(const Value& iterable) {
  if (iterable.is(Tag::list)) return static_cast<int64_t>(iterable.as<List>().items.size());
  if (iterable.is(Tag::tuple)) return static_cast<int64_t>(iterable.as<Tuple>().items.size());
  if (has_entries(iterable)) return static_cast<int64_t>(count_entries(iterable));
  if (iterable.is(Tag::range)) {
    const int64_t begin = dim_of(iterable.as<Range>().begin).hint(), end = dim_of(iterable.as<Range>().end).hint();
    int64_t count = 0;
    if (begin < end && __builtin_sub_overflow(end, begin, &count)) return std::nullopt;
    return count;
  }
  if (iterable.is(Tag::tensor) && iterable.tensor().rank() > 0) return iterable.tensor().shape()[0].hint();
  return std::nullopt;
}

}  // namespace tsl
