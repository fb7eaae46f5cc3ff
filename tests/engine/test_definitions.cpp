// Compares the kernels of ops with their definitions on odd shapes, and eager with compiled runs of both.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "support/session.h"

using namespace tsl;

namespace {

/// Returns the output of a program that runs with these kernels: TSL_KERNELS.
std::string output_with(const char* kernels, const std::string& program) {
  setenv("TSL_KERNELS", kernels, 1);
  Session session;
  unsetenv("TSL_KERNELS");
  return session.output(program);
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::isdigit(static_cast<unsigned char>(*at)) || *at == '-' ? std::strtod(at, &end) : 0;
    if (end) numbers.push_back(number);
    at = end ? end : at + 1;
  }
  return numbers;
}

/// Returns the greatest difference, beside the greatest number.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(!a.empty());
  double difference = 0, greatest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) return INFINITY;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    greatest = std::max(greatest, std::abs(b[i]));
  }
  return difference / greatest;
}

/// Draws calls of attention and prints results and gradients. Fails if compiled runs give other bits than eager ones.
const std::string kAttention = R"(
seed(58)
fn show(x) { print(flatten(f64(x)).tolist()) }
fn check(query, key, value, weight, call) {
  let f = fn(q, k, v) = call(q, k, v)
  let slopes = grad(fn(q, k, v) = sum(f32(call(q, k, v)) * weight), wrt: [0, 1, 2])
  @compile
  fn compiled(q, k, v) = (f(q, k, v), slopes(q, k, v))
  let eager = (f(query, key, value), slopes(query, key, value))
  let again = compiled(query, key, value)
  for (a, b) in zip([eager[0]] + list(eager[1]), [again[0]] + list(again[1])) {
    assert(all(a == b), "compiled bits differ")
    show(a)
  }
}
fn run(dtype) {
  for (b, h, g, s, t, d, e) in [[2, 4, 2, 5, 7, 8, 6], [1, 1, 1, 1, 9, 4, 3], [1, 3, 1, 9, 4, 5, 2],
                                [1, 2, 1, 130, 257, 8, 12], [1, 1, 1, 3, 5, 300, 7]] {
    let (q, k, v) = (randn([b, h, s, d], dtype: dtype), randn([b, g, t, d], dtype: dtype), randn([b, g, t, e], dtype: dtype))
    let weight = randn([b, h, s, e])
    for mask in [nil, rand([b, 1, s, t]) < 0.4] {
      for (causal, scale, window, cap) in [[false, nil, nil, nil], [true, 0.3, nil, 2.0], [true, -0.4, 4, nil]] {
        check(q, k, v, weight, fn(q, k, v) = attention(q, k, v, mask, causal, scale, true, window, cap))
      }
    }
  }
}
)";

/// Calls convolutions of lines, planes and spaces, and prints results and gradients. Fails if compiled runs give other
/// bits than eager ones.
const std::string kConvolutions = R"(
seed(58)
fn drawn(shape, dtype) = tensor(floor(rand(shape) * 7.0) - (if dtype == u8 { 0.0 } else { 3.0 }), dtype: dtype)
fn show(x) { print(flatten(f64(x)).tolist()) }
fn check(call, a, b) {
  let f = fn(a, b) = call(a, b)
  let is_float = a.dtype in [f16, bf16, f32, f64]
  let weight = if is_float { drawn(f(a, b).shape, f64) } else { nil }
  let slopes = if is_float { grad(fn(a, b) = sum(f64(call(a, b)) * weight), wrt: [0, 1]) } else { fn(a, b) = (a, b) }
  @compile
  fn compiled(a, b) = (f(a, b), slopes(a, b))
  let again = compiled(a, b)
  for (x, y) in zip([f(a, b)] + list(slopes(a, b)), [again[0]] + list(again[1])) {
    assert(all(x == y), "compiled bits differ")
    show(x)
  }
}
let calls = [  # x, weights, stride, padding, dilation, groups
  [[2, 3, 7, 9], [5, 3, 3, 3], 1, 1, 1, 1], [[1, 4, 8, 5], [6, 2, 2, 3], 2, 0, 1, 2], [[3, 6, 9, 9], [6, 1, 3, 1], 1, 2, 2, 6],
  [[1, 1, 1, 1], [1, 1, 1, 1], 1, 0, 1, 1], [[1, 17, 5, 3], [33, 17, 1, 1], 1, 0, 1, 1], [[2, 8, 13, 11], [16, 2, 5, 5], 3, 2, 1, 4],
  [[2, 3, 11], [4, 3, 4], 3, [[2, 0]], 2, 1], [[1, 4, 5], [4, 1, 2], 1, 0, 4, 4], [[2, 2, 4, 5, 6], [3, 2, 2, 3, 1], [1, 2, 3], [[0, 1], [1, 0], [2, 2]], 1, 1],
  [[1, 4, 3, 4, 3], [4, 2, 2, 2, 2], 2, 1, [1, 2, 1], 2], [[0, 2, 5], [3, 2, 2], 1, 0, 1, 1], [[2, 0, 5], [3, 0, 2], 1, 1, 1, 1],
  [[2, 2, 0], [3, 2, 2], 1, 1, 1, 1], [[2, 2, 4], [0, 2, 2], 1, 0, 1, 1], [[1, 2, 3], [1, 2, 2], 100, 0, 1, 1],
]
fn run(dtype) {
  for (shape, filters, stride, padding, dilation, groups) in calls {
    let (x, w) = (drawn(shape, dtype), drawn(filters, dtype))
    check(fn(x, w) = conv(x, w, stride, padding, dilation, groups), x, w)
    let y = drawn(conv(x, w, stride, padding, dilation, groups).shape, dtype)
    check(fn(y, w) = conv_transpose(y, w, shape[2:], stride, padding, dilation, groups), y, w)
  }
}
)";

/// Returns TSL_KERNELS that names a row for convolutions and for their gradients.
std::string forced(const std::string& conv, const std::string& gradients) {
  return "conv:" + conv + ",conv_input_grad:" + gradients + ",conv_weight_grad:" + gradients;
}

}  // namespace

TEST_CASE("every kernel of attention computes what its definition does", "[definitions]") {
  const auto limit =
      GENERATE(table<const char*, double>({{"f32", 2e-5}, {"f64", 1e-12}, {"f16", 5e-3}, {"bf16", 4e-2}}));
  const std::string program = kAttention + "run(" + std::get<0>(limit) + ")";
  const std::vector<double> expected = numbers_of(output_with("attention:definition", program));
  CHECK(distance(numbers_of(output_with("attention:blocks", program)), expected) < std::get<1>(limit));
  CHECK(distance(numbers_of(output_with("", program)), expected) < std::get<1>(limit));
}

TEST_CASE("every kernel of convolutions and their gradients computes what its definition does", "[definitions]") {
  const auto limit = GENERATE(table<const char*, double>(
      {{"f32", 0.0}, {"f64", 0.0}, {"f16", 2e-3}, {"bf16", 2e-2}, {"i32", 0.0}, {"i64", 0.0}, {"u8", 0.0}}));
  const std::string program = kConvolutions + "run(" + std::get<0>(limit) + ")";
  const auto numbers = [&](const std::string& conv, const std::string& gradients) {
    return numbers_of(output_with(forced(conv, gradients).c_str(), program));
  };
  const std::vector<double> expected = numbers_of(output_with("", program));
  for (const char* row : {"windows", "integers"}) CHECK(distance(numbers(row, row), expected) <= std::get<1>(limit));
  CHECK(distance(numbers("definition", "definition"), expected) <= std::get<1>(limit));
  CHECK(distance(numbers("windows", "definition"), expected) <= std::get<1>(limit));
}

TEST_CASE("the kernel of integers runs no convolution of floats, also if it is named", "[definitions]") {
  const std::string halves = "let x = ones([1, 1, 3, 3]) * 0.5\nprint(conv(x, x[:, :, :2, :2]))\n";
  CHECK(output_with("conv:integers", halves) == output_with("", halves));
  const std::string ints = "let x = ones([1, 1, 3, 3], dtype: i32)\nprint(conv(x, x[:, :, :2, :2])[0, 0, 0])\n";
  CHECK(output_with("conv:windows", ints) == "i32[2]\n[4 4]\n");
}

TEST_CASE("what no kernel of attention computes is computed by its definition", "[definitions]") {
  const auto output = [](const char* kernels, const std::string& text) { return output_with(kernels, text); };
  const std::string wide = "let x = ones([1, 2, 300])\nprint(attention(x, x, x)[0, 0, 0])\n";
  CHECK(output("attention:blocks", wide) == output("attention:definition", wide));
  const std::string added = "let x = ones([1, 2, 3])\nprint(attention(x, x, x, zeros([2, 2]))[0, 0, 0])\n";
  CHECK(output("attention:blocks", added) == output("", added));
}
