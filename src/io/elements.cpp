#include "io/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error_names.h"

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
  for (int64_t extent : shape) {
    if (extent < 0)
      fail_to_load(ErrorName::malformed_file, file, fmt::format("shape {} has a negative extent", shape_text(shape)));
    empty = empty || extent == 0;
    const uint64_t factor = std::max<uint64_t>(1, static_cast<uint64_t>(extent));
    if (factor > kMaxElements || bound > kMaxElements / factor)
      fail_to_load(ErrorName::malformed_file, file, fmt::format("shape {} is beyond any memory", shape_text(shape)));
    bound *= factor;
  }
  return empty ? 0 : bound * format.size;
}

namespace {

void swap_bytes(std::byte* data, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

template <class From, class To>
void widen(const std::byte* from, std::byte* to, uint64_t count, const std::string& file) {
  for (uint64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    if constexpr (sizeof(From) == sizeof(To)) {
      if (value > static_cast<From>(INT64_MAX))
        fail_to_load(ErrorName::malformed_file, file, fmt::format("{} does not fit i64", value));
    }
    const To wide = static_cast<To>(value);
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

// Reads and converts in pieces, so that a large file needs little more memory than the tensor.
void read_widened(ByteReader& reader, std::byte* to, uint64_t count, const ElementFormat& format) {
  constexpr uint64_t kPiece = 1 << 16;
  std::vector<std::byte> piece(std::min(count, kPiece) * format.size);
  for (uint64_t done = 0; done < count; done += kPiece) {
    const uint64_t now = std::min(kPiece, count - done);
    reader.read(piece.data(), now * format.size);
    if (format.is_swapped) swap_bytes(piece.data(), now, format.size);
    std::byte* at = to + done * size_of(format.dtype);
    if (format.size == 2) widen<uint16_t, int32_t>(piece.data(), at, now, reader.name());
    else if (format.size == 4) widen<uint32_t, int64_t>(piece.data(), at, now, reader.name());
    else widen<uint64_t, int64_t>(piece.data(), at, now, reader.name());
  }
}

}  // namespace

Tensor read_elements(ByteReader& reader, const std::vector<int64_t>& shape, const ElementFormat& format,
                     Allocator& allocator) {
  Shape dims;
  uint64_t count = 1;
  for (int64_t extent : shape) {
    dims.push_back(Dim(extent));
    count *= static_cast<uint64_t>(extent);
  }
  Tensor tensor(format.dtype, Layout::contiguous(dims), allocator.allocate(count * size_of(format.dtype)));
  if (count == 0) return tensor;
  std::byte* data = tensor.data();
  if (format.is_wide_unsigned) {
    read_widened(reader, data, count, format);
    return tensor;
  }
  reader.read(data, count * format.size);
  if (format.is_swapped) swap_bytes(data, count, format.size);
  if (format.dtype == DType::boolean) {  // a file may contain any byte; kernels require 0 or 1
    for (uint64_t i = 0; i < count; ++i) data[i] = std::byte{data[i] != std::byte{0}};
  }
  return tensor;
}

uint64_t byte_count(const Tensor& tensor) {
  uint64_t bytes = size_of(tensor.dtype());
  for (const Dim& extent : tensor.shape()) bytes *= static_cast<uint64_t>(extent.hint());
  return bytes;
}

}  // namespace tsl
