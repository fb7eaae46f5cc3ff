#include "support/corpus.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "engine/modules.h"
#include "support/op_matrix.h"
#include "support/random_lets.h"
#include "support/random_programs.h"

namespace tsl {

namespace fs = std::filesystem;

namespace {

void append(std::vector<CorpusProgram>& to, std::vector<CorpusProgram> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Returns arguments with which a script is short and leaves no files behind. With TSL_TEST_FEW_LAUNCHES it launches
/// few kernels, for tools that are slow per launch.
std::vector<std::string> short_arguments(const std::string& name) {
  const bool few = std::getenv("TSL_TEST_FEW_LAUNCHES") != nullptr;
  if (few && (name == "digits" || name == "digits_cnn" || name == "text_model")) return {"1"};
  if (few && (name == "cut_segments" || name == "regression_tracing")) return {"100"};
  if (name == "text_model") return {"10"};
  if (name == "fma") return {"100"};
  if (name == "image_filter")
    return {(fs::temp_directory_path() / fmt::format("tsl_corpus_{}.npy", ::getpid())).string()};
  return {};
}

}  // namespace

std::string repository() { return fs::exists(TSL_SOURCE_DIR "/tests/lang") ? TSL_SOURCE_DIR : "."; }

void in_parallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < count; at = next++) work(at);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<CorpusProgram> corpus_scripts() {
  std::vector<CorpusProgram> out;
  for (const char* folder : {"tests/lang", "tests/tiers", "examples"}) {
    for (const auto& entry : fs::directory_iterator(repository() + "/" + folder)) {
      if (entry.path().extension() != ".tsl") continue;
      const std::string path = std::string(folder) + "/" + entry.path().filename().string();
      const std::string code = ModuleLoader::read_file(entry.path().string());
      out.push_back({path, code, path, short_arguments(entry.path().stem().string())});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

std::vector<CorpusProgram> corpus_matrix() {
  std::vector<CorpusProgram> out;
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : kMatrixDTypes)
      out.push_back({fmt::format("{} {}", op_def(c.op).name, dtype), matrix_program(c, dtype), "", {}, c.op});
  }
  return out;
}

std::vector<CorpusProgram> corpus_derivatives() {
  std::vector<CorpusProgram> out;
  for (const MatrixCase& c : matrix_cases()) {
    for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
      out.push_back(
          {fmt::format("derivative of {} {}", op_def(c.op).name, dtype), gradient_program(c, dtype), "", {}, c.op});
    }
  }
  return out;
}

namespace {

std::vector<CorpusProgram> random_corpus(const char* name, Block (*make)(uint64_t seed)) {
  const auto number = [](const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  const uint64_t first = number("TSL_CORPUS_FIRST", 1), count = number("TSL_CORPUS_PROGRAMS", 300);
  std::vector<CorpusProgram> out;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    out.push_back({fmt::format("{} {}", name, seed), to_text(make(seed)), "", {}});
  }
  return out;
}

}  // namespace

std::vector<CorpusProgram> corpus_random_programs() { return random_corpus("random program", random_program); }

std::vector<CorpusProgram> corpus_random_lets() { return random_corpus("random lets", random_lets); }

std::vector<CorpusProgram> corpus_programs() {
  std::vector<CorpusProgram> out = corpus_scripts();
  append(out, corpus_matrix());
  append(out, corpus_derivatives());
  append(out, corpus_random_programs());
  return out;
}

std::string outcome(const CorpusProgram& program, Tier tier, EngineOptions options) {
  options.script_args = program.args;
  return program.path.empty() ? outcome(program.code, tier, std::move(options))
                              : outcome_of_script(program.path, tier, std::move(options));
}

}  // namespace tsl
