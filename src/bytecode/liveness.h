// Finds which registers hold values that are still needed. An update copies a value unless it has one owner, so the
// compiler marks each register's last use, where the interpreter moves the value out.
#pragma once

#include "bytecode/bytecode.h"

namespace tsl {

/// Sets the kill flags of all instructions, turns moves of dead registers into `take`, and fills in the registers that
/// the loops of `proto` read and write. A register that is live at a handler is not killed inside the try block, so a
/// failed statement leaves every variable unchanged. With `keeps_variables` only temporaries are killed.
void mark_last_uses(Proto& proto, bool keeps_variables);

}  // namespace tsl
