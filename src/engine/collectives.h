// Performs the ops between the ranks of a world.
#pragma once

#include <string>

#include "exec/devices.h"
#include "tensor/op.h"

namespace tsl {

/// Performs an op of Ordering::program on a tensor, by way of host memory, after all ranks have agreed on it. `where`:
/// the line of the call, for messages. Returns the result on the tensor's device. Throws Failure (io, value) if the
/// ranks do different things, or one has ended.
Tensor perform_collective(exec::Devices& devices, Allocator& host, const OpDef& op, const Tensor& x, const Attrs& attrs,
                          const std::string& where);

}  // namespace tsl
