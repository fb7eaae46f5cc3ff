// Matrix products of floats, by kernels of TSL's own, or by BLAS where these do not suit.

#include <algorithm>
#include <utility>

#include "backend/cpu/kernels/kernel_rows.h"
#include "backend/cpu/kernels/op_kernels.h"
#include "backend/cpu/products/tile_products.h"
#include "backend/cpu/ranges.h"
#include "exec/address_check.h"
#include "exec/matrix_layout.h"
#include "graph/plan.h"
#if defined(TSL_OPENBLAS)
#include "backend/cpu/products/blas.h"
#endif

namespace tsl::cpu {

namespace {

/// Checks that BLAS reads no element that the operand's layout does not reach.
void check_reach(const Matrix& matrix, const Layout& layout) {
  const int rank = layout.rank();
  int64_t rows = layout.shape[rank - 2].hint(), columns = layout.shape[rank - 1].hint();
  const auto starts = exec::checks_addresses() ? matrix.batch.range() : std::nullopt;
  if (!starts || rows * columns == 0) return;
  if (matrix.transposed) std::swap(rows, columns);
  const auto [first, last] = *starts;
  exec::check_library_operand(layout, {first, last + (rows - 1) * matrix.stride + columns - 1});
}

/// How BLAS reads an operand. The choice depends on the layout alone, so eager and compiled runs agree.
struct MatrixOperand {
  Matrix matrix;
  std::optional<Layout> order;  // in which it is copied first, unless it lies so; none: BLAS reads it as it lies
  Layout layout;
  int64_t count = 0;

  MatrixOperand(const Layout& of, bool in_rows) : layout(of), count(element_count(of.shape).hint()) {
    const exec::MatrixLayout as = exec::matrix_layout(of);
    const int last = of.rank() - 1;
    const int64_t dense = std::max<int64_t>((in_rows ? of : as.ordered).shape[last].hint(), 1);
    const bool is_too_far = as.stride > kMaxBlasExtent && as.stride > dense;
    if (!in_rows && !as.needs_copy && !is_too_far) {
      matrix = {nullptr, as.in_columns, as.stride, BatchStarts(of)};
      return;
    }
    order = in_rows ? of : as.ordered;
    matrix = {nullptr, !in_rows && as.in_columns, dense, BatchStarts(Layout::contiguous(of.shape))};
  }
};

constexpr std::string_view kOfIntegers = "of integers";

class ProductKernel final : public exec::OpKernel {
 public:
  ProductKernel(const graph::Node& node, const RowContext& context, bool is_by_tiles)
      : pool_(context.pool),
        table_(context.table),
        dtype_(node.dtype),
        compute_(accumulator_of(node.dtype)),
        a_(node.args[0].layout, compute_ != dtype_),
        b_(node.args[1].layout, compute_ != dtype_),
        is_by_tiles_(is_by_tiles) {
    const Shape& shape = node.shape;
    const int rank = shape.rank();
    product_ = {exec::batch_count(shape),
                shape[rank - 2].hint(),
                shape[rank - 1].hint(),
                node.args[0].layout.shape[rank - 1].hint(),
                a_.matrix,
                b_.matrix,
                nullptr};
  }

  std::string name() const override { return is_by_tiles_ ? "matmul (tiles)" : "matmul (OpenBLAS)"; }
  uint64_t workspace_bytes() const override {
    return compute_ == dtype_ ? 0 : bytes(a_.count) + bytes(b_.count) + bytes(count());
  }
  const Layout* order_of(size_t operand, const Layout&) const override {
    const std::optional<Layout>& order = operand == 0 ? a_.order : b_.order;
    return order ? &*order : nullptr;
  }

  void run(const exec::OpCall& call) override {
    if (count() == 0) return;
    if (product_.k == 0) return fill_identity(call.results[0], Op::sum, dtype_, count());
    product_.a.data = call.operands[0];
    product_.b.data = call.operands[1];
    product_.c = call.results[0];
    if (compute_ == dtype_) {
      if (!a_.order) check_reach(product_.a, a_.layout);
      if (!b_.order) check_reach(product_.b, b_.layout);
      return multiply_all();
    }
    std::byte* const wide_a = call.workspace;
    std::byte* const wide_b = wide_a + bytes(a_.count);
    product_.c = wide_b + bytes(b_.count);
    convert(table_, wide_a, compute_, call.operands[0], dtype_, a_.count);
    convert(table_, wide_b, compute_, call.operands[1], dtype_, b_.count);
    product_.a.data = wide_a;
    product_.b.data = wide_b;
    multiply_all();
    convert(table_, call.results[0], dtype_, product_.c, compute_, count());
  }

 private:
  /// Returns the number of elements of the result.
  int64_t count() const { return product_.batches * product_.m * product_.n; }
  /// Returns the bytes of elements in the dtype of the sums.
  uint64_t bytes(int64_t elements) const { return graph::aligned(static_cast<uint64_t>(elements) * size_of(compute_)); }
  void multiply_all() {
    if (compute_ == DType::f32) multiply_as<float>();
    else multiply_as<double>();
  }
  template <class T> void multiply_as() {
#if defined(TSL_OPENBLAS)
    if (!is_by_tiles_) return multiply_by_blas<T>(product_, pool_);
#endif
    multiply_tiles<T>(product_, tile_kernels<T>(table_), pool_);
  }

  ThreadPool& pool_;
  const KernelTable& table_;
  DType dtype_, compute_;
  MatrixOperand a_, b_;
  Product product_;  // its addresses are those of the last run
  bool is_by_tiles_;
};

}  // namespace

std::vector<exec::KernelRow> products_rows(const RowContext& context) {
  const auto by_tiles = [&table = context.table](const graph::Node& node) -> std::string_view {
    if (!is_float(node.dtype)) return kOfIntegers;
    const int rank = node.shape.rank();
    return tiles_refusal(node.shape[rank - 2].hint(), node.shape[rank - 1].hint(), table);
  };
  const auto make = [context](bool is_by_tiles) {
    return [context, is_by_tiles](const graph::Node& node) {
      return std::make_unique<ProductKernel>(node, context, is_by_tiles);
    };
  };
  std::vector<exec::KernelRow> rows{{.name = "tiles", .ops = {Op::matmul}, .refusal = by_tiles, .make = make(true)}};
#if defined(TSL_OPENBLAS)
  const auto by_blas = [](const graph::Node& node) { return is_float(node.dtype) ? std::string_view() : kOfIntegers; };
  rows.push_back({.name = "OpenBLAS", .ops = {Op::matmul}, .refusal = by_blas, .make = make(false)});
#endif
  return rows;
}

}  // namespace tsl::cpu
