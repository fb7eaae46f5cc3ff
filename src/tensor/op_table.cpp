#include "tensor/field_count.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

namespace {

constexpr size_t count_visited() {
  size_t count = 0;
  Attrs::for_each_field([&](const char*, auto) { ++count; });
  return count;
}
static_assert(count_visited() == count_fields<Attrs>(), "Attrs::for_each_field() visits every field");

const std::vector<OpDef>& table() {
  static const auto& table = *new std::vector<OpDef>([] {
    rows::Table t;
    rows::add_elementwise(t);
    rows::add_sources(t);
    rows::add_views(t);
    rows::add_reductions(t);
    rows::add_scans(t);
    rows::add_indexing(t);
    rows::add_structure(t);
    rows::add_convolutions(t);
    rows::add_linear_algebra(t);
    rows::add_eigenvalues(t);
    rows::add_fourier(t);
    rows::add_attention(t);
    rows::add_collectives(t);
    return t.rows();
  }());
  return table;
}

}  // namespace

const OpDef& op_def(Op op) {
  static const OpDef* const first = table().data();
  return first[static_cast<size_t>(op)];
}

std::span<const OpDef> op_table() { return table(); }

ResultTypes infer_all(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs) {
  ResultTypes types;
  types[0] = op.infer(operands, attrs);
  for (int i = 1; i < op.results; ++i) types[static_cast<size_t>(i)] = op.infer_other(operands, attrs, i);
  return types;
}

std::string_view name_of(Category category) {
  switch (category) {
    case Category::convolution: return "convolution";
    case Category::attention: return "attention";
    case Category::matmul: return "matmul";
    case Category::factorisation: return "factorisation";
    case Category::fourier: return "fourier";
    case Category::reduction: return "reduction";
    case Category::scan: return "scan";
    case Category::sort: return "sort";
    case Category::indexing: return "indexing";
    case Category::optimizer: return "optimizer";
    case Category::random: return "random";
    case Category::pointwise: return "pointwise";
    case Category::copy: return "copy";
    case Category::library: return "library";
  }
  return "";
}

namespace rows {

Tensor prepare_axis(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const int from_start = normalize_axis(attrs.axis, operands[0].tensor.rank(), op_def(op).name.data());
  if (from_start == attrs.axis) return {};
  Attrs formed = attrs;
  formed.axis = from_start;
  return ops.call(op, operands, formed);
}

Tensor conform(Ops& ops, const Operand& value, DType dtype, const Shape& shape) {
  if (value.is_tensor()) return expand(ops, cast(ops, value.tensor, dtype), shape);
  Attrs attrs;
  attrs.dtype = dtype;
  return expand(ops, ops.call(Op::fill, {value}, attrs), shape);
}

TensorType infer_like_first(Operands operands, const Attrs&) {
  return {operands[0].tensor.dtype(), operands[0].tensor.shape()};
}

Tensor copy(Ops& ops, const Tensor& x) { return ops.call(Op::copy, {x}); }

Tensor insert_axis(Ops& ops, const Tensor& x, int64_t axis) { return ops.call(Op::insert_axis, {x}, {.axis = axis}); }

Tensor flip(Ops& ops, const Tensor& x, int64_t axis) {
  const Dim extent = x.shape()[normalize_axis(axis, x.rank(), "flip")];
  return slice(ops, x, axis, extent - 1, extent, -1);
}

Tensor zeros(Ops& ops, const Shape& shape, DType dtype) { return fill(ops, shape, dtype, Scalar::of(0.0)); }

}  // namespace rows

Tensor embed(Ops& ops, const Tensor& value, const Shape& shape, const Layout& view) {
  Attrs attrs;
  attrs.view = view;
  return ops.call(Op::assign_view, {rows::zeros(ops, shape, value.dtype()), value}, attrs);
}

}  // namespace tsl
