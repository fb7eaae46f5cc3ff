// Internal to the op table: the families of rows, and functions that their rules share.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tensor/diff.h"
#include "tensor/op.h"

namespace tsl::rows {

using Operands = std::span<const Operand>;

class Table {
 public:
  void add(const OpDef& row) { rows_[static_cast<size_t>(row.op)] = row; }
  /// Returns all rows, in the order of Op. Throws std::bad_optional_access if one is missing.
  std::vector<OpDef> rows() const {
    std::vector<OpDef> out;
    for (const std::optional<OpDef>& row : rows_) out.push_back(row.value());
    return out;
  }

 private:
  std::array<std::optional<OpDef>, kOpCount> rows_;
};

void add_elementwise(Table& table);
void add_sources(Table& table);
void add_views(Table& table);
void add_reductions(Table& table);
void add_scans(Table& table);
void add_indexing(Table& table);
void add_structure(Table& table);
void add_convolutions(Table& table);
void add_linear_algebra(Table& table);
void add_eigenvalues(Table& table);
void add_fourier(Table& table);
void add_attention(Table& table);
void add_collectives(Table& table);

// Helpers of `prepare` rules.
// -----------------------------------------------------------------------------------------

/// Makes `axis` count from the start, for ops whose operands have equal ranks.
Tensor prepare_axis(Ops& ops, Op op, Operands operands, const Attrs& attrs);

/// Converts a value that will be stored in a tensor to that tensor's dtype and to this shape.
Tensor conform(Ops& ops, const Operand& value, DType dtype, const Shape& shape);

// Helpers of `infer` rules.
// -------------------------------------------------------------------------------------------

/// Returns the first operand's dtype and shape.
TensorType infer_like_first(Operands operands, const Attrs& attrs);

// Helpers of derivative rules.
// ----------------------------------------------------------------------------------------

Tensor copy(Ops& ops, const Tensor& x);
Tensor insert_axis(Ops& ops, const Tensor& x, int64_t axis);
Tensor flip(Ops& ops, const Tensor& x, int64_t axis);
Tensor zeros(Ops& ops, const Shape& shape, DType dtype);

// Rules that map calls over a batch: they call the op for all examples, which lie along axis 0.
// ----------------------------------------------------------------------------------------

/// Maps an op as its traits say: elementwise, along axes, of matrices, or drawing random numbers; any other
/// example by example.
Results batch_by_traits(const BatchCall& call);
/// Calls the op with the same attributes: it takes leading axes for a batch, or keeps all axes.
Results batch_leading(const BatchCall& call);
/// Moves the attribute `axis` past the batch, for views.
Results batch_axis(const BatchCall& call);

Results batch_permute(const BatchCall& call);
Results batch_expand(const BatchCall& call);
Results batch_reshape(const BatchCall& call);
/// Repeats the attribute `view` for each example.
Results batch_strided(const BatchCall& call);
Results batch_take(const BatchCall& call);
/// Multiplies with one matrix for all examples as a single product.
Results batch_matmul(const BatchCall& call);

inline diff::Var var(VjpCall& call, const Tensor& tensor) { return diff::Var(call.ops, tensor); }

}  // namespace tsl::rows
