#include "exec/matrix_layout.h"

#include <cstdlib>
#include <numeric>
#include <vector>

namespace tsl::exec {

namespace {

Layout with_last_axes_swapped(const Layout& layout) {
  std::vector<int> order(static_cast<size_t>(layout.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return permute(layout, order);
}

}  // namespace

int64_t batch_count(const Shape& shape) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) count *= shape[i].hint();
  return count;
}

MatrixLayout matrix_layout(const Layout& layout) {
  const int rank = layout.rank();
  const int64_t rows = layout.shape[rank - 2].hint(), columns = layout.shape[rank - 1].hint();
  const int64_t down = layout.strides[rank - 2].hint(), across = layout.strides[rank - 1].hint();
  const bool in_columns = rows > 1 && columns > 1 && down != 0 && across != 0 && std::abs(down) < std::abs(across);
  const int64_t count = in_columns ? columns : rows, length = in_columns ? rows : columns;
  const int64_t inner = in_columns ? down : across, outer = in_columns ? across : down;
  const int64_t dense = std::max<int64_t>(length, 1);
  const bool is_usable = (inner == 1 || length <= 1) && (count <= 1 || outer >= dense);
  MatrixLayout out{in_columns, !is_usable, is_usable && count > 1 ? outer : dense, layout};
  if (in_columns) out.ordered = with_last_axes_swapped(layout);
  return out;
}

}  // namespace tsl::exec
