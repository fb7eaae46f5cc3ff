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

/// Prints "near" if convolutions and their gradients are those of sums over windows, and compiled runs give equal bits.
const std::string kConvolutions = R"(
seed(58)
fn by_windows(x, w, step, margin, spread, groups) {
  let (n, c, height, width) = x.shape
  let (out, inner, rows, columns) = w.shape
  let padded = pad(x, [[0, 0], [0, 0], [margin, margin], [margin, margin]])
  let seen = windows(windows(padded, 2, rows, step: step, dilation: spread), 3, columns, step: step, dilation: spread)
  let (high, wide) = (seen.shape[2], seen.shape[3])
  let of_groups = reshape(seen, [n, groups, 1, inner, high, wide, rows, columns])
  let weights = reshape(w, [1, groups, out // groups, inner, 1, 1, rows, columns])
  return reshape(sum(of_groups * weights, axis: [3, 6, 7]), [n, out, high, wide])
}
fn distance(a, b) = max(abs(f64(a) - f64(b))).item() / (1e-9 + max(abs(f64(b))).item())
let calls = [
  [2, 3, 5, 1, 3, 3, 1, 1, 1, 7, 9], [1, 4, 6, 2, 2, 3, 2, 0, 1, 8, 5], [3, 6, 6, 6, 3, 1, 1, 2, 2, 9, 9],
  [1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1], [1, 17, 33, 1, 1, 1, 1, 0, 1, 5, 3], [2, 8, 16, 4, 5, 5, 3, 2, 1, 13, 11],
]
fn check(dtype, limit) {
  var worst = 0.0
  for (n, c, out, groups, rows, columns, step, margin, spread, height, width) in calls {
    let x = tensor(floor(randn([n, c, height, width]) * 3.0), dtype: dtype)
    let w = tensor(floor(randn([out, c // groups, rows, columns]) * 3.0), dtype: dtype)
    let f = fn(x, w) = conv(x, w, step, margin, spread, groups)
    @compile
    fn compiled(x, w) = f(x, w)
    let y = f(x, w)
    assert(all(y == compiled(x, w)), "compiled bits differ")
    worst = max(worst, distance(y, by_windows(f64(x), f64(w), step, margin, spread, groups)))
    if not (dtype in [f32, f64, f16, bf16]) { continue }
    let weight = floor(randn(y.shape) * 3.0)
    let of_kernel = grad(fn(x, w) = sum(f64(f(x, w)) * f64(weight)), wrt: [0, 1])
    @compile
    fn compiled_slopes(x, w) = of_kernel(x, w)
    let slopes = of_kernel(x, w)
    for (a, b) in zip(slopes, compiled_slopes(x, w)) { assert(all(a == b), "compiled bits differ") }
    let expected = grad(fn(x, w) = sum(by_windows(x, w, step, margin, spread, groups) * f64(weight)), wrt: [0, 1])(f64(x), f64(w))
    for (a, b) in zip(slopes, expected) { worst = max(worst, distance(a, b)) }
  }
  print(if worst <= limit { "near" } else { worst })
}
)";

}  // namespace

TEST_CASE("every kernel of attention computes what its definition does", "[definitions]") {
  const auto limit =
      GENERATE(table<const char*, double>({{"f32", 2e-5}, {"f64", 1e-12}, {"f16", 5e-3}, {"bf16", 4e-2}}));
  const std::string program = kAttention + "run(" + std::get<0>(limit) + ")";
  const std::vector<double> expected = numbers_of(output_with("attention:definition", program));
  CHECK(distance(numbers_of(output_with("attention:blocks", program)), expected) < std::get<1>(limit));
  CHECK(distance(numbers_of(output_with("", program)), expected) < std::get<1>(limit));
}

TEST_CASE("every kernel of convolutions adds up windows", "[definitions]") {
  const auto limit = GENERATE(table<const char*, const char*>(
      {{"f32", "0.0"}, {"f64", "0.0"}, {"f16", "5e-3"}, {"bf16", "2e-2"}, {"i32", "0.0"}}));
  const std::string program = kConvolutions + "check(" + std::get<0>(limit) + ", f64(" + std::get<1>(limit) + "))";
  for (const char* row : {"conv:windows", "conv:integers"}) CHECK(output_with(row, program) == "near\n");
}

TEST_CASE("what no kernel of attention computes is computed by its definition", "[definitions]") {
  const auto output = [](const char* kernels, const std::string& text) { return output_with(kernels, text); };
  const std::string wide = "let x = ones([1, 2, 300])\nprint(attention(x, x, x)[0, 0, 0])\n";
  CHECK(output("attention:blocks", wide) == output("attention:definition", wide));
  const std::string added = "let x = ones([1, 2, 3])\nprint(attention(x, x, x, zeros([2, 2]))[0, 0, 0])\n";
  CHECK(output("attention:blocks", added) == output("", added));
}
