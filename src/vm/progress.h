// Bars on the terminal that show how far loops over progress(xs) are.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "value/value.h"

namespace tsl {

/// The last line of a terminal, which shows a bar: that of the loop which counted last.
class ProgressLine {
 public:
  /// Writes to the terminal, and must not throw. If it is empty, no bars are made.
  std::function<void(std::string_view)> write;

  void show(std::string_view text);
  /// Clears the line, so that other output can follow. The next count shows the bar again.
  void hide();

 private:
  void leave(bool is_nested);

  friend class ProgressBar;
  int bars_ = 0;  // of loops that are running
  bool is_shown_ = false;
};

/// The bar of one running loop. As a value, it is in a register of the loop's frame: when the loop ends, by whatever
/// way, the value is released, and the bar with it.
class ProgressBar final : public BuiltinFunction {
 public:
  ProgressBar(ProgressLine& line, std::optional<int64_t> total);
  ~ProgressBar() override;
  /// Counts one more item, or at first none. Shows the bar if it has not changed for a while.
  void count();

 private:
  using Clock = std::chrono::steady_clock;
  std::string text(Clock::time_point now) const;

  ProgressLine& line_;
  const std::optional<int64_t> total_;
  int64_t done_ = -1;  // items
  const Clock::time_point start_;
  Clock::time_point next_;  // when the bar is shown again
};

/// Returns how many items a loop over the value has, if that is known before.
std::optional<int64_t> count_of_items(const Value& iterable);

}  // namespace tsl
