// Tests derivatives in the language: every op against central differences in f64, the arguments and results of grad and
// similar builtins, and what holds while tapes record.
#include <deque>
#include <map>

#include "autodiff/tape.h"
#include "support/openblas.h"
#include "support/session.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

/// Compares gradients with central differences, on a weighted sum of the results of f.
constexpr const char* kChecks = R"(
fn weighted(y) = sum(y * reshape(0.7 + sin(f64(arange(y.size)) * 2.3), y.shape))

fn differences(f, x) {
  let h = 1e-5
  var g = zeros([x.size], dtype: f64)
  for i in 0..x.size {
    let d = reshape(f64(arange(x.size) == i), x.shape) * h
    g[i] = (f(x + d) - f(x - d)) / (2 * h)
  }
  return reshape(g, x.shape)
}

# The largest difference, relative where gradients are large.
fn deviation(f, x) {
  let g = grad(f)(x)
  assert(g.shape == x.shape and g.dtype == x.dtype, f"gradient is {g.dtype}{g.shape}")
  let expected = differences(f, x)
  return max(abs(g - expected) / (1.0 + abs(expected))).item()
}

# Tensors of shape [3, 4] in several layouts, with elements in (low, high).
fn layouts(low, high) {
  seed(5)
  let numbers = fn(shape) = low + (high - low) * rand(shape, dtype: f64)
  return [numbers([3, 4]), numbers([4, 3]).T, numbers([6, 9])[::2, 1::2], numbers([3, 4])[::-1, ::-1],
          expand(numbers([3, 1]), 3, 4), expand(numbers([4]), 3, 4)]
}

fn worst(f, low, high) = max(map(fn(x) = deviation(fn(x) = weighted(f(x)), x), layouts(low, high)))
fn worst_second(f, low, high) {
  let slope = fn(x) = weighted(grad(fn(x) = weighted(f(x)))(x) * (1.0 + square(x)))
  return max(map(fn(x) = deviation(slope, x), layouts(low, high)))
}
# The largest difference of what vmap gives for all examples from what each gives, of a function and its gradient.
fn mapped(f, low, high) {
  seed(5)
  let x = low + (high - low) * rand([3, 3, 4], dtype: f64)
  let differs = fn(f) {
    let each = stack(map(f, [x[0], x[1], x[2]]))
    return max(abs(vmap(f)(x) - each) / (1.0 + abs(each))).item()
  }
  return max(differs(f), differs(grad(fn(x) = weighted(f(x)))))
}
let other = 0.4 + rand([3, 4], dtype: f64)
let row = 0.4 + rand([4], dtype: f64)
let column = 0.4 + rand([3, 1], dtype: f64)
)";

/// Uses of an op: expressions in x, which is an f64[3, 4] with elements between low and high.
struct Use {
  std::vector<const char*> expressions;
  double low = -2, high = 2;
};

// Elements that are compared or sorted are all different, also where x is expanded: central differences do not apply at
// a kink.
const std::map<Op, Use>& written_uses() {
  static const std::map<Op, Use> table = {
      {Op::neg, {{"-x * x"}}},
      {Op::abs, {{"abs(x)", "abs(x) ** 3"}}},
      {Op::square, {{"square(x)"}}},
      {Op::relu, {{"relu(x)", "relu(x) ** 3"}}},
      {Op::exp, {{"exp(x)"}}},
      {Op::expm1, {{"expm1(x)"}}},
      {Op::log, {{"log(x)"}, 0.3, 3}},
      {Op::log1p, {{"log1p(x)"}, -0.6, 2}},
      {Op::log2, {{"log2(x)"}, 0.3, 3}},
      {Op::log10, {{"log10(x)"}, 0.3, 3}},
      {Op::sqrt, {{"sqrt(x)"}, 0.3, 3}},
      {Op::rsqrt, {{"rsqrt(x)"}, 0.3, 3}},
      {Op::cbrt, {{"cbrt(x)"}, 0.3, 3}},
      {Op::sin, {{"sin(x)"}}},
      {Op::cos, {{"cos(x)"}}},
      {Op::tan, {{"tan(x)"}, -1, 1}},
      {Op::asin, {{"asin(x)"}, -0.8, 0.8}},
      {Op::acos, {{"acos(x)"}, -0.8, 0.8}},
      {Op::atan, {{"atan(x)"}}},
      {Op::sinh, {{"sinh(x)"}}},
      {Op::cosh, {{"cosh(x)"}}},
      {Op::tanh, {{"tanh(x)"}}},
      {Op::acosh, {{"acosh(x)"}, 1.3, 3}},
      {Op::atanh, {{"atanh(x)"}, -0.7, 0.7}},
      {Op::sigmoid, {{"sigmoid(x)"}}},
      {Op::silu, {{"silu(x)"}}},
      {Op::softplus, {{"softplus(x)"}}},
      {Op::erf, {{"erf(x)"}}},
      {Op::erfinv, {{"erfinv(x)"}, -0.8, 0.8}},
      {Op::gamma, {{"gamma(x)", "gamma(x - 3.0)"}, 0.3, 0.7}},
      {Op::lgamma, {{"lgamma(x)", "lgamma(x - 3.0)", "lgamma(x + 9.0)"}, 0.3, 0.7}},
      {Op::digamma, {{"digamma(x)", "digamma(x - 3.0)", "digamma(x + 10.0)"}, 0.3, 0.7}},
      {Op::zeta, {{"zeta(2.0, x)", "zeta(3.0, x - 4.0)", "zeta(row + 2.0, x)"}, 1.3, 1.7}},
      {Op::gelu, {{"gelu(x)"}}},
      {Op::gelu_tanh, {{"gelu_tanh(x)"}}},
      {Op::add, {{"x + x * x", "x * x + row", "column + x * x", "2.0 + x * x", "x[0] + x[:, :1] * x"}}},
      {Op::sub, {{"x - x * x", "row - x * x", "1.5 - x * x", "x[:, :1] * x - x[0]"}}},
      {Op::mul, {{"x * x", "x * row", "column * x", "x * 3.0", "x * 2", "x[0] * x[:, :1]"}}},
      {Op::div, {{"x / (x + 1.0)", "row / x", "x / column", "1.0 / x", "x / 3", "x[0] / x[:, :1]"}, 0.4, 2}},
      {Op::mod, {{"x % 0.7 * x", "3.0 % x * x"}, 0.8, 0.95}},
      {Op::pow,
       {{"x ** 3", "x ** 2.5", "x ** x", "2.0 ** x", "x ** row", "x ** -1", "x ** 0.5", "x[0] ** x[:, :1]"}, 0.4, 2}},
      {Op::minimum, {{"minimum(x * x, other)", "minimum(x ** 3, 0.3)", "clamp(x ** 3, max: 0.5)"}}},
      {Op::maximum, {{"maximum(x * x, row)", "maximum(0.3, x ** 3)", "clamp(x ** 3, -0.5, 0.5)"}}},
      {Op::atan2, {{"atan2(x, other)", "atan2(row, x)", "atan2(x, 2.0)", "atan2(x[0], x[:, :1])"}, 0.4, 2}},
      {Op::hypot, {{"hypot(x, other)", "hypot(row, x)", "hypot(x, 2.0)", "hypot(x[0], x[:, :1])"}, 0.4, 2}},
      {Op::where,
       {{"where(x > 0.1, x ** 3, x * column)", "where(other > 0.8, x ** 3, 0.0)", "where(x[:, :1] > 0, 1.0, x * x)"}}},
      {Op::cast, {{"f64(f32(x) * 0) + x * x", "x * f32(2)"}}},
      {Op::copy, {{"reshape(x.T, 2, 6) ** 2"}}},
      {Op::permute, {{"permute(x * x, 1, 0)", "x.T @ x"}}},
      {Op::expand, {{"expand(x[:, :1] ** 2, 3, 5)", "expand(x ** 2, 2, 3, 4) * 1.0", "x * x[0]"}}},
      {Op::reshape, {{"reshape(x, 2, 6) ** 2", "reshape(x * x, -1)"}}},
      {Op::slice, {{"x[1:, ::2] ** 2", "x[::-1] * x", "flip(x) * x * x"}}},
      {Op::select, {{"x[1] ** 2", "x[:, -1] ** 2", "x[2, 3] * x"}}},
      {Op::insert_axis, {{"unsqueeze(x, 1) * x", "x[:, nil] * x"}}},
      {Op::windows,
       {{"windows(x, 1, 2) ** 2", "windows(x, 1, 2, step: 2) ** 3", "windows(x, 1, 2, dilation: 2) * x[:, :2, nil]"}}},
      {Op::sum, {{"sum(x, axis: 0) ** 2", "sum(x) * x", "sum(x, axis: [0, 1], keepdims: true) * x"}}},
      {Op::prod, {{"prod(x)", "prod(x, axis: 1)", "prod(x, axis: 0, keepdims: true) * x"}}},
      {Op::max,
       {{"max(square(x + other))", "max((x + other) ** 3, axis: 1)", "max(x + other, axis: 0, keepdims: true) * x"}}},
      {Op::min,
       {{"min(square(x + other))", "min((x + other) ** 3, axis: 1)", "min(x + other, axis: 0, keepdims: true) * x"}}},
      {Op::logsumexp,
       {{"logsumexp(x * x, axis: 1)", "logsumexp(x, axis: 0, keepdims: true) * x",
         "logsumexp(reshape(x, [-1])[arange(5000) % 6])"}}},
      {Op::cumsum, {{"cumsum(x, axis: 0) ** 2", "cumsum(x * x, axis: 1)"}}},
      {Op::cumprod, {{"cumprod(x, axis: 0)", "cumprod(x, axis: 1)"}}},
      {Op::take,
       {{"x[tensor([2, 0, 0])] ** 2", "take(x, tensor([[1, 3]]), axis: 1) ** 3",
         "gather(x, 1, tensor([[0, 0], [3, 1], [2, 2]])) ** 2"}}},
      {Op::sort,
       {{"sort(x + other, axis: 1) ** 2", "topk((x + other) ** 2, 2)[0]",
         "sort(x + other, axis: 0, descending: true) * x", "topk(x + other, 2, axis: 0, largest: false)[0] ** 2"}}},
      {Op::scatter, {{"written_rows(x)"}}},
      {Op::scatter_add, {{"added_rows(x)", "scatter_add(x ** 2, 1, tensor([[0], [3], [0]]), x[:, :1] ** 3)"}}},
      {Op::concat, {{"concat([x, x * x])", "stack([x[0], x[1] * x[2]], axis: 1)", "roll(x, 1) * x", "tile(x * x, 2)"}}},
      {Op::assign_view, {{"written(x)", "pad(x * x, 1)"}}},
      {Op::matmul,
       {{"x @ x.T", "x @ row", "row[:3] @ x ** 2", "stack([x, x * x]) @ other.T", "einsum(\"ij,kj->ik\", x, x * x)",
         "outer(x[0], x[1])"}}},
      {Op::conv,
       {{"conv(x[nil], stack([other[:, :2], other[:, 1:3] * 2.0]), padding: 1) ** 2",
         "conv(other[nil], stack([x[:, :2], x[:, 1:3] * 2.0]), padding: 1) ** 2",
         "conv(x[nil, nil], x[:2, :3][nil, nil], stride: [1, 2], padding: [(1, 0), (0, 2)])",
         "conv(stack([x, x * x, other])[nil], x[:, :2][:, nil, nil], groups: 3, dilation: [1, 2])",
         "conv(stack([x, x])[nil, nil], x[:2, :2][nil, nil, nil], padding: [(0, 0), (1, 1), (0, 1)])"}}},
      {Op::conv_input_grad,
       {{"conv_transpose(x[nil, nil], x[:2, :2][nil, nil], [6, 8], stride: [2, 2], padding: [(0, 0), (0, 0)])",
         "conv_transpose(x[nil], stack([other[:, :2], other[:, 2:], x[:, 1:3]]), [9], stride: 2) ** 2",
         "conv_transpose(x[nil, :, :], x[:, :2][:, nil], [5], groups: 3) ** 2"}}},
      {Op::conv_weight_grad, {{"grad(fn(w) = sum(conv(x[nil], w, padding: 1) ** 2))(stack([x, other])[:, :, 1:3])"}}},
      {Op::cholesky,
       {{"cholesky(x @ x.T + 4.0 * eye(3, dtype: f64))",
         "cholesky(stack([x @ x.T, other @ other.T]) + eye(3, dtype: f64))"}}},
      {Op::eigh,
       {{"eigh(apart(x))[0] ** 2", "eigh(apart(x))[1] ** 2", "eigh(apart(x))[1][:, 0] * eigh(apart(x))[0]",
         "sum(eigh(stack([apart(x), apart(other)]))[0] ** 3)"}}},
      {Op::solve_triangular,
       {{"solve_triangular(x[:, :3] + 4.0 * eye(3, dtype: f64), x)",
         "solve_triangular(x[:, :3].T + 4.0 * eye(3, dtype: f64), other, upper: true)",
         "solve_triangular(x[:, :3] + 4.0 * eye(3, dtype: f64), x[:, 3])"}}},
      {Op::solve,
       {{"solve(x[:, :3] + 4.0 * eye(3, dtype: f64), x)", "solve(x[:, :3].T + 4.0 * eye(3, dtype: f64), x[:, 3])",
         "solve(stack([x[:, :3], other[:, 1:]]) - 4.0 * eye(3, dtype: f64), other)"}}},
      {Op::qr,
       {{"qr(steep(x)[:, :3])[0]", "qr(steep(x))[1] ** 2", "qr(steep(x))[0][:, :1] * qr(steep(x))[1]",
         "qr(steep(x).T)[0] ** 2", "qr(stack([steep(x).T, steep(other).T]))[1] ** 2",
         "qr(steep(x), mode: \"complete\")[0] ** 2"}}},
      {Op::svd,
       {{"svd(steep(x))[0] ** 2", "svd(steep(x))[1] ** 2", "svd(steep(x))[2] ** 2", "svd(steep(x).T)[0] ** 2",
         "svd(steep(x).T)[2] ** 2", "svd(steep(x)[:, :3])[0][:, :1] ** 2 * svd(steep(x))[1][nil]",
         "sum(svd(stack([steep(x), steep(other)]))[1] ** 3)", "svd(steep(x), full_matrices: true)[1] ** 2"}}},
      {Op::lu,
       {{"lu_factor(steep(x))[0] ** 2", "lu_factor(steep(x).T)[0] ** 2", "lu_factor(steep(x)[:, 1:])[0]",
         "lu_factor(stack([steep(x), steep(other)]))[0] ** 2"}}},
      {Op::fft,
       {{"fft(x).re ** 2 + fft(x).im ** 3", "fft(complex(x, other), axis: 0).im", "real(ifft(complex(x * x, x)))"}}},
      {Op::rfft, {{"rfft(x).re ** 2", "rfft(x[:, :3]).im * rfft(x)[:, 1:].re", "rfft(x, axis: 0).re ** 2"}}},
      {Op::irfft,
       {{"irfft(complex(x, other)) ** 2", "irfft(complex(x * x, x), 5)", "irfft(rfft(x) * rfft(other), 4) ** 2"}}},
      {Op::attention,
       {{"flash_attention(x[nil], other[nil], x[nil] ** 2)",
         "flash_attention(x[nil, :2], x[nil, :, ::-1], other[nil, :, 1:], true, scale: -0.7, softcap: 1.5)",
         "flash_attention(x[nil], x[nil] * other, x[nil] ** 2, softcap: 1.5, attn_mask: other @ other.T > 0.0)",
         "flash_attention(stack([x, x * x]), other[nil], x[nil], true, attn_mask: tensor([true, true, false, "
         "true])[:x.shape[0]])",
         "flash_attention(stack([x, other, x * x, x.T @ x @ x.T @ x][:3]), x[nil], other[nil] * x) ** 2"}}},
      {Op::attention_grad,
       {{"flash_attention(x[nil], other[nil], x[nil], window_size: 2)",
         "flash_attention(stack([x, other]), x[nil], x[nil, :, :3], true, softcap: 2.0)"}}},
      {Op::as_strided, {{"written(x) * written(x)"}}},  // in the derivative of assign_view
      {Op::to_device, {{"(x ** 2).to(x.device)"}}},     // between devices: test_devices.cpp
      {Op::fold_windows, {{"windows(x, 0, 2) ** 3"}}},  // in the derivative of windows
      // In a world of one; between ranks: tests/ranks.
      {Op::gather_ranks, {{"gather_ranks(x) ** 2"}}},
      {Op::exchange_ranks, {{"exchange_ranks(x[nil]) ** 2"}}},
      {Op::broadcast_rank, {{"broadcast_rank(x) ** 2"}}},
      {Op::sum_ranks, {{"sum_ranks(x) ** 2"}}},
      {Op::shift_ranks, {{"shift_ranks(x) ** 2"}}},
  };
  return table;
}

/// Returns the uses above, and a simple use of every other unary op and reduction with a derivative.
const std::map<Op, Use>& uses() {
  static std::deque<std::string> texts;
  static const std::map<Op, Use> table = [] {
    std::map<Op, Use> all = written_uses();
    for (const OpDef& def : op_table()) {
      if (!def.vjp || all.count(def.op) != 0) continue;
      const bool is_unary = is_elementwise(def) && def.arity == 1;
      if (is_unary) texts.push_back(fmt::format("{}(x)", def.name));
      else if (is_reduction(def)) texts.push_back(fmt::format("{}(x + other, axis: 1)", def.name));
      else continue;
      all[def.op] = {{texts.back().c_str()}};
    }
    return all;
  }();
  return table;
}

constexpr const char* kWriters = R"(
fn written(x) {
  var y = x * x
  y[1] = y[0] * y[2]
  y[:, ::2] *= x[:, 1::2]
  return y
}
fn written_rows(x) {
  var y = x * x
  y[tensor([2, 0])] = x[:2] ** 3
  return y
}
fn apart(x) = x @ x.T + eye(3, dtype: f64) * tensor([1.0, 15.0, 40.0], dtype: f64)
fn steep(x) = 0.3 * x + tensor([[9.0, 1.0, 0.0, 2.0], [1.0, 5.0, 1.0, 0.0], [0.0, 2.0, 2.0, 1.0]], dtype: f64)
fn added_rows(x) {
  var y = x * x
  y[tensor([2, 0, 2])] += x ** 3
  return y
}
)";

std::string expression_check(const char* check, const char* expression, const Use& use) {
  return fmt::format("{}{}{}(fn(x) = {}, {}, {})", kChecks, kWriters, check, expression, use.low, use.high);
}

}  // namespace

TEST_CASE("every derivative rule is used below") {
  for (const OpDef& def : op_table()) {
    CAPTURE(def.name);
    CHECK((uses().count(def.op) == 1) == (def.vjp != nullptr));
  }
}

TEST_CASE("gradients agree with differences, for every op and layout") {
  WithoutOpenBlas left_out;
  for (const auto& [op, use] : uses()) {
    for (const char* expression : use.expressions) {
      Session session;
      CAPTURE(op_def(op).name, expression);
      left_out.run([&, op = op, &use = use] {
        const Value first = session.engine.run("test.tsl", expression_check("worst", expression, use));
        CHECK(first.real() < (op == Op::cast ? 1e-4 : 1e-6));
      });
    }
  }
}

TEST_CASE("second derivatives agree with differences of the first") {
  WithoutOpenBlas left_out;
  for (const auto& [op, use] : uses()) {
    for (const char* expression : use.expressions) {
      Session session;
      CAPTURE(op_def(op).name, expression);
      left_out.run([&, op = op, &use = use] {
        const Value second = session.engine.run("test.tsl", expression_check("worst_second", expression, use));
        CHECK(second.real() < (op == Op::cast ? 1e-4 : 1e-5));
      });
    }
  }
}

TEST_CASE("every op with a derivative is mapped over examples, and so is its derivative") {
  WithoutOpenBlas left_out;
  for (const auto& [op, use] : uses()) {
    for (const char* expression : use.expressions) {
      Session session;
      CAPTURE(op_def(op).name, expression);
      left_out.run([&, op = op, &use = use] {
        const Value difference = session.engine.run("test.tsl", expression_check("mapped", expression, use));
        CHECK(difference.real() < 1e-12);
      });
    }
  }
}

TEST_CASE("an op that no rule maps is called for each example") {
  Session s;
  Ops& ops = s.engine.ops();
  const Value masks = s.engine.run("test.tsl", "tensor([[false, true, false], [true, false, false]])");
  const auto places_in = [&](const Tensor& all) {
    const Ref<Batch> batch(new Batch(all.shape()[0], {}));
    const BatchScope mapped(ops, batch);
    const Tensor places = ops.call(Op::nonzero, {example_of(batch, all)}, {.count = 1});
    CHECK(places.shape() == Shape{1, 1});
    return to_repr(s.engine, Value(Tensor(places->examples)));
  };
  CHECK(places_in(masks.tensor()) == "i64[2, 1, 1] [[[1]] [[0]]]");
  CHECK(places_in(slice(ops, masks.tensor(), 0, 0, 0)) == "i64[0, 1, 1] []");
}

TEST_CASE("gradients of composites agree with differences") {
  const Use use{{"softmax(x)", "log_softmax(x, axis: 0)", "layer_norm(x, row, row)", "rms_norm(x)",
                 "logsumexp(x, axis: 1)", "mean(x * x, axis: 0)", "var(x)", "std(x + other, axis: 1)", "norm(x)",
                 "norm(x + 3.0, ord: 3, axis: 0)", "cross_entropy(x, tensor([1, 0, 3]))",
                 "cross_entropy(x, softmax(other))", "tril(x) ** 2", "attention(x, x * other, x)",
                 "attention(x, x[:, ::-1], other, is_causal: true)",
                 "conv2d(reshape(x, 1, 1, 3, 4), reshape(x[0], 1, 1, 2, 2), padding: 1)",
                 "max_pool2d(unsqueeze(x + other, 0), 2, stride: 1)", "avg_pool2d(unsqueeze(x * x, 0), 2, padding: 1)",
                 "embedding(tensor([[0, 2], [2, 2]]), x) ** 2"}};
  for (const char* expression : use.expressions) {
    Session session;
    CAPTURE(expression);
    CHECK(session.engine.run("test.tsl", expression_check("worst", expression, use)).real() < 1e-6);
    CHECK(session.engine.run("test.tsl", expression_check("worst_second", expression, use)).real() < 1e-4);
    CHECK(session.engine.run("test.tsl", expression_check("mapped", expression, use)).real() < 1e-12);
  }
}

TEST_CASE("all kinds of functions can be differentiated") {
  Session s;
  CHECK(s.eval("grad(sum)(tensor([1.0, 2.0]))") == "f32[2] [1. 1.]");
  CHECK(s.eval("grad(fn(x) = sum(exp(x * 0.0)))(tensor([1.0, 2.0]))") == "f32[2] [0. 0.]");
  CHECK(s.eval("let k = 3.0; fn f(x) { let a = 2.0; let g = fn(y) = y * y * a + k; return g(x) }; "
               "grad(f)(tensor(5.0))") == "f32[] 20.0");
  CHECK(s.eval("fn f(x, n) = if n == 0 { x } else { x * f(x, n - 1) }; grad(f)(tensor(2.0), 3)") == "f32[] 32.0");
  CHECK(s.eval("fn f(x) { var y = x; while y < 100.0 { y = y * y }; return y }; grad(f)(tensor(2.0))") ==
        "f32[] 1024.0");
  CHECK(s.eval("fn f(x) { var y = 0.0; for r in x { if sum(r) > 0.0 { y += sum(r * r) } }; return y }\n"
               "grad(f)(tensor([[1.0, 2.0], [-3.0, 1.0]]))") == "f32[2, 2] [[2. 4.] [0. 0.]]");
  CHECK(s.eval("fn f(x) { try { return sum(x @ x) } catch e { return sum(x * x) } }; grad(f)(ones([2, 3])) ") ==
        "f32[2, 3] [[2. 2. 2.] [2. 2. 2.]]");
  CHECK(s.eval("grad(fn(x) = sum(reduce(fn(a, b) = a * b, map(fn(v) = v + 1, x))))(tensor([1.0, 2.0, 3.0]))") ==
        "f32[3] [12.  8.  6.]");
}

TEST_CASE("the gradient has the structure of the argument") {
  Session s;
  CHECK(s.eval("grad(fn(p) = sum(p.a * p.c[0]) + p.c[1])({a: tensor([1.0, 2.0]), b: \"text\", c: "
               "[tensor(3.0), 2.0], d: (), n: 2, "
               "i: tensor([1]), f: fn(x) = x, e: nil, t: (bf16([1.0]),)})") ==
        "{a: f32[2] [3. 3.], b: nil, c: [f32[] 3.0, f32[] 1.0], d: (), n: nil, i: nil, f: nil, e: nil, t: "
        "(bf16[1] [0.],)}");
  CHECK(s.eval("grad(fn(x) = x * x)(3.0)") == "f32[] 6.0");
  CHECK(s.eval("grad(fn(x) = f32(x) ** 2.0)(f16(3.0))") == "f16[] 6.0");
  CHECK(s.eval("grad(fn(x) = sum(x))(ones([0, 2])).shape") == "(0, 2)");
  CHECK(s.eval("grad(fn(x) = x)(ones([1, 1]))") == "f32[1, 1] [[1.]]");
}

TEST_CASE("arguments to differentiate by are chosen by wrt") {
  Session s;
  const std::string f = "fn f(a, b, c = 2.0) = a * a * b * c\n";
  CHECK(s.eval(f + "grad(f)(3.0, 5.0)") == "f32[] 60.0");
  CHECK(s.eval(f + "grad(f, wrt: 1)(3.0, 5.0)") == "f32[] 18.0");
  CHECK(s.eval(f + "grad(f, wrt: [1, 0])(3.0, 5.0)") == "(f32[] 18.0, f32[] 60.0)");
  CHECK(s.eval(f + "value_and_grad(f, wrt: (2,))(3.0, 5.0, 1.0)") == "(f32[] 45.0, (f32[] 45.0,))");
  CHECK(s.eval(f + "grad(f)(b: 5.0, a: 3.0)") == "f32[] 60.0");
  CHECK(s.eval(f + "grad(f)(3.0, 5.0, c: 1.0)") == "f32[] 30.0");
  CHECK(s.eval(f + "grad(grad(f))(3.0, c: 1.0, b: 5.0)") == "f32[] 10.0");
  CHECK(s.eval("grad(std)(tensor([1.0, 3.0]), correction: 0)") == "f32[2] [-0.5  0.5]");
  CHECK(s.eval("grad(sum)(x: tensor([1.0, 3.0]), keepdims: true)") == "f32[2] [1. 1.]");
  CHECK(s.error_text(f + "grad(f)(3.0)") == "type: f is missing its argument 'b'");
  CHECK(s.error_text(f + "grad(f)(3.0, 5.0, d: 1.0)") == "type: f has no parameter 'd'");
  CHECK(s.error_text(f + "grad(f, wrt: 2)(3.0, 5.0)").substr(0, 48) ==
        "type: there is no argument 2 to differentiate by");
  CHECK(s.error_text(f + "grad(f, wrt: [0, 0])") == "value: wrt names argument 0 twice");
  CHECK(s.error_text(f + "grad(f, wrt: -1)") == "value: wrt counts arguments from 0, so it cannot be -1");
}

TEST_CASE("only what is computed from the argument is differentiated, not what shares its elements") {
  Session s;
  CHECK(s.eval("grad(fn(a, b) = sum(a * b))(tensor([1.0, 2.0]), tensor([3.0, 4.0]))") == "f32[2] [3. 4.]");
  CHECK(s.eval("let x = tensor([1.0, 2.0]); grad(fn(a, b) = sum(a * b))(x, x)") == "f32[2] [1. 2.]");
  CHECK(s.eval("let x = tensor([1.0, 2.0]); grad(fn(a) = sum(a * x))(x)") == "f32[2] [1. 2.]");
  CHECK(s.eval("let x = tensor([1.0, 2.0]); grad(fn(p) = sum(p[0] * p[0] * p[1]))([x, x])") ==
        "[f32[2] [2. 8.], f32[2] [1. 4.]]");
  CHECK(s.eval("grad(fn(x) = x * grad(fn(y) = x + y)(1.0))(1.0)") == "f32[] 1.0");
  CHECK(s.eval("grad(fn(x) = x * grad(fn(y) = x * y)(x))(3.0)") == "f32[] 6.0");
}

TEST_CASE("gradients nest") {
  Session s;
  CHECK(s.eval("grad(grad(grad(fn(x) = x ** 4)))(2.0)") == "f32[] 48.0");
  CHECK(s.eval("let hessian = fn(f, x) = stack(map(fn(i) = grad(fn(x) = grad(f)(x)[i])(x), 0..len(x)))\n"
               "hessian(fn(x) = x[0] ** 2 * x[1] + sum(x ** 3), tensor([1.0, 2.0]))") ==
        "f32[2, 2] [[10.  2.] [ 2. 12.]]");
  CHECK(s.eval("fn step(w) { let g = grad(fn(w) = sum(w ** 2))(w); return sum((w - 0.1 * g) ** 2) }; "
               "grad(step)(ones([2]))") == "f32[2] [1.28 1.28]");
  CHECK(s.eval("let (y, pull) = vjp(fn(x) = grad(fn(x) = sum(x ** 3))(x), tensor([1.0, 2.0])); "
               "pull(tensor([1.0, 10.0]))") == "f32[2] [  6. 120.]");
  CHECK(s.eval("grad(fn(x) { let (y, pull) = vjp(fn(x) = x ** 3, x); return sum(pull(x)) })(tensor([1.0, "
               "2.0]))") == "f32[2] [ 9. 36.]");
}

TEST_CASE("vjp gives a value of any structure and its pullback") {
  Session s;
  CHECK(s.eval("let (y, pull) = vjp(fn(a, b) = (a * b, {s: a + b, n: 3}), tensor([1.0, 2.0]), 4.0)\n"
               "[y, pull(([1.0, 10.0], {s: 0.0, n: nil})), pull((nil, {s: tensor([1.0, 1.0]), n: nil}))]") ==
        "[(f32[2] [4. 8.], {s: f32[2] [5. 6.], n: 3}), (f32[2] [ 4. 40.], f32[] 21.0), (f32[2] [1. 1.], "
        "f32[] 2.0)]");
  CHECK(s.eval("let (y, pull) = vjp(fn(x) = (x, x), 1.0); pull((2.0, 3.0))") == "f32[] 5.0");
  CHECK(s.error_text("vjp(exp, tensor([1.0, 2.0]))[1](ones([3]))") ==
        "shape: a pullback needs a gradient of [2], like the function's value, not of [3]");
  CHECK(s.error_text("vjp(fn(x) = (x, x), 1.0)[1](2.0)") ==
        "value: the gradient given to a pullback must be built like the function's value: tuple and float");
  CHECK(s.error_text("vjp(exp)") == "type: vjp takes a function and its arguments: vjp(f, x)");
  CHECK(s.error_text("vjp(exp, 1)") == "type: vjp: no argument holds floats to differentiate by");
  CHECK(s.eval("let (y, p) = vjp(exp, 1.0); let (z, q) = vjp(exp, 2.0); [p == p, p == q]") == "[true, false]");
}

TEST_CASE("stop_gradient makes constants") {
  Session s;
  CHECK(s.eval("grad(fn(x) = sum(stop_gradient(x) * x))(tensor([1.0, 2.0]))") == "f32[2] [1. 2.]");
  CHECK(s.eval("grad(fn(x) { let p = stop_gradient({a: [x * x], n: 1}); return sum(p.a[0] * x) "
               "})(tensor([3.0]))") == "f32[1] [9.]");
  CHECK(s.eval("grad(fn(x) = grad(fn(y) = stop_gradient(y) * y)(x))(3.0)") == "f32[] 0.0");
  CHECK(s.eval("stop_gradient({a: 1, b: \"x\", t: tensor([1, 2])})") == "{a: 1, b: \"x\", t: i64[2] [1 2]}");
}

TEST_CASE("values that others hold keep their elements while tapes listen") {
  Session s;
  CHECK(s.eval("let x = tensor([1.0, 2.0]); let c = tensor([3.0, 4.0])\n"
               "fn f(x) { var y = x; y[0] = 10.0; var d = c; d[1] = 0.0; y *= d; return sum(y * x) }\n"
               "[grad(f)(x), x, c]") == "[f32[2] [30.  0.], f32[2] [1. 2.], f32[2] [3. 4.]]");
  CHECK(s.eval("fn f(x) { var y = zeros([3]); for i in 0..3 { y[i] = x[i] * (y[i] + i) * x[i] }; return sum(y) }\n"
               "grad(f)(tensor([1.0, 2.0, 3.0]))") == "f32[3] [ 0.  4. 12.]");
  CHECK(s.eval("let x = rand([8]); let a = grad(fn(x) = sum((rand([8]) * 0.0 + 2.0) * x))(x); a") ==
        "f32[8] [2. 2. 2. 2. 2. 2. 2. 2.]");
}

TEST_CASE("what cannot be differentiated is said") {
  Session s;
  const std::string must = "the function to differentiate must return a float tensor with one element";
  CHECK(s.error_text("grad(3)") == "type: 'f' of grad must be a function or a dtype, not int 3");
  CHECK(s.error_text("grad(fn(x) = x)(ones([2]))") == "shape: " + must + ", not f32[2]");
  CHECK(s.error_text("grad(fn(x) = i64(x))(1.0)") == "type: " + must + ", not i64[]");
  CHECK(s.error_text("grad(fn(x) = float(x))(1.0)") == "type: " + must + ", not float");
  CHECK(s.error_text("grad(fn(x) = (x, x))(1.0)") == "type: " + must + ", not tuple");
  CHECK(s.error_text("grad(fn(x) = x, has_aux: true)(1.0)") ==
        "type: with has_aux, the function to differentiate must return a tuple (loss, aux), not tensor");
  CHECK(s.error_text("grad(fn(x) = x)(1)") == "type: argument 0 cannot be differentiated by: int holds no floats");
  CHECK(s.error_text("var l = [1.0]; for _ in 0..2000 { l = [l] }; grad(fn(x) = 1.0)(l)").substr(0, 6) == "limit:");
}

TEST_CASE("errors inside a differentiated function keep their place, and no tape stays behind") {
  Session s;
  const Error e = s.error("fn f(x) {\n  return sum(x @ x)\n}\nfn g(x) = grad(f)(x)\ng(ones([2, 3]))");
  CHECK(e.kind() == ErrorKind::shape);
  CHECK(s.line_of(e) == 2);
  CHECK(e.called_from.size() >= 2);
  CHECK_FALSE(s.engine.runtime().listeners().listening());
  CHECK(s.eval("fn f(x) { error(\"no\") }; let r = try_it(f); fn try_it(f) { try { return grad(grad(f))(1.0) "
               "} catch e { return e.message } }; r") == "\"no\"");
  CHECK_FALSE(s.engine.runtime().listeners().listening());
  CHECK(s.eval("grad(fn(x) = x * x)(1.0)") == "f32[] 2.0");
}

TEST_CASE("compiled functions and gradients go together") {
  const std::string body = "fn loss(p, x) { var h = x; for w in p { h = tanh(h @ w) }; return mean(softmax(h) * h) }\n";
  const std::string data = "seed(1); let p = [randn([4, 5]), randn([5, 3])]; let x = randn([6, 4])\n";
  Session s;
  const std::string eager = s.eval(body + data + "value_and_grad(loss)(p, x)");
  CHECK(s.eval(body + "@compile\nfn step(p, x) = value_and_grad(loss)(p, x)\n" + data + "step(p, x); step(p, x)") ==
        eager);
  CHECK(s.eval("@compile\n" + body + data + "value_and_grad(loss)(p, x)") == eager);
  CHECK(s.eval("@compile\nfn f(x) = if sum(x) > 0.0 { sum(x * x) } else { sum(x) }\n@compile\nfn g(x) = "
               "grad(f)(x)\n"
               "[g(ones([2])), g(-ones([2])), g(ones([2])), g(-ones([2]))]") ==
        "[f32[2] [2. 2.], f32[2] [1. 1.], f32[2] [2. 2.], f32[2] [1. 1.]]");
  CHECK(s.eval("@compile\nfn g(x) = grad(fn(x) = grad(fn(x) = sum(x * stop_gradient(x) * "
               "x))(x)[0])(x)\n[g(ones([2])), g(ones([2]))]") == "[f32[2] [2. 0.], f32[2] [2. 0.]]");
}

TEST_CASE("the gradient of a matrix that is multiplied transposed lies in rows") {
  Session s;
  const std::string begin = "let x = rand([3, 6])\ngrad(fn(w) = sum(square(";
  for (const char* rest : {"x @ w.T)))(rand([5, 6]))", "w.T @ x[:, :4])))(rand([3, 5]))", "x @ w)))(rand([6, 4]))"}) {
    CAPTURE(rest);
    CHECK(s.engine.run("test.tsl", begin + rest).tensor().layout().is_contiguous());
  }
}

TEST_CASE("numbers, reads and pullbacks under a trace") {
  Session s;
  CHECK(s.eval("@compile\nfn g(a) = grad(fn(v) = v * v * v)(a)\n[g(2.0), g(3.0), g(tensor(4.0))]") ==
        "[f32[] 12.0, f32[] 27.0, f32[] 48.0]");
  const std::string read = "fn loss(x) { let s = sum(x * x); if s.item() > 3.0 { return s * 2.0 }; return s }\n";
  CHECK(s.eval(read + "@compile\nfn g(x) = grad(loss)(x)\nmap(fn(n) = g(ones([n])), [2, 4, 2, 4])") ==
        "[f32[2] [2. 2.], f32[4] [4. 4. 4. 4.], f32[2] [2. 2.], f32[4] [4. 4. 4. 4.]]");
  CHECK(s.eval("let (y, pull) = vjp(fn(x) = x * x, tensor([1.0, 2.0]))\n"
               "@compile\nfn h(p, x) = p(x) + x\n[h(pull, ones([2])), h(pull, 2.0 * ones([2]))]") ==
        "[f32[2] [3. 5.], f32[2] [ 6. 10.]]");
  CHECK(s.eval("@compile\nfn k(x) { let (y, pull) = vjp(fn(x) = x * x, x); return pull }\n"
               "map(fn(n) = k(tensor([1.0]) * n)(1.0), 1..4)") == "[f32[1] [2.], f32[1] [4.], f32[1] [6.]]");
}

TEST_CASE("a tape gives memory back as it is played") {
  Session s;
  s.eval("fn f(x) { var y = x; for _ in 0..64 { y = y * 1.01 }; return sum(y) }; grad(f)(ones([65536]))");
  // The 64 results of 256 KiB are held at most once; gradients are computed one at a time.
  CHECK(s.engine.runtime().allocator().stats().peak_bytes < 72 * 262144u);
  CHECK(s.engine.runtime().allocator().stats().live_bytes < 4 * 262144u);
}

TEST_CASE("numbers of tensors are found again among many") {
  std::vector<Tensor> tensors;
  TensorNumbers numbers;
  for (uint32_t i = 0; i < 1000; ++i) {
    tensors.emplace_back(Tensor(DType::f32, Layout{}, nullptr));
    CHECK(numbers.find(tensors.back().get()) == TensorNumbers::kNone);
    numbers.add(tensors.back().get(), i);
  }
  bool all = true;
  for (uint32_t i = 0; i < 1000; ++i) all = all && numbers.find(tensors[i].get()) == i;
  CHECK(all);
}
