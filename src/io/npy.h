// NumPy's .npy and .npz.
#pragma once

#include <string>
#include <vector>

#include "io/elements.h"

namespace tsl {

/// One array, from its magic on. Arrays in Fortran's order come as a transposed view. Throws Failure (io) for
/// anything that is not a well-formed array of a type TSL has, before memory is allocated for it.
Tensor read_npy(ByteReader& reader, Allocator& allocator);
Tensor load_npy(const std::string& path, Allocator& allocator);
void save_npy(const std::string& path, const Tensor& tensor);

/// The arrays of an archive by name, stored or compressed.
std::vector<NamedTensor> load_npz(const std::string& path, Allocator& allocator);
void save_npz(const std::string& path, const std::vector<NamedTensor>& tensors);

/// Magic, version and header of an array of this type in C's order: what comes before its elements.
std::string npy_header(const Tensor& tensor);

}  // namespace tsl
