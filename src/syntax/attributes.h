// What attributes of functions mean. There is one: @compile, with options.
#pragma once

#include <optional>

#include "syntax/ast.h"

namespace tsl {

/// What the function's @compile asks, if it has one. Throws Failure (name, value) at attributes, options and values
/// that there are not.
std::optional<ast::CompileRequest> compile_request(const ast::Function& function);

}  // namespace tsl
