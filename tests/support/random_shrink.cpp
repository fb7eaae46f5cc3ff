// Writes a random program, and removes what a difference does not need.
#include "support/random_programs.h"
#include "support/tiers.h"

namespace tsl {

namespace {

void write(const Block& block, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent) * 2, ' ');
  for (const Statement& statement : block) {
    if (statement.parts.empty()) {
      out += margin + statement.line + "\n";
      continue;
    }
    for (size_t i = 0; i < statement.parts.size(); ++i) {
      out += (i == 0 ? margin : " ") + statement.parts[i].head + " {\n";
      write(statement.parts[i].body, indent + 1, out);
      out += margin + "}";
    }
    out += "\n";
  }
}

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

std::string to_text(const Block& program) {
  std::string text;
  write(program, 0, text);
  return text;
}

Block shrunk(Block program) {
  constexpr int kMaxRounds = 8;  // one may enable another; a few rounds suffice for a readable program
  for (int round = 0; round < kMaxRounds && shrink(program, program); ++round) {}
  return program;
}

}  // namespace tsl
