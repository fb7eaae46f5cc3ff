#include "backend/cuda/codegen/row_passes.h"

#include <algorithm>
#include <iterator>

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

std::vector<bool> known_rows(const Kernel& kernel, const std::vector<bool>& done) {
  std::vector<bool> known(kernel.program.size(), false);
  for (Reg r = 0; r < kernel.program.size(); ++r) {
    const Instr& instr = kernel.program[r];
    if (instr.level != Level::row || !defines(instr)) continue;
    if (instr.kind == Instr::Kind::reduce) {
      known[r] = done[r];
      continue;
    }
    const graph::Operands in = operands_of(instr);
    known[r] = std::all_of(in.begin(), in.end(), [&](Reg o) { return known[o]; });
  }
  return known;
}

namespace {

/// Whether a value takes one instruction, whatever the numbers.
bool is_cheap(const Instr& instr) {
  return instr.kind == Instr::Kind::map && instr.dtype == DType::f32 &&
         (instr.op == Op::cast || instr.op == Op::add || instr.op == Op::sub || instr.op == Op::mul);
}

/// Marks values that are computed again rather than kept: cheap ones of an element that takes less room, and of what is
/// the same for the whole row (an f32 minus its row's mean, of a bf16).
std::vector<bool> find_derived(const Kernel& kernel, const std::vector<bool>& free) {
  std::vector<bool> derived(kernel.program.size(), false);
  std::vector<size_t> room(kernel.program.size(), 0);  // bytes of what a later pass would need of a value
  for (Reg r = 0; r < kernel.program.size(); ++r) {
    const Instr& instr = kernel.program[r];
    room[r] = size_of(instr.dtype);
    if (free[r] || !is_cheap(instr)) continue;
    const graph::Operands operands = operands_of(instr);
    std::vector<Reg> in(operands.begin(), operands.end());
    in.erase(std::remove_if(in.begin(), in.end(), [&](Reg o) { return free[o]; }), in.end());
    if (in.size() != 1 || room[in[0]] >= room[r]) continue;
    derived[r] = true;
    room[r] = room[in[0]];
  }
  return derived;
}

class PassPlanner {
 public:
  explicit PassPlanner(const Kernel& kernel) : kernel_(kernel), not_full_(size(), false) {
    for (Reg r = 0; r < size(); ++r) not_full_[r] = !is_full(kernel.program[r]);
  }

  RowPasses plan() {
    plan_again();
    plan_once();
    return std::move(passes_);
  }

 private:
  size_t size() const { return kernel_.program.size(); }

  /// Plans passes that compute values again: reductions that depend on no later reduction share a pass; the last pass
  /// stores.
  void plan_again() {
    const std::vector<Reg> all = reduces(kernel_, Level::row);
    std::vector<bool> done(size(), false), computed(size(), false);
    for (size_t left = all.size(); left > 0;) {
      const std::vector<bool> known = known_rows(kernel_, done);
      Pass pass;
      for (Reg r : all) {
        if (!done[r] && depends_only_on(r, known)) pass.reduces.push_back(r);
      }
      for (Reg r : pass.reduces) {
        pass.targets.push_back(kernel_.program[r].a);
        done[r] = true;
      }
      left -= pass.reduces.size();
      add(std::move(pass), computed);
    }
    Pass last;
    for (Reg r = 0; r < size(); ++r) {
      const Instr& instr = kernel_.program[r];
      const bool is_checked = instr.kind == Instr::Kind::gather || may_fail(op_def(instr.op), instr.dtype);
      if (is_full(instr) && (!defines(instr) || (is_checked && !computed[r]))) last.targets.push_back(r);
    }
    if (!last.targets.empty()) add(std::move(last), computed);
  }

  void add(Pass pass, std::vector<bool>& computed) {
    pass.computes = needed_for(kernel_, pass.targets, not_full_);
    for (Reg r = 0; r < size(); ++r) {
      pass.computes[r] = pass.computes[r] && !not_full_[r];
      if (pass.computes[r]) computed[r] = true;
    }
    passes_.again.push_back(std::move(pass));
  }

  bool depends_only_on(Reg reduce, const std::vector<bool>& known_row) const {
    const Reg from = kernel_.program[reduce].a;
    if (not_full_[from]) return known_row[from];
    const std::vector<bool> needed = needed_for(kernel_, {from}, not_full_);
    for (Reg r = 0; r < size(); ++r) {
      if (!needed[r]) continue;
      for (Reg operand : operands_of(kernel_.program[r])) {
        if (not_full_[operand] && !known_row[operand]) return false;
      }
    }
    return true;
  }

  /// Plans passes that compute each value once: values that a later pass needs are kept.
  void plan_once() {
    std::vector<bool> free = not_full_;  // known without a pass, or cheap to repeat
    for (Reg r = 0; r < size(); ++r) free[r] = free[r] || kernel_.program[r].kind == Instr::Kind::scalar;
    std::vector<bool> computed = free;
    const std::vector<bool> derived = find_derived(kernel_, free);
    std::vector<size_t> first(size(), 0), last_use(size(), 0);
    passes_.once = passes_.again;
    passes_.kept.assign(size(), false);
    for (size_t p = 0; p < passes_.once.size(); ++p) {
      Pass& pass = passes_.once[p];
      std::vector<Reg> fresh;
      std::copy_if(pass.targets.begin(), pass.targets.end(), std::back_inserter(fresh),
                   [&](Reg r) { return !computed[r]; });
      pass.computes = needed_for(kernel_, fresh, computed);
      const auto use = [&](Reg r) {
        if (free[r] || pass.computes[r]) return;
        passes_.kept[r] = true;
        last_use[r] = p;
      };
      for (Reg r : pass.targets) use(r);
      for (Reg r = 0; r < size(); ++r) {
        if (!pass.computes[r]) continue;
        for (Reg operand : operands_of(kernel_.program[r])) use(operand);
      }
      for (Reg r = 0; r < size(); ++r) {
        if (!pass.computes[r] || derived[r]) continue;
        computed[r] = true;
        first[r] = p;
      }
    }
    for (size_t p = 0; p + 1 < passes_.once.size(); ++p) {
      int64_t words = 0, halves = 0;
      for (Reg r = 0; r < size(); ++r) {
        if (!passes_.kept[r] || first[r] > p || last_use[r] <= p) continue;
        words += std::max<int64_t>(size_of(kernel_.program[r].dtype) / 4, 1);
        halves += has_16_bits(kernel_.program[r].dtype) ? 1 : 0;
      }
      if (2 * words - halves <= 2 * passes_.kept_words - passes_.kept_halves) continue;
      passes_.kept_words = words;
      passes_.kept_halves = halves;
    }
  }

  const Kernel& kernel_;
  std::vector<bool> not_full_;
  RowPasses passes_;
};

}  // namespace

RowPasses plan_passes(const Kernel& kernel) { return PassPlanner(kernel).plan(); }

bool are_arg_reductions(const Kernel& kernel, const RowPasses& passes) {
  const std::vector<Reg> all = reduces(kernel, Level::row);
  return !all.empty() && passes.again.size() == 1 &&
         std::all_of(all.begin(), all.end(), [&](Reg r) { return Reduction(kernel.program[r]).is_arg_reduction(); });
}

int access_width(const Kernel& kernel, const graph::Plan& plan, const RowPasses& passes, int row_threads,
                 bool vectorized) {
  constexpr int64_t kVectorBytes = 16;  // the most of one access
  const ReduceShape shape = shape_of(kernel);
  const int inner = kernel.kept.rank() + kernel.reduced.rank() - 1;
  int64_t longest = 1;
  bool short_elements = false;
  for (const Instr& instr : kernel.program) {
    if (!is_contiguous_along(kernel, instr, inner)) continue;
    const auto bytes = static_cast<int64_t>(size_of(plan.buffers[kernel.buffers[instr.buffer]].dtype));
    longest = std::max(longest, bytes);
    short_elements |= bytes == 2;
  }
  const auto divides = [&](int width) {
    return shape.length > 0 && shape.length % width == 0 &&
           kernel.reduced[kernel.reduced.rank() - 1].hint() % width == 0;
  };
  const auto fits = [&](int width) { return vectorized && divides(width) && allows_vectors(kernel, inner, width); };
  if (share_warps(shape, passes.kept_words) && row_threads == 0) {
    int width = 8;
    while (width > 1 && (width * longest > kVectorBytes || !fits(width))) width /= 2;
    return width;
  }
  const bool has_room =
      shape.rows >= kFewRows && (passes.kept_words == 0 || (passes.kept_words == 1 && shape.blocks() == 1));
  if (short_elements && passes.kept_halves > 0 && divides(2) && !shape.across) return 2;
  return (short_elements || has_room) && fits(2) ? 2 : 1;
}

RowDemand demand_of(const Kernel& kernel, const graph::Plan& plan, const RowPasses& passes, int width) {
  RowDemand demand;
  demand.width = width;
  demand.kept_words = passes.kept_words;
  demand.kept_halves = width > 1 ? passes.kept_halves : 0;
  bool has_place = false;
  for (Reg r : reduces(kernel, Level::row)) {
    const Reduction reduction(kernel.program[r]);
    has_place |= reduction.is_arg_reduction();
    if (reduction.is_two_pass()) demand.held_words += static_cast<int64_t>(size_of(reduction.partial_dtype()) / 4);
  }
  const int inner = kernel.kept.rank() + kernel.reduced.rank() - 1;
  for (const Instr& instr : kernel.program) {
    if (instr.kind == Instr::Kind::load && is_contiguous_along(kernel, instr, inner))
      demand.read_bytes = std::max<int64_t>(demand.read_bytes, element_bytes(kernel, plan, instr));
  }
  demand.reads_once = passes.again.size() == 1;
  demand.are_arg_reductions = are_arg_reductions(kernel, passes);
  const bool may_share = plan.device.has_clusters && count_of(kernel.reduced) <= plan.device.resident.neighbours;
  demand.clusters = may_share && !demand.reads_once && !has_place;
  demand.stores = std::any_of(kernel.program.begin(), kernel.program.end(),
                              [](const Instr& instr) { return is_full(instr) && !defines(instr); });
  return demand;
}

}  // namespace tsl::cuda
