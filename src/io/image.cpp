#include "io/image.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error_names.h"
#include "tensor/dtype.h"

namespace tsl {

std::string read_image_file(const std::string& path) { return read_text_file(path); }

Tensor new_image(const std::string& path, const ImageSize& size, DType dtype, uint64_t most_pixels,
                 Allocator& allocator) {
  const auto pixels = static_cast<uint64_t>(size.rows) * static_cast<uint64_t>(size.columns);
  if (pixels > most_pixels) {
    fail_to_load(ErrorName::malformed_file, path,
                 fmt::format("it is truncated: it is too short for {} × {} pixels", size.rows, size.columns));
  }
  const Shape shape{Dim(size.rows), Dim(size.columns), Dim(size.channels)};
  const uint64_t bytes = pixels * static_cast<uint64_t>(size.channels) * size_of(dtype);
  return Tensor(dtype, Layout::contiguous(shape), allocator.allocate(bytes));
}

ImageSize image_size(const std::string& path, const Tensor& image, int64_t most_extent, std::string_view channels) {
  const Shape& shape = image.shape();
  const auto extent = [&](int axis) { return shape[static_cast<size_t>(axis)].hint(); };
  const int rank = image.rank();
  const bool fits = rank == 2 || (rank == 3 && extent(2) >= 1 && extent(2) <= 9 &&
                                  channels.find(static_cast<char>('0' + extent(2))) != std::string_view::npos);
  if (!fits) {
    fail_with(ErrorName::shape_mismatch,
              fmt::format("'{}' holds rows × columns, or with {} channels as last axis, not {}", path, channels,
                          describe(image)),
              {"`permute(x, 1, 2, 0)` puts the first axis last; `x[0]` is the first of several images"});
  }
  const ImageSize size{extent(0), extent(1), rank == 2 ? 1 : extent(2)};
  if (std::min(size.rows, size.columns) < 1 || std::max(size.rows, size.columns) > most_extent) {
    fail_argument(ErrorName::number_out_of_range, "value",
                  fmt::format("'{}' holds from 1 to {} rows and columns, not {} × {}", path, most_extent, size.rows,
                              size.columns));
  }
  return size;
}

}  // namespace tsl
