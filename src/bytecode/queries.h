// Queries about trees.
#pragma once

#include "syntax/ast.h"

namespace tsl {

/// Whether evaluating `e` may run statements of this function (blocks inside `if` expressions), which could assign to
/// its variables. Functions inside `e` do not count, since variables that they assign to are captured.
bool contains_statements(const ast::Expr& e);

}  // namespace tsl
