// Visits the elements of a layout.
#pragma once

#include <functional>
#include <vector>

#include "tensor/layout.h"

namespace tsl {

using Index = std::vector<int64_t>;

/// Visits every index of a shape, in row-major order.
inline void for_each_index(const Shape& shape, const std::function<void(const Index&)>& visit) {
  Index index(static_cast<size_t>(shape.rank()), 0);
  for (Dim extent : shape) {
    if (extent.hint() == 0) return;
  }
  while (true) {
    visit(index);
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++index[static_cast<size_t>(axis)] == shape[axis].hint())
      index[static_cast<size_t>(axis--)] = 0;
    if (axis < 0) return;
  }
}

/// Returns the offset of an element, in elements of the storage.
inline int64_t address(const Layout& layout, const Index& index) {
  int64_t at = layout.offset.hint();
  for (int i = 0; i < layout.rank(); ++i) at += index[static_cast<size_t>(i)] * layout.strides[i].hint();
  return at;
}

/// Returns the offsets of all elements, in row-major order.
inline std::vector<int64_t> addresses(const Layout& layout) {
  std::vector<int64_t> all;
  for_each_index(layout.shape, [&](const Index& index) { all.push_back(address(layout, index)); });
  return all;
}

}  // namespace tsl
