// The speed of a device at most, measured once and kept.
#pragma once

#include "engine/engine.h"
#include "profile/roofline.h"

namespace tsl {

/// Returns the speed of a device's memory and of its f32 arithmetic, as TSL's own kernels reach it. The first call for
/// its hardware measures it, which takes about a second, and keeps it in the user's cache folder. `options`: threads,
/// device options.
report::Roofline roofline_of(const exec::Backend& backend, Device device, const EngineOptions& options);

}  // namespace tsl
