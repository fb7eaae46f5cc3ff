// The tree as S-expressions, for tests to compare with.
#pragma once

#include <string>

#include "syntax/ast.h"

namespace tsl::test {

/// (+ 1 (* 2 3))     (call f x axis:0)     (index x 0 1:5:_ ...)
std::string dump(const ast::Expr& expression);
std::string dump(const ast::Stmt& statement);
/// The statements, one to a line.
std::string dump(const ast::Module& module);

}  // namespace tsl::test
