// Constants of several dtypes beside one another: ops that differ in nothing but the dtype of their constants have
// results of their own.
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "support/op_matrix.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

/// Ops of constants: D stands for a dtype; m is a mask of bool [6], i an index.
constexpr const char* kOps[] = {
    "full([6], 3, dtype: D)",
    "zeros([2, 3], dtype: D)",
    "ones([6], dtype: D)",
    "ones_like(full([3], 1, dtype: D))",
    "arange(6, dtype: D)",
    "arange(1, 9, 2, dtype: D)",
    "linspace(0, 5, 6, dtype: D)",
    "eye(3, dtype: D)",
    "tri(3, dtype: D)",
    "tril(ones([3, 3], dtype: D))",
    "triu(full([3, 3], 2, dtype: D))",
    "diag(ones([3], dtype: D))",
    "where(m, D(1), D(2))",
    "where(m, D(1), zeros([6], dtype: D))",
    "where(m, ones([6], dtype: D), 0)",
    "where(arange(6) < 3, D(1), D(0))",
    "D(m)",
    "D(full([6], 2))",
    "D(arange(6))",
    "rand([6], dtype: D, key: 1)",
    "randn([6], dtype: D, key: 1)",
    "randint(5, [6], dtype: D, key: 2)",
    "D(bernoulli(0.5, [6], key: 3))",
    "D(one_hot(i, 3))",
    "pad(ones([3], dtype: D), [(1, 2)])",
    "concat([ones([2], dtype: D), zeros([3], dtype: D)])",
    "stack([ones([2], dtype: D), zeros([2], dtype: D)])",
    "clamp(arange(6, dtype: D), 1, 3)",
    "maximum(full([6], 2, dtype: D), 1)",
    "ones([6], dtype: D) + 1",
    "full([6], 3, dtype: D) * arange(6, dtype: D)",
    "sum(ones([6], dtype: D))",
    "max(arange(6, dtype: D))",
    "cumsum(ones([6], dtype: D))",
    "sort(arange(6, dtype: D), descending: true)",
    "roll(arange(6, dtype: D), 1)",
    "tile(arange(3, dtype: D), [2])",
    "arange(6, dtype: D)[i]",
    "expand(D(3), [2, 3])",
    "ones([2, 3], dtype: D) @ ones([3, 2], dtype: D)",
    "windows(arange(6, dtype: D), 0, 3)",
    "replaced(zeros([6], dtype: D), i)",
    "replaced(ones([6], dtype: D), 1)",
    "abs(full([6], 2, dtype: D))",
};

std::string of_dtype(std::string text, const std::string& dtype) {
  for (size_t at = text.find('D'); at != std::string::npos; at = text.find('D', at)) text.replace(at, 1, dtype);
  return text;
}

/// Makes a program that computes the op of each two dtypes in one function, and prints the results or the error.
std::string program_of_pairs(const std::string& op) {
  std::string text =
      "let m = arange(6) % 2 == 0\nlet i = tensor([1, 0, 2])\n"
      "fn replaced(x, i) { var y = x\n  y[i] = 3\n  return y }\n";
  int number = 0;
  for (size_t a = 0; a < std::size(kMatrixDTypes); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const bool swaps = (a + b) % 2 == 1;  // so that each dtype comes first and second
      text += fmt::format(
          "@compile fn f{0}(m, i) = [{1}, {2}]\n"
          "try {{ print(f{0}(m, i)) }} catch e {{ print(e.name, e.message) }}\n",
          number++, of_dtype(op, kMatrixDTypes[swaps ? b : a]), of_dtype(op, kMatrixDTypes[swaps ? a : b]));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("an op of constants has a result for each dtype", "[constants]") {
  for (const char* op : kOps) {
    const std::string program = program_of_pairs(op);
    INFO(op << "\n" << program.substr(0, 200));
    CHECK(disagreement(program) == "");
    CHECK(outcome(program, Tier::eager).find("error[") == std::string::npos);  // it ran to its end
  }
}

TEST_CASE("two triangles of ones have dtypes of their own", "[constants]") {
  const std::string program = "@compile fn f(x) = (tril(ones([2, 2])), tril(ones([2, 2], dtype: f64)))\nprint(f(1))\n";
  CHECK(outcome(program, Tier::annotated) == "(f32[2, 2] [[1. 0.] [1. 1.]], f64[2, 2] [[1. 0.] [1. 1.]])\n");
}

TEST_CASE("choices between numbers have dtypes of their own", "[constants]") {
  const std::string program =
      "let m = arange(100000) % 3 == 0\n"
      "@compile fn f(m) = [where(m, i8(1), i8(2)), where(m, i64(1), i64(2)), where(m, bf16(1.0), bf16(2.0))]\n"
      "print(bits_of(f(m)))\nprint((f(m)[1][-3:],))\n";
  CHECK(disagreement(program) == "");
  CHECK(outcome(program, Tier::annotated).find("i64[3] [2 2 1]") != std::string::npos);
}

TEST_CASE("a loss of mixed precision is finite", "[constants]") {
  const std::string program =
      "@compile fn loss(q, k) {\n"
      "  let mask = tril(ones([4, 4], dtype: bool))\n"
      "  let half = q @ k.T + where(mask, f16(0.0), f16(-1e4))\n"
      "  let whole = f32(q) @ f32(k.T) + where(mask, f32(0.0), f32(-1e4))\n"
      "  return mean(logsumexp(whole - f32(half), axis: -1) + log(sum(where(mask, f32(1.0), f32(0.0)), axis: -1)))\n}\n"
      "let q = f16(reshape(arange(16), [4, 4]) * 0.125)\n"
      "print(loss(q, q))\nprint(isfinite(loss(q, q)))\n";
  CHECK(disagreement(program) == "");
  CHECK(outcome(program, Tier::annotated).find("true") != std::string::npos);
}
