#include "bytecode/queries.h"

#include <algorithm>

namespace tsl {

using namespace ast;

namespace {

bool any_contains(List<Expr*> items) {
  return std::any_of(items.begin(), items.end(), [](const Expr* item) { return contains_statements(*item); });
}

bool part_contains(const Expr* e) { return e && contains_statements(*e); }

}  // namespace

bool contains_statements(const Expr& e) {
  switch (e.kind) {
    case ExprKind::if_:
    case ExprKind::block: return true;
    case ExprKind::list: return any_contains(as<ListExpr>(e).items);
    case ExprKind::tuple: return any_contains(as<TupleExpr>(e).items);
    case ExprKind::record: {
      const auto& entries = as<RecordExpr>(e).entries;
      return std::any_of(entries.begin(), entries.end(),
                         [](const RecordEntry& r) { return contains_statements(*r.value); });
    }
    case ExprKind::fstring: {
      const auto& parts = as<FStringExpr>(e).parts;
      return std::any_of(parts.begin(), parts.end(), [](const FStringPart& p) { return part_contains(p.value); });
    }
    case ExprKind::range: return part_contains(as<RangeExpr>(e).begin) || part_contains(as<RangeExpr>(e).end);
    case ExprKind::unary: return part_contains(as<UnaryExpr>(e).operand);
    case ExprKind::binary: return part_contains(as<BinaryExpr>(e).left) || part_contains(as<BinaryExpr>(e).right);
    case ExprKind::logical: return part_contains(as<LogicalExpr>(e).left) || part_contains(as<LogicalExpr>(e).right);
    case ExprKind::call: {
      const auto& call = as<CallExpr>(e);
      return part_contains(call.callee) ||
             std::any_of(call.args.begin(), call.args.end(), [](const Argument& a) { return part_contains(a.value); });
    }
    case ExprKind::index: {
      const auto& index = as<IndexExpr>(e);
      return part_contains(index.object) || std::any_of(index.items.begin(), index.items.end(), [](const auto& item) {
               return part_contains(item.value) || part_contains(item.start) || part_contains(item.stop) ||
                      part_contains(item.step);
             });
    }
    case ExprKind::field: return part_contains(as<FieldExpr>(e).object);
    case ExprKind::nil:
    case ExprKind::boolean:
    case ExprKind::integer:
    case ExprKind::real:
    case ExprKind::string:
    case ExprKind::typed:
    case ExprKind::name:
    case ExprKind::lambda: return false;  // a lambda's are its own
  }
  return false;
}

}  // namespace tsl
