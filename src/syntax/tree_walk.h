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

/// Calls body(part) for each expression that stands directly in another one, in the order of the source. What a
/// function, an `if`, a `try` or a block holds is left to the caller.
template <class Body> void for_each_part(const ast::Expr& e, Body&& body) {
  using namespace ast;
  const auto part = [&](const Expr* each) {
    if (each) body(*each);
  };
  const auto items = [&](ast::List<Expr*> list) {
    for (const Expr* each : list) part(each);
  };
  switch (e.kind) {
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed:
    case ExprKind::name:
    case ExprKind::lambda:
    case ExprKind::if_:
    case ExprKind::try_:
    case ExprKind::block: return;
    case ExprKind::fstring:
      for (const FStringPart& each : as<FStringExpr>(e).parts) {
        part(each.value);
        part(each.computed_spec);
      }
      return;
    case ExprKind::list: return items(as<ListExpr>(e).items);
    case ExprKind::tuple: return items(as<TupleExpr>(e).items);
    case ExprKind::record:
      for (const RecordEntry& entry : as<RecordExpr>(e).entries) part(entry.value);
      return;
    case ExprKind::map:
      for (const MapEntry& entry : as<MapExpr>(e).entries) {
        part(entry.key);
        part(entry.value);
      }
      return;
    case ExprKind::range: part(as<RangeExpr>(e).begin); return part(as<RangeExpr>(e).end);
    case ExprKind::unary: return part(as<UnaryExpr>(e).operand);
    case ExprKind::binary: part(as<BinaryExpr>(e).left); return part(as<BinaryExpr>(e).right);
    case ExprKind::chain:
      part(as<ChainExpr>(e).first);
      for (const ChainLink& link : as<ChainExpr>(e).links) part(link.right);
      return;
    case ExprKind::logical: part(as<LogicalExpr>(e).left); return part(as<LogicalExpr>(e).right);
    case ExprKind::call:
      part(as<CallExpr>(e).callee);
      for (const Argument& argument : as<CallExpr>(e).args) part(argument.value);
      return;
    case ExprKind::index:
      part(as<IndexExpr>(e).object);
      for (const IndexItem& item : as<IndexExpr>(e).items) {
        for (const Expr* each : {item.value, item.start, item.stop, item.step}) part(each);
      }
      return;
    case ExprKind::field: return part(as<FieldExpr>(e).object);
  }
}

/// Calls body(dim) for each size in an annotation and its alternatives, operands before the expression of them.
template <class Body> void for_each_dim(const ast::Annotation* annotation, Body&& body) {
  const auto visit = [&](const ast::AnnotatedDim& dim, const auto& self) -> void {
    if (dim.left) self(*dim.left, self);
    if (dim.right) self(*dim.right, self);
    body(dim);
  };
  for (; annotation; annotation = annotation->other) {
    for (const ast::AnnotatedDim& dim : annotation->dims) visit(dim, visit);
    for (const ast::Annotation* part : annotation->parts) for_each_dim(part, body);
    for_each_dim(annotation->returns, body);
  }
}

/// Visits each node before those in it, in the order of the source.
void walk_tree(const ast::Function& function, const TreeVisitor& visitor);

}  // namespace tsl
