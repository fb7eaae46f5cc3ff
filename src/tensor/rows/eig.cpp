// Defines eigenvalues of general matrices. Complex numbers are pairs along a last axis; the standard library has the
// derivative, which needs arithmetic of complex matrices.
#include "tensor/rows/matrices.h"

namespace tsl::rows {

namespace {

constexpr OpFailure kEigFailed = {false, [](int64_t matrix, const Layout& source, const Attrs& attrs) {
                                    return unfit_matrix(ErrorName::not_finite, "eig", matrix, source, attrs,
                                                        kIsNotFinite);
                                  }};

TensorType infer_values(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  Shape shape = check_square("eig", x, attrs);
  shape.erase(shape.rank() - 1);
  shape.push_back(2);
  return {x.dtype(), shape};
}

TensorType infer_vectors(Operands operands, const Attrs& attrs, int) {
  Shape shape = operands[0].tensor.shape();
  if (!attrs.pairs) shape.push_back(2);
  return {operands[0].tensor.dtype(), shape};
}

}  // namespace

void add_eigenvalues(Table& table) {
  table.add({.op = Op::eig,
             .name = "eig",
             .signature = "eig_pairs(x)",
             .doc = "the eigenvalues of square matrices as pairs, and their eigenvectors in columns",
             .traits = factorisation_traits(&kEigFailed, InputNeed::nothing),
             .arity = 1,
             .infer = infer_values,
             .results = 2,
             .infer_other = infer_vectors});
}

}  // namespace tsl::rows
