// The programs that must give the same results on every device: the language's chapters, the examples, every op of the
// matrix and its derivative, and random programs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/tiers.h"
#include "tensor/op.h"

namespace tsl {

/// Code, or a script of the repository.
struct CorpusProgram {
  std::string name;  // for messages
  std::string code;  // for scripts as well
  std::string path;  // for scripts; relative to the repository
  std::vector<std::string> args;
  std::optional<Op> op = {};  // of a program of the matrix
};

/// The scripts of tests/lang, tests/tiers and examples (those with arguments that make them short).
std::vector<CorpusProgram> corpus_scripts();
std::vector<CorpusProgram> corpus_matrix();
std::vector<CorpusProgram> corpus_derivatives();
/// Returns $TSL_CORPUS_PROGRAMS random programs, by default 300, from number $TSL_CORPUS_FIRST on, by default 1.
std::vector<CorpusProgram> corpus_random_programs();
/// Returns as many random functions of many lets (random_lets.h), likewise; none of them is in corpus_programs().
std::vector<CorpusProgram> corpus_random_lets();
/// Returns all programs.
std::vector<CorpusProgram> corpus_programs();

/// Calls work(0), …, work(count - 1) on all cores.
void in_parallel(size_t count, const std::function<void(size_t)>& work);

/// Returns the folder with tests/lang and examples: the repository, or on other machines the working folder of the
/// tests.
std::string repository();

/// Changes to the repository's folder and back, since scripts and their files have relative names.
class InRepository {
 public:
  InRepository() : before_(std::filesystem::current_path()) { std::filesystem::current_path(repository()); }
  ~InRepository() { std::filesystem::current_path(before_); }
  InRepository(const InRepository&) = delete;
  InRepository& operator=(const InRepository&) = delete;

 private:
  std::filesystem::path before_;
};

/// As outcome() of tiers.h. Call it in the repository.
std::string outcome(const CorpusProgram& program, Tier tier, EngineOptions options);

}  // namespace tsl
