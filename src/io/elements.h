// The storage of elements in files, and reading them into tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/bytes.h"
#include "tensor/tensor.h"

namespace tsl {

/// The type of elements in a file.
struct ElementFormat {
  DType dtype;
  bool is_swapped = false;  // big-endian
};

/// Returns the number of bytes of a shape in the file. Throws Failure (io) for shapes that no tensor can
/// have: negative extents, more axes than TSL has, products beyond any memory.
uint64_t checked_bytes(const std::string& file, const std::vector<int64_t>& shape, const ElementFormat& format);

/// Reads elements into a new tensor from `allocator`. checked_bytes() has accepted `shape`, and the reader has at least
/// that many bytes left.
Tensor read_elements(ByteReader& reader, const std::vector<int64_t>& shape, const ElementFormat& format,
                     Allocator& allocator);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Where a file has the elements of a tensor.
struct StoredTensor {
  std::string name;  // "": the file holds no other
  ElementFormat format;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
};

/// What a file holds and a tensor cannot: its name, and why it was not read.
struct UnreadEntry {
  std::string name, why;
};

/// Returns the bytes that the elements of a contiguous tensor take.
uint64_t byte_count(const Tensor& tensor);

}  // namespace tsl
