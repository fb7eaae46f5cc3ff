// Defines products of matrices and vectors.
#include "base/error.h"
#include "builtins/builtins.h"
#include "builtins/einsum.h"
#include "tensor/op.h"
#include "value/context.h"
#include "vm/arguments.h"

namespace tsl {

namespace {

Value matmul_builtin(Context& context, Args args) {
  return matmul(context.ops(), to_tensor(context, args[0], "matmul"), to_tensor(context, args[1], "matmul"));
}

Value dot_builtin(Context& context, Args args) {
  const Tensor a = to_tensor(context, args[0], "dot"), b = to_tensor(context, args[1], "dot");
  if (a.rank() == 0 || b.rank() == 0) return context.ops().call(Op::mul, {a, b});
  return matmul(context.ops(), a, b);
}

Value einsum_builtin(Context& context, Args args) {
  std::vector<Tensor> operands;
  for (size_t i = 1; i < args.size(); ++i) operands.push_back(to_tensor(context, args[i], "einsum"));
  return einsum(context, expect_string(context, args[0], "einsum's equation"), operands);
}

constexpr Builtin kRows[] = {
    {"matmul", "matmul(a: array, b: array)",
     "a @ b: the product of matrices; vectors count as a row on the left and a column on the right", matmul_builtin,
     "linear algebra"},
    {"dot", "dot(a: array, b: array)", "the inner product of vectors, or the product of matrices", dot_builtin,
     "linear algebra"},
    {"einsum", "einsum(equation: str, ...tensors: array)",
     "a sum of products in index notation: einsum(\"ij,jk->ik\", a, b) is a @ b", einsum_builtin, "linear algebra"},
};

}  // namespace

std::span<const Builtin> linear_algebra_builtins() { return kRows; }

}  // namespace tsl
