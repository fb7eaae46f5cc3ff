// Groups at their limits, and outputs in the memory of inputs: compiled equals eager, with several threads.
#include <string>

#include <fmt/format.h>

#include "catch.h"
#include "support/tiers.h"

using namespace tsl;

namespace {

constexpr int kThreads = 2;

void agrees(const std::string& program) {
  INFO(program.substr(0, 4000));
  const std::string expected = outcome(program, Tier::eager, kThreads);
  CHECK(expected.find("error[") == std::string::npos);
  CHECK(disagreement(program, kThreads) == "");
}

/// Prints numbers that different tensors are unlikely to share: sums of all elements and of some, in f64.
const char* const kDigest =
    "\nfn digest(x) {\n  let y = f64(reshape(x, [-1]))\n"
    "  return [sum(y).item(), sum(y * (arange(len(y)) % 97)).item(), y[0].item(), y[-1].item(), y[len(y) // "
    "2].item()]\n}\n";

}  // namespace

TEST_CASE("chains longer than a group", "[large]") {
  std::string body = "  var y = x\n";
  for (int i = 0; i < 700; ++i)
    body += fmt::format("  y = {}\n", i % 3 == 0   ? "sin(y) + x"
                                      : i % 3 == 1 ? "y * 0.75 - 0.1"
                                                   : "maximum(y, x * 0.5)");
  for (const char* shape : {"[7, 301]", "[3]", "[]", "[2, 3, 1000]"}) {
    agrees(fmt::format("{}@compile\nfn f(x) {{\n{}  return y\n}}\nprint(digest(reshape(f(randn({})), [-1])))\n",
                       kDigest, body, shape));
  }
}

TEST_CASE("many outputs of one group", "[large]") {
  std::string body, names;
  for (int i = 0; i < 300; ++i) {
    body += fmt::format("  let y{} = x * {} + {}\n", i, 0.5 + i, i == 0 ? "x" : fmt::format("y{}", i - 1));
    names += fmt::format("{}y{}", i ? ", " : "", i);
  }
  agrees(fmt::format("{}@compile\nfn f(x) {{\n{}  return [{}]\n}}\nfor y in f(randn([5, 33])) {{ print(digest(y)) }}\n",
                     kDigest, body, names));
}

TEST_CASE("rows that do not stay in cache", "[large]") {
  for (const char* shape : {"[3, 65537]", "[2, 65536]", "[1, 200000]", "[200000]", "[4097, 3]"}) {
    agrees(
        fmt::format("{}@compile\nfn f(x) {{\n  let s = softmax(x)\n  let n = layer_norm(x * 2)\n  return (s, n, s * n, "
                    "sum(n, axis: -1))\n}}\n"
                    "for y in f(randn({})) {{ print(digest(y)) }}\n",
                    kDigest, shape));
  }
}

TEST_CASE("reductions longer than a block", "[large]") {
  for (const char* shape : {"[3, 4097]", "[4097, 3]", "[8200, 17]", "[2, 5000, 3]", "[5, 8191]", "[1000, 1000]"}) {
    for (const char* dtype : {"f32", "f16", "f64"}) {
      agrees(
          fmt::format("{}@compile\nfn f(x) {{\n  let y = tanh(x) * 2 + x\n"
                      "  return [sum(y), sum(y, axis: 0), sum(y, axis: -1), max(y, axis: 0), min(y * y, axis: -1), "
                      "prod(1 + y * 0.001, axis: 0), mean(y)]\n}}\n"
                      "for y in f(randn({}, dtype: {})) {{ print(digest(y)) }}\n",
                      kDigest, shape, dtype));
    }
  }
}

TEST_CASE("a reduction whose partial results need reducing more than once", "[large]") {
  agrees(
      fmt::format("{}@compile\nfn f(x) {{\n  let y = x * 0.5 + 1\n  return [sum(y), max(y), sum(x * x)]\n}}\n"
                  "for y in f(f32(arange(16 * 1024 * 1024 + 12345) % 1013) * 0.01) {{ print(digest(y)) }}\n",
                  kDigest));
  agrees(
      fmt::format("{}@compile\nfn f(x) = sum(x * 0.5 + 1, axis: 0)\nprint(digest(f(reshape(f32(arange(2 * 9000000) % "
                  "1013) * 0.01, [9000000, 2]))))\n",
                  kDigest));
}

TEST_CASE("an input gives its memory to an output only if nobody else needs it", "[large][donation]") {
  agrees(R"(
@compile
fn step(x) = x * 2 + 1
@compile
fn both(x, y) = (x + y, x * y, x)
@compile
fn shifted(x) = x[::-1] + x
@compile
fn rows(x) = (x - max(x, axis: -1, keepdims: true), x + 1)
@compile
fn kept(x) { let y = x + 1; return (x, y) }
@compile
fn part(x) { let y = x * 3; return (x[1:], y) }
@compile
fn updated(p, g) { var q = p; q.w = p.w - g; q.b = p.b - sum(g, axis: 0); return q }
@compile
fn written(x, v) { var y = x; y[0] = v; y[1] += v; return y }

var x = randn([4, 4])
let keep = x
for i in 0..4 { x = step(x) }
print(x.tolist(), keep.tolist())
for i in 0..3 {
  let (a, b, c) = both(x, x)
  print(a.tolist(), b.tolist(), c.tolist(), x.tolist())
  let (d, e, f) = both(x, keep)
  print(d.tolist(), e.tolist(), f.tolist(), x.tolist())
  x = shifted(x)
  print(x.tolist())
  let (r, s) = rows(x)
  print(r.tolist(), s.tolist(), x.tolist())
  let (k, l) = kept(x + 0)
  print(k.tolist(), l.tolist())
  let (m, n) = part(x + 0)
  print(m.tolist(), n.tolist())
  x = rows(x)[0]
}
var p = {w: randn([3, 2]), b: zeros([2])}
let before = p
for i in 0..4 { p = updated(p, ones([3, 2]) * i) }
print(p.w.tolist(), p.b.tolist(), before.w.tolist(), before.b.tolist())
var z = randn([3, 2])
let old = z
for i in 0..4 { z = written(z, z[2] * i) }
print(z.tolist(), old.tolist())
var l = [randn([3]), randn([3])]
l = [l[0], l[0]]
@compile
fn swapped(l) = [l[1] + 1, l[0] * 2]
for i in 0..4 { l = swapped(l) }
print(l[0].tolist(), l[1].tolist())
)");
}
