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
  DType dtype;              // of complex numbers, that of their parts
  bool is_swapped = false;  // big-endian
  bool is_complex = false;  // a pair of parts each
  uint64_t bytes() const { return size_of(dtype) * (is_complex ? 2 : 1); }
};

/// A tensor of a file. If it is of complex numbers, each is two elements side by side: shape and strides count the
/// numbers, the offset elements.
struct FileTensor : Tensor {
  FileTensor() = default;
  FileTensor(Tensor tensor, bool is_complex = false) : Tensor(std::move(tensor)), is_complex(is_complex) {}
  bool is_complex = false;
};

/// Returns the number of bytes of a shape in the file. Throws Failure (io) for shapes that no tensor can
/// have: negative extents, more axes than TSL has, products beyond any memory.
uint64_t checked_bytes(const std::string& file, const std::vector<int64_t>& shape, const ElementFormat& format);

/// Reads elements into a new tensor from `allocator`. checked_bytes() has accepted `shape`, and the reader has at least
/// that many bytes left.
FileTensor read_elements(ByteReader& reader, const std::vector<int64_t>& shape, const ElementFormat& format,
                         Allocator& allocator);
/// Does the same in two steps: makes the tensor, and fills its memory, which may be done by another thread.
FileTensor new_elements(const std::vector<int64_t>& shape, const ElementFormat& format, Allocator& allocator);
void fill_elements(ByteReader& reader, const ElementFormat& format, std::byte* data, uint64_t bytes);

struct NamedTensor {
  std::string name;
  FileTensor tensor;
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
uint64_t byte_count(const FileTensor& tensor);

}  // namespace tsl
