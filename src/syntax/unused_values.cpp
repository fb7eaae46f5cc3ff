// Finds expression statements without effect.
#include <algorithm>

#include "syntax/parser.h"

namespace tsl {

using namespace ast;

namespace {

class UnusedValues {
 public:
  explicit UnusedValues(const std::function<bool(Name)>& has_effect) : has_effect_(has_effect) {}

  void module(const Function& main) { block(*main.body, Last::used); }
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
  /// Walks the functions and blocks within an expression whose value is used.
  void expression(const Expr* e);
  void index(const IndexExpr& index);

  bool is_pure(const Expr* e) const;
  bool is_pure_call(const CallExpr& call) const;
  bool is_pure_index(const IndexExpr& index) const;

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
    case StmtKind::try_: {
      const bool was_in_try = std::exchange(is_in_try_, true);
      block(*as<TryStmt>(s).body, Last::unused);
      is_in_try_ = was_in_try;
      return block(*as<TryStmt>(s).handler, Last::unused);
    }
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
  expression(&value);
  if (last == Last::used || is_in_try_ || value.kind == ExprKind::nil || !is_pure(&value)) return;
  std::vector<std::string> hints;
  const bool is_comparison = value.kind == ExprKind::binary && as<BinaryExpr>(value).op == BinaryOp::eq;
  if (last == Last::unused_result)
    hints.push_back("a function's value is what it returns: `return …`, or `fn f(x) = …`");
  else if (is_arrow(value)) hints.push_back("an assignment is written with `=`: `<-` compares with a negative number");
  else if (is_comparison) hints.push_back("`==` compares; an assignment is written with one `=`");
  found_.push_back(
      make_warning("this value is not used, and computing it has no effect", value.span, std::move(hints)));
}

void UnusedValues::branches(const IfExpr& conditional, Last last) {
  expression(conditional.condition);
  block(*conditional.then, last);
  if (!conditional.otherwise) return;
  if (conditional.otherwise->kind == ExprKind::if_) return branches(as<IfExpr>(*conditional.otherwise), last);
  block(*as<BlockExpr>(*conditional.otherwise).block, last);
}

// ---- Expressions ---------------------------------------------------------------------------------------

void UnusedValues::index(const IndexExpr& index) {
  expression(index.object);
  for (const IndexItem& item : index.items) {
    for (const Expr* part : {item.value, item.start, item.stop, item.step}) expression(part);
  }
}

void UnusedValues::expression(const Expr* e) {
  if (!e) return;
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
    case ExprKind::list:
      for (const Expr* item : as<ListExpr>(*e).items) expression(item);
      return;
    case ExprKind::tuple:
      for (const Expr* item : as<TupleExpr>(*e).items) expression(item);
      return;
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
    case ExprKind::index: return index(as<IndexExpr>(*e));
    case ExprKind::field: return expression(as<FieldExpr>(*e).object);
    case ExprKind::lambda: return function(*as<LambdaExpr>(*e).function);
    case ExprKind::if_: return branches(as<IfExpr>(*e), Last::used);
    case ExprKind::block: return block(*as<BlockExpr>(*e).block, Last::used);
  }
}

// ---- Purity --------------------------------------------------------------------------------------------

/// Whether a call computes a value and does nothing else: that is known of builtins only.
bool UnusedValues::is_pure_call(const CallExpr& call) const {
  if (call.callee->kind != ExprKind::name) return false;
  const NameExpr& callee = as<NameExpr>(*call.callee);
  if (callee.variable || has_effect_(callee.name)) return false;
  return std::all_of(call.args.begin(), call.args.end(), [&](const Argument& each) { return is_pure(each.value); });
}

bool UnusedValues::is_pure_index(const IndexExpr& index) const {
  const auto is_item_pure = [&](const IndexItem& item) {
    return is_pure(item.value) && is_pure(item.start) && is_pure(item.stop) && is_pure(item.step);
  };
  return is_pure(index.object) && std::all_of(index.items.begin(), index.items.end(), is_item_pure);
}

bool UnusedValues::is_pure(const Expr* e) const {
  if (!e) return true;
  const auto are_pure = [this](List<Expr*> items) {
    return std::all_of(items.begin(), items.end(), [this](const Expr* item) { return is_pure(item); });
  };
  switch (e->kind) {
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed:
    case ExprKind::name:
    case ExprKind::lambda: return true;
    case ExprKind::fstring: {
      const List<FStringPart> parts = as<FStringExpr>(*e).parts;
      return std::all_of(parts.begin(), parts.end(), [this](const FStringPart& part) { return is_pure(part.value); });
    }
    case ExprKind::list: return are_pure(as<ListExpr>(*e).items);
    case ExprKind::tuple: return are_pure(as<TupleExpr>(*e).items);
    case ExprKind::record: {
      const List<RecordEntry> entries = as<RecordExpr>(*e).entries;
      return std::all_of(entries.begin(), entries.end(),
                         [this](const RecordEntry& each) { return is_pure(each.value); });
    }
    case ExprKind::range: return is_pure(as<RangeExpr>(*e).begin) && is_pure(as<RangeExpr>(*e).end);
    case ExprKind::unary: return is_pure(as<UnaryExpr>(*e).operand);
    case ExprKind::binary: return is_pure(as<BinaryExpr>(*e).left) && is_pure(as<BinaryExpr>(*e).right);
    case ExprKind::logical: return is_pure(as<LogicalExpr>(*e).left) && is_pure(as<LogicalExpr>(*e).right);
    case ExprKind::call: return is_pure_call(as<CallExpr>(*e));
    case ExprKind::index: return is_pure_index(as<IndexExpr>(*e));
    case ExprKind::field: return is_pure(as<FieldExpr>(*e).object);
    case ExprKind::if_:
    case ExprKind::block: return false;  // blocks hold statements
  }
  return false;
}

}  // namespace

std::vector<Error> find_unused_values(const Module& module, const std::function<bool(Name)>& has_effect) {
  UnusedValues values(has_effect);
  values.module(*module.main);
  return values.take();
}

}  // namespace tsl
