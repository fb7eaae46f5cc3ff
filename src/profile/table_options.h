// How the tables of a profile are shown: options of the program, of profile() and of hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tsl::report {

/// By what the rows of a table are ordered: the greatest first, names in alphabetical order.
enum class RowOrder : uint8_t { time, calls, median, least, most, name };
inline constexpr std::array<std::string_view, 6> kRowOrders = {"time", "calls", "median", "least", "most", "name"};
/// What the kernels of one row have in common. launch: name, types and lines.
enum class RowGroups : uint8_t { launch, kernel, shape, line, range, category };
inline constexpr std::array<std::string_view, 6> kRowGroups = {"launch", "kernel", "shape",
                                                               "line",   "range",  "category"};

struct TableOptions {
  RowOrder order = RowOrder::time;
  RowGroups groups = RowGroups::launch;
  static constexpr size_t kRows = 10, kAllRows = ~size_t{0};
  size_t rows = kRows;  // the most of each table
  size_t width = 0;     // lines are cut to so many columns; 0: they are not
};

}  // namespace tsl::report
