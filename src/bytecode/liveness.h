// Which registers hold values that are still needed. Value semantics make every update a copy unless the value
// has one owner, so the compiler marks each register's last use, where the interpreter moves the value out.
#pragma once

#include "bytecode/bytecode.h"

namespace tsl {

/// Sets the kill flags of all instructions, turns dying moves into `take`, and fills in what the loops of `proto`
/// read and write. A register that is live where an error would be caught is not killed inside the try block, so
/// that a failed statement leaves every variable as it was.
void mark_last_uses(Proto& proto);

}  // namespace tsl
