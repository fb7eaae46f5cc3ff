// Programs for several devices, on every tier. All but the last cases use pretended GPUs.
#include <string>

#include "base/error_names.h"
#include "catch.h"
#include "engine/backends.h"
#include "support/cuda_device.h"
#include "support/pretend_gpu.h"
#include "support/session.h"
#include "support/tiers.h"
#include "value/runtime.h"

using namespace tsl;

namespace {

constexpr Tier kTiers[] = {Tier::eager, Tier::annotated, Tier::everything};

/// Makes an engine with two GPUs; tensors are made on `device`.
EngineOptions with_gpus(std::string device) {
  EngineOptions options;
  options.device = std::move(device);
  options.threads = 1;
  options.open_backend = [](Device gpu, exec::Backend& host) -> std::unique_ptr<exec::Backend> {
    if (gpu.ordinal > 1) fail(ErrorName::no_device, "there is no GPU {}", gpu.ordinal);
    return std::make_unique<PretendGpu>(gpu, host, true);
  };
  return options;
}

/// Checks the output of a program on every tier.
void check(const std::string& device, const std::string& program, const std::string& expected) {
  for (Tier tier : kTiers) {
    CAPTURE(device, static_cast<int>(tier), program);
    CHECK(outcome(program, tier, with_gpus(device)) == expected);
  }
}

/// Checks the output for every default device.
void check(const std::string& program, const std::string& expected) {
  for (const char* device : {"cpu", "cuda", "cuda:1"}) check(device, program, expected);
}

/// Returns "cpu, cuda or cuda:N", with the names of other backends in this build.
std::string names_of_devices() {
  const auto rows = backends().rows();
  std::string names = "cpu";
  for (const auto& row : rows)
    names += fmt::format(", {0}{1}{0}:N", row.entry.name, &row == &rows.back() ? " or " : ", ");
  return names;
}

}  // namespace

TEST_CASE("tensors are made on the default device, or where the program says", "[devices]") {
  for (const char* device : {"cpu", "cuda:0", "cuda:1"}) {
    check(device, R"(
      seed(3)
      let made = [zeros([2]), ones([2]), full([2], 7), arange(3), rand([2]), randn([2]), randint(5, [2]), bernoulli(0.5, [2]),
                  tensor([1, 2]), f32([1, 2]), eye(2), linspace(0, 1, 3), randperm(4), 0.5bf16]
      print(filter(fn(x) = x.device != zeros([1]).device, made), zeros([1]).device)
      for place in ["cpu", "cuda:0", "cuda:1"] {
        let there = [zeros([2], device: place), ones([2], device: place), full([2], 7, device: place), arange(3, device: place),
                     rand([2], device: place), randn([2], device: place), randint(5, [2], device: place),
                     bernoulli(0.5, [2], device: place), tensor([1, 2], device: place), tensor(ones([2]), device: place),
                     full([2], tensor(1.0), device: place), eye(2, device: place), linspace(0, 1, 3, device: place),
                     randperm(4, device: place)]
        print(filter(fn(x) = x.device != place, there))
        print(filter(fn(x) = x.device != place, [zeros_like(there[0]), ones_like(there[0]), dtype_of(there[0])]))
      }
      fn dtype_of(x) = f64(x)
    )",
          "[] " + std::string(device) + "\n[]\n[]\n[]\n[]\n[]\n[]\n");
  }
}

TEST_CASE("'cuda' is the GPU that tensors are made on, else the first", "[devices]") {
  check("cpu", "print(ones([1]).to(\"cuda\").device)", "cuda:0\n");
  check("cuda", "print(ones([1]).to(\"cuda\").device)", "cuda:0\n");
  check("cuda:1", "print(ones([1]).to(\"cuda\").device, ones([1], device: \"cuda:0\").to(\"cuda\").device)",
        "cuda:1 cuda:1\n");
}

TEST_CASE("tensors move with their elements, whatever their layout", "[devices]") {
  check(R"(
    let x = reshape(arange(24), 2, 3, 4)
    for view in [x, x.T, x[:, 1], x[1, ::-1, 2:], x[:, :0], x[1, 2, 3], expand(x[0, 0], [3, 4])] {
      let wanted = view.tolist()
      for place in ["cuda:0", "cuda:1", "cpu", "cpu", "cuda:1", "cuda:0"] {
        let moved = view.to(place)
        assert(moved.device == place and moved.dtype == i64 and moved.shape == view.shape)
        assert(moved.tolist() == wanted and moved.T.tolist() == view.T.tolist())
        assert(moved.to("cpu").tolist() == wanted and moved.to("cuda:1").to("cuda:0").tolist() == wanted)
      }
    }
    print("done")
  )",
        "done\n");
}

TEST_CASE("moving to where a tensor is, and to a dtype, copies nothing", "[devices]") {
  check("cpu", R"(
    let x = ones([1000], device: "cuda:0")
    let before = counters()
    let y = x.to("cuda:0")
    let z = y.to(f32)
    print(counters().kernels - before.kernels, z.device, x.to(f64).device, x.to(f64).dtype)
  )",
        "0 cuda:0 cuda:0 f64\n");
}

TEST_CASE("an op's tensors must be on one device", "[devices]") {
  check("cpu", R"(
    let (x, y) = (ones([2, 2]), ones([2, 2], device: "cuda:0"))
    for f in [fn() = x + y, fn() = y @ x, fn() = where(x > 0, y, y), fn() = concat([x, y]), fn() = take(x, i64(y[0]), axis: 0),
              fn() = x[y > 0], fn() = y.to("cuda:1") * y, fn() = maximum(x, y)] {
      try { f() } catch e { print(e.kind, e.message) }
    }
    var z = x
    try { z[0] = y[0] } catch e { print(e.kind, e.message) }
    print(z.tolist())
  )",
        R"(device add: f32[2, 2] is on cpu, but f32[2, 2] is on cuda:0
device matmul: f32[2, 2] is on cuda:0, but f32[2, 2] is on cpu
device where: bool[2, 2] is on cpu, but f32[2, 2] is on cuda:0
device concat: f32[2, 2] is on cpu, but f32[2, 2] is on cuda:0
device take: f32[2, 2] is on cpu, but i64[2] is on cuda:0
device take: f32[4] is on cpu, but i64[4] is on cuda:0
device mul: f32[2, 2] is on cuda:1, but f32[2, 2] is on cuda:0
device maximum: f32[2, 2] is on cpu, but f32[2, 2] is on cuda:0
device assign_view: f32[2, 2] is on cpu, but f32[2] is on cuda:0
[[1.0, 1.0], [1.0, 1.0]]
)");
  const EngineOptions options = with_gpus("cpu");
  Session session(options);
  const Error error = session.error("ones([2]) + ones([2], device: \"cuda:1\")");
  REQUIRE(error.hints.size() == 1);
  CHECK(error.hints[0] == "an op's tensors must be on one device: x.to(\"cuda:1\") moves x");
}

TEST_CASE("numbers and lists go where the tensors beside them are", "[devices]") {
  check(R"(
    for place in ["cpu", "cuda:0", "cuda:1"] {
      var x = reshape(arange(6, device: place), 2, 3) * 2 + 1
      x[0, 1] = 100
      x[1] = [7, 8, 9]
      x[:, [0, 2]] += 1
      x[x > 50] = 0
      let y = where(x > 4, x, [1, 2, 3]) + x[[1, 0]] - tril(x) + pad(x, [1, 0])[:, :3]
      print(y.tolist(), y.device == place, one_hot(x[0], 9).device == place, take(x, [1], axis: 0).tolist())
    }
  )",
        R"([[7, 12, 16], [2, 8, 24]] true true [[8, 8, 10]]
[[7, 12, 16], [2, 8, 24]] true true [[8, 8, 10]]
[[7, 12, 16], [2, 8, 24]] true true [[8, 8, 10]]
)");
}

TEST_CASE("a 0-d tensor in host memory goes to the others", "[devices]") {
  check("cpu", R"(
    let (a, x) = (tensor(3.0), ones([2], device: "cuda:1"))
    @compile
    fn f(a, x) = where(x > 0, a * x, sqrt(a)) + a
    print((a * x).tolist(), (x - a).device, f(a, x).tolist(), f(a, x).device)
    print(grad(fn(a, x) = sum(f(a, x)))(a, x).tolist(), grad(fn(a, x) = sum(f(a, x)))(a, x).device)
    try { a.to("cuda:0") * x } catch e { print(e.message) }
  )",
        R"([3.0, 3.0] cuda:1 [6.0, 6.0] cuda:1
4.0 cpu
mul: f32[] is on cuda:0, but f32[2] is on cuda:1
)");
}

TEST_CASE("gradients flow across devices, and are where the inputs are", "[devices]") {
  check(R"(
    @compile
    fn loss(p, x) {
      let h = tanh(x @ p.a)
      return sum(square(h.to("cuda:1") @ p.b)).to("cpu") * 2.0
    }
    let p = {a: f32([[1, 2], [3, 4]]).to("cuda:0") / 10.0, b: f32([[1], [2]]).to("cuda:1"), c: ones([2], device: "cpu")}
    let x = f32([[1, 0], [0, 1]]).to("cuda:0")
    for i in 0..3 {
      let (l, g) = value_and_grad(loss)(p, x)
      print(f"{l.item():.4f}", l.device, g.a.device, g.b.device, g.c.device, g.c.tolist(), f"{sum(g.a).item():.4f}")
    }
    let (y, pullback) = vjp(fn(x) = x.to("cuda:1") * 2.0, x)
    print(pullback(ones([2, 2], device: "cuda:1")).device)
    print(pullback(1.0).tolist())
    try { pullback(ones([2, 2], device: "cpu")) } catch e { print(e.kind, e.message) }
    print(grad(grad(fn(x) = (x.to("cuda:0") ** 3).to("cuda:1")))(tensor(2.0)).item())
  )",
        R"(2.6990 cpu cuda:0 cuda:1 cpu [0.0, 0.0] 16.8029
2.6990 cpu cuda:0 cuda:1 cpu [0.0, 0.0] 16.8029
2.6990 cpu cuda:0 cuda:1 cpu [0.0, 0.0] 16.8029
cuda:0
[[2.0, 2.0], [2.0, 2.0]]
device a pullback needs a gradient on cuda:1, like the function's value, not on cpu
12.0
)");
}

TEST_CASE("a compiled function keeps devices apart", "[devices]") {
  const std::string program = R"(
    @compile
    fn f(x, n) = exp(x * n) + zeros_like(x)
    var total = 0.0
    for i in 0..4 {
      for place in ["cpu", "cuda:0", "cuda:1"] {
        let y = f(arange(3, device: place), i)
        assert(y.device == place)
        total += y[1].item()
      }
    }
    print(f"{total:.3f}")
  )";
  check("cpu", program, "93.579\n");
  check("cuda", program, "93.579\n");

  EngineOptions options = with_gpus("cpu");
  options.log_topics = "recompiles";
  Session session(options);
  std::string logged;
  session.engine.log = [&](std::string_view text) { logged += text; };
  session.engine.run("test.tsl", program);
  CHECK(session.engine.runtime().trace_counts().traces == 3);
  CHECK(logged.find("f (test.tsl:3): x (test.tsl:3) was on cuda:0, is on cuda:1") != std::string::npos);
}

TEST_CASE("tensors move within compiled functions", "[devices]") {
  check(R"(
    @compile
    fn f(x, n) {
      let a = x * n
      let b = a.to("cuda:0") + ones([3], device: "cuda:0")     # what is computed moves
      let c = x.to("cuda:1") - 1.0                             # an input moves
      let d = tensor([1.0, 2.0, 3.0], device: "cuda:1") * c    # a constant there
      let e = tensor([5, 6, 7], device: "cpu").to("cuda:1")    # a constant moves
      let views = b[1:].to("cpu").sum() + reshape(a, 3, 1).T.to("cpu").sum()
      return {sum: b.to("cuda:1") + c * d + e, back: views.to("cuda:0"), same: a.to(a.device)}
    }
    for n in 0..4 {
      let x = arange(3, dtype: f32) + n
      let r = f(x, n)
      print(r.sum.tolist(), r.sum.device, r.back.item(), r.back.device, r.same.device == x.device)
    }
  )",
        R"([7.0, 7.0, 11.0] cuda:1 2.0 cuda:0 true
[7.0, 11.0, 23.0] cuda:1 13.0 cuda:0 true
[11.0, 21.0, 43.0] cuda:1 34.0 cuda:0 true
[19.0, 37.0, 71.0] cuda:1 65.0 cuda:0 true
)");
}

TEST_CASE("parts of tensors move within compiled functions", "[devices]") {
  check(R"(
    @compile
    fn f(x) = (x[1:].to("cuda:0") + 1.0, x.to("cuda:1").T)
    let all = reshape(arange(18, dtype: f32), 3, 3, 2)
    for i in [0, 1, 2, 1] {
      let (a, b) = f(all[i])
      print(a.tolist(), b.tolist(), f(all[:, i])[0].tolist())
    }
  )",
        R"([[3.0, 4.0], [5.0, 6.0]] [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]] [[7.0, 8.0], [13.0, 14.0]]
[[9.0, 10.0], [11.0, 12.0]] [[6.0, 8.0, 10.0], [7.0, 9.0, 11.0]] [[9.0, 10.0], [15.0, 16.0]]
[[15.0, 16.0], [17.0, 18.0]] [[12.0, 14.0, 16.0], [13.0, 15.0, 17.0]] [[11.0, 12.0], [17.0, 18.0]]
[[9.0, 10.0], [11.0, 12.0]] [[6.0, 8.0, 10.0], [7.0, 9.0, 11.0]] [[9.0, 10.0], [15.0, 16.0]]
)");
}

TEST_CASE("sizes, reads, branches and prints beside moves", "[devices]") {
  check(R"(
    @compile
    fn f(x, limit) {
      let y = (x * 2.0).to("cuda:1")
      print("sum", sum(y).to("cpu"))
      if sum(y) > limit {
        let z = y.to("cuda:0") + 1.0
        print("large", z[0])
        return z
      }
      var steps = 0
      var w = y.to("cpu")
      while sum(w) < limit {
        w = (w.to("cuda:0") * 2.0).to("cpu")
        steps += 1
      }
      return w.to("cuda:1") + steps
    }
    for n in [2, 3, 5, 2, 7, 3] {
      let y = f(ones([n]), 9.0)
      print(y.tolist(), y.device)
    }
  )",
        R"(sum f32[] 4.0
[10.0, 10.0] cuda:1
sum f32[] 6.0
[5.0, 5.0, 5.0] cuda:1
sum f32[] 10.0
large f32[] 3.0
[3.0, 3.0, 3.0, 3.0, 3.0] cuda:0
sum f32[] 4.0
[10.0, 10.0] cuda:1
sum f32[] 14.0
large f32[] 3.0
[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0] cuda:0
sum f32[] 6.0
[5.0, 5.0, 5.0] cuda:1
)");
}

TEST_CASE("moves beside errors, assigned captures and trees of tensors", "[devices]") {
  check(R"(
    var calls = zeros([2])
    @compile
    fn f(x, i) {
      calls += 1.0
      let there = x.to("cuda:1")
      return calls.to("cuda:1") + take(there, i.to("cuda:1"), axis: 0)
    }
    for i in [0, 1, 5, 1] {
      try { print(f(tensor([10.0, 20.0]), tensor([i, 0])).tolist()) } catch e { print(e.kind, e.message) }
    }
    print(calls.tolist())

    fn move(p, place) = tree_map(fn(x) = x.to(place), p)
    @compile
    fn step(p) {
      let q = move(p, "cuda:0")
      return move(tree_map(fn(x) = x * 0.5, q), "cpu")
    }
    var p = {layers: map(fn(i) = {w: full([2, i + 1], i), b: zeros([i + 1])}, 0..70), n: (tensor(4.0),)}
    p = tree_map(fn(x) = f32(x).to("cpu"), p)
    for i in 0..3 { p = step(p) }
    print(p.layers[69].w[0, :2].tolist(), p.n[0].tolist(), p.n[0].device)
  )",
        R"([11.0, 11.0]
[22.0, 12.0]
index index 5 is out of range for axis 0 with extent 2
[24.0, 14.0]
[4.0, 4.0]
[8.625, 8.625] 0.5 cpu
)");
}

TEST_CASE("loop bodies move tensors between devices", "[devices]") {
  check(R"(
    var x = ones([4]).to("cuda:0")
    var y = zeros([4], device: "cuda:1")
    for i in 0..6 {
      y = y + x.to("cuda:1") * i
      x = (x * 2.0 + y.to("cuda:0")) * 0.5
    }
    print(x.device, y.device, x.tolist()[0], y.tolist()[0])
  )",
        "cuda:0 cuda:1 167.0 255.0\n");
}

TEST_CASE("random numbers are the same on every device", "[devices]") {
  const char* program = R"(
    import nn
    seed(5)
    @compile
    fn draw(place) = [rand([5], device: place).to("cpu"), randn([4], device: place).to("cpu"), randint(100, [3], device: place).to("cpu"),
                      randperm(6, device: place).to("cpu"), nn.dropout(ones([4], device: place), 0.5).to("cpu")]
    for place in ["cpu", "cuda:0", "cpu", "cuda:1"] {
      seed(1)
      print(map(tolist, draw(place)))
      print(rand([1]).tolist())
    }
  )";
  for (Tier tier : kTiers) {
    const std::string text = outcome(program, tier, with_gpus("cpu"));
    const size_t length = text.size() / 4;
    REQUIRE(length > 100);
    for (size_t i = 1; i < 4; ++i) CHECK(text.substr(i * length, length) == text.substr(0, length));
  }
}

TEST_CASE("the library works on tensors of any device", "[devices]") {
  const std::string training = R"(
    import nn
    import optim
    fn train(place) {
      seed(2)
      let x = randn([40, 6], device: place)
      let y = randint(3, [40], device: place)
      var p = {w: randn([6, 3], device: place) * 0.1, b: zeros([3], device: place)}
      var opt = optim.adam_init(p)
      let loss = fn(p, x, y) = nn.cross_entropy(x @ p.w + p.b, y)
      var l = 0.0
      for epoch in 0..3 {
        for (xb, yb) in nn.batches(x, y, size: 16, shuffle: true) {
          let (value, g) = value_and_grad(loss)(p, xb, yb)
          (p, opt) = optim.adam(p, optim.clip_grad_norm(g, 1.0), opt, lr: 0.1)
          l = value
        }
      }
      let image = reshape(x[:36], 1, 6, 6, 6)
      let filters = ones([2, 6, 3, 3], device: place)
      let pooled = nn.avg_pool2d(nn.max_pool2d(nn.conv2d(image, filters, padding: 1), 2), 2, padding: 1)
      let attended = nn.attention(x[:4], x[:4], x[:4], is_causal: true)
      print(f"{l.item():.5f} {nn.accuracy(x @ p.w, y).item():.3f}", l.device == place, pooled.device == place,
            f"{sum(pooled).item():.4f}", attended.device == place, var(attended).device == place)
    }
  )";
  const std::string line = outcome(training + "train(\"cpu\")", Tier::eager);
  CHECK(line.find("true true ") != std::string::npos);
  check(training + "for place in [\"cpu\", \"cuda:1\", \"cuda:0\"] { train(place) }", line + line + line);
}

TEST_CASE("files and displays take tensors from any device", "[devices]") {
  const std::string path = "/tmp/tsl_test_devices_" + std::to_string(getpid());
  check(R"(
    let path = ")" +
            path + R"("
    for place in ["cpu", "cuda:0", "cuda:1"] {
      let x = reshape(arange(6, device: place), 2, 3)
      save(path + ".npy", x.T)
      save(path + ".safetensors", {x, y: x[0, ::2]})
      let back = load(path + ".safetensors", device: place)
      print(load(path + ".npy").device == zeros([1]).device, load(path + ".npy", device: "cuda:1").device, back.y.device == place,
            all(back.x == x).item(), back.y.tolist(), x.T.tolist(), x[1, 1].item(), float(x[0, 1]), len(x))
      print(x[:, 1], [x[0]])
    }
  )",
        []() {
          std::string text;
          for (int i = 0; i < 3; ++i) {
            text += "true cuda:1 true true [0, 2] [[0, 3], [1, 4], [2, 5]] 4 1.0 2\ni64[2]\n[1 4] [i64[3] [0 1 2]]\n";
          }
          return text;
        }());
  for (const char* extension : {".npy", ".safetensors"}) std::remove((path + extension).c_str());

  Engine engine(with_gpus("cpu"));
  std::string printed;
  engine.output = [&](std::string_view text) { printed += text; };
  engine.run("test.tsl", R"(
    print(ones([2], device: "cuda:1"))
    print(tensor(2.5, device: "cuda:0"))
    let large = zeros([2000, 2000], device: "cuda:0")
    let before = counters("cuda").bytes_to_host
    str(large)
    print(counters("cuda").bytes_to_host - before)
    print(counters("cuda:1").kernels > 0, counters("cpu").bytes_to_host, counters().bytes_to_host)
  )");
  CHECK(printed == "f32[2] cuda:1\n[1. 1.]\nf32[] cuda:0 2.5\n144\ntrue 0 0\n");
}

TEST_CASE("devices that are not there", "[devices]") {
  check("cpu", R"(
    let x = ones([2])
    @compile
    fn f(x) = x.to("cuda:2") + 1.0
    for i in 0..3 {
      try { f(x) } catch e { print(e.kind, e.message) }
    }
    for name in ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:300", ""] {
      try { x.to(name) } catch e { print(e.kind, e.message) }
    }
    try { x.to(nil) } catch e { print(e.kind, e.message) }
    try { zeros([2], device: f32) } catch e { print(e.kind, e.message) }
    print(sum(x).item(), sum(x.to("cuda")).item())
  )",
        fmt::format(R"(device there is no GPU 2
device there is no GPU 2
device there is no GPU 2
device unknown device 'gpu': {0}
device unknown device 'cuda:': {0}
device unknown device 'cuda:x': {0}
device unknown device 'cuda:-1': {0}
device unknown device 'cuda:1 ': {0}
device unknown device 'cuda:300': {0}
device unknown device '': {0}
type 'target' of to must be a str or a dtype, not nil
type 'device' of zeros must be a str or nil, not dtype f32
2.0 2.0
)",
                    names_of_devices()));
  EngineOptions options;
  options.device = "gpu";
  CHECK_THROWS_WITH(Engine(options), "unknown device 'gpu': " + names_of_devices());
}

TEST_CASE("a GPU is opened when a tensor first goes there", "[devices]") {
  EngineOptions options = with_gpus("cuda:1");
  int opened = 0;
  options.open_backend = [&](Device gpu, exec::Backend& host) -> std::unique_ptr<exec::Backend> {
    ++opened;
    return std::make_unique<PretendGpu>(gpu, host, true);
  };
  Session session(options);
  session.eval("seed(1); let x = {a: [1, 2.0]}; counters(); str(x) + \"!\"");
  CHECK(opened == 0);
  session.eval("zeros([2])");
  CHECK(opened == 1);
  session.eval("let x = zeros([2]).to(\"cuda:1\"); x.to(\"cpu\") + 1.0");
  CHECK(opened == 1);
  session.eval("zeros([2]).to(\"cuda:0\")");
  CHECK(opened == 2);
}

TEST_CASE("no memory on a device: the line that needs it says so, on every tier, and the program goes on",
          "[devices]") {
  EngineOptions options = with_gpus("cpu");
  options.open_backend = [](Device gpu, exec::Backend& host) -> std::unique_ptr<exec::Backend> {
    auto backend = std::make_unique<PretendGpu>(gpu, host, true);
    static_cast<BlockCache&>(backend->allocator()).set_limit(1 << 20);
    return backend;
  };
  const char* program = R"(
    @compile
    fn f(x) {
      let y = x * 2.0
      print("before")
      return sum(y.to("cuda:0")).to("cpu")
    }
    for n in [10, 1000, 1000000, 1000] {
      try { print(f(ones([n])).item()) } catch e { print(e.kind, e.line) }
    }
  )";
  for (Tier tier : kTiers) {
    CAPTURE(static_cast<int>(tier));
    CHECK(outcome(program, tier, options) == "before\n20.0\nbefore\n2000.0\nbefore\nmemory 6\nbefore\n2000.0\n");
  }
}

TEST_CASE("tensors move between the CPU and a GPU", "[devices][cuda]") {
  TSL_NEEDS_GPU();
  const char* program = R"(
    @compile
    fn f(x, place) {
      let y = (x * 2.0).to(place)
      return sum(y).to("cpu") + sum(y.to("cpu"))
    }
    let p = {w: arange(6, dtype: f32, device: "cpu")}
    for place in ["cpu", "cuda", "cuda:0", "cpu"] {
      let x = p.w.to(place)
      let g = grad(fn(p) = sum(square(p.w.to("cuda").T)).to("cpu"))({w: x})
      print(f(x, "cuda").tolist(), f(x, "cpu").device, g.w.tolist(), g.w.device == x.device, (x + tensor(1.0, device: "cpu")).tolist())
      try { x.to("cuda") + p.w } catch e { print(e.kind) }
    }
    seed(1)
    let there = rand([5], device: "cuda")
    seed(1)
    print(all(there.to("cpu") == rand([5], device: "cpu")).item())
  )";
  std::string line = "60.0 cpu [0.0, 2.0, 4.0, 6.0, 8.0, 10.0] true [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\ndevice\n";
  for (const char* device : {"cpu", "cuda"}) {
    for (Tier tier : kTiers) {
      EngineOptions options;
      options.device = device;
      CAPTURE(device, static_cast<int>(tier));
      CHECK(outcome(program, tier, options) == line + line + line + line + "true\n");
    }
  }
}

TEST_CASE("two GPUs at once", "[devices][cuda]") {
  TSL_NEEDS_GPU();
#ifdef TSL_HAS_CUDA
  if (cuda::Driver::open()->device_count() < 2) TSL_SKIP("this machine has one GPU");
#endif
  const char* program = R"(
    @compile
    fn step(x, y) {
      let there = x.to("cuda:1") * 2.0 + y
      return (there.to("cuda:0") - x, there)
    }
    var (x, y) = (ones([1000], device: "cuda:0"), ones([1000], device: "cuda:1"))
    for i in 0..10 { (x, y) = step(x, y) }
    let products = (ones([8, 8], device: "cuda:0") @ ones([8, 8], device: "cuda:0")).to("cuda:1") @ ones([8, 8], device: "cuda:1")
    print(x.device, y.device, x[0].item(), y[0].item(), products[0, 0].item())
  )";
  EngineOptions options;
  options.device = "cpu";
  const std::string expected = outcome(program, Tier::eager, with_gpus("cpu"));
  for (Tier tier : kTiers) CHECK(outcome(program, tier, options) == expected);
}

TEST_CASE("from one GPU to another nothing goes by the host", "[devices][cuda]") {
  TSL_NEEDS_GPU();
#ifdef TSL_HAS_CUDA
  if (cuda::Driver::open()->device_count() < 2) TSL_SKIP("this machine has one GPU");
#endif
  EngineOptions options;
  options.device = "cuda";
  Session session(options);
  CHECK(session.output(R"(
    fn copied() = map(fn(d) = (counters(d).bytes_to_host, counters(d).bytes_to_device), ["cuda:0", "cuda:1"])
    var x = arange(1000) * 1.0
    x.to("cuda:1")
    let before = copied()
    # The memory of each turn is written anew in the next one, while copies may still be under way.
    for i in 0..100 { x = (x + 1.0).to("cuda:1").to("cuda:0") * 1.0 }
    let after = copied()
    print(before == after, x[0].item(), x[999].item())
  )") == "true 100.0 1099.0\n");
}
