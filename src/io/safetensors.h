// The .safetensors format: a JSON header that names tensors, then their elements.
#pragma once

#include <string>
#include <vector>

#include "io/elements.h"

namespace tsl {

/// Reads the tensors in the order of the header. Throws Failure (io) for headers that are malformed, repeat a name, or
/// whose tensors overlap, leave gaps or extend beyond the file; all of this before memory is allocated for any tensor.
/// A tensor of a dtype that TSL does not have goes to `unread`, unless that is null; if all are such, that is an error.
/// `form` receives what save_safetensors() was given.
std::vector<NamedTensor> load_safetensors(const std::string& path, Allocator& allocator,
                                          std::vector<UnreadEntry>* unread = nullptr, std::string* form = nullptr);
/// Returns where the tensors are, in the order of the header; those of dtypes that TSL does not have are left out.
/// Throws Failure (io) as load_safetensors().
std::vector<StoredTensor> stored_in_safetensors(const std::string& path);
/// Writes tensors, of which complex ones are c64, and in the metadata how a tree is made of them (tree.h); "": nothing.
void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors, const std::string& form = "");

}  // namespace tsl
