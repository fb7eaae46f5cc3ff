// Inference at a steady rate: weights from a .safetensors file, a compiled function of a script, and inputs and results
// in memory of the program, without copies. The program writes the file of a small model first.
//
//     infer model.safetensors [calls [calls a second]]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

constexpr int64_t kInputs = 16, kHidden = 64, kOutputs = 4;

/// Writes a model of two layers: a header of 8 bytes with the length of the JSON that follows, then the elements.
void write_model(const std::string& path) {
  struct Entry {
    const char* name;
    int64_t rows, columns;
  };
  constexpr Entry kEntries[] = {{"w1", kInputs, kHidden}, {"w2", kHidden, kOutputs}};
  std::string header = "{";
  uint64_t at = 0;
  std::vector<float> elements;
  std::mt19937 random(1);
  std::normal_distribution<float> weights(0.0f, 0.1f);
  for (const Entry& entry : kEntries) {
    const auto count = static_cast<uint64_t>(entry.rows * entry.columns);
    const uint64_t end = at + count * sizeof(float);
    header += (at ? ",\"" : "\"") + std::string(entry.name) + R"(":{"dtype":"F32","shape":[)" +
              std::to_string(entry.rows) + "," + std::to_string(entry.columns) + R"(],"data_offsets":[)" +
              std::to_string(at) + "," + std::to_string(end) + "]}";
    for (uint64_t i = 0; i < count; ++i) elements.push_back(weights(random));
    at = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // so that the elements are aligned
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(header.data(), static_cast<std::streamsize>(length));
  file.write(reinterpret_cast<const char*>(elements.data()), static_cast<std::streamsize>(at));
}

constexpr const char* kScript = R"(
fn model(path) {
  let weights = load(path)
  @compile
  fn infer(x: f32[b, n]) = softmax(matmul(relu(matmul(x, weights.w1)), weights.w2), axis: -1)
  return infer
}
)";

/// Calls the model at a steady rate, and prints how long the calls took.
void run(const std::string& path, int calls, double rate) {
  using Clock = std::chrono::steady_clock;
  auto engine = tsl::Engine::create({.capabilities = TSL_ALLOW_FILES | TSL_ALLOW_COMPILE}).value();
  engine.run(kScript, "model.tsl").value();
  const tsl::Value infer = engine.call("model", path).value();

  std::array<float, kInputs> input{};
  std::vector<double> took;
  double total = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) {
    std::this_thread::sleep_until(
        begin + i * std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1.0 / rate)));
    for (int64_t k = 0; k < kInputs; ++k) input[static_cast<size_t>(k)] = static_cast<float>((i + k) % 7);
    const auto start = Clock::now();
    const tsl::Tensor x = engine.wrap(std::span<const float>(input), {1, kInputs}).value();
    const auto result = engine.call<tsl::Tensor>(infer, x).value().span<float>().value();
    took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    for (const float each : result) total += each;
  }
  std::sort(took.begin(), took.end());
  std::printf("%d calls, half within %.1f us, 99 of 100 within %.1f us; probabilities add up to %.3f\n", calls,
              took[took.size() / 2], took[took.size() * 99 / 100], total / calls);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: infer MODEL [CALLS [CALLS_A_SECOND]]\n");
    return 2;
  }
  try {
    write_model(argv[1]);
    run(argv[1], std::max(1, argc > 2 ? std::stoi(argv[2]) : 1000), argc > 3 ? std::stod(argv[3]) : 500.0);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
