// Tests the kernels of dumps that run alone: their inputs, and what is measured.
#include "engine/bench.h"

#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "backend/cpu/backend.h"
#include "engine/result_comparison.h"
#include "exec/bench_inputs.h"
#include "exec/op_kernel.h"
#include "report/dump.h"
#include "report/dump_format.h"
#include "support/contains.h"
#include "support/session.h"
#include "tensor/elements.h"

using namespace tsl;
using namespace tsl::exec;
using namespace tsl::report;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// The dump of a program, in a folder of its own.
class Dump {
 public:
  explicit Dump(const std::string& program)
      : folder_(fs::temp_directory_path() / ("tsl_bench_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    EngineOptions options;
    options.record = options.compile_all = true;
    Session s(options);
    s.output(program);
    prepare_dump(folder_.string());
    write_dump(*s.engine.recording(), folder_.string());
  }
  ~Dump() { fs::remove_all(folder_); }
  std::string path(const std::string& part = "") const { return (folder_ / part).string(); }

 private:
  const fs::path folder_;
};

std::vector<BenchRow> measure(const Dump& dump, BenchCaches caches = BenchCaches::as_in_plan) {
  Session s;
  return bench(s.engine, open_dump(dump.path()), {.setup = {.seconds = 0, .caches = caches, .cache_bytes = 4096}});
}

std::string problem_of(const std::string& path) {
  try {
    open_dump(path);
  } catch (const Failure& failure) {
    std::string text = failure.error().message;
    for (const std::string& hint : failure.error().hints) text += "; " + hint;
    return text;
  }
  return "none";
}

/// Fills its result with zeros.
struct ZeroKernel final : OpKernel {
  explicit ZeroKernel(uint64_t bytes) : bytes(bytes) {}
  std::string name() const override { return "zeros"; }
  void run(const OpCall& call) override { std::fill_n(call.results[0], bytes, std::byte{}); }
  const uint64_t bytes;
};

/// Adds rows for products behind those that there are.
void add_rows(KernelRows& rows) {
  const auto zeros = [](const graph::Node& node) {
    return std::make_unique<ZeroKernel>(4 * static_cast<uint64_t>(element_count(node.shape).hint()));
  };
  const auto again = [other = std::make_shared<cpu::CpuBackend>(1)](const graph::Node& node) {
    return other->rows().find(node);
  };
  const auto missing = [](const graph::Node&) -> std::unique_ptr<OpKernel> { return nullptr; };
  const auto refusal = [](const graph::Node&) -> std::string_view { return "of few columns"; };
  rows.add({{.name = "zeros", .ops = {Op::matmul}, .refusal = nullptr, .make = zeros},
            {.name = "again", .ops = {Op::matmul}, .refusal = nullptr, .make = again},
            {.name = "missing", .ops = {Op::matmul}, .refusal = nullptr, .make = missing},
            {.name = "refused", .ops = {Op::matmul}, .refusal = refusal, .make = missing}});
}

constexpr const char* kProgram =
    "@compile\nfn step(x, w) {\n  let h = softmax(x @ w)\n  return sum(h * h, axis: 0) + 1.0\n}\n"
    "step(ones([64, 32]), ones([32, 48]))\n";

}  // namespace

TEST_CASE("each kernel of a dump runs alone under its name", "[bench]") {
  const Dump dump(kProgram);
  const OpenedDump opened = open_dump(dump.path());
  REQUIRE(opened.plans.size() == 1);
  const std::vector<BenchRow> rows = measure(dump);
  REQUIRE(rows.size() == opened.plans[0].stored.kernels.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].problem);
    CHECK(rows[i].times.kernel.name == opened.plans[0].stored.kernels[i].name);
    CHECK(rows[i].plan == "step:2#0");
    CHECK(rows[i].times.runs >= kBenchRuns);
    CHECK(rows[i].times.low <= rows[i].times.median);
    CHECK(rows[i].times.median <= rows[i].times.high);
    CHECK(rows[i].times.median > 0);
  }
}

TEST_CASE("kernels with indices, masks, offsets and divisions get inputs on which they run", "[bench]") {
  const Dump dump(
      "@compile\nfn f(x, i, m, k, n) {\n  let y = x[i] + x[k : k + 2].sum()\n  let z = x[m]\n"
      "  return [y, z.sum(), (i // i).sum(), sort(x), cumsum(x), n]\n}\n"
      "f(arange(8).to(f32), tensor([1, 7, 3]), arange(8) > 4, 3, 2)\n");
  for (const BenchRow& row : measure(dump)) {
    INFO(row.times.kernel.name << ": " << row.problem);
    CHECK(row.times.runs >= kBenchRuns);
  }
}

TEST_CASE("random inputs are what indices and masks need", "[bench]") {
  const BenchInput index{.node = 0, .elements = 1000, .first = 0, .extent = 5};
  std::set<int64_t> seen;
  const std::vector<std::byte> indices = bench_elements(index, DType::i64, BenchNumbers::random, 1);
  for (size_t i = 0; i < 1000; ++i) seen.insert(load_element(DType::i64, &indices[8 * i]).integer);
  CHECK(seen == std::set<int64_t>{0, 1, 2, 3, 4});
  const BenchInput mask{.node = 0, .elements = 1000, .first = 0, .extent = 0, .trues = 77};
  const std::vector<std::byte> flags = bench_elements(mask, DType::boolean, BenchNumbers::random, 1);
  CHECK(std::count(flags.begin(), flags.end(), std::byte{1}) == 77);
  const BenchInput any{.node = 0, .elements = 3};
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    const auto type = static_cast<DType>(dtype);
    const std::vector<std::byte> ones = bench_elements(any, type, BenchNumbers::ones, 1);
    if (type != DType::boolean) CHECK(load_element(type, &ones[0]).as_real() == 1.0);
    const std::vector<std::byte> some = bench_elements(any, type, BenchNumbers::random, 1);
    if (type != DType::boolean) CHECK(load_element(type, &some[0]).as_real() >= 0.5);
  }
}

TEST_CASE("equal launches are measured once, whatever numbers they have, and others apart", "[bench]") {
  const Dump dump(
      "@compile\nfn f(x, v, w, a, b) {\n  let h = softmax(x * a) @ w\n  return softmax((softmax(h * b) @ v) * b)\n}\n"
      "f(ones([8, 16]), ones([16, 32]), ones([16, 16]), 0.5, 0.25)\n");
  std::map<std::string, uint32_t> launches;
  for (const BenchRow& row : measure(dump, BenchCaches::warm)) {
    INFO(row.facts.types);
    CHECK(launches.try_emplace(row.facts.types, row.launches).second);
  }
  CHECK(launches == std::map<std::string, uint32_t>{{"f32[8, 16] -> f32[8, 16]", 2},
                                                    {"f32[8, 32] -> f32[8, 32]", 1},
                                                    {"f32[8, 16], f32[16, 16] -> f32[8, 16]", 1},
                                                    {"f32[8, 16], f32[16, 32] -> f32[8, 32]", 1}});
}

TEST_CASE("a kernel's data is in no cache if the plan touches more than one holds in between", "[bench]") {
  const auto is_cold = [](const std::string& program, BenchCaches caches = BenchCaches::as_in_plan) {
    const Dump dump(program);
    std::vector<bool> out;
    for (const BenchRow& row : measure(dump, caches)) out.push_back(row.is_cold);
    return out;
  };
  const std::string one = "@compile\nfn f(x) = exp(x)\nf(ones([64, 64]))\n";
  const std::string two = "@compile\nfn f(x, y) = [softmax(x), exp(y)]\nf(ones([64, 64]), ones([32, 32]))\n";
  CHECK(is_cold(one) == std::vector<bool>{false});
  CHECK(is_cold(two) == std::vector<bool>{true, true});
  CHECK(is_cold(two, BenchCaches::warm) == std::vector<bool>{false, false});
  CHECK(is_cold(one, BenchCaches::cold) == std::vector<bool>{true});
}

TEST_CASE("a part of a dump is found by its name, and the nearest name is proposed", "[bench]") {
  const Dump dump(kProgram);
  const OpenedDump all = open_dump(dump.path());
  const std::string step = all.plans[0].folder;
  const std::string kernel = all.plans[0].stored.kernels.back().name;
  CHECK(open_dump(dump.path(step)).plans[0].launches == all.plans[0].launches);
  for (const std::string& part : {kernel, step + "/" + kernel, step + "/kernels/" + kernel + ".txt"}) {
    const OpenedDump one = open_dump(dump.path(part));
    CHECK(one.plans[0].launches == std::vector<uint32_t>{all.plans[0].stored.kernels.back().launch});
  }
  std::string near = kernel;
  near.back() = near.back() == 'x' ? 'y' : 'x';
  CHECK(problem_of(dump.path(near)) == "the dump has no kernel '" + near + "'; did you mean '" + kernel + "'?");
  const std::string other = step + "-2";
  CHECK(contains(problem_of(dump.path(other + "/" + kernel)),
                 "no specialisation '" + other + "'; did you mean '" + step + "'?"));
  CHECK(contains(problem_of("/proc"), "/proc is not in a dump of tsl"));
  CHECK(contains(problem_of("nowhere/at/all"), "is not in a dump of tsl"));
  write_file(dump.path(step + "/plan.json"), "{");
  CHECK(contains(problem_of(dump.path()), step + "/plan.json is damaged"));
  write_file(dump.path("version.txt"), "tsl dump, format 1\n");
  CHECK(contains(problem_of(dump.path()), "dump again with this tsl"));
}

TEST_CASE("names without a number, functions and names of specialisations find parts of a dump", "[bench]") {
  const Dump dump(kProgram);
  const OpenedDump all = open_dump(dump.path());
  const std::string kernel = all.plans[0].stored.kernels.back().name, readable = kernel.substr(0, kernel.rfind("__"));
  for (const std::string& name :
       {std::string("step"), std::string("step:2"), std::string("step:2#0"), all.plans[0].folder}) {
    CHECK(open_dump(dump.path(name)).plans[0].launches == all.plans[0].launches);
    CHECK(open_dump(dump.path(name) + "/" + readable).plans[0].launches.size() == 1);
  }
  CHECK(open_dump(dump.path(readable)).plans[0].launches == open_dump(dump.path(kernel)).plans[0].launches);
  CHECK(problem_of(dump.path("stepp")) == "the dump has no kernel 'stepp'; did you mean 'step'?");
  std::string misspelt = readable;
  misspelt[2] = misspelt[2] == 'x' ? 'y' : 'x';
  CHECK(contains(problem_of(dump.path(misspelt)), "did you mean '" + readable + "'?"));
}

TEST_CASE("a specialisation is chosen by the shape of an input", "[bench]") {
  const Dump dump(
      "@compile\nfn f(x, y) = [exp(x), sum(y)]\nf(ones([64, 32]), ones([7]))\nf(ones([16, 8]), ones([7]))\n");
  const auto chosen = [&](const std::string& part) {
    std::string names;
    for (const DumpedPlan& plan : open_dump(dump.path(part)).plans) names += plan.stored.plan.options.name + " ";
    return names;
  };
  CHECK(chosen("f") == "f:2#0 f:2#1 ");
  CHECK(chosen("f@64x32") == "f:2#0 ");
  CHECK(chosen("f:2@[16, 8]") == "f:2#1 ");
  CHECK(chosen("f@7") == "f:2#0 f:2#1 ");
  CHECK(chosen("@16,8") == "f:2#1 ");
  CHECK(chosen("k_exp@16x8") == "f:2#1 ");
  CHECK(problem_of(dump.path("f@64x33")) ==
        "the dump has no such part with an input of shape 64x33; there are 64x32, 7, 16x8");
  CHECK(problem_of(dump.path("f@large")) == "'large' is no shape, such as 64x32");
}

TEST_CASE("whole specialisations are measured, where no kernel is asked for", "[bench]") {
  const Dump dump(kProgram);
  Session s;
  const std::vector<PlanRow> rows = bench_plans(s.engine, open_dump(dump.path()), {.setup = {.seconds = 0}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].problem == "");
  CHECK(rows[0].plan == "step:2#0");
  CHECK(rows[0].types == "f32[64, 32], f32[32, 48] -> f32[48]");
  CHECK(rows[0].launches == open_dump(dump.path()).plans[0].launches.size());
  CHECK(rows[0].times.runs >= kBenchRuns);
  CHECK(rows[0].times.low > 0);
  CHECK(rows[0].times.low <= rows[0].times.median);
  CHECK(rows[0].times.median <= rows[0].times.high);
  const std::string kernel = open_dump(dump.path()).plans[0].stored.kernels[0].name;
  CHECK(bench_plans(s.engine, open_dump(dump.path(kernel)), {}).empty());
}

TEST_CASE("all op kernels that run a launch run side by side", "[bench]") {
  const Dump dump(kProgram);
  Session s;
  add_rows(*s.engine.devices().at(Device()).kernel_rows());
  std::vector<BenchRow> rows = bench(s.engine, open_dump(dump.path()), {.setup = {.seconds = 0}});
  REQUIRE(rows.size() > 1);
  CHECK(rows[1].candidates.empty());  // of fused ops
  std::map<std::string, BenchCandidate> candidates;
  for (const BenchCandidate& each : rows[0].candidates) candidates.emplace(each.kernel.name, each);
  const auto found = std::find_if(rows[0].candidates.begin(), rows[0].candidates.end(),
                                  [](const BenchCandidate& each) { return each.kernel.is_taken; });
  REQUIRE(found != rows[0].candidates.end());  // which one depends on the instruction set
  const BenchCandidate& taken = *found;
  CHECK(taken.code.times.median == rows[0].times.median);
  CHECK(candidates.at("again").code.results.elements == 64 * 48);
  CHECK(candidates.at("again").code.results.different == 0);
  CHECK(candidates.at("again").code.times.runs >= kBenchRuns);
  CHECK(candidates.at("zeros").code.results.different == 64 * 48);
  CHECK_FALSE(candidates.at("zeros").code.results.is_close);
  const std::string text = bench_text({rows, "d", "cpu", {}});
  CHECK(contains(text, "by " + taken.kernel.name + ", which is taken\n"));
  CHECK(contains(text, "times as fast; the same bits\n"));
  CHECK(contains(text, "times as fast; 3072 of 3072 elements differ, by 1 at most: other results\n"));
  CHECK(contains(text, "by missing: not installed, or it has no kernel for these sizes\n"));
  CHECK(contains(text, "not by refused: of few columns\n"));
  const Json json = Json::parse(bench_json({rows, "d", "cpu", {}}))["kernels"];
  CHECK_FALSE(json[1].contains("candidates"));
  std::map<std::string, Json> of_name;
  for (const Json& each : json[0]["candidates"]) of_name[each["name"]] = each;
  CHECK(of_name.at(taken.kernel.name)["taken"] == true);
  CHECK(of_name.at("again")["different"] == 0);
  CHECK(of_name.at("again")["seconds"]["median"] > 0);
  CHECK(of_name.at("missing")["problem"] == "not installed, or it has no kernel for these sizes");
  CHECK(of_name.at("refused")["refusal"] == "of few columns");
  CHECK_FALSE(of_name.at("refused").contains("seconds"));
}

TEST_CASE("the definition of an op runs beside its kernel", "[bench]") {
  const auto code_of = [](const std::string& call) {
    const Dump dump("@compile\nfn f(q, k, m) = " + call +
                    "\nf(randn([2, 4, 9, 8]), randn([2, 2, 7, 8]), rand([2, 4, 9, 7]) < .5)\n");
    for (const BenchRow& row : measure(dump)) {
      for (const BenchCandidate& each : row.candidates) {
        if (each.kernel.name == "definition") return each.code;
      }
    }
    return ComparedCode{.problem = "none"};
  };
  for (const char* call :
       {"attention(q, q, q)", "attention(q, k, k, nil, false, nil, true)", "attention(q[0, 0], q[0, 1], q[1, 0])",
        "attention(q, k, k, m, true, 0.3, true, 4, 2.0)", "attention(transpose(q), transpose(q), transpose(q))"}) {
    INFO(call);
    const ComparedCode code = code_of(call);
    CHECK(code.problem == "");
    CHECK(code.times.runs >= kBenchRuns);
    CHECK(code.results.elements >= 9 * 8);
    CHECK(code.results.is_close);
  }
  CHECK(code_of("q * 2.0").problem == "none");
}

TEST_CASE("a kernel's file that is not as the dump wrote it counts as edited", "[bench]") {
  const Dump dump(kProgram);
  const std::string kernel = open_dump(dump.path()).plans[0].stored.kernels[0].name;
  const std::string file = dump.path(open_dump(dump.path()).plans[0].folder + "/kernels/" + kernel + ".cu");
  const std::string program = "code\n", original = "// a comment\n" + original_line(program) + program;
  const auto is_found = [&](const std::string& text) {
    write_file(file, text);
    return open_dump(dump.path()).plans[0].edited.count(kernel) == 1;
  };
  CHECK_FALSE(is_found(original));
  CHECK_FALSE(is_found("// another comment\n" + original));
  CHECK(is_found(original + "// more\n"));
  CHECK(is_found(program));  // without the line that says what it was
  // The CPU generates no code, which the kernel's row says.
  const std::vector<BenchRow> rows = measure(dump);
  REQUIRE(rows[0].edited);
  CHECK(rows[0].edited->problem == "cpu runs no edited code: it generates none");
  CHECK_FALSE(rows[1].edited);
  CHECK(contains(bench_text({rows, "d", "cpu", {}}), "edited: cpu runs no edited code"));
}

TEST_CASE("results of edited code are compared by bits, and within the rounding of their dtype", "[bench]") {
  const auto compared = [](const std::string& dtype, double expected, double found) {
    const Dump dump("@compile\nfn f(x) = x + x\nf(ones([3]).to(" + dtype + "))\n");
    const OpenedDump opened = open_dump(dump.path());
    const graph::Plan& plan = opened.plans[0].stored.plan;
    const DType type = plan.outputs[0].dtype;
    std::vector<std::byte> a(3 * size_of(type)), b;
    for (size_t i = 0; i < 3; ++i) store_element(type, &a[i * size_of(type)], Scalar::of(1.0));
    store_element(type, &a[0], Scalar::of(expected));
    b = a;
    store_element(type, &b[0], Scalar::of(found));
    return compare_results(plan, a, b);
  };
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(compared("f32", 2, 2).different == 0);
  CHECK(compared("f32", nan, nan).is_close);
  CHECK(compared("f32", 2, 2.000001).different == 1);
  CHECK(compared("f32", 2, 2.000001).elements == 3);
  CHECK(compared("f32", 2, 2.000001).is_close);
  CHECK_FALSE(compared("f32", 2, 2.001).is_close);
  CHECK(compared("f32", 2, 2.5).largest == 0.25);
  CHECK_FALSE(compared("f32", 2, nan).is_close);
  CHECK_FALSE(compared("f32", infinity, 2).is_close);
  CHECK(compared("bf16", 2, 2.015625).is_close);
  CHECK_FALSE(compared("f64", 2, 2.000001).is_close);
  CHECK_FALSE(compared("i32", 2, 3).is_close);
}

TEST_CASE("measurements are formatted for people and for tools", "[bench]") {
  BenchRow row;
  row.plan = "step:2#0";
  row.times.kernel = {
      .name = "k_exp__1234", .blocks = 8, .threads = 128, .registers = 20, .spilled = 0, .occupancy = 0.5};
  row.facts.bytes = 2'000'000;
  row.facts.flops = 1000;
  row.times.runs = 20;
  row.times.median = 1e-3;
  BenchRow failed = row;
  failed.times.runs = 0;
  failed.times.median = 0;
  failed.problem = "out of memory";
  BenchRow edited = row;
  edited.edited = ComparedCode{.times = row.times, .results = {.elements = 100, .different = 2, .largest = 0.5}};
  edited.edited->times.median = 5e-4;
  edited.edited->results.is_close = false;
  const std::vector<BenchRow> rows = {row, failed, edited};
  const PlanRow whole{.plan = "step:2#0", .types = "f32[2]", .launches = 3, .times = {20, 2e-3, 1e-3, 3e-3}};
  const BenchView view{rows, "d", "cuda:0 (GPU)", {.bytes_per_second = 4e9, .flops_per_second = 0}, false, {whole}};
  const std::string text = bench_text(view);
  CHECK(contains(text, "1.00 ms"));
  CHECK(contains(text, "50 %  k_exp__1234"));
  CHECK(contains(text, "8 x 128 threads, 20 registers, occupancy 50 %"));
  CHECK(contains(text, "out of memory"));
  CHECK(contains(text, "edited, 2.00 times as fast; 2 of 100 elements differ, by 0.5 at most: other results"));
  CHECK(contains(text, "2.00 ms   1.00 ms - 3.00 ms     20        3  step:2#0  f32[2]"));
  const Json json = Json::parse(bench_json(view));
  CHECK(json["version"] == 1);
  CHECK(json["kernels"][0]["seconds"]["median"] == 1e-3);
  CHECK(json["kernels"][0]["roof"] == 0.5);
  CHECK(json["kernels"][1]["seconds"].is_null());
  CHECK(json["kernels"][1]["problem"] == "out of memory");
  CHECK(json["kernels"][2]["edited"]["different"] == 2);
  CHECK(json["kernels"][2]["edited"]["seconds"]["median"] == 5e-4);
  CHECK(json["plans"][0]["seconds"]["p90"] == 3e-3);
}
