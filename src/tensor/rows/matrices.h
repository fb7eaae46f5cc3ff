// What the rows of ops on f32 and f64 alone share, mainly factorisations: checks of their operands, and descriptions of
// their failures.
#pragma once

#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

inline constexpr int64_t kMostRows = 32'000;  // the workspace of eigh has 2 n² elements, which LAPACK counts in 32 bits
inline constexpr int64_t kMostOfSvd = 16'000;  // and that of svd 4 k² and more

inline void check_dtype(const char* op, const Tensor& x) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) {
    fail_with(ErrorName::wrong_dtype, fmt::format("{}: expected f32 or f64, got {}", op, describe(x)),
              {"`f32(x)` converts a tensor"});
  }
}

inline void check_extent(const char* op, const Tensor& x, int64_t extent, int64_t most, const char* what) {
  if (extent > most) fail(ErrorName::matrix_too_large, "{}: {} has more than {} {}", op, describe(x), most, what);
}

/// Returns the shape of a batch of matrices, without the axis along which complex numbers are pairs. Fails unless x is
/// such a batch, of f32 or f64.
inline Shape matrix_shape(const char* op, const Tensor& x, const Attrs& attrs, int64_t most) {
  check_dtype(op, x);
  Shape shape = x.shape();
  if (attrs.pairs) {
    if (shape.rank() < 3 || !(shape[shape.rank() - 1] == Dim(2)))
      fail(ErrorName::shape_mismatch, "{}: expected matrices of pairs, got {}", op, describe(x));
    shape.erase(shape.rank() - 1);
  }
  const int rank = shape.rank();
  if (rank < 2) fail(ErrorName::rank_too_low, "{}: expected matrices, got {}", op, describe(x));
  check_extent(op, x, shape[rank - 2].hint(), most, "rows");
  check_extent(op, x, shape[rank - 1].hint(), most, "columns");
  return shape;
}

/// Fails unless x is a batch of square matrices of f32 or f64. Returns their shape.
inline Shape check_square(const char* op, const Tensor& x, const Attrs& attrs = {}) {
  check_dtype(op, x);
  const int last = x.rank() - (attrs.pairs ? 2 : 1);
  if (last < 1 || !(x.shape()[last] == x.shape()[last - 1]))
    fail(ErrorName::not_square, "{}: expected square matrices, got {}", op, describe(x));
  return matrix_shape(op, x, attrs, kMostRows);
}

/// Adds the axis of pairs where numbers are complex.
inline Shape with_pairs(Shape shape, const Attrs& attrs) {
  if (attrs.pairs) shape.push_back(2);
  return shape;
}

/// Describes the matrix of a batch that cannot be factorised.
inline Error unfit_matrix(ErrorName name, const char* op, int64_t matrix, const Layout& source, const Attrs& attrs,
                          const char* what) {
  Error error;
  error.name = name;
  error.message = source.rank() > (attrs.pairs ? 3 : 2) ? fmt::format("{}: matrix {} of the batch {}", op, matrix, what)
                                                        : fmt::format("{}: the matrix {}", op, what);
  return error;
}

inline constexpr const char* kIsNotFinite = "has elements that are not finite";

constexpr OpTraits factorisation_traits(const OpFailure* failure, InputNeed needs) {
  OpTraits traits =
      unfused_traits(Category::factorisation, AxisUse::none, std::nullopt, FlopsOf::nothing, Allocates::never);
  traits.maps = MapsBy::leading;
  traits.failure = failure;
  traits.needs = needs;
  return traits;
}

}  // namespace tsl::rows
