// What of CUDA is installed on this machine, for people who want to know why a GPU is not used.
#pragma once

#include <string>
#include <vector>

namespace tsl::cuda {

/// A part of CUDA, found or missing.
struct InstalledPart {
  std::string name;  // "cuDNN"
  bool is_found = false;
  bool is_needed = false;  // without it no GPU is used; without others some functions are slower, or run on the host
  std::string text;        // what was found and where; or what is missing and what to do
};

/// Looks for the driver, its GPUs and the libraries that TSL opens. Opens no GPU.
std::vector<InstalledPart> installed_parts();

}  // namespace tsl::cuda
