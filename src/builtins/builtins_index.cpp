// Defines builtins that sort elements, and read or write them by index.
#include "base/error_names.h"
#include "builtins/builtins.h"
#include "value/context.h"
#include "value/numbers.h"
#include "vm/arguments.h"
#include "vm/operators.h"
#include "vm/tensor_calls.h"

namespace tsl {

namespace {

/// Reads an index tensor: integers, or an empty list.
Tensor expect_index(Context& context, const Value& v, const char* what) {
  const Tensor index = to_tensor(context, v, what);
  if (is_integer(index.dtype())) return index;
  const bool is_empty = v.is(Tag::list) && v.as<List>().items.empty();
  if (!is_empty) {
    fail_with(ErrorName::wrong_dtype, fmt::format("{} must be integers, not {}", what, describe(index)),
              {"`i64(x)` makes integers of a float tensor"});
  }
  return cast(context.ops(), index, DType::i64);
}

/// Returns the first `count` elements in order, and their indices. Both always: kernels that sort take long to compile,
/// so that eager calls share one.
Results sort(Ops& ops, const Tensor& x, int axis, bool descending, Dim count) {
  return ops.call_many(Op::sort, {x}, {.descending = descending, .axis = axis, .count = count});
}

/// Selects elements of x at `index` along an axis; the other axes of both correspond.
Tensor gather(Ops& ops, const Tensor& x, const Tensor& index, int axis, bool from_start = false) {
  const int last = x.rank() - 1;
  const Tensor rows =
      ops.call(Op::take, {move_axis(ops, x, axis, last), move_axis(ops, as_index(ops, index), axis, last)},
               {.from_start = from_start, .batch = last});
  return move_axis(ops, rows, last, axis);
}

// ---- Order -----------------------------------------------------------------------------------------

Value sort_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "sort");
  const int axis = expect_axis(context, args[1], x.rank(), "sort");
  const bool descending = expect_bool(context, args[2], "descending");
  return sort(context.ops(), x, axis, descending, x.shape()[axis])[0];
}

Value argsort_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "argsort");
  const int axis = expect_axis(context, args[1], x.rank(), "argsort");
  const bool descending = expect_bool(context, args[2], "descending");
  return sort(context.ops(), x, axis, descending, x.shape()[axis])[1];
}

Value topk_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "topk");
  const int64_t k = expect_int(context, args[1], "topk's k");
  const int axis = expect_axis(context, args[2], x.rank(), "topk");
  const Dim extent = x.shape()[axis];
  if (k < 0 || extent < Dim(k))
    fail_argument(ErrorName::argument_out_of_range, "k",
                  fmt::format("topk: k is {}, but axis {} of {} has {} elements", k, axis, describe(x), extent.hint()),
                  {fmt::format("k goes from 0 to {}", extent.hint())});
  const Results best = sort(context.ops(), x, axis, expect_bool(context, args[3], "largest"), Dim(k));
  return make_tuple({best[0], best[1]});
}

// ---- Index -----------------------------------------------------------------------------------------

// Without an axis, the index counts all elements, as in NumPy.
Value take_builtin(Context& context, Args args) {
  Ops& ops = context.ops();
  const Tensor x = to_tensor(context, args[0], "take");
  const Tensor index = expect_index(context, args[1], "take's index");
  if (args[2].is_nil()) return take(ops, reshape(ops, x, {Dim(-1)}), index, 0);
  const int axis = expect_axis(context, args[2], x.rank(), "take");
  if (axis == 0) return take(ops, x, index, 0);
  const Tensor rows = take(ops, move_axis(ops, x, axis, 0), index, 0);  // [idx…, rest…]
  std::vector<int64_t> order;
  for (int i = 0; i < axis; ++i) order.push_back(index.rank() + i);
  for (int i = 0; i < index.rank(); ++i) order.push_back(i);
  for (int i = index.rank() + axis; i < rows.rank(); ++i) order.push_back(i);
  return permute(ops, rows, order);
}

// Cuts x to the extents of `index` in all axes but `axis` (-1: in all), as PyTorch's gather and scatter_add allow.
Tensor cut_to(Ops& ops, Tensor x, const Tensor& index, int axis, const char* op) {
  if (x.rank() != index.rank())
    fail(ErrorName::index_shape_mismatch, "{}: the index {} must have the rank of {}", op, describe(index),
         describe(x));
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || x.shape()[i] == index.shape()[i]) continue;
    if (x.shape()[i] < index.shape()[i]) {
      fail(ErrorName::index_shape_mismatch, "{}: the index {} does not fit {} along axis {}", op, describe(index),
           describe(x), i);
    }
    x = slice(ops, x, i, 0, index.shape()[i]);
  }
  return x;
}

Value gather_builtin(Context& context, Args args) {
  const Tensor x = to_tensor(context, args[0], "gather");
  const int axis = expect_axis(context, args[1], x.rank(), "gather");
  const Tensor index = expect_index(context, args[2], "gather's index");
  const bool from_start = expect_bool(context, args[3], "gather's from_start");
  return gather(context.ops(), cut_to(context.ops(), x, index, axis, "gather"), index, axis, from_start);
}

Value scatter_add_builtin(Context& context, Args args) {
  Ops& ops = context.ops();
  const Tensor x = to_tensor(context, args[0], "scatter_add");
  const int axis = expect_axis(context, args[1], x.rank(), "scatter_add");
  const Tensor index = expect_index(context, args[2], "scatter_add's index");
  for (int i = 0; i < x.rank(); ++i) {
    if (x.rank() == index.rank() && (i == axis || x.shape()[i] == index.shape()[i])) continue;
    fail(ErrorName::index_shape_mismatch, "scatter_add: the index {} does not fit {} along axis {}", describe(index),
         describe(x), i);
  }
  const int last = x.rank() - 1;
  const auto source_tensor = [&] {
    const Value operands[] = {Value(x), args[3]};
    return to_tensors(context, operands, "scatter_add's source")[1];
  };
  const Operand source =
      is_host_number(args[3])
          ? operand_of(args[3])
          : Operand(move_axis(ops, cut_to(ops, source_tensor(), index, -1, "scatter_add"), axis, last));
  const Tensor rows = ops.call(
      Op::scatter_add, {move_axis(ops, x, axis, last), move_axis(ops, as_index(ops, index), axis, last), source},
      {.batch = last});
  return move_axis(ops, rows, last, axis);
}

Value one_hot_builtin(Context& context, Args args) {
  Ops& ops = context.ops();
  const Tensor x = to_tensor(context, args[0], "one_hot");
  if (!is_integer(x.dtype())) {
    fail_with(ErrorName::wrong_dtype, fmt::format("one_hot takes integers, not {}", describe(x)),
              {"`i64(x)` makes integers of a float tensor"});
  }
  Dim classes = is_host_int(args[1]) ? dim_of(args[1]) : Dim(expect_int(context, args[1], "num_classes"));
  if (classes < Dim(0)) {  // as in PyTorch: enough for the greatest index
    Attrs attrs;
    attrs.axes = expect_axes(context, Value(), x.rank(), "one_hot");
    const Tensor greatest = x.rank() == 0 ? x : ops.call(Op::max, {x}, attrs);
    classes = expect_int(context, Value(greatest), "one_hot") + 1;
  }
  const Tensor numbers = iota(ops, classes, DType::i64);
  // Taken from the numbers of all classes, a label is itself, or an error.
  const Tensor labels = ops.call(Op::take, {numbers, as_index(ops, x)}, {.from_start = true});
  Tensor row = numbers;
  for (int axis = 0; axis < x.rank(); ++axis) row = insert_axis(ops, row, 0);
  const Tensor hot = ops.call(Op::eq, {insert_axis(ops, labels, x.rank()), row});
  return cast(ops, hot, args[2].is_nil() ? DType::i64 : args[2].dtype());
}

// ---- Triangles -------------------------------------------------------------------------------------

Value triangle(Context& context, Args args, Op keeps) {
  Ops& ops = context.ops();
  const Tensor x = to_tensor(context, args[0], "a triangle");
  if (x.rank() < 2) {
    fail_argument(ErrorName::rank_too_low, "x",
                  fmt::format("{} takes matrices, not {}", keeps == Op::le ? "tril" : "triu", describe(x)),
                  {"a matrix has rows and columns: `zeros([3, 3])`"});
  }
  const Tensor rows = insert_axis(ops, iota(ops, x.shape()[x.rank() - 2], DType::i64), 1);
  const Tensor columns = insert_axis(ops, iota(ops, x.shape()[x.rank() - 1], DType::i64), 0);
  const Tensor kept = ops.call(keeps, {ops.call(Op::sub, {columns, rows}), operand_of(args[1])});
  const Scalar zero = x.dtype() == DType::boolean ? Scalar::of(false) : Scalar::of(int64_t{0});
  return ops.call(Op::where, {kept, x, zero});
}

Value tril_builtin(Context& context, Args args) { return triangle(context, args, Op::le); }
Value triu_builtin(Context& context, Args args) { return triangle(context, args, Op::ge); }

constexpr Builtin kOrder[] = {
    {"sort", "sort(x: array, axis: integer = -1, descending: bool = false)",
     "x in order along an axis; NaN counts as the greatest", sort_builtin, "order"},
    {"argsort", "argsort(x: array, axis: integer = -1, descending: bool = false)",
     "the indices that put x in order along an axis; equals keep theirs", argsort_builtin, "order"},
    {"topk", "topk(x: array, k: integer, axis: integer = -1, largest: bool = true)",
     "(values, indices) of the k greatest along an axis, in order", topk_builtin, "order"},
};

constexpr Builtin kIndex[] = {
    {"take", "take(x: array, index: array, axis: integer | nil = nil)",
     "the parts of x at an index along an axis; nil: of x as one row", take_builtin, "index"},
    {"gather", "gather(x: array, axis: integer, index: array, from_start: bool = false)",
     "x[i, index[i, j]] for axis 1, and likewise for any axis and rank; from_start refuses negative indices",
     gather_builtin, "index"},
    {"scatter_add", "scatter_add(x: array, axis: integer, index: array, src: array)",
     "x with src added at the places that gather would read", scatter_add_builtin, "index"},
    {"one_hot", "one_hot(x: array, num_classes: integer = -1, dtype: dtype | nil = i64)",
     "a new last axis with 1 at the position x, and 0 elsewhere; x is from 0 to num_classes - 1", one_hot_builtin,
     "index"},
    {"tril", "tril(x: array, k: int = 0)", "the elements on and below diagonal k of matrices, and 0 above",
     tril_builtin, "linear algebra"},
    {"triu", "triu(x: array, k: int = 0)", "the elements on and above diagonal k of matrices, and 0 below",
     triu_builtin, "linear algebra"},
};

}  // namespace

std::span<const Builtin> order_builtins() { return kOrder; }
std::span<const Builtin> index_builtins() { return kIndex; }

}  // namespace tsl
