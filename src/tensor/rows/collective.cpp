// Defines the ops between the ranks of a world. Those that move elements are adjoints of each other. A sum over ranks
// is made of them and of ordinary ops, whose order of additions is that of the ranks; on a device it is an op, which
// may have a kernel that adds in that order.
#include "base/error_names.h"
#include "tensor/collectives.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

namespace rows {

namespace {

OpTraits collective_traits(WritesInto writes_into = WritesInto::fresh) {
  OpTraits traits = unfused_traits(Category::copy, AxisUse::none, 1.0);
  traits.ordering = Ordering::program;
  traits.writes_into = writes_into;
  return traits;
}

/// Leaves nothing to do for a world of one rank.
Tensor prepare_same(Ops&, Op, Operands operands, const Attrs& attrs) {
  return attrs.count.hint() == 1 ? operands[0].tensor : Tensor();
}

Tensor prepare_gather(Ops& ops, Op, Operands operands, const Attrs& attrs) {
  return attrs.count.hint() == 1 ? insert_axis(ops, operands[0].tensor, 0) : Tensor();
}

TensorType infer_gather(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  Shape shape = x.shape();
  shape.insert(0, attrs.count);
  return {x.dtype(), shape};
}

TensorType infer_exchange(Operands operands, const Attrs& attrs) {
  const Tensor& x = operands[0].tensor;
  if (x.rank() == 0 || !(x.shape()[0] == attrs.count))
    fail(ErrorName::shape_mismatch, "exchange_ranks: expected a row for each of {} ranks, got {}", attrs.count.hint(),
         describe(x));
  return {x.dtype(), x.shape()};
}

// ---- Derivatives --------------------------------------------------------------------------------------------------

Tensor exchange(Ops& ops, const Tensor& rows, const Dim& ranks) {
  return ops.call(Op::exchange_ranks, {rows}, {.count = ranks});
}

/// Adds rows up from the first to the last.
Tensor sum_of_rows(Ops& ops, const Tensor& rows, const Dim& count) {
  const DType dtype = rows.dtype();
  const Tensor wide = cast(ops, rows, summed_in(dtype));
  const auto row = [&](int64_t i) { return ops.call(Op::select, {wide}, {.axis = 0, .start = i}); };
  Tensor sum = row(0);
  for (int64_t i = 1; i < count.hint(); ++i) sum = ops.call(Op::add, {sum, row(i)});
  return cast(ops, sum, dtype);
}

void vjp_gather(VjpCall& call) {
  call.grads[0] = sum_of_rows(call.ops, exchange(call.ops, call.grad, call.attrs.count), call.attrs.count);
}

void vjp_exchange(VjpCall& call) { call.grads[0] = exchange(call.ops, call.grad, call.attrs.count); }

/// The sending rank gets the sum of all gradients, the others zeros.
void vjp_broadcast(VjpCall& call) {
  const Dim root = call.attrs.start, ranks = call.attrs.count;
  const auto nothing = [&](const Dim& count) -> Operand {
    Shape shape = call.grad.shape();
    shape.insert(0, count);
    return zeros(call.ops, shape, call.grad.dtype());
  };
  const Tensor row = insert_axis(call.ops, call.grad, 0);
  const Tensor rows = call.ops.call(Op::concat, {nothing(root), row, nothing(ranks - root - 1)}, {.axis = 0});
  call.grads[0] = sum_of_rows(call.ops, exchange(call.ops, rows, ranks), ranks);
}

void vjp_sum(VjpCall& call) { call.grads[0] = call.ops.call(Op::sum_ranks, {call.grad}, call.attrs); }

void vjp_shift(VjpCall& call) {
  Attrs attrs = call.attrs;
  attrs.start = Dim(0) - attrs.start;
  call.grads[0] = call.ops.call(Op::shift_ranks, {call.grad}, attrs);
}

// ---- Examples of a batch ------------------------------------------------------------------------------------------

/// Swaps the axis of ranks with that of a batch.
Tensor swap_first(Ops& ops, const Tensor& x) { return move_axis(ops, x, 0, 1); }

Results batch_gather(const BatchCall& call) {
  const Tensor all = all_examples(call.ops, call.batch, call.inputs[0].tensor);
  return {swap_first(call.ops, call.ops.call(Op::gather_ranks, {all}, call.attrs))};
}

Results batch_exchange(const BatchCall& call) {
  const Tensor all = all_examples(call.ops, call.batch, call.inputs[0].tensor);
  return {swap_first(call.ops, call.ops.call(Op::exchange_ranks, {swap_first(call.ops, all)}, call.attrs))};
}

}  // namespace

void add_collectives(Table& table) {
  table.add({.op = Op::gather_ranks,
             .name = "gather_ranks",
             .signature = "gather_ranks(x)",
             .doc = "what each rank has, along a first axis",
             .traits = collective_traits(),
             .arity = 1,
             .prepare = prepare_gather,
             .infer = infer_gather,
             .vjp = vjp_gather,
             .batch = batch_gather});
  table.add({.op = Op::exchange_ranks,
             .name = "exchange_ranks",
             .signature = "exchange_ranks(x)",
             .doc = "row i from rank i, whose row for this rank it is",
             .traits = collective_traits(),
             .arity = 1,
             .prepare = prepare_same,
             .infer = infer_exchange,
             .vjp = vjp_exchange,
             .batch = batch_exchange});
  table.add({.op = Op::broadcast_rank,
             .name = "broadcast_rank",
             .signature = "broadcast_rank(x, root)",
             .doc = "what one rank has",
             .traits = collective_traits(),
             .arity = 1,
             .prepare = prepare_same,
             .infer = infer_like_first,
             .vjp = vjp_broadcast,
             .batch = batch_leading});
  table.add({.op = Op::sum_ranks,
             .name = "sum_ranks",
             .signature = "sum_ranks(x)",
             .doc = "the sum of what all ranks have, in their order",
             .traits = collective_traits(WritesInto::fresh_or_first),
             .arity = 1,
             .prepare = prepare_same,
             .infer = infer_like_first,
             .vjp = vjp_sum,
             .batch = batch_leading});
  table.add({.op = Op::shift_ranks,
             .name = "shift_ranks",
             .signature = "shift_ranks(x, shift)",
             .doc = "what the rank has that is so many before this one, around the ring",
             .traits = collective_traits(),
             .arity = 1,
             .prepare = prepare_same,
             .infer = infer_like_first,
             .vjp = vjp_shift,
             .batch = batch_leading});
}

}  // namespace rows

// ---- Compositions -------------------------------------------------------------------------------------------------

Tensor all_gather(Ops& ops, const Tensor& x, int64_t ranks) {
  return ops.call(Op::gather_ranks, {x}, {.count = ranks});
}

Tensor sum_scatter(Ops& ops, const Tensor& x, int64_t ranks) {
  return rows::sum_of_rows(ops, rows::exchange(ops, x, ranks), ranks);
}

Tensor all_sum(Ops& ops, const Tensor& x, int64_t ranks) {
  if (x.dtype() == DType::boolean)
    fail_with(ErrorName::wrong_dtype, fmt::format("all_sum: expected numbers, got {}", describe(x)),
              {"`all_max` tells whether any rank has true"});
  const bool moves = x.device().is_host() && ranks > 1;  // a device may have a kernel that adds up what it receives
  return moves ? sum_of_moves(ops, x, ranks) : ops.call(Op::sum_ranks, {x}, {.count = ranks});
}

Tensor sum_of_moves(Ops& ops, const Tensor& x, int64_t ranks) {
  const Dim elements = element_count(x.shape());
  constexpr int64_t kFewBytes = 64 << 10;  // below which the time of a message counts, and not its bytes
  const int64_t few = kFewBytes / static_cast<int64_t>(size_of(x.dtype()));
  if (ranks == 2 || elements < Dim(few)) return rows::sum_of_rows(ops, all_gather(ops, x, ranks), ranks);
  // Each rank adds up a part of the elements and hands it to the others.
  const Dim part = (elements + (ranks - 1)) / ranks;
  const Dim missing = part * ranks - elements;
  Tensor padded = reshape(ops, x, Shape{elements});
  if (Dim(0) < missing)
    padded = ops.call(Op::concat, {padded, rows::zeros(ops, Shape{missing}, x.dtype())}, {.axis = 0});
  const Tensor mine = sum_scatter(ops, reshape(ops, padded, Shape{ranks, part}), ranks);
  const Tensor all = reshape(ops, all_gather(ops, mine, ranks), Shape{part * ranks});
  return reshape(ops, slice(ops, all, 0, 0, elements), x.shape());
}

Tensor all_max(Ops& ops, const Tensor& x, int64_t ranks) {
  if (ranks == 1) return x;
  return ops.call(Op::max, {all_gather(ops, x, ranks)}, {.axes = {0}});
}

}  // namespace tsl
