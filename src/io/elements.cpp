#include "io/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/count_work.h"
#include "base/error_names.h"
#include "tensor/elements.h"

namespace tsl {

static_assert(std::endian::native == std::endian::little, "files are read as little-endian memory");

namespace {

// More than any machine's memory, and far from overflow in computing strides.
constexpr uint64_t kMaxElements = uint64_t{1} << 46;

std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

uint64_t checked_bytes(const std::string& file, const std::vector<int64_t>& shape, const ElementFormat& format) {
  if (shape.size() > static_cast<size_t>(kMaxRank)) {
    fail_to_load(ErrorName::malformed_file, file,
                 fmt::format("a tensor of {} axes; TSL has at most {}", shape.size(), kMaxRank));
  }
  uint64_t bound = 1;  // counts empty axes as 1, so that strides cannot overflow either
  bool empty = false;
  // bounded: by kMaxRank
  for (int64_t extent : shape) {
    if (extent < 0)
      fail_to_load(ErrorName::malformed_file, file, fmt::format("shape {} has a negative extent", shape_text(shape)));
    empty = empty || extent == 0;
    const uint64_t factor = std::max<uint64_t>(1, static_cast<uint64_t>(extent));
    if (factor > kMaxElements || bound > kMaxElements / factor)
      fail_to_load(ErrorName::malformed_file, file, fmt::format("shape {} is beyond any memory", shape_text(shape)));
    bound *= factor;
  }
  return empty ? 0 : bound * format.bytes();
}

namespace {

void swap_bytes(std::byte* data, uint64_t count, size_t size) {
  polled_each(count, static_cast<int64_t>(size),
              [&](size_t i) { std::reverse(data + i * size, data + (i + 1) * size); });
}

}  // namespace

FileTensor new_elements(const std::vector<int64_t>& shape, const ElementFormat& format, Allocator& allocator) {
  Shape dims;
  uint64_t count = 1;
  // bounded: by kMaxRank
  for (int64_t extent : shape) {
    dims.push_back(Dim(extent));
    count *= static_cast<uint64_t>(extent);
  }
  const Tensor tensor(format.dtype, Layout::contiguous(dims), allocator.allocate(count * format.bytes()));
  return {tensor, format.is_complex};
}

void fill_elements(ByteReader& reader, const ElementFormat& format, std::byte* data, uint64_t bytes) {
  if (bytes == 0) return;
  reader.read(data, bytes);
  if (format.is_swapped) swap_bytes(data, bytes / size_of(format.dtype), size_of(format.dtype));
  if (format.dtype == DType::boolean) normalise_bools(data, bytes);
}

FileTensor read_elements(ByteReader& reader, const std::vector<int64_t>& shape, const ElementFormat& format,
                         Allocator& allocator) {
  FileTensor tensor = new_elements(shape, format, allocator);
  fill_elements(reader, format, tensor.data(), byte_count(tensor));
  return tensor;
}

uint64_t byte_count(const FileTensor& tensor) {
  uint64_t bytes = ElementFormat{tensor.dtype(), false, tensor.is_complex}.bytes();
  // bounded: by kMaxRank
  for (const Dim& extent : tensor.shape()) bytes *= static_cast<uint64_t>(extent.hint());
  return bytes;
}

}  // namespace tsl
