// How files store elements, and reading them into tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/bytes.h"
#include "tensor/tensor.h"

namespace tsl {

/// A type of element in a file. Unsigned types that TSL lacks are widened when read.
struct ElementFormat {
  DType dtype;                    // in memory
  uint8_t size;                   // in the file
  bool is_wide_unsigned = false;  // u16 -> i32, u32 -> i64, u64 -> i64 where it fits
  bool is_swapped = false;        // big-endian
};

/// The number of bytes that a shape takes in the file. Throws Failure (io) for shapes that no tensor can
/// have: negative extents, more axes than TSL has, products beyond any memory.
uint64_t checked_bytes(const std::string& file, const std::vector<int64_t>& shape, const ElementFormat& format);

/// Reads elements into a new tensor in memory of `allocator`. `shape` has passed checked_bytes, and the
/// reader has been found to hold that many bytes.
Tensor read_elements(ByteReader& reader, const std::vector<int64_t>& shape, const ElementFormat& format,
                     Allocator& allocator);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The elements of a contiguous tensor in host memory.
uint64_t byte_count(const Tensor& tensor);

}  // namespace tsl
