#include "bytecode/queries.h"

#include "base/count_work.h"
#include "syntax/tree_walk.h"

namespace tsl {

using namespace ast;

bool contains_statements(const Expr& e) {
  constexpr int64_t kExpressionWork = 8;
  count_work(kExpressionWork);
  if (e.kind == ExprKind::if_ || e.kind == ExprKind::try_ || e.kind == ExprKind::block) return true;
  bool found = false;  // a lambda's are its own
  for_each_part(e, [&](const Expr& part) { found = found || contains_statements(part); });
  return found;
}

}  // namespace tsl
