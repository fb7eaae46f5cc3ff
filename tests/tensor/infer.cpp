// Tests shapes and dtypes of ops that are not elementwise, the normalisation of calls, and errors.
#include "catch.h"
#include "tensor/limits.h"
#include "tensor/recording_ops.h"

using namespace tsl;

namespace {

using Calls = std::vector<std::string>;

Attrs with_view(const Layout& view) {
  Attrs attrs;
  attrs.view = view;
  return attrs;
}

struct Fixture {
  RecordingOps ops;
  Tensor f(const Shape& shape) { return ops.make(DType::f32, shape); }
  Tensor i(const Shape& shape) { return ops.make(DType::i64, shape); }
  Tensor b(const Shape& shape) { return ops.make(DType::boolean, shape); }
  std::string call(Op op, std::initializer_list<Operand> operands, const Attrs& attrs = {}) {
    return describe(ops.call(op, operands, attrs));
  }
  std::string error(Op op, std::initializer_list<Operand> operands, const Attrs& attrs = {}) {
    return failure_of([&] { ops.call(op, operands, attrs); });
  }
};

}  // namespace

TEST_CASE("every op has a whole row") {
  int index = 0;
  for (const OpDef& def : op_table()) {
    CAPTURE(index, def.name);
    REQUIRE(static_cast<int>(def.op) == index++);
    REQUIRE_FALSE(def.name.empty());
    REQUIRE_FALSE(def.doc.empty());
    REQUIRE(def.infer != nullptr);
  }
}

TEST_CASE_METHOD(Fixture, "factorisations take square matrices of f32 or f64") {
  REQUIRE(call(Op::cholesky, {f({2, 3, 3})}) == "f32[2, 3, 3]");
  const Results results = ops.call_many(Op::eigh, {f({2, 3, 3})});
  REQUIRE(describe(results[0]) == "f32[2, 3]");
  REQUIRE(describe(results[1]) == "f32[2, 3, 3]");
  REQUIRE(call(Op::solve_triangular, {f({3, 3}), f({5, 3, 2})}) == "f32[5, 3, 2]");
  REQUIRE(error(Op::cholesky, {f({3})}) == "shape: cholesky: expected square matrices, got f32[3]");
  REQUIRE(error(Op::eigh, {f({2, 3})}) == "shape: eigh: expected square matrices, got f32[2, 3]");
  REQUIRE(error(Op::eigh, {i({2, 2})}) == "type: eigh: expected f32 or f64, got i64[2, 2]");
  REQUIRE(error(Op::eigh, {f({40000, 40000})}) == "limit: eigh: f32[40000, 40000] has more than 32000 rows");
  REQUIRE(error(Op::solve_triangular, {f({3, 3}), f({2, 2})}) ==
          "shape: solve_triangular: f32[2, 2] has no 3 rows, as f32[3, 3] has");
  REQUIRE(error(Op::solve_triangular, {f({4, 3, 3}), f({5, 3, 2})}) ==
          "shape: solve_triangular: the batches of f32[4, 3, 3] and f32[5, 3, 2] differ");
}

TEST_CASE_METHOD(Fixture, "factorisations of matrices of any extents have as many columns as the lesser one") {
  const Results factors = ops.call_many(Op::qr, {f({2, 5, 3})});
  REQUIRE(describe(factors[0]) == "f32[2, 5, 3]");
  REQUIRE(describe(factors[1]) == "f32[2, 3, 3]");
  const Results complete = ops.call_many(Op::qr, {f({2, 5, 3})}, {.complete = true});
  REQUIRE(describe(complete[0]) == "f32[2, 5, 5]");
  REQUIRE(describe(complete[1]) == "f32[2, 5, 3]");
  const Results parts = ops.call_many(Op::svd, {f({3, 5})});
  REQUIRE(describe(parts[0]) == "f32[3, 3]");
  REQUIRE(describe(parts[1]) == "f32[3]");
  REQUIRE(describe(parts[2]) == "f32[3, 5]");
  REQUIRE(describe(ops.call_many(Op::svd, {f({3, 5})}, {.complete = true})[2]) == "f32[5, 5]");
  const Results lu = ops.call_many(Op::lu, {f({2, 5, 3})});
  REQUIRE(describe(lu[0]) == "f32[2, 5, 3]");
  REQUIRE(describe(lu[1]) == "i64[2, 3]");
  REQUIRE(describe(lu[2]) == "i64[2, 5]");
  REQUIRE(call(Op::solve, {f({3, 3}), f({5, 3, 2})}) == "f32[5, 3, 2]");
  REQUIRE(error(Op::solve, {f({3, 3}), f({2, 2})}) == "shape: solve: f32[2, 2] has no 3 rows, as f32[3, 3] has");
  REQUIRE(error(Op::svd, {f({3})}) == "shape: svd: expected matrices, got f32[3]");
  REQUIRE(error(Op::svd, {f({20000, 2})}) == "limit: svd: f32[20000, 2] has more than 16000 rows");
}

TEST_CASE_METHOD(Fixture, "transforms take complex numbers as pairs, and eigenvalues are such") {
  REQUIRE(call(Op::fft, {f({5, 4, 2})}) == "f32[5, 4, 2]");
  REQUIRE(call(Op::rfft, {f({5, 7})}) == "f32[5, 4, 2]");
  REQUIRE(describe(ops.call(Op::irfft, {f({5, 4, 2})}, {.count = 6})) == "f32[5, 6]");
  REQUIRE(error(Op::fft, {f({5})}) == "shape: fft: expected pairs along the last axis, got f32[5]");
  REQUIRE(error(Op::fft, {i({5, 2})}) == "type: fft: expected f32 or f64, got i64[5, 2]");
  REQUIRE(error(Op::rfft, {f({})}) == "shape: rfft: expected rows, got f32[]");
  const Results eigen = ops.call_many(Op::eig, {f({2, 3, 3})});
  REQUIRE(describe(eigen[0]) == "f32[2, 3, 2]");
  REQUIRE(describe(eigen[1]) == "f32[2, 3, 3, 2]");
  REQUIRE(error(Op::eig, {f({2, 3})}) == "shape: eig: expected square matrices, got f32[2, 3]");
}

TEST_CASE_METHOD(Fixture, "attention takes heads of query that share those of key and value") {
  const Results results = ops.call_many(Op::attention, {f({2, 6, 5, 4}), f({2, 3, 7, 4}), f({2, 3, 7, 8})});
  REQUIRE(describe(results[0]) == "f32[2, 6, 5, 8]");
  REQUIRE(describe(results[1]) == "f32[2, 6, 5]");
  const Tensor half = ops.make(DType::bf16, {1, 2, 3});
  const Results halves = ops.call_many(Op::attention, {half, half, half}, {.causal = true});
  REQUIRE(describe(halves[0]) == "bf16[1, 2, 3]");
  REQUIRE(describe(halves[1]) == "f32[1, 2]");
  const Results grads = ops.call_many(
      Op::attention_grad, {f({6, 5, 4}), f({3, 7, 4}), f({3, 7, 8}), f({6, 5, 8}), f({6, 5}), f({6, 5, 8})}, {});
  REQUIRE(describe(grads[0]) == "f32[6, 5, 4]");
  REQUIRE(describe(grads[1]) == "f32[3, 7, 4]");
  REQUIRE(describe(grads[2]) == "f32[3, 7, 8]");
  const auto mask = [&](const Shape& shape) { return ops.make(DType::boolean, shape); };
  const Tensor query = f({2, 6, 5, 4}), key = f({2, 3, 7, 4});
  REQUIRE(describe(ops.call_many(Op::attention, {query, key, key, mask({2, 6, 5, 7})})[0]) == "f32[2, 6, 5, 4]");
  REQUIRE(error(Op::attention, {query, key, key, mask({2, 3, 5, 7})}) ==
          "shape: attention: expected a mask of shape [2, 6, 5, 7], got bool[2, 3, 5, 7]");
  REQUIRE(describe(ops.call_many(Op::attention, {query, key, key, f({2, 6, 5, 7})})[0]) == "f32[2, 6, 5, 4]");
  REQUIRE(error(Op::attention, {f({2, 3}), f({2, 3}), f({2, 3})}) ==
          "shape: attention: expected [batch, heads, rows, columns], got f32[2, 3], f32[2, 3] and f32[2, 3]");
  REQUIRE(error(Op::attention, {f({3, 2, 4}), f({2, 2, 4}), f({2, 2, 4})}) ==
          "shape: attention: f32[3, 2, 4], f32[2, 2, 4] and f32[2, 2, 4] do not fit");
  REQUIRE(error(Op::attention, {i({1, 2, 3}), i({1, 2, 3}), i({1, 2, 3})}) ==
          "type: attention: expected floats of one dtype, got i64[1, 2, 3], i64[1, 2, 3] and i64[1, 2, 3]");
  REQUIRE(error(Op::attention, {half, half, half}, {.scale = std::numeric_limits<double>::infinity()}) ==
          "value: attention: scale and softcap must be finite, not inf and 0");
}

TEST_CASE_METHOD(Fixture, "matmul follows NumPy's @") {
  REQUIRE(call(Op::matmul, {f({2, 3}), f({3, 4})}) == "f32[2, 4]");
  REQUIRE(call(Op::matmul, {f({3}), f({3})}) == "f32[]");
  REQUIRE(call(Op::matmul, {f({3}), f({3, 4})}) == "f32[4]");
  REQUIRE(call(Op::matmul, {f({2, 3}), f({3})}) == "f32[2]");
  REQUIRE(call(Op::matmul, {f({3}), f({5, 3, 4})}) == "f32[5, 4]");
  REQUIRE(call(Op::matmul, {f({5, 2, 3}), f({3})}) == "f32[5, 2]");
  REQUIRE(call(Op::matmul, {f({5, 2, 3}), f({3, 4})}) == "f32[5, 2, 4]");
  REQUIRE(call(Op::matmul, {f({2, 3}), f({5, 3, 4})}) == "f32[5, 2, 4]");
  REQUIRE(call(Op::matmul, {f({6, 1, 2, 3}), f({5, 3, 4})}) == "f32[6, 5, 2, 4]");
  REQUIRE(call(Op::matmul, {i({2, 0}), i({0, 4})}) == "i64[2, 4]");
  REQUIRE(call(Op::matmul, {i({2, 3}), f({3, 4})}) == "f32[2, 4]");
  ops.calls.clear();
  call(Op::matmul, {f({5, 2, 3}), f({3, 4})});
  REQUIRE(ops.calls == Calls{"view reshape(f32[5, 2, 3]) -> f32[10, 3]", "matmul(f32[10, 3], f32[3, 4]) -> f32[10, 4]",
                             "view reshape(f32[10, 4]) -> f32[5, 2, 4]"});

  REQUIRE(error(Op::matmul, {f({128, 784}), f({768, 64})}) ==
          "shape: matmul: inner dimensions differ: f32[128, 784] @ f32[768, 64]");
  REQUIRE(error(Op::matmul, {f({3}), f({4})}) == "shape: matmul: inner dimensions differ: f32[3] @ f32[4]");
  REQUIRE(error(Op::matmul, {f({2, 2, 3}), f({5, 3, 4})}) ==
          "shape: matmul: batch dimensions differ: f32[2, 2, 3] @ f32[5, 3, 4]");
  REQUIRE(error(Op::matmul, {f({}), f({3})}) == "shape: matmul: a 0-d tensor is no matrix: f32[] @ f32[3]");
  REQUIRE(error(Op::matmul, {b({2, 3}), b({3, 2})}) == "type: matmul: expected numbers, got bool[2, 3] @ bool[3, 2]");
  REQUIRE(error(Op::matmul, {f({2, 3}), Scalar::of(2.0)}) == "type: matmul: expected a tensor, got float 2");
}

TEST_CASE_METHOD(Fixture, "convolutions and their gradients have fitting extents") {
  const auto geometry = [](std::vector<int64_t> numbers) { return ConvGeometry::of(numbers); };
  const Attrs two{.conv = geometry({1, 2, 2, 1, 1, 1, 0, 1, 1})};
  REQUIRE(call(Op::conv, {f({2, 3, 8, 9}), f({4, 3, 3, 2})}, two) == "f32[2, 4, 4, 5]");
  REQUIRE(call(Op::conv, {f({0, 3, 8, 9}), i({4, 3, 3, 2})}, two) == "f32[0, 4, 4, 5]");
  Attrs gradient = two;
  gradient.shape = {8, 9};
  REQUIRE(call(Op::conv_input_grad, {f({2, 4, 4, 5}), f({4, 3, 3, 2})}, gradient) == "f32[2, 3, 8, 9]");
  gradient.shape = {3, 2};
  REQUIRE(call(Op::conv_weight_grad, {f({2, 3, 8, 9}), f({2, 4, 4, 5})}, gradient) == "f32[4, 3, 3, 2]");
  const Attrs grouped{.conv = geometry({3, 1, 1, 0, 0})};
  REQUIRE(call(Op::conv, {f({1, 6, 5}), f({9, 2, 5})}, grouped) == "f32[1, 9, 1]");

  REQUIRE(error(Op::conv, {f({1, 6, 5}), f({8, 2, 5})}, grouped) == "shape: conv: 3 groups do not divide 8 channels");
  REQUIRE(error(Op::conv, {f({1, 5, 5}), f({9, 2, 5})}, grouped) ==
          "shape: conv: f32[1, 5, 5] has 5 channels, but the weights take 2 in each of 3 groups");
  REQUIRE(error(Op::conv, {f({1, 6, 4}), f({9, 2, 5})}, grouped) ==
          "shape: conv: a window of 5 (dilation 1) is longer than axis 2, which has 4");
  REQUIRE(error(Op::conv, {f({6, 4}), f({9, 2, 5})}, grouped) ==
          "shape: conv: f32[6, 4] has not 2 axes before the 1 of space");
  REQUIRE(error(Op::conv, {b({1, 6, 5}), b({9, 2, 5})}, grouped) ==
          "type: conv: expected numbers, got bool[1, 6, 5] and bool[9, 2, 5]");
  gradient.shape = {8, 10};
  REQUIRE(error(Op::conv_input_grad, {f({2, 4, 4, 4}), f({4, 3, 3, 2})}, gradient) ==
          "shape: conv_input_grad: f32[2, 4, 4, 4] does not hold the windows, which are [4, 5]");
}

TEST_CASE_METHOD(Fixture, "types of reductions") {
  REQUIRE(call(Op::sum, {f({2, 3, 4})}, {.axes = {-1, 0}}) == "f32[3]");
  REQUIRE(call(Op::sum, {f({2, 3, 4})}, {.keepdims = true, .axes = {1}}) == "f32[2, 1, 4]");
  REQUIRE(call(Op::sum, {b({2, 3})}, {.axes = {0}}) == "i64[3]");
  REQUIRE(call(Op::prod, {ops.make(DType::u8, {2})}, {.axes = {0}}) == "i64[]");
  REQUIRE(call(Op::sum, {ops.make(DType::u32, {2})}, {.axes = {0}}) == "i64[]");
  REQUIRE(call(Op::sum, {ops.make(DType::u64, {2})}, {.axes = {0}}) == "u64[]");
  REQUIRE(call(Op::sum, {ops.make(DType::f16, {2})}, {.axes = {0}}) == "f16[]");
  REQUIRE(call(Op::max, {b({2, 3})}, {.axes = {0}}) == "bool[3]");
  REQUIRE(call(Op::argmax, {f({2, 3})}, {.axes = {-1}}) == "i64[2]");
  REQUIRE(call(Op::logsumexp, {f({2, 3, 4})}, {.axes = {-1, 0}}) == "f32[3]");
  REQUIRE(call(Op::logsumexp, {b({2, 3})}, {.axes = {0}}) == "f32[3]");
  REQUIRE(call(Op::logsumexp, {ops.make(DType::bf16, {2, 3})}, {.keepdims = true, .axes = {1}}) == "bf16[2, 1]");
  REQUIRE(call(Op::logsumexp, {ops.make(DType::i64, {2})}, {}) == "f32[2]");
  REQUIRE(call(Op::all, {f({2, 3})}, {.axes = {0, 1}}) == "bool[]");
  REQUIRE(call(Op::sum, {f({0, 3})}, {.axes = {0}}) == "f32[3]");
  REQUIRE(call(Op::logsumexp, {f({3, 0})}, {.axes = {1}}) == "f32[3]");
  const Tensor x = f({2});
  REQUIRE(ops.call(Op::sum, {x}, {}) == x);
  REQUIRE(call(Op::any, {x}, {}) == "bool[2]");

  REQUIRE(error(Op::max, {f({3, 0})}, {.axes = {1}}) == "value: max: axis 1 of f32[3, 0] is empty");
  REQUIRE(error(Op::argmin, {f({0})}, {.axes = {0}}) == "value: argmin: axis 0 of f32[0] is empty");
  REQUIRE(error(Op::argmax, {f({3, 2})}, {.axes = {0, 1}}) == "value: argmax takes exactly one axis, got 2");
  REQUIRE(error(Op::argmax, {f({3, 2})}, {}) == "value: argmax takes exactly one axis, got 0");
  REQUIRE(error(Op::sum, {f({3, 2})}, {.axes = {2}}) == "index: sum: axis 2 is out of range for 2 dimensions");
  REQUIRE(error(Op::sum, {f({3, 2})}, {.axes = {1, -1}}) == "value: sum: axis 1 is given twice");
}

TEST_CASE_METHOD(Fixture, "scans and sorts") {
  REQUIRE(call(Op::cumsum, {f({2, 3})}, {.axis = -1}) == "f32[2, 3]");
  REQUIRE(call(Op::cumprod, {b({2, 3})}, {.axis = 0}) == "i64[2, 3]");
  REQUIRE(call(Op::sort, {f({2, 3})}, {.axis = 1, .count = 3}) == "f32[2, 3]");
  REQUIRE(call(Op::sort, {f({2, 3})}, {.axis = -2, .count = 1}) == "f32[1, 3]");
  REQUIRE(describe(ops.call_many(Op::sort, {f({2, 3})}, {.axis = -1, .count = 2})[1]) == "i64[2, 2]");
  REQUIRE(ops.calls.back() == "sort(f32[2, 3]) -> f32[2, 2], i64[2, 2]");
  REQUIRE(describe(ops.call_many(Op::exp, {f({2, 3})})[0]) == "f32[2, 3]");
  REQUIRE(error(Op::sort, {f({2, 3})}, {.axis = 2, .count = 3}).starts_with("index: "));
  REQUIRE(error(Op::sort, {f({2, 3})}, {.axis = 0, .count = 3}) ==
          "value: sort: count is 3, but axis 0 has 2 elements");
  REQUIRE(error(Op::cumsum, {f({})}, {.axis = 0}) == "index: cumsum: axis 0 is out of range for 0 dimensions");
}

TEST_CASE_METHOD(Fixture, "indexing by tensors") {
  REQUIRE(call(Op::take, {f({4, 3}), i({2, 5})}, {.batch = 0}) == "f32[2, 5, 3]");
  REQUIRE(call(Op::take, {f({4, 3}), i({})}, {.batch = 0}) == "f32[3]");
  REQUIRE(call(Op::take, {f({4, 3, 2}), ops.make(DType::i16, {4, 7})}, {.batch = 1}) == "f32[4, 7, 2]");
  REQUIRE(error(Op::take, {f({4}), f({2})}, {.batch = 0}) == "type: take: an index must hold integers, got f32[2]");
  REQUIRE(error(Op::take, {f({4, 3}), i({5, 1})}, {.batch = 1}) ==
          "shape: take: the leading axes of f32[4, 3] and its index i64[5, 1] differ");
  REQUIRE(error(Op::take, {f({}), i({5})}, {.batch = 0}) ==
          "shape: take: f32[] cannot be indexed by i64[5] along axis 0");

  REQUIRE(call(Op::scatter, {f({4, 3}), i({2}), f({2, 3})}, {.batch = 0}) == "f32[4, 3]");
  ops.calls.clear();
  REQUIRE(call(Op::scatter_add, {f({4, 3}), i({2}), Scalar::of(1.0)}, {.batch = 0}) == "f32[4, 3]");
  REQUIRE(ops.calls.back() == "scatter_add(f32[4, 3], i64[2], f32[2, 3]) -> f32[4, 3]");
  REQUIRE(error(Op::scatter, {f({4, 3}), i({2}), f({5, 3})}, {.batch = 0}) ==
          "shape: scatter: f32[5, 3] does not fit f32[2, 3], the part of f32[4, 3] that the index i64[2] picks");
  REQUIRE(call(Op::nonzero, {b({4, 3})}, {.count = 5}) == "i64[5, 2]");
  REQUIRE(error(Op::nonzero, {f({4})}, {.count = 5}) == "type: nonzero: a mask must be bool, got f32[4]");
}

TEST_CASE_METHOD(Fixture, "putting together and taking apart") {
  REQUIRE(call(Op::concat, {f({2, 3}), f({2, 1}), f({2, 0})}, {.axis = -1}) == "f32[2, 4]");
  REQUIRE(call(Op::concat, {i({2}), f({2})}, {.axis = 0}) == "f32[4]");
  REQUIRE(error(Op::concat, {f({2, 3}), f({2, 4})}, {.axis = 0}) ==
          "shape: concat: f32[2, 3] and f32[2, 4] differ beside axis 0");
  REQUIRE(error(Op::concat, {f({2, 3}), f({3})}, {.axis = 0}) ==
          "shape: concat: f32[2, 3] and f32[3] differ beside axis 0");
  REQUIRE(error(Op::concat, {}, {.axis = 0}) == "value: concat: nothing to put together");
  const Tensor empty = f({INT64_MAX, 0});
  REQUIRE(error(Op::concat, {empty, empty}, {.axis = 0}) ==
          "value: concat: an extent of 9223372036854775807 + 9223372036854775807 does not fit 64 bits");
  const std::vector<Operand> parts(1 << 19, Operand(expand(ops, f({1}), {kMaxTensorBytes / 4})));
  REQUIRE(failure_of([&] { ops.call(Op::concat, parts, {.axis = 0}); }) ==
          "value: concat: an extent of 9223354444668731392 + 17592186044416 does not fit 64 bits");

  const Attrs row = with_view(select(Layout::contiguous({4, 3}), 0, 1));
  REQUIRE(call(Op::assign_view, {f({4, 3}), f({3})}, row) == "f32[4, 3]");
  REQUIRE(call(Op::assign_view, {f({4, 3}), Scalar::of(int64_t{2})}, row) == "f32[4, 3]");
  REQUIRE(call(Op::as_strided, {f({4, 3})}, row) == "f32[3]");
  REQUIRE(error(Op::assign_view, {f({4, 3}), f({2})}, row) ==
          "shape: cannot assign f32[2] to a part of f32[4, 3] of shape [3]");
  REQUIRE(error(Op::as_strided, {f({1, 3})}, row) == "index: a view of shape [3] leaves a tensor of shape [1, 3]");

  REQUIRE(call(Op::windows, {f({2, 7})}, {.axis = -1, .step = 2, .size = 3, .dilation = 1}) == "f32[2, 3, 3]");
  REQUIRE(call(Op::fold_windows, {f({2, 3, 3})}, {.axis = 1, .count = 7, .step = 2, .dilation = 1}) == "f32[2, 7]");
  REQUIRE(error(Op::fold_windows, {f({2, 4, 3})}, {.axis = 1, .count = 7, .step = 2, .dilation = 1}) ==
          "shape: fold_windows: f32[2, 4, 3] are not the windows of f32[2, 7], which are [2, 3, 3]");
}

TEST_CASE_METHOD(Fixture, "reshape copies where strides cannot express the view") {
  const Tensor x = transpose(ops, f({2, 3}));
  ops.calls.clear();
  REQUIRE(describe(reshape(ops, x, {6})) == "f32[6]");
  REQUIRE(ops.calls == Calls{"copy(f32[3, 2]) -> f32[3, 2]", "view reshape(f32[3, 2]) -> f32[6]"});
  ops.calls.clear();
  REQUIRE(describe(reshape(ops, x, {3, 1, -1})) == "f32[3, 1, 2]");
  REQUIRE(ops.calls == Calls{"view reshape(f32[3, 2]) -> f32[3, 1, 2]"});
  REQUIRE(error(Op::reshape, {x}, {.shape = {4}}) == "shape: reshape: [3, 2] has 6 elements, [4] has 4");
}

TEST_CASE_METHOD(Fixture, "sources") {
  REQUIRE(describe(fill(ops, {2, 0}, DType::u8, Scalar::of(1.0))) == "u8[2, 0]");
  REQUIRE(failure_of([&] {
            fill(ops, {2, -3}, DType::f32, Scalar::of(0.0));
          }) == "value: fill: sizes must not be negative, got [2, -3]");
  REQUIRE(error(Op::fill, {f({})}) == "type: fill: expected a number, got f32[]");
  const Operand zero = Scalar::of(int64_t{0});
  Attrs uniform = {.count = 3, .shape = {3}};
  REQUIRE(call(Op::random_uniform, {zero, zero}, uniform) == "f32[3]");
  uniform.dtype = DType::i64;
  REQUIRE(error(Op::random_uniform, {zero, zero}, uniform) == "type: random numbers need a float dtype, not i64");
  REQUIRE(call(Op::iota, {zero, Scalar::of(int64_t{1})}, uniform) == "i64[3]");
}

TEST_CASE_METHOD(Fixture, "results too large to exist are refused before anything runs") {
  const int64_t mega = int64_t{1} << 20;
  REQUIRE(memory_limit() > 0);
  REQUIRE(memory_limit() <= kMaxTensorBytes);
  const std::string fill_error = failure_of([&] { fill(ops, {mega, mega, 1024}, DType::f32, Scalar::of(0.0)); });
  REQUIRE_THAT(fill_error, Catch::StartsWith("memory: fill: f32[1048576, 1048576, 1024] needs 4.0 PiB, but"));
  REQUIRE_THAT(failure_of([&] {
                 fill(ops, {mega, mega, mega, mega}, DType::f32, Scalar::of(0.0));
               }),
               Catch::StartsWith("memory"));
  REQUIRE_THAT(
      error(Op::matmul, {expand(ops, f({1, 1}), {int64_t{1} << 30, 1}), expand(ops, f({1, 1}), {1, int64_t{1} << 30})}),
      Catch::Contains("needs 4.0 EiB"));
  REQUIRE_THAT(
      error(Op::add, {expand(ops, f({1, 1}), {int64_t{1} << 30, 1}), expand(ops, f({1, 1}), {1, int64_t{1} << 30})}),
      Catch::Contains("needs 4.0 EiB"));
  ops.calls.clear();
  REQUIRE_THAT(failure_of([&] { expand(ops, f({1}), {int64_t{1} << 46}); }), Catch::StartsWith("memory: expand"));
  REQUIRE_THAT(failure_of([&] { reshape(ops, f({0}), {mega, mega, mega, mega}); }), Catch::StartsWith("memory"));
  REQUIRE(ops.calls.empty());
  REQUIRE(describe(expand(ops, f({1}), {int64_t{1} << 40})) == "f32[1099511627776]");  // takes no memory
  REQUIRE(format_bytes(16.0 * 1024 * 1024 * 1024 * 1024) == "16.0 TiB");
}

namespace {

/// Ops for a device of some size.
class OnDevice : public RecordingOps {
 public:
  explicit OnDevice(int64_t memory) : memory_(memory) {}

 private:
  Device default_device() override { return Device::of("cuda"); }
  int64_t tensor_limit(Device) override { return memory_; }
  const int64_t memory_;
};

}  // namespace

TEST_CASE("a tensor may be as large as its device, whatever the host's memory is") {
  const int64_t giga = int64_t{1} << 30, host = memory_limit();
  const auto is_refused = [](OnDevice& ops, int64_t bytes) {
    try {
      fill(ops, {bytes}, DType::u8, Scalar::of(0.0));
      return std::string();
    } catch (const Failure& failure) { return std::string(failure.what()); }
  };
  OnDevice large(host * 4), small(2 * giga);
  CHECK(is_refused(large, host * 3) == "");
  CHECK_THAT(is_refused(large, host * 5), Catch::Contains("but a tensor may take " + format_bytes(host * 4.0)));
  CHECK(is_refused(small, giga * 3 / 2) == "");
  CHECK_THAT(is_refused(small, giga * 5 / 2),
             Catch::Contains("fill: u8[2684354560] needs 2.5 GiB, but a tensor may take 2.0 GiB"));
}

TEST_CASE_METHOD(Fixture, "symbolic sizes flow through calls with the guards they need") {
  SymbolTable table;
  const Dim n = table.size_input(32);
  const Tensor x = f({n, 28, 28}), w = f({784, 10}), bias = f({10});
  const Tensor flat = reshape(ops, x, {n, 784});
  const Tensor logits = ops.call(Op::add, {matmul(ops, flat, w), bias});
  REQUIRE(logits.shape()[0].same(n));
  const Tensor shifted = ops.call(Op::sub, {logits, ops.call(Op::max, {logits}, {.keepdims = true, .axes = {1}})});
  REQUIRE(shifted.shape()[0].same(n));
  sum(ops, ops.call(Op::exp, {shifted}), {0, 1}, false);
  CAPTURE(table.guards().size());
  REQUIRE(table.guards().empty());
  REQUIRE(failure_of([&] {
            matmul(ops, x, f({29, 2}));
          }) == "shape: matmul: inner dimensions differ: f32[32, 28, 28] @ f32[29, 2]");
}
