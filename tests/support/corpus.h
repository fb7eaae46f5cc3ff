// The programs that every device must run alike: the language's chapters, the examples, every op of the matrix and its
// derivative, and random programs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/tiers.h"

namespace tsl {

/// Code, or a script of the repository.
struct CorpusProgram {
  std::string name;  // what to call it in a message
  std::string code;  // of a script, too
  std::string path;  // of a script; relative to the repository
  std::vector<std::string> args;
};

/// The scripts of tests/lang, tests/tiers and examples (those with arguments that make them short).
std::vector<CorpusProgram> corpus_scripts();
std::vector<CorpusProgram> corpus_matrix();
std::vector<CorpusProgram> corpus_derivatives();
/// $TSL_CORPUS_PROGRAMS many, by default 300.
std::vector<CorpusProgram> corpus_random_programs();
/// All of them.
std::vector<CorpusProgram> corpus_programs();

/// Calls work(0), …, work(count - 1) on all cores.
void in_parallel(size_t count, const std::function<void(size_t)>& work);

/// Where tests/lang and examples are: the repository, or on other machines the folder that the tests are run in.
std::string repository();

/// Scripts and the files they read are named relative to the repository: tests go there, and back.
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
