#include "base/range_table.h"

#include <algorithm>

namespace tsl {

uint32_t RangeTable::add(uint32_t outer, const std::string& name, uint32_t index, bool is_named) {
  index = std::min(index, kMostCalls);
  std::tuple key{outer, name, index};
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (rows_.size() >= kMost || rows_[outer].depth == kMostDepth) return outer;
  if (index > 0) {
    if (const auto first = numbers_.find({outer, name, 0}); first != numbers_.end())
      rows_[first->second].is_first_of_many = true;
  }
  const auto number = static_cast<uint32_t>(rows_.size());
  rows_.push_back({outer, index, rows_[outer].depth + 1, name, is_named || rows_[outer].is_named});
  numbers_.emplace(std::move(key), number);
  return number;
}

std::string RangeTable::path(uint32_t range) const {
  if (range == 0) return "";
  const Row& row = rows_[range];
  std::string text = path(row.outer);
  text += (text.empty() ? "" : ".") + row.name;
  if (row.index == kMostCalls) text += "[" + std::to_string(kMostCalls) + "…]";
  else if (row.index > 0 || row.is_first_of_many) text += "[" + std::to_string(row.index) + "]";
  return text;
}

}  // namespace tsl
