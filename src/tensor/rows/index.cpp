// Defines the ops that index by tensors.
#include <algorithm>

#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl::rows {

namespace {

// Returns take's shape: [batch..., idx..., rest...] for x [batch..., n, rest...] and index [batch..., idx...].
Shape taken_shape(const char* op, const Tensor& x, const Tensor& index, int64_t batch) {
  if (batch < 0 || batch >= x.rank() || batch > index.rank()) {
    fail(ErrorName::index_shape_mismatch, "{}: {} cannot be indexed by {} along axis {}", op, describe(x),
         describe(index), batch);
  }
  Shape shape;
  for (int i = 0; i < index.rank(); ++i) {
    if (i < batch && !(x.shape()[i] == index.shape()[i])) {
      fail(ErrorName::index_shape_mismatch, "{}: the leading axes of {} and its index {} differ", op, describe(x),
           describe(index));
    }
    shape.push_back(i < batch ? x.shape()[i] : index.shape()[i]);
  }
  for (int i = static_cast<int>(batch) + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return shape;
}

Tensor integer_index(Ops& ops, const char* op, const Tensor& index) {
  if (!is_integer(index.dtype())) {
    fail_with(ErrorName::wrong_dtype, fmt::format("{}: an index must hold integers, got {}", op, describe(index)),
              {"`i64(x)` makes integers of a float tensor"});
  }
  return as_index(ops, index);
}

Tensor prepare_take(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const Tensor index = integer_index(ops, "take", operands[1].tensor);
  if (index == operands[1].tensor) return {};
  return ops.call(op, {operands[0], index}, attrs);
}

TensorType infer_take(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  return {x.dtype(), taken_shape("take", x, operands[1].tensor, attrs.batch)};
}

/// Sums of halves are added up in f32 and rounded once, as reductions do.
Tensor prepare_scatter(Ops& ops, Op op, Operands operands, const Attrs& attrs) {
  const char* name = op_def(op).name.data();
  const Tensor& x = operands[0].tensor;
  const Tensor index = integer_index(ops, name, operands[1].tensor);
  const Shape shape = taken_shape(name, x, index, attrs.batch);
  const Operand& updates = operands[2];
  if (updates.is_tensor() && !try_broadcast(updates.tensor.shape(), shape)) {
    fail(ErrorName::index_shape_mismatch, "{}: {} does not fit {}, the part of {} that the index {} picks", name,
         describe(updates), describe(x.dtype(), shape), describe(x), describe(index));
  }
  if (op == Op::scatter_add && is_half(x.dtype())) {
    const Tensor wide = conform(ops, updates, DType::f32, shape);
    return cast(ops, ops.call(op, {cast(ops, x, DType::f32), index, wide}, attrs), x.dtype());
  }
  const Tensor conformed = conform(ops, updates, x.dtype(), shape);
  if (index == operands[1].tensor && conformed == updates.tensor) return {};
  return ops.call(op, {x, index, conformed}, attrs);
}

Tensor take(VjpCall& call, const Tensor& x, const Tensor& index) {
  return call.ops.call(Op::take, {x, index}, call.attrs);
}

/// Computes the gradient for one index per batch (a loss takes one logit of each row): compares row numbers instead of
/// scattering, so that it fuses with later uses of the gradient.
Tensor gradient_of_one(VjpCall& call) {
  Ops& ops = call.ops;
  const Tensor& x = call.inputs[0].tensor;
  const int batch = static_cast<int>(call.attrs.batch);
  const Attrs count{.dtype = DType::i64, .count = x.shape()[batch]};
  const Operand zero = Scalar::of(int64_t{0}), one = Scalar::of(int64_t{1});
  Shape along_rows, per_batch, row = x.shape();
  for (int i = 0; i < x.rank(); ++i) {
    along_rows.push_back(i == batch ? x.shape()[i] : Dim(1));
    per_batch.push_back(i < batch ? x.shape()[i] : Dim(1));
  }
  row[batch] = 1;
  using namespace diff;
  const Var position = var(call, reshape(ops, ops.call(Op::iota, {zero, one}, count), along_rows));
  const Var index = var(call, reshape(ops, call.inputs[1].tensor, per_batch));
  const Var extent(ops, Operand(Scalar::of(x.shape()[batch].hint()), x.shape()[batch].symbol()));
  const Var from_start = where(lt(index, 0), index + extent, index);
  return where(eq(position, from_start), var(call, reshape(ops, call.grad, row)), 0.0).tensor();
}

void vjp_take(VjpCall& call) {
  const Tensor& x = call.inputs[0].tensor;
  const Shape& index = call.inputs[1].tensor.shape();
  // Compares instead of reading hints: an extent may be a symbol that is 1 now, and the two branches differ in the sign
  // of a zero.
  const auto is_one = [](Dim extent) { return extent == 1; };
  if (std::all_of(index.begin() + call.attrs.batch, index.end(), is_one)) {
    call.grads[0] = gradient_of_one(call);
    return;
  }
  call.grads[0] =
      call.ops.call(Op::scatter_add, {zeros(call.ops, x.shape(), x.dtype()), call.inputs[1], call.grad}, call.attrs);
}

// Finds, for each row, the last index element that refers to it, since only its update reached the output. Every index
// element scatters its own number and then checks whether the row still has it. Broadcasts with the updates.
Tensor surviving(VjpCall& call) {
  Ops& ops = call.ops;
  const Tensor& x = call.inputs[0].tensor;
  const Tensor& index = call.inputs[1].tensor;
  const Attrs count{.dtype = DType::i64, .count = element_count(index.shape())};
  const Operand zero = Scalar::of(int64_t{0}), one = Scalar::of(int64_t{1});
  const Tensor number = reshape(ops, ops.call(Op::iota, {zero, one}, count), index.shape());
  Shape rows;
  for (int i = 0; i <= call.attrs.batch; ++i) rows.push_back(x.shape()[i]);
  const Tensor nobody = fill(ops, rows, DType::i64, Scalar::of(int64_t{-1}));
  const Tensor owner = ops.call(Op::scatter, {nobody, index, number}, call.attrs);
  Tensor won = ops.call(Op::eq, {take(call, owner, index), number});
  const int updates_rank = call.inputs[2].tensor.rank();
  while (won.rank() < updates_rank) won = insert_axis(ops, won, -1);
  return won;
}

void vjp_scatter(VjpCall& call) {
  using namespace diff;
  const Tensor& index = call.inputs[1].tensor;
  const Tensor& updates = call.inputs[2].tensor;
  if (call.needed[0]) {
    const Tensor nothing = zeros(call.ops, updates.shape(), updates.dtype());
    call.grads[0] = call.ops.call(Op::scatter, {call.grad, index, nothing}, call.attrs);
  }
  if (call.needed[2]) {
    const Var g = var(call, take(call, call.grad, index));
    call.grads[2] = as_gradient(call, 2, where(var(call, surviving(call)), g, 0.0));
  }
}

void vjp_scatter_add(VjpCall& call) {
  if (call.needed[0]) call.grads[0] = call.grad;
  if (call.needed[2]) call.grads[2] = take(call, call.grad, call.inputs[1].tensor);
}

TensorType infer_nonzero(Operands operands, const Attrs& attrs) {
  const Tensor& mask = operands[0].tensor;
  if (mask.dtype() != DType::boolean)
    fail(ErrorName::wrong_dtype, "nonzero: a mask must be bool, got {}", describe(mask));
  return {DType::i64, {attrs.count, mask.rank()}};
}

Error describe_index(int64_t index, const Layout& source, const Attrs& attrs) {
  if (attrs.error) return attrs.error->error;
  const auto axis = static_cast<int>(attrs.batch);
  const int64_t extent = source.shape[axis].hint();
  Error error{ErrorName::index_out_of_range,
              fmt::format("index {} is out of range for axis {} with extent {}", index, axis, extent),
              {},
              {},
              {}};
  if (extent > 0) error.hints = {fmt::format("indices go from 0 to {}", extent - 1)};
  return error;
}
constexpr OpFailure kIndexOutOfRange = {.integers_only = false, .describe = describe_index};

constexpr OpTraits kScatterTraits = {.fuses_as = FusesAs::nothing,
                                     .writes_into = WritesInto::copy_of_first,
                                     .operands = OperandRule::value_last,
                                     .axis = AxisUse::batch,
                                     .needs = InputNeed::index,
                                     .category = Category::indexing,
                                     .operations = std::nullopt,
                                     .failure = &kIndexOutOfRange,
                                     .ordering = Ordering::free};

}  // namespace

void add_indexing(Table& table) {
  table.add({.op = Op::take,
             .name = "take",
             .signature = "take(x, index, axis: 0)",
             .doc = "the elements of x at an integer tensor of indices",
             .traits = {.fuses_as = FusesAs::take,
                        .writes_into = WritesInto::fresh,
                        .operands = OperandRule::tensors,
                        .axis = AxisUse::batch,
                        .needs = InputNeed::index,
                        .category = Category::indexing,
                        .operations = 1.0,
                        .failure = &kIndexOutOfRange,
                        .ordering = Ordering::free},
             .arity = 2,
             .prepare = prepare_take,
             .infer = infer_take,
             .vjp = vjp_take,
             .batch = batch_take});
  table.add({.op = Op::scatter,
             .name = "scatter",
             .signature = "",
             .doc = "x with the elements at indices replaced; the last of equal indices wins",
             .traits = kScatterTraits,
             .arity = 3,
             .prepare = prepare_scatter,
             .infer = infer_like_first,
             .vjp = vjp_scatter});
  table.add({.op = Op::scatter_add,
             .name = "scatter_add",
             .signature = "scatter_add(x, index, updates)",
             .doc = "x with updates added to the elements at indices; f16 and bf16 add up in f32",
             .traits = kScatterTraits,
             .arity = 3,
             .prepare = prepare_scatter,
             .infer = infer_like_first,
             .vjp = vjp_scatter_add});
  table.add({.op = Op::nonzero,
             .name = "nonzero",
             .signature = "",
             .doc = "the indices of the true elements, in order",
             .traits = {.fuses_as = FusesAs::nothing,
                        .writes_into = WritesInto::fresh,
                        .operands = OperandRule::tensors,
                        .axis = AxisUse::none,
                        .needs = InputNeed::trues,
                        .category = Category::indexing,
                        .operations = std::nullopt,
                        .failure = nullptr,
                        .ordering = Ordering::free},
             .arity = 1,
             .infer = infer_nonzero});
}

}  // namespace tsl::rows
