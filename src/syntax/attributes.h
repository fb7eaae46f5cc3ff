// Interprets the attributes of functions: @compile, with options, and @interpret.
#pragma once

#include "syntax/ast.h"

namespace tsl {

/// Sets what the function's attributes ask for. Throws Failure (name, value) for unknown attributes, options and
/// values.
void read_attributes(ast::Function& function);

}  // namespace tsl
