// Finds what choices between parts select from.
#include "backend/cpu/tiles/builder.h"
#include "graph/parts.h"
#include "tensor/op.h"

namespace tsl::cpu {

using graph::Instr;
using graph::Kernel;

namespace {

std::vector<Choose::Bound> bounds_of(const Kernel& kernel, const Instr& guarded) {
  std::vector<Choose::Bound> bounds;
  for (const Instr* at = &guarded; at->is_guarded;) {
    at = &kernel.program[at->a];
    bounds.push_back({access_of(at->map), at->low, at->high});
  }
  return bounds;
}

/// Finds what the choices of a kernel select from. A load that only one choice needs is read there, in place, and a
/// choice that only another needs is a part of that one.
class ChoiceFinder {
 public:
  explicit ChoiceFinder(const TileSource& source) : source_(source), uses_(source.kernel.program.size(), 0) {
    for (const Instr& instr : source.kernel.program) {
      if (instr.kind == Instr::Kind::choose) ++uses_[instr.b], ++uses_[instr.c];
      const int arity = instr.kind == Instr::Kind::map ? op_def(instr.op).arity : reads_one(instr) ? 1 : 0;
      if (arity > 0) ++uses_[instr.a];
      if (arity > 1) ++uses_[instr.b];
      if (arity > 2) ++uses_[instr.c];
    }
  }

  /// Returns the values of a choose or a guarded load. Appends the registers that it replaces.
  Choose find(graph::Reg reg, std::vector<uint32_t>& replaced) const {
    Choose choice;
    const Instr* instr = &source_.kernel.program[reg];
    if (instr->kind == Instr::Kind::load) {
      choice.values.push_back({bounds_of(source_.kernel, *instr), -1, load_of(reg)});
      return choice;
    }
    const auto add = [&](graph::Reg value, std::vector<Choose::Bound> bounds) {
      const bool is_in_place = source_.kernel.program[value].kind == Instr::Kind::load && uses_[value] == 1;
      if (is_in_place) {
        choice.values.push_back({std::move(bounds), -1, load_of(value)});
        replaced.push_back(value);
      } else {
        choice.values.push_back({std::move(bounds), static_cast<int>(choice.src.size()), {}});
        choice.src.push_back(value);
      }
    };
    for (;;) {
      Instr inside = *instr;
      inside.is_guarded = true;
      add(instr->b, bounds_of(source_.kernel, inside));
      const graph::Reg other = instr->c;
      instr = &source_.kernel.program[other];
      const bool is_part = instr->kind == Instr::Kind::choose && uses_[other] == 1;
      if (!is_part || choice.src.size() + 2 > Choose::kMostSources) {
        const bool is_load = instr->kind == Instr::Kind::load;
        add(other, is_load ? bounds_of(source_.kernel, *instr) : std::vector<Choose::Bound>());
        return choice;
      }
      replaced.push_back(other);
    }
  }

 private:
  static bool reads_one(const Instr& instr) {
    return instr.kind == Instr::Kind::reduce || instr.kind == Instr::Kind::gather || instr.kind == Instr::Kind::store;
  }

  Load load_of(graph::Reg reg) const { return *make_step(source_.kernel.program[reg], source_).as<Load>(); }

  const TileSource& source_;
  std::vector<int> uses_;
};

}  // namespace

Choices find_choices(const TileSource& source) {
  using Role = Choices::Role;
  const std::vector<Instr>& program = source.kernel.program;
  Choices choices{std::vector<Role>(program.size(), Role::own_step), {}};
  const ChoiceFinder finder(source);
  for (size_t r = program.size(); r-- > 0;) {
    const Instr& instr = program[r];
    if (instr.kind == Instr::Kind::part) choices.role[r] = Role::no_step;
    const bool chooses = instr.kind == Instr::Kind::choose || (instr.kind == Instr::Kind::load && instr.is_guarded);
    if (!chooses || choices.role[r] == Role::no_step) continue;
    std::vector<uint32_t> replaced;
    choices.of.emplace(static_cast<uint32_t>(r), finder.find(static_cast<graph::Reg>(r), replaced));
    for (const uint32_t reg : replaced) choices.role[reg] = Role::no_step;
    choices.role[r] = Role::choice;
  }
  return choices;
}

}  // namespace tsl::cpu
