// Tests profiles as data: that rows sum to the whole, and what they say of programs, also of the examples.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "support/session.h"

using namespace tsl;
using nlohmann::json;

namespace {

EngineOptions profiled(bool compile_all = false) {
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

/// Makes the project's folder the current one, as the examples assume, and back.
class InProject {
 public:
  InProject() { std::filesystem::current_path(TSL_SOURCE_DIR); }
  ~InProject() { std::filesystem::current_path(before_); }
  InProject(const InProject&) = delete;
  InProject& operator=(const InProject&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

constexpr const char* kMatrices = "let n = 500\nlet a = rand([n, n])\nlet b = rand([n, n])\nlet c = rand([n, n])\n";

}  // namespace

TEST_CASE("a * b + c whose result is unused launches no kernel, and the profile says which line", "[profile]") {
  Session s(profiled());
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
  Session s(profiled());
  CHECK(s.output(std::string("@compile\nfn test(a, b, c) = a * b + c\n") + kMatrices +
                 "let d = test(a, b, c)\nlet before = counters().traces\n"
                 "let e = with_range(\"new\", fn() = test(rand([n, n]), rand([n, n]), rand([n, n])))\n"
                 "print(counters().traces - before)\n") == "0\n");
  std::vector<json> fused;
  const json profile = profile_of(s);
  for (const json& kernel : kernels_of(profile)) {
    if (kernel["specialisation"] == "test:2#0") fused.push_back(kernel);
  }
  REQUIRE(fused.size() == 1);
  CHECK(fused[0]["name"].get<std::string>().rfind("k_mul_add__", 0) == 0);
  CHECK(fused[0]["calls"] == 2);
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

TEST_CASE("a program that fails half-way has a profile up to there", "[profile]") {
  Session s(profiled());
  CHECK_THROWS_AS(s.output("let x = exp(ones([100]))\nerror(\"oh\")\nlet y = sin(x)\n"), Failure);
  const json profile = profile_of(s);
  REQUIRE(kernels_of(profile).size() == 2);  // fill, exp
  CHECK(sum_of_shares(profile) == Approx(100).margin(0.1));
}

TEST_CASE("in every example, shares sum to 100 percent and kernels have lines", "[examples]") {
  const InProject in_project;
  for (const auto& entry : std::filesystem::directory_iterator("examples")) {
    if (entry.path().extension() != ".tsl") continue;
    for (const bool compile_all : {false, true}) {
      EngineOptions options = profiled(compile_all);
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
