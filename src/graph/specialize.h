// Specializes a kernel's program for indices of which it is known whether they are in its parts.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/kernel.h"

namespace tsl::graph {

/// Whether an instruction may report an error of an element.
bool may_report(const Instr& instr);

/// Whether the indices are in a part: some may be, all are, none is.
enum class InPart : uint8_t { some, all, none };

/// What is left of a program. Two that are equal compute the same.
struct Remainder {
  static constexpr Reg kUnused = ~Reg{0};
  /// By register: the register that has its value, which is another one for a choice; kUnused if nothing needs it.
  std::vector<Reg> value_of;
  /// By register: whether the indices are in the part that guards this load or part; `some` if nothing does.
  std::vector<InPart> guard;
  friend bool operator==(const Remainder&, const Remainder&) = default;

  /// Whether an instruction is left.
  bool keeps(Reg r) const { return value_of[r] == r; }
};

/// Finds what the stores need, and what may report an error. `in_part` holds an entry for each register.
Remainder remainder_of(const std::vector<Instr>& program, std::vector<InPart> in_part);

/// Makes the program of a remainder. What is read outside of its part, and may have any value, is the number 0.
std::vector<Instr> program_of(const std::vector<Instr>& program, const Remainder& remainder);

}  // namespace tsl::graph
