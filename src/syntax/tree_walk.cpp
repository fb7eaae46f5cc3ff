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
  void each(List<Expr*> items) {
    for (const Expr* item : items) expression(item);
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
    case StmtKind::try_: {
      const bool was_in_try = std::exchange(is_in_try_, true);
      block(*as<TryStmt>(s).body);
      is_in_try_ = was_in_try;
      return block(*as<TryStmt>(s).handler);
    }
  }
}

void TreeWalk::expression(const Expr* e) {
  if (!e) return;
  visitor_.expression(*e, is_in_try_);
  switch (e->kind) {
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed:
    case ExprKind::name: return;
    case ExprKind::fstring:
      for (const FStringPart& part : as<FStringExpr>(*e).parts) expression(part.value);
      return;
    case ExprKind::list: return each(as<ListExpr>(*e).items);
    case ExprKind::tuple: return each(as<TupleExpr>(*e).items);
    case ExprKind::record:
      for (const RecordEntry& entry : as<RecordExpr>(*e).entries) expression(entry.value);
      return;
    case ExprKind::range: expression(as<RangeExpr>(*e).begin); return expression(as<RangeExpr>(*e).end);
    case ExprKind::unary: return expression(as<UnaryExpr>(*e).operand);
    case ExprKind::binary: expression(as<BinaryExpr>(*e).left); return expression(as<BinaryExpr>(*e).right);
    case ExprKind::logical: expression(as<LogicalExpr>(*e).left); return expression(as<LogicalExpr>(*e).right);
    case ExprKind::call:
      expression(as<CallExpr>(*e).callee);
      for (const Argument& argument : as<CallExpr>(*e).args) expression(argument.value);
      return;
    case ExprKind::index:
      expression(as<IndexExpr>(*e).object);
      for (const IndexItem& item : as<IndexExpr>(*e).items) {
        for (const Expr* part : {item.value, item.start, item.stop, item.step}) expression(part);
      }
      return;
    case ExprKind::field: return expression(as<FieldExpr>(*e).object);
    case ExprKind::lambda: return function(*as<LambdaExpr>(*e).function);
    case ExprKind::if_:
      expression(as<IfExpr>(*e).condition);
      block(*as<IfExpr>(*e).then);
      return expression(as<IfExpr>(*e).otherwise);
    case ExprKind::block: return block(*as<BlockExpr>(*e).block);
  }
}

}  // namespace

void walk_tree(const Function& function, const TreeVisitor& visitor) { TreeWalk(visitor).function(function); }

}  // namespace tsl
