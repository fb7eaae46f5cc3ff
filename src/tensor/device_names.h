// Devices by name.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace tsl {

/// "cpu", "cuda:1", or "cuda": the GPU `cuda`. Throws Failure (device) for any other name.
Device parse_device(std::string_view name, Device cuda = {Device::Kind::cuda, 0});

}  // namespace tsl
