// The ranges of a program, by number: functions that call each other, and what with_range() names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tsl {

/// Numbers ranges. A range within another one is a range of its own; 0 is none.
class RangeTable {
 public:
  /// Returns the number of a range within `outer`. `index`: which of the calls of that name it is, from 0. A program
  /// may make up names, recurse and loop without end: a range that is too deep, or beyond kMost, is `outer`.
  uint32_t add(uint32_t outer, const std::string& name, uint32_t index = 0, bool is_named = false);
  /// Formats a range with those around it: "encoder.block[3].attention"; "" for 0.
  std::string path(uint32_t range) const;
  /// Returns the range around a range.
  uint32_t outer(uint32_t range) const { return rows_[range].outer; }
  /// Whether with_range() has named a range, or one around it.
  bool is_named(uint32_t range) const { return rows_[range].is_named; }

  static constexpr size_t kMost = 10'000;
  static constexpr uint32_t kMostDepth = 24;
  static constexpr uint32_t kMostCalls = 100;  // those after share a range

 private:
  struct Row {
    uint32_t outer = 0, index = 0, depth = 0;
    std::string name = {};
    bool is_named = false;
    bool is_first_of_many = false;
  };
  std::vector<Row> rows_ = {{}};
  std::map<std::tuple<uint32_t, std::string, uint32_t>, uint32_t> numbers_;  // by outer, name and index
};

}  // namespace tsl
