// Devices by name. Kinds of devices are numbered as their names are first registered, for the whole process.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace tsl {

/// Registers a kind of device, or finds it. The name must live as long as the process.
Device::Kind device_kind(std::string_view name);
/// "cuda"
std::string_view name_of(Device::Kind kind);

/// Parses "cpu", "cuda:1", or "cuda": `preferred` if that is of this kind, else cuda:0. Throws Failure (device) for any
/// other name.
Device parse_device(std::string_view name, Device preferred = {});

}  // namespace tsl
