// Visits every statement and expression of a module, for analyses that look for some of them.
#pragma once

#include <functional>

#include "syntax/ast.h"

namespace tsl {

struct TreeVisitor {
  /// `is_in_try`: whether the node is in the body of a `try`, which may be there for its error.
  std::function<void(const ast::Stmt&, bool is_in_try)> statement;
  std::function<void(const ast::Expr&, bool is_in_try)> expression;
};

/// Visits each node before those in it, in the order of the source.
void walk_tree(const ast::Function& function, const TreeVisitor& visitor);

}  // namespace tsl
