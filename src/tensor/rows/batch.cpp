// Maps calls over a batch: in a mapped function a tensor stands for one example, with the shape of one. A call on such
// tensors is checked as any other and then made for all examples at once, which lie along a first axis that the
// function does not see. Rules for derivatives and compositions need not know: they call ops on examples.
#include <algorithm>

#include "base/error_names.h"
#include "tensor/rows/op_rows.h"

namespace tsl {

namespace rows {

namespace {

bool is_of_batch(const BatchCall& call, const Operand& operand) {
  return operand.is_tensor() && operand.tensor->batch == call.batch;
}

/// Returns the operands for all examples, without repeating what is the same for all.
std::vector<Operand> examples(const BatchCall& call) {
  std::vector<Operand> all(call.inputs.begin(), call.inputs.end());
  for (Operand& operand : all) {
    operand.dying_references = 0;
    if (is_of_batch(call, operand)) operand.tensor = Tensor(operand.tensor->examples);
  }
  return all;
}

/// Returns the operands for all examples, each with the batch's axis.
std::vector<Operand> repeated_examples(const BatchCall& call) {
  std::vector<Operand> all(call.inputs.begin(), call.inputs.end());
  for (Operand& operand : all) {
    operand.dying_references = 0;
    if (operand.is_tensor()) operand.tensor = all_examples(call.ops, call.batch, operand.tensor);
  }
  return all;
}

Tensor only(const BatchCall& call) { return all_examples(call.ops, call.batch, call.inputs[0].tensor); }

Shape with_batch(const BatchCall& call, Shape shape) {
  shape.insert(0, call.batch->size());
  return shape;
}

/// Calls the op for each example, and joins the results.
Results one_by_one(const BatchCall& call) {
  const int64_t size = call.batch->size().pin();
  const size_t count = call.types.size();
  std::vector<std::vector<Operand>> parts(count);
  for (int64_t i = 0; i < size; ++i) {
    std::vector<Operand> operands(call.inputs.begin(), call.inputs.end());
    for (Operand& operand : operands) {
      operand.dying_references = 0;
      if (is_of_batch(call, operand))
        operand.tensor = call.ops.call(Op::select, {Tensor(operand.tensor->examples)}, {.axis = 0, .start = i});
    }
    const Results one = call.ops.call_many(call.op.op, operands, call.attrs);
    for (size_t r = 0; r < count; ++r) parts[r].emplace_back(insert_axis(call.ops, one[r], 0));
  }
  Results results;
  for (size_t r = 0; r < count; ++r) {
    results[r] = size > 0 ? call.ops.call(Op::concat, parts[r], {.axis = 0})
                          : zeros(call.ops, with_batch(call, call.types[r].shape), call.types[r].dtype);
  }
  return results;
}

}  // namespace

Results batch_by_traits(const BatchCall& call) {
  Attrs attrs = call.attrs;
  if (is_elementwise(call.op)) return {call.ops.call(call.op.op, examples(call), attrs)};
  if (call.op.traits.maps == MapsBy::drawing) {
    attrs.shape = with_batch(call, attrs.shape);
    return {call.ops.call(call.op.op, call.inputs, attrs)};
  }
  if (call.op.traits.maps == MapsBy::leading) return batch_leading(call);  // of batches of matrices
  switch (call.op.traits.axis.value) {
    case AxisUse::none: return one_by_one(call);
    case AxisUse::axis: ++attrs.axis; break;
    case AxisUse::axes:
      for (int64_t& axis : attrs.axes) ++axis;
      break;
    case AxisUse::batch: ++attrs.batch; break;
  }
  return call.ops.call_many(call.op.op, repeated_examples(call), attrs);
}

Results batch_leading(const BatchCall& call) {
  return call.ops.call_many(call.op.op, repeated_examples(call), call.attrs);
}

Results batch_axis(const BatchCall& call) {
  Attrs attrs = call.attrs;
  ++attrs.axis;
  return {call.ops.call(call.op.op, {only(call)}, attrs)};
}

Results batch_permute(const BatchCall& call) {
  Ints order = {0};
  for (int64_t axis : call.attrs.axes) order.push_back(axis + 1);
  return {permute(call.ops, only(call), order)};
}

Results batch_expand(const BatchCall& call) {
  const Shape& from = call.inputs[0].tensor.shape();
  Shape aligned;
  for (int i = from.rank(); i < call.attrs.shape.rank(); ++i) aligned.push_back(1);
  for (Dim extent : from) aligned.push_back(extent);
  const Tensor x = reshape(call.ops, only(call), with_batch(call, aligned));
  return {expand(call.ops, x, with_batch(call, call.attrs.shape))};
}

Results batch_reshape(const BatchCall& call) {
  return {reshape(call.ops, only(call), with_batch(call, call.attrs.shape))};
}

Results batch_strided(const BatchCall& call) {
  Attrs attrs = call.attrs;
  attrs.view.shape = with_batch(call, attrs.view.shape);
  attrs.view.strides.insert(0, element_count(call.inputs[0].tensor.shape()));
  return {call.ops.call(call.op.op, repeated_examples(call), attrs)};
}

Results batch_take(const BatchCall& call) {
  const bool is_shared = !is_of_batch(call, call.inputs[0]) && call.attrs.batch == 0;
  return is_shared ? Results{call.ops.call(Op::take, examples(call), call.attrs)} : batch_by_traits(call);
}

Results batch_matmul(const BatchCall& call) {
  const Tensor &a = call.inputs[0].tensor, &b = call.inputs[1].tensor;
  Ops& ops = call.ops;
  if (a.rank() == 2 && !is_of_batch(call, call.inputs[1])) return {matmul(ops, only(call), b)};
  if (b.rank() != 2 || is_of_batch(call, call.inputs[0])) return batch_leading(call);
  const Dim size = call.batch->size(), columns = b.shape()[1];
  const Tensor side_by_side = permute(ops, Tensor(b->examples), {1, 0, 2});
  const Tensor product =
      matmul(ops, a, reshape(ops, side_by_side, {b.shape()[0], product_of_extents("matmul", size, columns)}));
  return {permute(ops, reshape(ops, product, {a.shape()[0], size, columns}), {1, 0, 2})};
}

}  // namespace rows

int function_level(const Ops& ops) { return ops.batch() ? ops.batch()->level : 0; }

int batch_level(std::span<const Operand> operands) {
  int level = 0;
  for (const Operand& operand : operands) {
    if (operand.is_tensor()) level = std::max(level, batch_level(operand.tensor));
  }
  return level;
}

Tensor example_of(const Ref<Batch>& batch, const Tensor& examples) {
  Ref<TensorData> data(TensorData::make());
  Shape shape = examples.shape();
  shape.erase(0);
  data->dtype = examples.dtype();
  data->device = examples.device();
  data->layout = Layout::contiguous(shape);
  data->recording = batch.get();
  data->batch = batch;
  data->examples = examples.ref();
  return Tensor(std::move(data));
}

Tensor all_examples(Ops& ops, const Ref<Batch>& batch, const Tensor& tensor) {
  if (tensor->batch == batch) return Tensor(tensor->examples);
  Shape shape = tensor.shape();
  shape.insert(0, batch->size());
  return expand(ops, tensor, shape);
}

Ref<Batch> batch_of(const Ops& ops, const OpDef& op, std::span<const Operand> operands) {
  Ref<Batch> batch;
  for (const Operand& operand : operands) {
    if (!operand.is_tensor() || !is_example(operand.tensor)) continue;
    const Ref<Batch>& one = operand.tensor->batch;
    if (!one->is_open) {
      fail_with(ErrorName::hidden_batch,
                fmt::format("{} has left the function that vmap has mapped", describe(operand.tensor)),
                {"a mapped function hands on what it computes by returning it"});
    }
    if (!batch || batch->level < one->level) batch = one;
  }
  return !batch && op.traits.maps == MapsBy::drawing ? ops.batch() : batch;
}

void fail_read(const Tensor& example) {
  fail_with(
      ErrorName::hidden_batch,
      fmt::format("an element of {} is read in a function that vmap maps: there is one for each example",
                  describe(example)),
      {"`where(condition, a, b)` chooses for each example; `for x in xs` calls a function for one after another"});
}

namespace {

/// Replaces symbols of a trace that has ended by numbers.
Attrs settled(Attrs attrs) {
  attrs.for_each_size([](Dim& size) { size = tsl::settled(size); });
  for (Dim& extent : attrs.view.shape) extent = tsl::settled(extent);
  for (Dim& stride : attrs.view.strides) stride = tsl::settled(stride);
  attrs.view.offset = tsl::settled(attrs.view.offset);
  return attrs;
}

}  // namespace

void map_call(const BatchCall& checked, std::span<Tensor> results) {
  const BatchScope outside(checked.ops, checked.batch->outer);
  const Attrs attrs = settled(checked.attrs);
  const BatchCall call{checked.ops, checked.batch, checked.op, checked.inputs, attrs, checked.types};
  const Results all = call.op.batch ? call.op.batch(call) : rows::batch_by_traits(call);
  for (size_t i = 0; i < results.size(); ++i) results[i] = example_of(call.batch, all[i]);
}

}  // namespace tsl
