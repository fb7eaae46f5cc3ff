// Finds devices by name.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace tsl {

/// Parses "cpu", "cuda:1", or "cuda": `preferred` if it is of this backend, else cuda:0. Accepts backends that
/// backend_number() has numbered; throws Failure (device) for any other name.
Device parse_device(std::string_view name, Device preferred = {});

}  // namespace tsl
