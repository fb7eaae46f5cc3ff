// Interprets the attributes of functions. There is one: @compile, with options.
#pragma once

#include <optional>

#include "syntax/ast.h"

namespace tsl {

/// Returns the options of the function's @compile, if it has one. Throws Failure (name, value) for unknown attributes,
/// options and values.
std::optional<ast::CompileRequest> compile_request(const ast::Function& function);

}  // namespace tsl
