// A simulation whose rule is a script: the program owns the arrays and the loop, the script says how particles move. A
// script that changes while the program runs is loaded again; one with an error leaves the old rule in place.
//
//     particles particles.tsl [picture.pgm [steps]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

constexpr int64_t kCount = 20000;
constexpr int kSide = 256;  // of the picture

/// Reads the script when it has changed since the last time.
class Rule {
 public:
  Rule(tsl::Engine& engine, std::string path) : engine_(engine), path_(std::move(path)) {}

  /// Returns the function `step` of the script as it is now.
  const tsl::Value& step() {
    std::error_code gone;
    const auto changed = std::filesystem::last_write_time(path_, gone);
    if (gone || changed == read_) return step_;
    read_ = changed;
    const auto loaded = engine_.run_file(path_);
    if (loaded) step_ = engine_.get("step").value();
    else std::fputs(loaded.error().text.c_str(), stderr);
    return step_;
  }

 private:
  tsl::Engine& engine_;
  const std::string path_;
  std::filesystem::file_time_type read_{};
  tsl::Value step_;
};

void write_picture(const std::string& path, const std::vector<float>& positions) {
  std::vector<int> counts(kSide * kSide);
  for (size_t i = 0; i + 1 < positions.size(); i += 2) {
    const int x = static_cast<int>((positions[i] + 2) / 4 * kSide),
              y = static_cast<int>((positions[i + 1] + 2) / 4 * kSide);
    if (x >= 0 && x < kSide && y >= 0 && y < kSide) ++counts[static_cast<size_t>(y * kSide + x)];
  }
  std::ofstream file(path, std::ios::binary);
  file << "P5 " << kSide << ' ' << kSide << " 255\n";
  for (const int count : counts) file.put(static_cast<char>(std::min(255, count * 60)));
}

/// Copies the field of a step's result over the program's array.
void take(const tsl::Value& result, std::string_view field, std::vector<float>& array) {
  result[field].value().as<tsl::Tensor>().value().read_into(std::span(array)).value();
}

void simulate(const std::string& script, const std::string& picture, int steps) {
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_COMPILE}).value();
  Rule rule(engine, script);
  std::vector<float> positions(2 * kCount), velocities(2 * kCount, 0.0f);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> anywhere(-1.5f, 1.5f);
  for (float& each : positions) each = anywhere(random);

  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    const auto p = engine.wrap(std::span<const float>(positions), {kCount, 2}).value();
    const auto v = engine.wrap(std::span<const float>(velocities), {kCount, 2}).value();
    const tsl::Value moved = engine.call(rule.step(), p, v, 0.01).value();
    take(moved, "p", positions);
    take(moved, "v", velocities);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%d steps of %d particles, %.2f ms each\n", steps, static_cast<int>(kCount),
              1e3 * seconds.count() / steps);
  write_picture(picture, positions);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: particles SCRIPT [PICTURE [STEPS]]\n");
    return 2;
  }
  try {
    simulate(argv[1], argc > 2 ? argv[2] : "particles.pgm", argc > 3 ? std::stoi(argv[3]) : 500);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
