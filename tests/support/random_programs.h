// Random TSL programs that look for differences between compiled regions and the interpreter.
//
// A program is a tree of statements, so that a failing one can be shrunk by removing statements. The same seed gives
// the same program. A program may end in an error, on which all tiers must agree as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/random_expressions.h"

namespace tsl {

struct Statement;
using Block = std::vector<Statement>;

/// One statement: a line, or parts with a block each, such as `if c`, `else`.
struct Statement {
  struct Part {
    std::string head;
    Block body;
  };
  std::string line;
  std::vector<Part> parts;

  explicit Statement(std::string text) : line(std::move(text)) {}
  explicit Statement(std::vector<Part> p) : parts(std::move(p)) {}
};

Block random_program(uint64_t seed);
/// Makes a program of what is drawn. module: the name by which it imports random_state.tsl; "": it imports nothing.
Block random_program(Random& random, std::string module);
std::string to_text(const Block& program);

/// Returns the program without statements that the disagreement does not need.
Block shrunk(Block program);

}  // namespace tsl
