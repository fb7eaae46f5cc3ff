// Random TSL programs, made to find places where a compiled region and the interpreter disagree.
//
// A program is a tree of statements, so that one that fails can be made smaller by leaving statements out. The same
// seed gives the same program. Programs are meant to run to their end, but need not: an error is an outcome that
// every tier must agree on, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
std::string to_text(const Block& program);

/// The program without the statements that take no part in the tiers' disagreement.
Block shrunk(Block program);

}  // namespace tsl
