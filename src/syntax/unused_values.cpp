// Finds expression statements without effect.
#include <algorithm>

#include "base/error_names.h"
#include "syntax/parser.h"
#include "syntax/tree_walk.h"

namespace tsl {

using namespace ast;

namespace {

class UnusedValues {
 public:
  explicit UnusedValues(const std::function<bool(Name)>& has_effect) : has_effect_(has_effect) {}

  void module(const Function& main) { block(*main.body, Last::used); }
  /// Walks an entry of a prompt, where nobody expects that each value is used.
  void entry(const Function& main) {
    for (const Stmt* each : main.body->statements) statement(*each, Last::used);
  }
  std::vector<Error> take() { return std::move(found_); }

 private:
  /// What becomes of the value of a block's last statement: it is dropped, it is the block's value, or it is dropped at
  /// the end of a function, where `return` may have been meant.
  enum class Last : uint8_t { unused, used, unused_result };

  void function(const Function& function);
  void block(const Block& block, Last last);
  void statement(const Stmt& statement, Last last);
  void unused(const Expr& value, Last last);
  void branches(const IfExpr& conditional, Last last);
  void attempt(const TryExpr& e, Last last);
  /// Walks the functions and blocks within an expression whose value is used.
  void expression(const Expr* e);

  bool is_pure(const Expr* e) const;
  bool is_pure_call(const CallExpr& call) const;

  const std::function<bool(Name)>& has_effect_;
  std::vector<Error> found_;
  bool is_in_try_ = false;  // an expression may be evaluated for its error
};

// ---- Statements ----------------------------------------------------------------------------------------

void UnusedValues::function(const Function& function) {
  const bool was_in_try = std::exchange(is_in_try_, false);
  for (const Parameter& parameter : function.parameters) expression(parameter.default_value);
  block(*function.body, Last::unused_result);
  is_in_try_ = was_in_try;
}

void UnusedValues::block(const Block& block, Last last) {
  for (const Stmt* each : block.statements) statement(*each, each == block.statements.back() ? last : Last::unused);
}

void UnusedValues::statement(const Stmt& s, Last last) {
  switch (s.kind) {
    case StmtKind::expr: return unused(*as<ExprStmt>(s).value, last);
    case StmtKind::declare: return expression(as<DeclareStmt>(s).value);
    case StmtKind::assign: expression(as<AssignStmt>(s).target); return expression(as<AssignStmt>(s).value);
    case StmtKind::function: return function(*as<FunctionStmt>(s).function);
    case StmtKind::return_: return expression(as<ReturnStmt>(s).value);
    case StmtKind::while_: expression(as<WhileStmt>(s).condition); return block(*as<WhileStmt>(s).body, Last::unused);
    case StmtKind::for_: expression(as<ForStmt>(s).iterable); return block(*as<ForStmt>(s).body, Last::unused);
    case StmtKind::break_:
    case StmtKind::continue_:
    case StmtKind::import: return;
  }
}

/// Whether `x < -1` is written as if `<-` were one operator.
bool is_arrow(const Expr& e) {
  if (e.kind != ExprKind::binary || as<BinaryExpr>(e).op != BinaryOp::lt) return false;
  const Expr& right = *as<BinaryExpr>(e).right;
  const bool is_negative = right.kind == ExprKind::unary ||
                           (right.kind == ExprKind::integer && as<IntExpr>(right).value < 0) ||
                           (right.kind == ExprKind::real && as<RealExpr>(right).value < 0);
  return is_negative && right.span.begin == as<BinaryExpr>(e).op_span.end &&
         right.span.begin != as<BinaryExpr>(e).left->span.end;
}

/// Walks an expression statement. `nil` alone says that nothing is to be done.
void UnusedValues::unused(const Expr& value, Last last) {
  if (value.kind == ExprKind::if_) return branches(as<IfExpr>(value), last);
  if (value.kind == ExprKind::try_) return attempt(as<TryExpr>(value), last);
  expression(&value);
  if (last == Last::used || is_in_try_ || value.kind == ExprKind::nil || !is_pure(&value)) return;
  std::vector<std::string> hints;
  const bool is_comparison = value.kind == ExprKind::binary && as<BinaryExpr>(value).op == BinaryOp::eq;
  if (last == Last::unused_result)
    hints.push_back("a function's value is what it returns: `return …`, or `fn f(x) = …`");
  else if (is_arrow(value)) hints.push_back("an assignment is written with `=`: `<-` compares with a negative number");
  else if (is_comparison) hints.push_back("`==` compares; an assignment is written with one `=`");
  found_.push_back(make_warning(ErrorName::unused_value, "this value is not used, and computing it has no effect",
                                value.span, std::move(hints)));
}

void UnusedValues::branches(const IfExpr& conditional, Last last) {
  expression(conditional.condition);
  block(*conditional.then, last);
  if (!conditional.otherwise) return;
  if (conditional.otherwise->kind == ExprKind::if_) return branches(as<IfExpr>(*conditional.otherwise), last);
  block(*as<BlockExpr>(*conditional.otherwise).block, last);
}

void UnusedValues::attempt(const TryExpr& e, Last last) {
  const bool was_in_try = std::exchange(is_in_try_, true);
  block(*e.body, last);
  is_in_try_ = was_in_try;
  if (e.handler) block(*e.handler, last);
  if (e.last) block(*e.last, Last::unused);
}

// ---- Expressions ---------------------------------------------------------------------------------------

void UnusedValues::expression(const Expr* e) {
  if (!e) return;
  if (e->kind == ExprKind::lambda) return function(*as<LambdaExpr>(*e).function);
  if (e->kind == ExprKind::if_) return branches(as<IfExpr>(*e), Last::used);
  if (e->kind == ExprKind::try_) return attempt(as<TryExpr>(*e), Last::used);
  if (e->kind == ExprKind::block) return block(*as<BlockExpr>(*e).block, Last::used);
  for_each_part(*e, [this](const Expr& part) { expression(&part); });
}

// ---- Purity --------------------------------------------------------------------------------------------

/// Whether a call computes a value and does nothing else: that is known of builtins only.
bool UnusedValues::is_pure_call(const CallExpr& call) const {
  if (call.callee->kind != ExprKind::name) return false;
  const NameExpr& callee = as<NameExpr>(*call.callee);
  if (callee.variable || has_effect_(callee.name)) return false;
  return std::all_of(call.args.begin(), call.args.end(), [&](const Argument& each) { return is_pure(each.value); });
}

bool UnusedValues::is_pure(const Expr* e) const {
  if (e->kind == ExprKind::if_ || e->kind == ExprKind::try_ || e->kind == ExprKind::block)
    return false;  // blocks hold statements
  if (e->kind == ExprKind::call) return is_pure_call(as<CallExpr>(*e));
  bool are_parts_pure = true;
  for_each_part(*e, [&](const Expr& part) { are_parts_pure = are_parts_pure && is_pure(&part); });
  return are_parts_pure;
}

}  // namespace

std::vector<Error> find_unused_values(const Module& module, const std::function<bool(Name)>& has_effect) {
  UnusedValues values(has_effect);
  values.module(*module.main);
  return values.take();
}

std::vector<Error> find_unused_values_of_entry(const Module& module, const std::function<bool(Name)>& has_effect) {
  UnusedValues values(has_effect);
  values.entry(*module.main);
  return values.take();
}

}  // namespace tsl
