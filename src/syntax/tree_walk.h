// Visits every statement and expression of a module, for analyses that look for some of them.
#pragma once

#include <functional>

#include "syntax/ast.h"

namespace tsl {

struct TreeVisitor {
  std::function<void(const ast::Stmt&)> statement;
  /// `is_in_try`: whether an enclosing `try` of the same function may catch an error of the expression.
  std::function<void(const ast::Expr&, bool is_in_try)> expression;
};

/// Visits each node before those in it, in the order of the source.
void walk_tree(const ast::Function& function, const TreeVisitor& visitor);

}  // namespace tsl
