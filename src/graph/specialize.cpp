#include "graph/specialize.h"

#include "tensor/op.h"

namespace tsl::graph {

namespace {

/// Completes what is known of nested parts: all that is in the inner one is in the outer one.
void complete(const std::vector<Instr>& program, std::vector<InPart>& in_part) {
  const auto is_inner = [&](Reg r) { return program[r].kind == Instr::Kind::part && program[r].is_guarded; };
  for (Reg r = static_cast<Reg>(program.size()); r-- > 0;) {
    if (is_inner(r) && in_part[r] == InPart::all) in_part[program[r].a] = InPart::all;
  }
  for (Reg r = 0; r < program.size(); ++r) {
    if (is_inner(r) && in_part[program[r].a] == InPart::none) in_part[r] = InPart::none;
  }
}

Instr zero_like(const Instr& load) {
  Instr zero(Instr::Kind::scalar);
  zero.level = load.level;
  zero.dtype = zero.operand_dtype = load.dtype;
  zero.scalar = Scalar::of(int64_t{0});
  zero.node = load.node;
  return zero;
}

}  // namespace

bool may_report(const Instr& instr) {
  return instr.kind == Instr::Kind::gather ||
         (instr.kind == Instr::Kind::map && may_fail(op_def(instr.op), instr.operand_dtype));
}

Remainder remainder_of(const std::vector<Instr>& program, std::vector<InPart> in_part) {
  complete(program, in_part);
  const size_t count = program.size();
  Remainder left{std::vector<Reg>(count), std::vector<InPart>(count, InPart::some)};
  for (Reg r = 0; r < count; ++r) {
    const Instr& instr = program[r];
    left.value_of[r] = r;
    if (instr.kind == Instr::Kind::choose && in_part[instr.a] != InPart::some)
      left.value_of[r] = left.value_of[in_part[instr.a] == InPart::all ? instr.b : instr.c];
  }
  std::vector<bool> is_needed(count, false);
  for (Reg r = static_cast<Reg>(count); r-- > 0;) {
    const Instr& instr = program[r];
    if (instr.kind == Instr::Kind::store || may_report(instr)) is_needed[r] = true;
    if (!is_needed[r] || !left.keeps(r)) continue;
    if (instr.is_guarded) left.guard[r] = in_part[instr.a];
    if (left.guard[r] != InPart::some) continue;
    for (Reg operand : operands_of(instr)) is_needed[left.value_of[operand]] = true;
  }
  for (Reg r = static_cast<Reg>(count); r-- > 0;) {
    if (!is_needed[left.value_of[r]]) left.value_of[r] = Remainder::kUnused;
  }
  return left;
}

std::vector<Instr> program_of(const std::vector<Instr>& program, const Remainder& remainder) {
  std::vector<Instr> made;
  std::vector<Reg> renamed(program.size(), 0);
  for (Reg r = 0; r < program.size(); ++r) {
    if (!remainder.keeps(r)) continue;
    Instr instr = program[r];
    if (remainder.guard[r] == InPart::none && instr.kind == Instr::Kind::load) instr = zero_like(instr);
    if (remainder.guard[r] != InPart::some) instr.is_guarded = false;
    Reg* const operands[] = {&instr.a, &instr.b, &instr.c};
    for (int i = 0; i < operand_count(instr); ++i) *operands[i] = renamed[remainder.value_of[*operands[i]]];
    renamed[r] = static_cast<Reg>(made.size());
    made.push_back(std::move(instr));
  }
  return made;
}

}  // namespace tsl::graph
