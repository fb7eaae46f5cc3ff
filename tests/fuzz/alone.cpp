// Runs a fuzz target without libFuzzer, in any build: alone SECONDS SEED FILE-OR-FOLDER...: mutates the files at
// random, knowing nothing of what the target covers. An input that does not end well is left in the file `crash`.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed)
    __attribute__((weak));

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kLargest = 4096;

std::vector<Bytes> read_corpus(int count, char** paths) {
  std::vector<Bytes> corpus(1);  // with an empty input
  const auto add = [&](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() <= kLargest) corpus.push_back(std::move(bytes));
  };
  for (int i = 0; i < count; ++i) {
    if (!std::filesystem::is_directory(paths[i])) {
      add(paths[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(paths[i]))
      if (entry.is_regular_file()) add(entry.path());
  }
  return corpus;
}

/// Changes, adds or removes some bytes, or takes some of another input.
void mutate(Bytes& bytes, const Bytes& other, std::minstd_rand& random) {
  if (LLVMFuzzerCustomMutator && random() % 8) {
    const size_t size = bytes.size();
    bytes.resize(kLargest);
    bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, kLargest, static_cast<unsigned>(random())));
    return;
  }
  const size_t at = bytes.empty() ? 0 : random() % bytes.size();
  const auto there = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (bytes.empty() ? 0 : random() % 5) {
    case 0: bytes.insert(there, static_cast<uint8_t>(random())); break;
    case 1: bytes[at] = static_cast<uint8_t>(random()); break;
    case 2: bytes[at] ^= static_cast<uint8_t>(1u << random() % 8); break;
    case 3: bytes.resize(at); break;
    default:
      if (!other.empty())
        bytes.insert(there, other.begin(), other.begin() + static_cast<std::ptrdiff_t>(random() % other.size()));
  }
  if (bytes.size() > kLargest) bytes.resize(kLargest);
}

}  // namespace

int main(int count, char** arguments) {
  constexpr size_t kLeastRuns = 4;  // however busy the machine is
  if (count < 3) return 2;
  const double seconds = std::atof(arguments[1]);
  std::minstd_rand random(static_cast<unsigned>(std::atoi(arguments[2])));
  const std::vector<Bytes> corpus = read_corpus(count - 3, arguments + 3);
  const auto begin = std::chrono::steady_clock::now();
  size_t runs = 0;
  do {
    Bytes bytes = runs < corpus.size() ? corpus[runs] : corpus[random() % corpus.size()];
    if (runs >= corpus.size())
      for (unsigned changes = 1 + random() % 8; changes; --changes)
        mutate(bytes, corpus[random() % corpus.size()], random);
    std::ofstream("crash", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++runs;
  } while (runs < kLeastRuns ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
  std::remove("crash");
  std::printf("%zu inputs of %zu files\n", runs, corpus.size());
  return 0;
}
