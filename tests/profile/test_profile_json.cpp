// Tests profiles as data: that rows sum to the whole, and what they say of programs, also of the examples.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "support/corpus.h"
#include "support/session.h"

using namespace tsl;
using nlohmann::json;

namespace {

EngineOptions profiled_program(bool compile_all = false) {
  EngineOptions options;
  options.profile = true;
  options.compile_all = compile_all;
  return options;
}

json profile_of(Session& session) { return json::parse(session.engine.profile_json("test.tsl")); }

double sum_of_shares(const json& profile) {
  double sum = 0;
  for (const json& row : profile["rows"]) sum += row["share"].get<double>();
  return sum;
}

std::vector<json> kernels_of(const json& profile) {
  std::vector<json> kernels;
  for (const json& row : profile["rows"]) {
    if (row["activity"] == "kernels") kernels.push_back(row);
  }
  return kernels;
}

/// Returns the part of the kernels' time that belongs to lines of the program, from 0 to 1.
double part_with_lines(const json& profile) {
  double all = 0, known = 0;
  for (const json& kernel : kernels_of(profile)) {
    const double share = kernel["share"];
    all += share;
    if (!kernel["lines"].empty()) known += share;
  }
  return all > 0 ? known / all : 1;
}

constexpr const char* kMatrices = "let n = 500\nlet a = rand([n, n])\nlet b = rand([n, n])\nlet c = rand([n, n])\n";

}  // namespace

TEST_CASE("a * b + c whose result is unused launches no kernel, and the profile says which line", "[profile]") {
  Session s(profiled_program());
  s.output(std::string("@compile\nfn test(a, b, c) {\n  let d = a * b + c\n}\n") + kMatrices + "test(a, b, c)\n");
  const json profile = profile_of(s);
  for (const json& kernel : kernels_of(profile)) CHECK(kernel["specialisation"] == "");
  REQUIRE(profile["unused"].size() == 2);
  for (const json& unused : profile["unused"]) {
    CHECK(unused["specialisation"] == "test:2#0");
    CHECK(unused["location"] == json{{"file", "test.tsl"}, {"line", 3}});
  }
  CHECK(s.engine.profile_text("test.tsl", false)
            .find("test:2#0 launches 0 kernels: the result of test.tsl:3 (mul, add) is unused") != std::string::npos);
}

TEST_CASE("a * b + c is one kernel with its bytes and line, and new matrices compile nothing", "[profile]") {
  Session s(profiled_program());
  CHECK(s.output(std::string("@compile\nfn test(a, b, c) = a * b + c\n") + kMatrices +
                 "let d = test(a, b, c)\nlet before = counters().traces\n"
                 "let e = with_range(\"new\", fn() = test(rand([n, n]), rand([n, n]), rand([n, n])))\n"
                 "print(counters().traces - before)\n") == "0\n");
  std::vector<json> fused;
  const json profile = profile_of(s);
  for (const json& kernel : kernels_of(profile)) {
    if (kernel["specialisation"] == "test:2#0") fused.push_back(kernel);
  }
  REQUIRE(fused.size() == 2);  // outside and inside of the range
  CHECK(fused[0]["name"].get<std::string>().rfind("k_mul_add__", 0) == 0);
  CHECK(fused[1]["name"] == fused[0]["name"]);
  CHECK(fused[0]["calls"] == 1);
  CHECK(fused[1]["calls"] == 1);
  CHECK(fused[0]["ranges"] == json{"test"});
  CHECK(fused[1]["ranges"] == json{"new.test"});
  CHECK(fused[0]["bytes"] == 4 * 500 * 500 * 4);
  CHECK(fused[0]["flops"] == 2 * 500 * 500);
  CHECK(fused[0]["seconds_of_calls"] > 0);
  CHECK(fused[0]["lines"][0]["line"] == 2);
  for (const json& region : profile["regions"]) {
    const int once = region["name"] == "test:2" ? 1 : 0;  // and in the range "new" nothing
    CHECK(region["traces"] == once);
    CHECK(region["compilations"] == once);
  }
  CHECK(profile["rooflines"]["cpu"]["bytes_per_second"] > 0);
  for (const json& kernel : kernels_of(profile)) {
    CHECK(kernel["predicted_seconds"] > 0);
    CHECK(kernel["work"]["bytes"].get<double>() >= kernel["bytes"].get<double>());
    CHECK(kernel["seconds_of_least"].get<double>() * kernel["calls"].get<double>() <=
          kernel["seconds_of_calls"].get<double>() * 1.0001);
  }
}

namespace {

/// Returns the kernel whose name begins so, or with `line` the one of that line.
json kernel_named(const json& profile, const std::string& name, int line = 0) {
  for (const json& kernel : kernels_of(profile)) {
    const bool is_there = line == 0 || (!kernel["lines"].empty() && kernel["lines"][0]["line"] == line);
    if (is_there && kernel["name"].get<std::string>().rfind(name, 0) == 0) return kernel;
  }
  FAIL("no kernel " << name << " in " << profile.dump(1));
  return {};
}

/// Returns the categories of all kernels of a line.
std::set<std::string> categories_of(const json& profile, int line) {
  std::set<std::string> categories;
  for (const json& kernel : kernels_of(profile)) {
    for (const json& each : kernel["lines"]) {
      if (each["line"] == line) categories.insert(kernel["category"].get<std::string>());
    }
  }
  return categories;
}

}  // namespace

TEST_CASE("bytes count each element once for a kernel, however often it is read", "[profile]") {
  Session s(profiled_program());
  s.output(
      "let x = ones([400, 3])\nlet rows = tensor([1, 1, 2])\n@compile\nfn f(x) {\n"
      "  let y = sum(x, axis: 1)\n"         // 5
      "  let z = exp(x[:, 0]) + x[:, 1]\n"  // 6
      "  let t = x[1:] - x[:-1]\n"          // 7
      "  let g = x[rows, :]\n"              // 8
      "  let p = x.T @ x\n"                 // 9
      "  return (y, z, t, g, p)\n}\nf(x)\n");
  const json profile = profile_of(s);
  CHECK(kernel_named(profile, "k_add_add_exp_add", 5)["bytes"] == 4 * (1200 + 400 + 400));
  CHECK(kernel_named(profile, "k_sub", 7)["bytes"] == 4 * (1200 + 1197));
  CHECK(kernel_named(profile, "k_take", 8)["bytes"] == 4 * (9 + 9) + 8 * 3);
  CHECK(kernel_named(profile, "matmul (", 9)["bytes"] == 4 * (1200 + 3 * 3));
}

TEST_CASE("a kernel's category is the kind of its work, whatever the launch", "[profile]") {
  const std::string program =
      "import nn\nimport optim\n"
      "let image = randn([2, 3, 12, 12])\n"                                    // 3
      "let c = conv2d(image, ones([4, 3, 3, 3]))\n"                            // 4
      "let q = ones([2, 8, 16])\n"                                             // 5
      "let a = attention(q, q, q)\n"                                           // 6
      "let m = ones([32, 16]) @ ones([16, 8])\n"                               // 7
      "let r = sum(m, axis: 0)\n"                                              // 8
      "let short = sum(ones([4000, 3]), axis: 1)\n"                            // 9
      "let e = exp(m)\n"                                                       // 10
      "let t = reshape(m.T, [256])\n"                                          // 11
      "let (p, opt) = optim.adam([m], [m], optim.adam_init([m]), lr: 1e-3)\n"  // 12
      "let o = sort(r)\n"                                                      // 13
      "let s = cumsum(r)\n"                                                    // 14
      "let g = m[tensor([1, 2]), :]\n"                                         // 15
      "print(c.shape, a.shape, short.shape, e.shape, t.shape, p[0].shape, o.shape, s.shape, g.shape)\n";
  Session s(profiled_program());
  s.output(program);
  const json profile = profile_of(s);
  using Set = std::set<std::string>;
  CHECK(categories_of(profile, 3) == Set{"random"});
  CHECK(categories_of(profile, 4).count("convolution") == 1);
  CHECK(categories_of(profile, 4).count("matmul") == 0);
  CHECK(categories_of(profile, 6) == Set{"attention"});
  CHECK(categories_of(profile, 7).count("matmul") == 1);
  CHECK(categories_of(profile, 8) == Set{"reduction"});
  CHECK(categories_of(profile, 9).count("reduction") == 1);
  CHECK(categories_of(profile, 10) == Set{"pointwise"});
  CHECK(categories_of(profile, 11) == Set{"copy"});
  CHECK(categories_of(profile, 12) == Set{"optimizer"});
  CHECK(categories_of(profile, 13).count("sort") == 1);
  CHECK(categories_of(profile, 14) == Set{"scan"});
  CHECK(categories_of(profile, 15).count("indexing") == 1);
}

TEST_CASE("compiled convolutions, attention and updates keep their categories, also in backward passes", "[profile]") {
  Session s(profiled_program());
  s.output(
      "import optim\nlet image = ones([2, 3, 12, 12])\nlet q = ones([2, 8, 16])\n"
      "fn loss(p) = mean(conv2d(image, p.w)) + mean(attention(q @ p.u, q, q))\n"
      "@compile\nfn step(p, opt) {\n  let g = grad(loss)(p)\n  return optim.adam(p, g, opt, lr: 1e-3)\n}\n"
      "var p = {w: ones([4, 3, 3, 3]), u: ones([16, 16])}\nvar opt = optim.adam_init(p)\n"
      "for i in 0..3 { (p, opt) = step(p, opt) }\n");
  std::map<std::string, std::set<std::string>> names;  // of kernels by category
  for (const json& kernel : kernels_of(profile_of(s))) {
    if (kernel["specialisation"] != "") names[kernel["category"]].insert(kernel["name"].get<std::string>());
  }
  for (const char* category : {"convolution", "attention", "optimizer", "matmul"}) CHECK(names.count(category) == 1);
  const json profile = profile_of(s);
  bool has_backward = false;
  for (const json& kernel : kernels_of(profile)) {
    if (kernel["category"] != "convolution") continue;
    for (const json& line : kernel["lines"]) has_backward |= line["backward"].get<bool>();
  }
  CHECK(has_backward);
}

TEST_CASE("a launch of equal kernels counts them, and a kernel without inputs is a constant", "[profile]") {
  Session s(profiled_program());
  s.output(
      "import optim\nlet p = [ones([100]), ones([200]), ones([300])]\nlet opt = optim.adam_init(p)\n"
      "@compile\nfn step(p, opt) = optim.adam(p, p, opt, lr: 1e-3)\nlet r = step(p, opt)\n"
      "@compile\nfn f(x) = x @ full([8, 8], 2.0)\nlet x = ones([4, 8])\nfor i in 0..4 { f(x) }\n");
  const json profile = profile_of(s);
  bool has_many = false;
  for (const json& kernel : kernels_of(profile)) has_many |= kernel["kernels"] == 3;
  CHECK(has_many);
  size_t constants = 0;
  for (const json& kernel : kernels_of(profile)) {
    if (kernel["specialisation"] == "" || !kernel["constant"].get<bool>()) continue;
    ++constants;
    CHECK(kernel["specialisation"] == "f:8#0");
    CHECK(s.engine.profile_text("test.tsl", false)
              .find("f:8#0: " + kernel["name"].get<std::string>() + " of test.tsl:8 computes the same") !=
          std::string::npos);
  }
  CHECK(constants == 1);
}

TEST_CASE("median, least and most of a kernel are in order", "[profile]") {
  Session s(profiled_program());
  s.output("let x = ones([1000])\nfor i in 0..100 { let y = exp(x) }\n");
  const json kernel = kernel_named(profile_of(s), "k_exp");
  CHECK(kernel["calls"] == 100);
  CHECK(kernel["seconds_of_least"].get<double>() > 0);
  CHECK(kernel["seconds_of_least"].get<double>() <= kernel["seconds_of_median"].get<double>());
  CHECK(kernel["seconds_of_median"].get<double>() <= kernel["seconds_of_most"].get<double>());
  CHECK(kernel["seconds_of_most"].get<double>() <= kernel["seconds_of_calls"].get<double>());
}

TEST_CASE("a program that fails half-way has a profile up to there", "[profile]") {
  Session s(profiled_program());
  CHECK_THROWS_AS(s.output("let x = exp(ones([100]))\nerror(\"oh\")\nlet y = sin(x)\n"), Failure);
  const json profile = profile_of(s);
  REQUIRE(kernels_of(profile).size() == 2);  // fill, exp
  CHECK(sum_of_shares(profile) == Approx(100).margin(0.1));
}

TEST_CASE("in every example, shares sum to 100 percent and kernels have lines", "[examples]") {
  const InRepository in_repository;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".tsl") continue;
    for (const bool compile_all : {false, true}) {
      EngineOptions options = profiled_program(compile_all);
      const std::string name = entry.path().stem().string();
      if (name == "text_model" || name == "digits" || name == "digits_cnn")
        options.script_args = {"2"};  // steps, epochs
      Session s(options);
      s.engine.run_file(entry.path().string());
      const json profile = profile_of(s);
      INFO(entry.path().string() << (compile_all ? ", all compiled" : ""));
      CHECK(sum_of_shares(profile) == Approx(100).margin(0.1));
      CHECK(part_with_lines(profile) >= 0.99);
      CHECK_FALSE(kernels_of(profile).empty());
    }
  }
}

TEST_CASE("calls with host reads have the paths and the runs of calls without, also where they are traced",
          "[profile]") {
  Session s(profiled_program());
  s.output(
      "fn layer(x, w) = relu(x @ w)\n"
      "fn model(x, ws) {\n  var h = x\n  for w in ws {\n    h = layer(h, w)\n"
      "    if sum(h).item() < -1.0 { print(\"negative\") }\n  }\n  return h\n}\n"
      "@compile\nfn step(x, ws) = sum(model(x, ws) * 2.0)\n"
      "let ws = [ones([4, 4]), ones([4, 4]), ones([4, 4])]\n"
      "for i in 0..50 { step(ones([2, 4]), ws) }\n");
  std::map<std::string, uint64_t> runs;
  const json profile = profile_of(s);
  for (const json& range : profile["ranges"]) runs[range["path"]] = range["runs"];
  INFO(profile["ranges"].dump(1));
  CHECK(runs == std::map<std::string, uint64_t>{{"step", 50},
                                                {"step.model", 50},
                                                {"step.model.layer[0]", 50},
                                                {"step.model.layer[1]", 50},
                                                {"step.model.layer[2]", 50}});
}

TEST_CASE("ops of a fused kernel have parts of its time by their cost, and not by their number", "[profile]") {
  Session s(profiled_program());
  s.output(
      "@compile\nfn f(x) {\n"
      "  let cheap = x + 1.0 - x * 2.0 + x - 3.0 + x * 0.5\n"
      "  let costly = exp(tanh(cheap))\n"
      "  return costly\n}\n"
      "for i in 0..3 { f(ones([1000])) }\n");
  const json profile = profile_of(s);
  size_t fused = 0;
  for (const json& kernel : kernels_of(profile)) {
    std::map<int, double> parts;
    double sum = 0;
    for (const json& line : kernel["lines"]) {
      parts[line["line"]] += line["part"].get<double>();
      sum += line["part"].get<double>();
    }
    if (!parts.empty()) CHECK(sum == Approx(1));
    if (parts.count(4) == 0) continue;
    ++fused;
    CHECK(parts[4] > parts[3]);
    CHECK(parts[3] > 0);
  }
  CHECK(fused == 1);
}

TEST_CASE("an update of few numbers does not make an optimizer of a kernel", "[profile]") {
  Session s(profiled_program());
  s.output(
      "import nn\nimport optim\n"
      "let x = randn([64, 64, 16, 16])\n"
      "fn loss_of(p, x) {\n  let mean = mean(x, axis: [0, 2, 3], keepdims: true)\n"
      "  return sum(square((x - mean) * p.w.reshape([1, 64, 1, 1])))\n}\n"
      "@compile\nfn step(p, opt, x) {\n  let g = grad(loss_of)(p, x)\n  return optim.adam(p, g, opt, lr: 1e-3)\n}\n"
      "var p = {w: ones([64])}\nvar opt = optim.adam_init(p)\n"
      "for i in 0..4 { (p, opt) = step(p, opt, x) }\n");
  std::map<std::string, double> parts;
  double sum = 0;
  for (const json& kernel : kernels_of(profile_of(s))) {
    if (kernel["specialisation"] == "") continue;
    for (const auto& [category, part] : kernel["categories"].items()) {
      const double seconds = part.get<double>() * kernel["seconds"].get<double>();
      parts[category] += seconds;
      sum += seconds;
    }
  }
  CHECK(parts["optimizer"] > 0);
  CHECK(parts["optimizer"] < 0.5 * sum);
}

TEST_CASE("a roofline that kernels exceed is measured again", "[profile]") {
  namespace fs = std::filesystem;
  const char* const before = std::getenv("TSL_CACHE_DIR");
  const std::string saved = before ? before : "";
  const fs::path folder = fs::absolute("test_rooflines");
  fs::remove_all(folder);
  fs::create_directories(folder);
  setenv("TSL_CACHE_DIR", folder.c_str(), 1);
  const auto roof = [] {
    Session s(profiled_program());
    s.output("let x = ones([3000, 3000])\nfor i in 0..4 { x + 1.0 }\n");
    return profile_of(s)["rooflines"]["cpu"]["bytes_per_second"].get<double>();
  };
  const double first = roof();
  const fs::path path = folder / "rooflines.json";
  json kept = json::parse(std::ifstream(path));
  for (json& rates : kept) {
    CHECK(rates["times_measured"] >= 1);
    rates["bytes_per_second"] = first / 1000;
    rates["times_measured"] = 1;
  }
  std::ofstream(path) << kept.dump();
  CHECK(roof() > first / 100);
  for (const json& rates : json::parse(std::ifstream(path))) CHECK(rates["times_measured"] == 2);
  if (before) setenv("TSL_CACHE_DIR", saved.c_str(), 1);
  else unsetenv("TSL_CACHE_DIR");
  fs::remove_all(folder);
}
