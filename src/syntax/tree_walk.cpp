#include "syntax/tree_walk.h"

#include <utility>

namespace tsl {

using namespace ast;

namespace {

class TreeWalk {
 public:
  explicit TreeWalk(const TreeVisitor& visitor) : visitor_(visitor) {}

  void function(const Function& function) {
    for (const Parameter& parameter : function.parameters) expression(parameter.default_value);
    block(*function.body);
  }

 private:
  void block(const Block& block) {
    for (const Stmt* each : block.statements) statement(*each);
  }
  void statement(const Stmt& s);
  void expression(const Expr* e);
  void attempt(const TryExpr& e) {
    const bool was_in_try = std::exchange(is_in_try_, true);
    block(*e.body);
    is_in_try_ = was_in_try;
    if (e.handler) block(*e.handler);
    if (e.last) block(*e.last);
  }

  const TreeVisitor& visitor_;
  bool is_in_try_ = false;
};

void TreeWalk::statement(const Stmt& s) {
  visitor_.statement(s, is_in_try_);
  switch (s.kind) {
    case StmtKind::expr: return expression(as<ExprStmt>(s).value);
    case StmtKind::declare: return expression(as<DeclareStmt>(s).value);
    case StmtKind::assign: expression(as<AssignStmt>(s).target); return expression(as<AssignStmt>(s).value);
    case StmtKind::function: return function(*as<FunctionStmt>(s).function);
    case StmtKind::return_: return expression(as<ReturnStmt>(s).value);
    case StmtKind::while_: expression(as<WhileStmt>(s).condition); return block(*as<WhileStmt>(s).body);
    case StmtKind::for_: expression(as<ForStmt>(s).iterable); return block(*as<ForStmt>(s).body);
    case StmtKind::break_:
    case StmtKind::continue_:
    case StmtKind::import: return;
  }
}

void TreeWalk::expression(const Expr* e) {
  if (!e) return;
  visitor_.expression(*e, is_in_try_);
  if (e->kind == ExprKind::lambda) return function(*as<LambdaExpr>(*e).function);
  if (e->kind == ExprKind::block) return block(*as<BlockExpr>(*e).block);
  if (e->kind == ExprKind::if_) {
    expression(as<IfExpr>(*e).condition);
    block(*as<IfExpr>(*e).then);
    return expression(as<IfExpr>(*e).otherwise);
  }
  if (e->kind == ExprKind::try_) return attempt(as<TryExpr>(*e));
  for_each_part(*e, [this](const Expr& part) { expression(&part); });
}

}  // namespace

void walk_tree(const Function& function, const TreeVisitor& visitor) { TreeWalk(visitor).function(function); }

}  // namespace tsl
