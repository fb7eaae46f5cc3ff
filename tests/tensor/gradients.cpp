// Compares every derivative rule with central differences, in f64, over the reference ops, and also the derivatives of
// the rules.
#include <cmath>
#include <random>

#include "catch.h"
#include "support/reference_ops.h"

using namespace tsl;

namespace {

using Function = std::function<Tensor(Ops&, const std::vector<Tensor>&)>;

struct Input {
  Shape shape;
  std::vector<double> elements;
};

/// Returns random elements in [low, high].
Input random_input(const Shape& shape, double low = -2, double high = 2, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Input input{shape, {}};
  for (int64_t i = 0; i < element_count(shape).hint(); ++i) input.elements.push_back(uniform(random));
  return input;
}

std::vector<Tensor> make_inputs(ReferenceOps& ops, const std::vector<Input>& inputs) {
  std::vector<Tensor> tensors;
  for (const Input& input : inputs) tensors.push_back(ops.make(DType::f64, input.shape, input.elements));
  return tensors;
}

/// Returns weights that differ, so that outputs are distinguishable.
Tensor weights(ReferenceOps& ops, const Tensor& like) {
  return ops.make(DType::f64, like.shape(), random_input(like.shape(), 0.5, 1.5, 9).elements);
}

double weighted_sum(const Function& f, const std::vector<Input>& inputs) {
  ReferenceOps ops;
  const Tensor out = f(ops, make_inputs(ops, inputs));
  const std::vector<double> values = ReferenceOps::elements(out), w = ReferenceOps::elements(weights(ops, out));
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * w[i];
  return sum;
}

void check_gradients(const Function& f, std::vector<Input> inputs, double tolerance = 1e-6) {
  ReferenceOps ops;
  const std::vector<Tensor> tensors = make_inputs(ops, inputs);
  const Tensor out = f(ops, tensors);
  const std::vector<Tensor> grads = ops.backward(out, weights(ops, out), tensors);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> given =
        grads[i] ? ReferenceOps::elements(grads[i]) : std::vector<double>(inputs[i].elements.size(), 0.0);
    for (size_t j = 0; j < inputs[i].elements.size(); ++j) {
      double& element = inputs[i].elements[j];
      const double middle = element;
      element = middle + kStep;
      const double above = weighted_sum(f, inputs);
      element = middle - kStep;
      const double below = weighted_sum(f, inputs);
      element = middle;
      CAPTURE(i, j, middle);
      REQUIRE(given[j] == Approx((above - below) / (2 * kStep)).epsilon(tolerance).margin(tolerance));
    }
  }
}

/// Returns the gradient of f as a function of its inputs, so that its own gradient can be checked.
Function gradient_of(const Function& f, size_t input) {
  return [f, input](Ops& ops, const std::vector<Tensor>& x) {
    ReferenceOps& reference = static_cast<ReferenceOps&>(ops);
    const Tensor out = f(ops, x);
    const Tensor grad = reference.backward(out, weights(reference, out), x)[input];
    return grad ? grad : fill(ops, x[input].shape(), DType::f64, Scalar::of(0.0));
  };
}

void check_both_orders(const Function& f, const std::vector<Input>& inputs, double tolerance = 1e-6) {
  check_gradients(f, inputs, tolerance);
  for (size_t i = 0; i < inputs.size(); ++i) check_gradients(gradient_of(f, i), inputs, tolerance * 10);
}

Function call_op(Op op, Attrs attrs = {}) {
  return [op, attrs](Ops& ops, const std::vector<Tensor>& x) {
    std::vector<Operand> operands(x.begin(), x.end());
    return ops.call(op, operands, attrs);
  };
}

/// As call_op(), of an op with a definition: the tape has the op itself, whose own derivative is used.
Function call_kernel(Op op, Attrs attrs) {
  return [call = call_op(op, std::move(attrs))](Ops& ops, const std::vector<Tensor>& x) {
    const KernelScope scope(ops);
    return call(ops, x);
  };
}

/// Returns inputs at which an op is smooth.
Input domain(std::string_view name, unsigned seed) {
  if (name.starts_with("log") || name == "sqrt" || name == "rsqrt" || name == "cbrt" || name == "pow")
    return random_input({7}, 0.3, 3, seed);
  if (name.ends_with("gamma")) return random_input({7}, 0.6, 3, seed);
  if (name == "acosh") return random_input({7}, 1.5, 3, seed);
  if (name == "hypot") return random_input({7}, 0.4, 2, seed);
  if (name == "asin" || name == "acos" || name == "atanh" || name == "erfinv")
    return random_input({7}, -0.8, 0.8, seed);
  if (name == "div" || name == "atan2" || name == "mod") return random_input({7}, 0.4, 0.9, seed);
  return random_input({7}, -2, 2, seed);
}

}  // namespace

TEST_CASE("elementwise derivatives") {
  for (const OpDef& def : op_table()) {
    if (!is_elementwise(def) || !def.vjp || def.op == Op::cast || def.op == Op::where) continue;
    if (def.op == Op::zeta) continue;  // has a derivative of its second operand alone
    CAPTURE(def.name);
    std::vector<Input> inputs;
    for (int i = 0; i < def.arity; ++i) inputs.push_back(domain(def.name, static_cast<unsigned>(i) + 1));
    check_both_orders(call_op(def.op), inputs);
  }
  const Function zeta = [](Ops& ops, const auto& x) { return ops.call(Op::zeta, {Scalar::of(2.5), x[0]}); };
  check_both_orders(zeta, {random_input({7}, 0.8, 3)});
}

TEST_CASE("elementwise derivatives beside numbers and by broadcasting") {
  for (Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::pow, Op::maximum, Op::atan2}) {
    CAPTURE(op_def(op).name);
    const Input x = random_input({3, 4}, 0.5, 2);
    check_both_orders([op](Ops& ops, const auto& in) { return ops.call(op, {in[0], Scalar::of(3.0)}); }, {x});
    check_both_orders([op](Ops& ops, const auto& in) { return ops.call(op, {Scalar::of(1.7), in[0]}); }, {x});
    check_gradients(call_op(op), {x, random_input({4}, 0.5, 2, 2)});
    check_gradients(call_op(op), {random_input({2, 1, 4}, 0.5, 2, 3), random_input({3, 1}, 0.5, 2, 2)});
  }
  check_gradients(
      [](Ops& ops, const auto& in) {
        return ops.call(Op::pow, {in[0], Scalar::of(int64_t{2})});
      },
      {{{3}, {-1.5, 0, 2}}});
}

TEST_CASE("derivatives of where, cast and copy") {
  const auto choose = [](Ops& ops, const std::vector<Tensor>& x) {
    return ops.call(Op::where, {ops.call(Op::gt, {x[0], Scalar::of(0.1)}), x[1], x[2]});
  };
  check_both_orders(choose, {random_input({5}), random_input({2, 5}), random_input({1, 1})});
  check_gradients([](Ops& ops, const auto& x) { return cast(ops, cast(ops, x[0], DType::f32), DType::f64); },
                  {{{2}, {0.5, 1}}}, 2e-2);
  check_gradients(call_op(Op::copy), {random_input({2, 3})});
}

TEST_CASE("derivatives of views") {
  const Input x = random_input({2, 6, 3});
  check_both_orders(call_op(Op::permute, {.axes = {2, 0, 1}}), {x});
  check_both_orders(call_op(Op::expand, {.shape = {4, 2, 3}}), {random_input({2, 1})});
  check_both_orders(call_op(Op::expand, {.shape = {2, 3}}), {random_input({})});
  check_gradients(call_op(Op::reshape, {.shape = {4, -1}}), {x});
  check_gradients(call_op(Op::slice, {.axis = 1, .start = 5, .count = 3, .step = -2}), {x});
  check_gradients(call_op(Op::slice, {.axis = -1, .start = 0, .count = 0}), {x});
  check_gradients(call_op(Op::select, {.axis = 1, .start = -2}), {x});
  check_gradients(call_op(Op::insert_axis, {.axis = -1}), {x});
  check_both_orders(call_op(Op::windows, {.axis = 1, .step = 1, .size = 3, .dilation = 2}), {x});
  check_gradients(call_op(Op::windows, {.axis = -2, .step = 3, .size = 2}), {x});
  check_both_orders(call_op(Op::fold_windows, {.axis = 0, .count = 7, .step = 2}), {random_input({3, 2, 3})});
  check_gradients([](Ops& ops, const auto& in) { return reshape(ops, transpose(ops, in[0]), {6, 6}); }, {x});
}

TEST_CASE("derivatives of reductions") {
  const Input x = random_input({3, 2, 4});
  for (Op op : {Op::sum, Op::prod, Op::max, Op::min, Op::logsumexp}) {
    for (bool keep : {false, true}) {
      CAPTURE(op_def(op).name, keep);
      check_both_orders(call_op(op, {.keepdims = keep, .axes = {1}}), {x});
      check_gradients(call_op(op, {.keepdims = keep, .axes = {-1, 0}}), {x});
      check_gradients(call_op(op, {.keepdims = keep, .axes = {0, 1, 2}}), {x});
      check_gradients(call_op(op, {.keepdims = keep}), {x});
    }
  }
  check_gradients(call_op(Op::sum, {.axes = {0}}), {random_input({0, 3})});
}

TEST_CASE("a product's derivative at zeros") {
  check_gradients(call_op(Op::prod, {.axes = {1}}), {{{4, 3}, {2, 3, 4, 0, 3, 4, 0, 0, 5, 2, 0, 7}}});
  check_gradients(call_op(Op::cumprod, {.axis = 1}), {{{4, 4}, {2, 3, 4, 5, 0, 3, 4, 2, 2, 0, 5, 3, 2, 0, 7, 0}}});
}

TEST_CASE("a product's second derivatives at zeros") {
  const Input zeros{{4, 3}, {2, 3, 4, 0, 3, 4, 0, 0, 5, 0, 0, 0}};
  check_both_orders(call_op(Op::prod, {.axes = {1}}), {zeros});
  check_both_orders(call_op(Op::prod, {.axes = {0, 2}}), {{{2, 2, 3}, {2, 0, 4, 0, 3, 4, 1, 2, 5, 0, 6, 7}}});
  check_both_orders(call_op(Op::prod, {.keepdims = true, .axes = {0}}), {zeros});
  check_both_orders(call_op(Op::cumprod, {.axis = 1}), {zeros});
  check_both_orders(call_op(Op::cumprod, {.axis = 0}), {zeros});
  check_both_orders(call_op(Op::cumprod, {.axis = 0}), {{{7}, {2, 0, 3, 4, 0, 5, 6}}});
}

TEST_CASE("a product's third derivatives at zeros") {
  const Input zeros{{5}, {0, 3, 0, 2, 0}};
  check_both_orders(gradient_of(call_op(Op::prod, {.axes = {0}}), 0), {zeros});
  check_both_orders(gradient_of(call_op(Op::cumprod, {.axis = 0}), 0), {zeros});
}

TEST_CASE("ties of max and min share the gradient") {
  ReferenceOps ops;
  for (Op op : {Op::max, Op::min}) {
    const Tensor x = ops.make(DType::f64, {2, 3}, {5, 5, 5, -1, 2, -1});
    const Tensor out = ops.call(op, {x}, {.axes = {1}});
    const Tensor grad = ops.backward(out, ops.make(DType::f64, {2}, {3, 6}), {x})[0];
    const std::vector<double> expected =
        op == Op::max ? std::vector<double>{1, 1, 1, 0, 6, 0} : std::vector<double>{1, 1, 1, 3, 0, 3};
    REQUIRE(ReferenceOps::elements(grad) == expected);
  }
}

TEST_CASE("derivatives of scans") {
  const Input x = random_input({3, 2, 4}, 0.5, 2);
  for (Op op : {Op::cumsum, Op::cumprod}) {
    check_both_orders(call_op(op, {.axis = -1}), {x});
    check_gradients(call_op(op, {.axis = 0}), {x});
    check_gradients(call_op(op, {.axis = 1}), {random_input({2, 0})});
    for (int64_t extent : {1, 2, 3}) check_both_orders(call_op(op, {.axis = 0}), {random_input({extent}, 0.5, 2)});
  }
}

TEST_CASE("derivatives of indexing") {
  const Input x = random_input({4, 3});
  const auto with_index = [](Op op, Shape shape, std::vector<double> index, int64_t batch) -> Function {
    return [=](Ops& ops, const std::vector<Tensor>& in) {
      const Tensor i = static_cast<ReferenceOps&>(ops).make(DType::i64, shape, index);
      const Attrs attrs = {.batch = batch};
      return in.size() == 1 ? ops.call(op, {in[0], i}, attrs) : ops.call(op, {in[0], i, in[1]}, attrs);
    };
  };
  check_both_orders(with_index(Op::take, {2, 3}, {0, -1, 2, 2, 2, 1}, 0), {x});
  check_both_orders(with_index(Op::take, {4, 2}, {0, -1, 2, 2, 2, 1, 0, 0}, 1), {x});
  check_gradients(with_index(Op::take, {}, {3}, 0), {x});
  for (Op op : {Op::scatter, Op::scatter_add}) {
    CAPTURE(op_def(op).name);
    check_both_orders(with_index(op, {5}, {0, 2, -2, 3, 2}, 0), {x, random_input({5, 3}, -1, 1, 2)});
    check_gradients(with_index(op, {4, 2}, {0, 1, 1, 1, -1, 2, 0, 2}, 1), {x, random_input({4, 2}, -1, 1, 2)});
    check_gradients(with_index(op, {2}, {1, 1}, 0), {x, random_input({3}, -1, 1, 2)});
  }
}

TEST_CASE("derivatives of structure") {
  const auto join = [](Ops& ops, const std::vector<Tensor>& in) {
    return ops.call(Op::concat, {in[0], in[1], in[0]}, {.axis = -1});
  };
  check_both_orders(join, {random_input({2, 3}), random_input({2, 1})});
  Attrs part;
  part.view = slice(Layout::contiguous({4, 3}), 0, 3, 2, -2);
  check_both_orders(call_op(Op::assign_view, part), {random_input({4, 3}), random_input({2, 3}, 0, 1, 2)});
  check_gradients(call_op(Op::assign_view, part), {random_input({4, 3}), random_input({3}, 0, 1, 2)});
  check_both_orders(call_op(Op::as_strided, part), {random_input({4, 3})});
}

TEST_CASE("derivatives of matrix products") {
  const auto product = call_op(Op::matmul);
  check_both_orders(product, {random_input({2, 3}), random_input({3, 4}, -1, 1, 2)});
  check_gradients(product, {random_input({3}), random_input({3}, -1, 1, 2)});
  check_gradients(product, {random_input({3}), random_input({2, 3, 2}, -1, 1, 2)});
  check_gradients(product, {random_input({2, 2, 3}), random_input({3}, -1, 1, 2)});
  check_gradients(product, {random_input({2, 2, 3}), random_input({3, 2}, -1, 1, 2)});
  check_gradients(product, {random_input({2, 3}), random_input({2, 3, 2}, -1, 1, 2)});
  check_gradients(product, {random_input({2, 1, 2, 3}), random_input({3, 3, 2}, -1, 1, 2)});
}

TEST_CASE("derivatives of convolutions") {
  const auto geometry = [](std::vector<int64_t> numbers) { return ConvGeometry::of(numbers); };
  // groups, then strides, dilations, and widths of the padding before and after
  const Attrs line{.conv = geometry({1, 2, 1, 1, 0})};
  const Attrs grouped{.conv = geometry({2, 1, 2, 2, 1, 1, 0, 1, 1})};
  const Attrs cut{.shape = {5}, .conv = geometry({1, 2, 1, 1, 0})};
  const Attrs taps{.shape = {2}, .conv = geometry({1, 2, 1, 1, 0})};
  const Attrs shorter{.shape = {5}, .conv = geometry({1, 1, 1, -1, 2})};
  for (const auto call : {call_op, call_kernel}) {
    check_both_orders(call(Op::conv, line), {random_input({2, 2, 5}), random_input({3, 2, 2}, -1, 1, 2)});
    check_gradients(call(Op::conv, grouped), {random_input({1, 4, 4, 3}), random_input({2, 2, 2, 2}, -1, 1, 2)});
    check_both_orders(call(Op::conv_input_grad, cut), {random_input({2, 3, 3}), random_input({3, 2, 2}, -1, 1, 2)});
    check_both_orders(call(Op::conv_weight_grad, taps), {random_input({2, 2, 5}), random_input({2, 3, 3}, -1, 1, 2)});
    check_gradients(call(Op::conv_input_grad, shorter), {random_input({1, 2, 5}), random_input({2, 1, 2}, -1, 1, 2)});
  }
  ReferenceOps ops;
  call_kernel(Op::conv, line)(ops, make_inputs(ops, {random_input({2, 2, 5}), random_input({3, 2, 2})}));
  CHECK(ops.tape.back().def->op == Op::conv);
  ops.tape.clear();
  call_op(Op::conv, line)(ops, make_inputs(ops, {random_input({2, 2, 5}), random_input({3, 2, 2})}));
  for (const TapeEntry& entry : ops.tape) CHECK(entry.def->op != Op::conv);
}

namespace {

/// Checks that the rule of the last op of `f` computes the gradient of one input alone if only that one is needed.
void check_only_needed(const Function& f, const std::vector<Input>& inputs) {
  ReferenceOps ops;
  const Tensor out = f(ops, make_inputs(ops, inputs));
  const TapeEntry entry = ops.tape.back();
  const size_t count = entry.operands.size();
  const Tensor grad = weights(ops, out);
  for (size_t i = 0; i < count; ++i) {
    if (!entry.operands[i].is_tensor() || !is_float(entry.operands[i].tensor.dtype())) continue;
    std::array<bool, 3> needed{};
    std::array<Tensor, 3> found;
    needed[i] = true;
    VjpCall call{ops,
                 *entry.def,
                 entry.operands,
                 entry.attrs,
                 entry.results[0],
                 grad,
                 {needed.data(), count},
                 {found.data(), count}};
    entry.def->vjp(call);
    for (size_t k = 0; k < count; ++k) {
      CAPTURE(entry.def->name, i, k);
      REQUIRE(static_cast<bool>(found[k]) == (k == i));
    }
  }
}

}  // namespace

TEST_CASE("derivatives of a call that its definition makes follow from that") {
  const std::vector<Input> inputs = {random_input({1, 4, 3, 2}, -2, 2, 1), random_input({1, 2, 5, 2}, -2, 2, 2),
                                     random_input({1, 2, 5, 3}, -2, 2, 3)};
  check_both_orders(call_op(Op::attention), inputs, 1e-5);
  check_gradients(call_op(Op::attention, {.causal = true, .size = 2, .scale = -0.4, .softcap = 1.5}), inputs, 1e-5);
  ReferenceOps ops;
  ops.call(Op::attention, {ops.make(DType::f64, {1, 1, 1}, {1}), ops.make(DType::f64, {1, 2, 1}, {0, 0}),
                           ops.make(DType::f64, {1, 2, 1}, {2, 6})});
  for (const TapeEntry& entry : ops.tape) CHECK(entry.def->op != Op::attention);
  CHECK(ReferenceOps::elements(ops.tape.back().results[0]) == std::vector<double>{4});
}

TEST_CASE("a rule computes no gradient that is not needed") {
  for (const OpDef& def : op_table()) {
    if (!is_elementwise(def) || !def.vjp || def.arity != 2 || def.op == Op::zeta) continue;
    check_only_needed(call_op(def.op), {domain(def.name, 1), domain(def.name, 2)});
  }
  check_only_needed(call_op(Op::matmul), {random_input({2, 3}), random_input({3, 4})});
  check_only_needed(call_op(Op::concat, {.axis = 0}), {random_input({2, 3}), random_input({1, 3})});
  Attrs part;
  part.view = slice(Layout::contiguous({4, 3}), 0, 1, 2, 1);
  check_only_needed(call_op(Op::assign_view, part), {random_input({4, 3}), random_input({2, 3})});
  for (Op op : {Op::scatter, Op::scatter_add}) {
    const Function scattered = [op](Ops& ops, const std::vector<Tensor>& in) {
      const Tensor index = static_cast<ReferenceOps&>(ops).make(DType::i64, {2}, {3, 1});
      return ops.call(op, {in[0], index, in[1]}, {.batch = 0});
    };
    check_only_needed(scattered, {random_input({4, 3}), random_input({2, 3})});
  }
  const Function selected = [](Ops& ops, const std::vector<Tensor>& in) {
    const Tensor mask = static_cast<ReferenceOps&>(ops).make(DType::boolean, {3}, {1, 0, 1});
    return ops.call(Op::where, {mask, in[0], in[1]});
  };
  check_only_needed(selected, {random_input({3}), random_input({3})});
}

TEST_CASE("derivatives of sorted elements") {
  for (int64_t axis : {0, 1}) {
    for (bool descending : {false, true}) {
      const Attrs attrs{.descending = descending, .axis = axis, .count = 2};
      check_both_orders(call_op(Op::sort, attrs), {random_input({3, 4})});
    }
  }
}

TEST_CASE("nothing flows where there is no derivative") {
  for (Op op : {Op::argmax, Op::argmin, Op::any, Op::all, Op::nonzero, Op::fill, Op::iota, Op::floor, Op::eq,
                Op::bit_and, Op::isnan, Op::sign, Op::random_normal}) {
    CAPTURE(op_def(op).name);
    REQUIRE(op_def(op).vjp == nullptr);
  }
}
