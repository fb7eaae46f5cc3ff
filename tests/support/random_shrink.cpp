// Makes the random program of a seed, and removes what a difference does not need.
#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "support/corpus.h"
#include "support/program_text.h"
#include "support/random_programs.h"
#include "support/tiers.h"

namespace tsl {

namespace {

/// Simplifies one program until nothing more can be removed, or it has taken too long.
class Shrinker {
 public:
  explicit Shrinker(Block program) : program_(std::move(program)) {}
  Block shrunk();

 private:
  bool is_over() const { return tries_ >= kMostTries || std::chrono::steady_clock::now() > end_; }
  bool still_differs();

  /// Removes halves, quarters, … and single statements of a block.
  bool remove_statements(Block& block);
  bool unwrap(Block& block, size_t i);
  bool simplify_lines();
  bool simplify(std::string& line);
  bool inline_lets();
  bool remove_parameters();
  /// Prints elements instead of digests, if they are few, so that the program runs without the tests.
  void print_elements();
  void each_block(Block& block, const std::function<void(Block&)>& visit);
  void each_line(Block& block, const std::function<void(std::string&)>& visit);

  static constexpr int kMostTries = 3000;
  Block program_;
  std::set<std::string> seen_;  // what was tried: a round tries again most of what the one before did
  int tries_ = 0;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(40);
};

bool Shrinker::still_differs() {
  std::string text = to_text(program_);
  if (is_over() || !seen_.insert(text).second) return false;
  ++tries_;
  return !disagreement(text).empty();
}

void Shrinker::each_block(Block& block, const std::function<void(Block&)>& visit) {
  visit(block);
  for (Statement& statement : block) {
    for (Statement::Part& part : statement.parts) each_block(part.body, visit);
  }
}

void Shrinker::each_line(Block& block, const std::function<void(std::string&)>& visit) {
  for (Statement& statement : block) {
    if (statement.parts.empty()) visit(statement.line);
    for (Statement::Part& part : statement.parts) {
      visit(part.head);
      each_line(part.body, visit);
    }
  }
}

/// Replaces a statement with blocks by the statements of one of them.
bool Shrinker::unwrap(Block& block, size_t i) {
  const Block before = block;
  for (const Statement::Part& part : before[i].parts) {
    block.erase(block.begin() + static_cast<ptrdiff_t>(i));
    block.insert(block.begin() + static_cast<ptrdiff_t>(i), part.body.begin(), part.body.end());
    if (still_differs()) return true;
    block = before;
  }
  return false;
}

bool Shrinker::remove_statements(Block& block) {
  bool changed = false;
  for (size_t size = std::max<size_t>(block.size() / 2, 1);; size /= 2) {
    for (size_t end = block.size(); end > 0; end = std::min(end, block.size())) {
      const size_t begin = end > size ? end - size : 0;
      const Block before = block;
      block.erase(block.begin() + static_cast<ptrdiff_t>(begin), block.begin() + static_cast<ptrdiff_t>(end));
      if (still_differs()) changed = true;
      else block = before;
      end = begin;
    }
    if (size == 1) break;
  }
  for (size_t i = block.size(); i-- > 0;) {
    if (!block[i].parts.empty() && unwrap(block, i)) {
      changed = true;
      i = block.size();
      continue;
    }
    for (Statement::Part& part : block[i].parts) changed |= remove_statements(part.body);
  }
  return changed;
}

/// Removes `let v = …` and writes one of the names on its right side instead of v.
bool Shrinker::inline_lets() {
  bool changed = false;
  // Lets are counted over the whole program, since a rejected try replaces all blocks.
  for (size_t number = 0; !is_over(); ++number) {
    std::optional<Binding> binding;
    size_t seen = 0;
    each_line(program_, [&](std::string& line) {
      const std::optional<Binding> found = binding_of(line);
      if (found && seen++ == number) binding = found;
    });
    if (!binding) return changed;
    for (const std::string& name : identifiers(binding->value)) {
      const Block before = program_;
      each_block(program_, [&](Block& block) {
        std::erase_if(block, [&](const Statement& s) {
          const std::optional<Binding> found = binding_of(s.line);
          return s.parts.empty() && found && found->name == binding->name;
        });
      });
      each_line(program_, [&](std::string& line) { line = with_name(line, binding->name, name); });
      if (still_differs()) {
        changed = true;
        --number;
        break;
      }
      program_ = before;
    }
  }
  return changed;
}

bool Shrinker::simplify(std::string& line) {
  bool changed = false;
  for (bool again = true; again && !is_over();) {
    again = false;
    const std::string before = line;
    for (std::string& simpler : simpler_lines(before)) {
      line = std::move(simpler);
      if (still_differs()) {
        changed = again = true;
        break;
      }
      line = before;
    }
  }
  return changed;
}

bool Shrinker::simplify_lines() {
  bool changed = false;
  each_line(program_, [&](std::string& line) { changed |= simplify(line); });
  return changed;
}

bool Shrinker::remove_parameters() {
  bool changed = false;
  std::vector<std::string> functions;
  each_line(program_, [&](std::string& line) {
    if (std::string name = function_of_head(line); !name.empty()) functions.push_back(std::move(name));
  });
  for (const std::string& name : functions) {
    for (size_t i = 8; i-- > 0;) {
      const Block before = program_;
      each_line(program_, [&](std::string& line) { line = without_argument(line, name, i); });
      if (still_differs()) changed = true;
      else program_ = before;
    }
  }
  return changed;
}

void Shrinker::print_elements() {
  constexpr size_t kMostText = 1000;
  each_line(program_, [&](std::string& line) {
    const std::string before = line;
    const size_t call = line.find("bits_of("), end = line.find("))", call);
    if (call == std::string::npos || end == std::string::npos) return;
    line = line.substr(0, call) + line.substr(call + 8, end - call - 8) + line.substr(end + 1);
    const std::string difference = disagreement(to_text(program_));
    if (difference.empty() || difference.size() > kMostText) line = before;
  });
}

Block Shrinker::shrunk() {
  constexpr int kMostRounds = 8;  // one removal may enable another; a few rounds suffice for a readable program
  bool changed = true;
  for (int round = 0; round < kMostRounds && changed && !is_over(); ++round) {
    changed = remove_statements(program_);
    changed |= inline_lets();
    changed |= remove_parameters();
    changed |= simplify_lines();
  }
  print_elements();
  return std::move(program_);
}

}  // namespace

Block random_program(uint64_t seed) {
  Random random(seed);
  return random_program(random, repository() + "/tests/lang/support/random_state.tsl");
}

Block shrunk(Block program) { return Shrinker(std::move(program)).shrunk(); }

}  // namespace tsl
