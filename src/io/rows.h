// Reads some rows of a tensor in a file, so that the file may be larger than the memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/elements.h"

namespace tsl {

/// Returns the tensors of a .npy or .safetensors file by their places in it. Any other file is a vector of its bytes.
/// Throws Failure (io).
std::vector<StoredTensor> stored_tensors(const std::string& path);

/// Reads the rows at `places`, from 0 to what stored.shape has along its first axis, into a new tensor [places, …].
/// Rows that follow each other are read at once. Throws Failure (io).
FileTensor read_rows(const std::string& path, const StoredTensor& stored, std::span<const int64_t> places,
                     Allocator& allocator);
/// Does the same in two steps: makes the tensor, and reads into its memory, which may be done by another thread.
FileTensor new_rows(const std::string& path, const StoredTensor& stored, size_t count, Allocator& allocator);
void fill_rows(const std::string& path, const StoredTensor& stored, std::span<const int64_t> places, std::byte* data);

/// Returns where the lines of a text begin, and the end of the last one: one number more than there are lines. Throws
/// Failure (io).
std::vector<int64_t> line_starts(const std::string& path);

}  // namespace tsl
