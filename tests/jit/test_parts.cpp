// concat, stack, pad and index writes as parts of what reads them: compiled equals eager.
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

constexpr int kThreadsOfParts = 2;

/// Compiles a function of u and v, both of one shape, and compares what it gives on every tier.
void agrees(const std::string& shape, const std::string& dtype, const std::string& body) {
  const std::string program = fmt::format(
      "fn digest(x) {{\n  let y = f64(reshape(x, [-1]))\n  return [sum(y).item(), sum(y * (arange(len(y)) % "
      "97)).item(), y[0].item(), y[-1].item()]\n}}\n@compile\nfn f(u, v) {{\n{}\n}}\n"
      "let u = {}(randn({}) * 8)\nlet v = {}(randn({}) * 8)\nprint(digest(f(u, v)))\n",
      body, dtype, shape, dtype, shape);
  INFO(program);
  const std::string expected = outcome(program, Tier::eager, kThreadsOfParts);
  CHECK(expected.find("error[") == std::string::npos);
  CHECK(disagreement(program, kThreadsOfParts) == "");
}

const char* const kBodies[] = {
    "  return sum(stack([u + v, u - v]), axis: 0)",
    "  return sum(stack([u, v, u * v], axis: -1), axis: -1)",
    "  return softmax(concat([u * 2, v], axis: -1), axis: -1)",
    "  return concat([u + v, u * v, v], axis: 0)",
    "  return concat([u, v], axis: -1) * concat([v, u], axis: -1)",
    "  return sum(concat([u, v * 2, u], axis: 0), axis: 0)",
    "  return argmax(concat([u, v], axis: 0), axis: 0)",
    "  let p = pad(u, 1, value: 3)\n  return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]",
    "  let p = pad(maximum(u, v), [2, 1])\n  return p[:, 1:] - p[:, :-1]",
    "  var y = u\n  y[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25\n  return y",
    "  var y = u\n  for i in 0..3 {\n    let w = y\n    y[1:-1, 1:-1] = (w[:-2, 1:-1] + w[2:, 1:-1]) - w[1:-1, 2:]\n"
    "  }\n  return y",
    "  var y = zeros_like(u)\n  y[0] = u[1]\n  y[:, 2] = v[:, 0]\n  y[1:, 1:] = u[:-1, :-1] + 1\n  return y * v",
    "  var y = u * v\n  y[0] = 1\n  y[-1, :] = v[0]\n  return y + sum(y, axis: 0)",
    "  return flip(concat([u, v], axis: 0), 0) - sum(flip(concat([v, u], axis: 1), 1)[:, 1:], axis: 1)[0]",
    "  return sum(windows(pad(u, 1), 0, 3), axis: -1)",
    "  return max(windows(windows(pad(u, 1, value: -1), 0, 3, 2), 1, 3, 2), axis: [2, 3])",
    "  return roll(u, 1, axis: 0) + roll(v, -1, axis: 1)",
    "  return sum(pad(u, [0, 0, 1, 2])) + sum(pad(v, [1, 0])[:, 1:], axis: 0)",
    "  return transpose(concat([u, v], axis: 1)) * 2",
    "  return reshape(concat([u, v], axis: 0), [-1]) + 1",
    "  return concat([u, v], axis: 0) / (sum(concat([u, v], axis: 0), axis: -1, keepdims: true) + 1000)",
    "  return logsumexp(pad(u, [1, 1], value: 2), axis: 1)",
};

}  // namespace

TEST_CASE("parts agree on all tiers", "[parts]") {
  for (const char* body : kBodies) agrees("[5, 7]", "f32", body);
}

TEST_CASE("parts of more than a tile agree on all tiers", "[parts]") {
  for (const char* body : kBodies) agrees("[37, 301]", "f32", body);
}

TEST_CASE("parts of narrow rows, and of short and long dtypes, agree on all tiers", "[parts]") {
  for (const char* body : kBodies) {
    agrees("[1500, 3]", "f16", body);
    agrees("[130, 130]", "f64", body);
    agrees("[6, 2050]", "bf16", body);
  }
}
