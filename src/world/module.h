// Loads the module through which ranks exchange bytes.
#pragma once

#include <memory>

#include "world/transport.h"

namespace tsl::world {

/// Connects to the other ranks. Throws Failure if this build has no module, a library that it needs is not installed,
/// or the ranks do not all arrive.
std::unique_ptr<Transport> connect(const TransportOptions& options);

}  // namespace tsl::world
