// Tests of the types that are found of a text without running it.
#include "analysis/workspace.h"
#include "catch.h"
#include "engine/library.h"
#include "inference/types.h"

using namespace tsl;

namespace {

/// Returns the types of a text's variables: "a: f32[3]; b: int".
std::string types_in(const std::string& text) {
  static inference::Types types(standard_library());
  analysis::Workspace names(standard_library());
  std::string all;
  for (const inference::TypedName& each : types.find(names, text, "")) {
    if (!all.empty()) all += "; ";
    all += text.substr(each.name.begin, each.name.end - each.name.begin) + ": " + each.type;
  }
  return all;
}

}  // namespace

TEST_CASE("types of literals, constructors and ops are found") {
  CHECK(types_in("let a = zeros([3, 4])\nlet b = a @ ones([4, 2], dtype: f64)") == "a: f32[3, 4]; b: f64[3, 2]");
  CHECK(types_in("let n = 2\nlet a = randn([n * 3, n])\nlet b = a.shape[0]") == "n: int; a: f32[6, 2]; b: int");
  CHECK(types_in("let a = tensor([[1, 2], [3, 4]])\nlet b = 2bf16") == "a: i64[2, 2]; b: bf16[]");
  CHECK(types_in("use f64\nlet a = zeros([3])") == "a: f64[3]");
  CHECK(types_in("let a = arange(10)[2:8:2]\nlet b = a[nil, ...]\nlet c = f32(b)") ==
        "a: i64[3]; b: i64[1, 3]; c: f32[1, 3]");
}

TEST_CASE("types of functions of the library are found") {
  CHECK(types_in("let a = softmax(zeros([3, 4]), axis: 0)\nlet (u, s, v) = svd(a)") ==
        "a: f32[3, 4]; u: f32[3, 3]; s: f32[3]; v: f32[3, 4]");
  CHECK(types_in("import nn\nlet a = nn.linear_init(4, 5)") == "a: {w: f32[4, 5], b: f32[5]}");
  CHECK(types_in("let a = grad(fn(x) = sum(x * x))(ones([2]))") == "a: f32[2]");
  CHECK(types_in("let z = fft(ones([8]))") == "z: c64[8]");
}

TEST_CASE("sizes have the names of annotations") {
  CHECK(types_in("fn f(x: f32[n, 3], y: i64[2 * n]) {\n  let a = x.T\n  let b = x.reshape([-1])\n  let c = n\n}") ==
        "a: f32[3, n]; b: f32[3 * n]; c: int");
  CHECK(types_in("fn f(x: f32[n], y: f32[m]) { let a = x + y; let b = x[x > 0] }") == "b: f32[_]");
  CHECK(types_in("fn f(x: f32[..., 3], y: [2], z: f32[2] | nil) { let a = x + 1; let b = y + 1; let c = z }").empty());
  CHECK(types_in("fn f(p: {w: f32[3, 4], b: any}) { let a = p.w @ zeros([4]) }") == "a: f32[3]");
}

TEST_CASE("calls of a text's functions have types, and say nothing of other calls") {
  CHECK(
      types_in("fn f(x, k = 2) {\n  let y = x * k\n  return y\n}\nlet a = f(ones([3]))\nlet b = f(ones([4]), k: 3)") ==
      "a: f32[3]; b: f32[4]");
  CHECK(types_in("fn f(x: f32[n]) = zeros([n, n])\nlet a = f(ones([3]))") == "a: f32[3, 3]");
  CHECK(types_in("fn f(n) { if n == 0 { return ones([2]) }\n return f(n - 1) }\nlet a = f(3)") == "a: f32[2]");
  CHECK(types_in("fn f(n) = f(n + 1)\nlet a = f(3)").empty());
  CHECK(types_in("var w = ones([3])\nfn f() { let a = w }\nw = ones([4])").empty());
  CHECK(types_in("let w = ones([3])\nfn f() { let a = w }") == "w: f32[3]; a: f32[3]");
}

TEST_CASE("branches are joined") {
  const std::string condition = "let c = sum(ones([2])).item() > 0\n";
  CHECK(types_in(condition + "let a = if c { ones([3]) } else { zeros([3]) }") == "c: bool; a: f32[3]");
  CHECK(types_in(condition + "let a = if c { ones([3]) } else { zeros([4]) }") == "c: bool");
  CHECK(types_in(condition + "var x = ones([3])\nif c { x = ones([4]) }\nlet a = x") == "c: bool");
  CHECK(types_in("let a = if true { ones([3]) } else { zeros([4]) }") == "a: f32[3]");
  CHECK(types_in("var x = ones([3])\ntry { x = ones([4]) } catch e { }\nlet a = x").empty());
  CHECK(types_in("fn f(c) {\n  if c { return ones([3]) }\n  return ones([3])\n}\nlet a = f(input() == \"\")") ==
        "a: f32[3]");
  CHECK(types_in("fn f(c) {\n  if c { return ones([3]) }\n}\nlet a = f(input() == \"\")").empty());
}

TEST_CASE("loops are joined with what is before them") {
  CHECK(types_in("var x = ones([3])\nfor i in 0..100 { x = x * i }\nlet a = x") == "x: f32[3]; i: int; a: f32[3]");
  CHECK(types_in("var x = ones([3])\nfor i in 0..100 { let y = x; x = concat([x, x]) }\nlet a = x") == "i: int");
  CHECK(types_in("var x = ones([3])\nfor i in 0..2 { x = concat([x, x]) }\nlet a = x") == "i: int; a: f32[12]");
  CHECK(
      types_in("var x = ones([3])\nwhile sum(x).item() < 9 { if x[0].item() > 1 { x = ones([4]); break } }\nlet a = x")
          .empty());
  CHECK(types_in("var x = ones([3])\nfor i in 0..4 { x = ones([4]); if i == 2 { break }; x = ones([3]) }\nlet a = x") ==
        "i: int");
  CHECK(types_in("var x = ones([3])\nfor i in 0..4 { x = ones([4]); if f(i) { continue }; x = ones([3]) }\nlet a = x\n"
                 "fn f(i) = input() == \"\"") == "i: int");
  CHECK(types_in("for row in ones([5, 2]) { let a = row + 1 }") == "row: f32[2]; a: f32[2]");
}

TEST_CASE("records, lists and their parts have types") {
  CHECK(types_in("let p = {w: ones([2]), b: 1}\nlet {w, b} = p\nlet q = {...p, b: ones([])}") ==
        "p: {w: f32[2], b: int}; w: f32[2]; b: int; q: {w: f32[2], b: f32[]}");
  CHECK(types_in("let l = [ones([2]), ones([2])]\nlet a = l[1]\nlet (b, c) = (l[0], 2)") ==
        "l: list[f32[2]]; a: f32[2]; b: f32[2]; c: int");
  CHECK(types_in("var p = {w: ones([2])}\np.w = ones([3])\nlet a = p.w\nvar x = ones([2])\nx[0] = 3\nlet b = x") ==
        "a: f32[3]; x: f32[2]; b: f32[2]");
}

TEST_CASE("what fails, reads, waits or never ends has no type") {
  for (const char* text :
       {"let a = ones([2]) @ ones([3])", "let a = load(\"x.npy\")", "let a = input()", "let a = env(\"HOME\")",
        "let a = now()", "let a = list(0..1000000000)", "let a = reduce(fn(a, b) = a + b, 0..1000000000)",
        "let a = unknown_function(3)", "let a = sleep(100)", "let a = bench(fn() = 1)"}) {
    CAPTURE(text);
    CHECK(types_in(text).empty());
  }
  CHECK(types_in("var t = (1, 1)\nfor i in 0..16 { t = (t, t) }\nvar s = (1, 1)\nwhile true { s = (s, s) }") ==
        "i: int");
  std::string doubling = "fn f0(x) = x\n";
  for (int i = 1; i < 40; ++i) doubling += fmt::format("fn f{}(x) = f{}(x) + f{}(x)\n", i, i - 1, i - 1);
  CHECK(types_in(doubling + "let a = f39(1)").empty());
}
