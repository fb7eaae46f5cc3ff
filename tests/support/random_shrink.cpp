// Makes the random program of a seed, and removes what a difference does not need.
#include "support/corpus.h"
#include "support/random_programs.h"
#include "support/tiers.h"

namespace tsl {

namespace {

/// Removes as many statements as possible from `block`, a part of `program`.
bool shrink(Block& program, Block& block) {
  bool changed = false;
  for (size_t i = block.size(); i-- > 0;) {
    const Statement statement = block[i];
    auto still_differs = [&] { return !disagreement(to_text(program)).empty(); };
    block.erase(block.begin() + static_cast<ptrdiff_t>(i));
    if (still_differs()) {
      changed = true;
      continue;
    }
    // Tries the statements inside without the one around them.
    const size_t parts = statement.parts.size();
    for (size_t p = 0; p < parts; ++p) {
      const Block body = statement.parts[p].body;
      block.insert(block.begin() + static_cast<ptrdiff_t>(i), body.begin(), body.end());
      if (still_differs()) return true;
      block.erase(block.begin() + static_cast<ptrdiff_t>(i), block.begin() + static_cast<ptrdiff_t>(i + body.size()));
    }
    block.insert(block.begin() + static_cast<ptrdiff_t>(i), statement);
    for (Statement::Part& part : block[i].parts) changed |= shrink(program, part.body);
  }
  return changed;
}

}  // namespace

Block random_program(uint64_t seed) {
  Random random(seed);
  return random_program(random, repository() + "/tests/lang/support/random_state.tsl");
}

Block shrunk(Block program) {
  constexpr int kMaxRounds = 8;  // one may enable another; a few rounds suffice for a readable program
  for (int round = 0; round < kMaxRounds && shrink(program, program); ++round) {}
  return program;
}

}  // namespace tsl
