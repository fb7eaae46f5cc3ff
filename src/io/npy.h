// NumPy's .npy and .npz.
#pragma once

#include <string>
#include <vector>

#include "io/elements.h"

namespace tsl {

/// Reads one array, from its magic on. An array in Fortran's order becomes a transposed view. Throws Failure (io) for
/// anything that is not a well-formed array of a type TSL has, before memory is allocated for it.
FileTensor read_npy(ByteReader& reader, Allocator& allocator);

/// Why the elements of a well-formed array are none of TSL's.
struct UnknownElements {
  std::string why;
};
/// As read_npy(), but throws UnknownElements for an array of elements that TSL does not have.
FileTensor read_known_npy(ByteReader& reader, Allocator& allocator);
/// Returns where the elements of an array are. Throws Failure (io) as load_npy(), and for an array in Fortran's order.
StoredTensor stored_in_npy(const std::string& path);
FileTensor load_npy(const std::string& path, Allocator& allocator);
void save_npy(const std::string& path, const FileTensor& tensor);

/// Reads the arrays of an archive by name, stored or compressed. What is no array that TSL has, such as text or a
/// folder, goes to `unread`, unless that is null. Throws Failure (io) if nothing else is there, or an array is damaged.
std::vector<NamedTensor> load_npz(const std::string& path, Allocator& allocator,
                                  std::vector<UnreadEntry>* unread = nullptr);
void save_npz(const std::string& path, const std::vector<NamedTensor>& tensors);

/// Returns the bytes before the elements of an array of this type in C's order: magic, version and header.
std::string npy_header(const FileTensor& tensor);

}  // namespace tsl
