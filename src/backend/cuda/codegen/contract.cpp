#include "backend/cuda/codegen/contract.h"

#include <algorithm>

#include "backend/cuda/codegen/writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

std::vector<int> count_readers(const Kernel& kernel) {
  std::vector<int> readers(kernel.program.size(), 0);
  for (const Instr& instr : kernel.program) {
    for (Reg r : operands_of(instr)) ++readers[r];
  }
  return readers;
}

}  // namespace

Kernel contract(Kernel kernel) {
  const std::vector<int> readers = count_readers(kernel);
  for (Instr& instr : kernel.program) {
    const bool adds = instr.op == Op::add,
               is_candidate = instr.kind == Instr::Kind::map && (adds || instr.op == Op::sub);
    if (!is_candidate || !is_float(instr.dtype)) continue;
    const auto is_own_product = [&](Reg r) {
      const Instr& product = kernel.program[r];
      return product.kind == Instr::Kind::map && product.op == Op::mul && product.level == instr.level &&
             readers[r] == 1;
    };
    const bool first = is_own_product(instr.a);
    if (!first && !is_own_product(instr.b)) continue;
    const Instr& product = kernel.program[first ? instr.a : instr.b];
    instr.c = first ? instr.b : instr.a;
    instr.a = product.a;
    instr.b = product.b;
    instr.contraction = adds    ? Instr::Contraction::sum
                        : first ? Instr::Contraction::difference
                                : Instr::Contraction::rest;
  }
  return kernel;
}

}  // namespace tsl::cuda
