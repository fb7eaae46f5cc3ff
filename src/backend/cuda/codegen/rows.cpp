// Row kernels: a warp a row. Values that a later loop needs stay in registers where they fit; else they are computed
// again from memory, which the caches hold.
#include <algorithm>

#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

namespace {

// 32-bit registers a thread may spend on values kept from loop to loop; the rest of the 255 are for computing.
constexpr int64_t kMaxKeptWords = 128;

/// One pass over the row's elements.
struct Pass {
  std::vector<Reg> reduces;     // row-level reductions it computes
  std::vector<Reg> targets;     // full-level instructions it is for: their operands, and stores
  std::vector<bool> computes;   // per instruction
};

class RowsWriter {
 public:
  RowsWriter(const Kernel& kernel, const graph::Plan& plan)
      : kernel_(kernel), plan_(plan), writer_(kernel, plan), rows_(count_of(kernel.kept)), length_(count_of(kernel.reduced)) {
    plan_passes();
    choose_kept();
  }

  KernelProgram write() {
    KernelProgram program;
    const TotalOperands totals = reserve_totals(kernel_, program);
    if (rows_ > 0) {
      writer_.line("const int lane = threadIdx.x % 32;");
      writer_.line("const Index row = (Index)block_x * {} + threadIdx.x / 32;", kRowsPerBlock);
      writer_.line("if (row >= {}) return;", writer_.size(rows_));
      row_.index = writer_.coordinates("row", extents_of(kernel_.kept), "k");
      row_.index.resize(static_cast<size_t>(kernel_.kept.rank() + kernel_.reduced.rank()), "0");
      row_.linear = "row";
      declare_kept();
      std::vector<bool> done(kernel_.program.size(), false);
      for (const Pass& pass : passes_) {
        emit_row_values(done);
        emit_pass(pass);
        for (Reg r : pass.reduces) done[r] = true;
      }
      emit_row_values(done);
      emit_row_ends(writer_, totals, row_, "row");
      program.stages.push_back(writer_.finish(keeps_ ? fmt::format("r{}", units()) : "", ceil_div(rows_, kRowsPerBlock), 1, kRowThreads, 1));
    }
    append_totals(kernel_, plan_, totals, program);
    return program;
  }

 private:
  bool is_full(Reg r) const { return kernel_.program[r].level == Level::full; }
  int64_t units() const { return std::max<int64_t>(ceil_div(length_, kReduceLanes), 1); }

  /// Row-level registers known when the reductions in `done` are.
  std::vector<bool> known_rows(const std::vector<bool>& done) const {
    std::vector<bool> known(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level != Level::row || !defines(instr)) continue;
      if (instr.kind == Instr::Kind::reduce) {
        known[r] = done[r];
        continue;
      }
      const std::vector<Reg> in = operands(instr);
      known[r] = std::all_of(in.begin(), in.end(), [&](Reg o) { return known[o]; });
    }
    return known;
  }

  /// Reductions whose elements depend on no reduction that is still to come share a pass; the last one stores.
  void plan_passes() {
    const std::vector<Reg> all = reduces(kernel_, Level::row);
    std::vector<bool> done(kernel_.program.size(), false), computed(kernel_.program.size(), false);
    for (size_t left = all.size(); left > 0;) {
      const std::vector<bool> known = known_rows(done);
      Pass pass;
      for (Reg r : all) {
        if (!done[r] && depends_only_on(r, known)) pass.reduces.push_back(r);
      }
      for (Reg r : pass.reduces) {
        pass.targets.push_back(kernel_.program[r].a);
        done[r] = true;
      }
      left -= pass.reduces.size();
      add_pass(std::move(pass), computed);
    }
    Pass last;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const bool may_fail = kernel_.program[r].kind == Instr::Kind::gather || op_def(kernel_.program[r].op).fallible;
      if (is_full(r) && (!defines(kernel_.program[r]) || (may_fail && !computed[r]))) last.targets.push_back(r);
    }
    if (!last.targets.empty()) add_pass(std::move(last), computed);
  }

  void add_pass(Pass pass, std::vector<bool>& computed) {
    std::vector<bool> rows(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) rows[r] = !is_full(r);
    pass.computes = needed_for(kernel_, pass.targets, rows);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      pass.computes[r] = pass.computes[r] && is_full(r);
      if (pass.computes[r]) computed[r] = true;
    }
    passes_.push_back(std::move(pass));
  }

  bool depends_only_on(Reg reduce, const std::vector<bool>& known_row) const {
    std::vector<bool> rows(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) rows[r] = !is_full(r);
    const Reg from = kernel_.program[reduce].a;
    if (!is_full(from)) return known_row[from];
    const std::vector<bool> needed = needed_for(kernel_, {from}, rows);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!needed[r]) continue;
      for (Reg operand : operands(kernel_.program[r])) {
        if (!is_full(operand) && !known_row[operand]) return false;
      }
    }
    return true;
  }

  /// Values computed in one pass and needed in a later one are kept, each computed once, if the registers suffice.
  void choose_kept() {
    kept_.assign(kernel_.program.size(), false);
    if (length_ > kReduceBlock || length_ == 0) return;
    std::vector<bool> rows(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) rows[r] = !is_full(r) || kernel_.program[r].kind == Instr::Kind::scalar;
    std::vector<bool> computed = rows, kept(kernel_.program.size(), false);
    std::vector<Pass> once = passes_;
    std::vector<size_t> last_use(kernel_.program.size(), 0), first(kernel_.program.size(), 0);
    for (size_t p = 0; p < once.size(); ++p) {
      std::vector<Reg> fresh;
      for (Reg r : once[p].targets) {
        if (!computed[r]) fresh.push_back(r);
      }
      once[p].computes = needed_for(kernel_, fresh, computed);
      const auto use = [&](Reg r) {
        if (rows[r] || once[p].computes[r]) return;
        kept[r] = true;
        last_use[r] = p;
      };
      for (Reg r : once[p].targets) use(r);
      for (Reg r = 0; r < kernel_.program.size(); ++r) {
        if (!once[p].computes[r]) continue;
        for (Reg operand : operands(kernel_.program[r])) use(operand);
      }
      for (Reg r = 0; r < kernel_.program.size(); ++r) {
        if (once[p].computes[r]) { computed[r] = true; first[r] = p; }
      }
    }
    for (size_t p = 0; p + 1 < once.size(); ++p) {
      int64_t words = 0;
      for (Reg r = 0; r < kernel_.program.size(); ++r) {
        if (kept[r] && first[r] <= p && last_use[r] > p) words += std::max<int64_t>(size_of(kernel_.program[r].dtype) / 4, 1);
      }
      if (words * units() > kMaxKeptWords) return;
    }
    keeps_ = true;
    kept_ = std::move(kept);
    passes_ = std::move(once);
  }

  void declare_kept() {
    for (Reg r = 0; keeps_ && r < kernel_.program.size(); ++r) {
      if (kept_[r]) writer_.line("{} r{}[{}];", type_of(kernel_.program[r].dtype), r, units());
    }
    writer_.set_arrays(kept_, "u");
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (is_full(r) && kernel_.program[r].kind == Instr::Kind::scalar) writer_.emit(r, row_, true);
    }
  }

  /// Row-level values whose operands are known by now.
  void emit_row_values(const std::vector<bool>& done) {
    const std::vector<bool> known = known_rows(done);
    emitted_.resize(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!known[r] || emitted_[r] || kernel_.program[r].kind == Instr::Kind::reduce) continue;
      writer_.emit(r, row_, true);
      emitted_[r] = true;
    }
  }

  void emit_element(const Pass& pass) {
    Position at = row_;
    const std::vector<std::string> inner = writer_.coordinates("e", extents_of(kernel_.reduced), "c");
    std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
    at.linear = fmt::format("((long long)row * {} + e)", writer_.size(length_));
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!pass.computes[r] || instr.kind == Instr::Kind::scalar) continue;
      if (defines(instr)) writer_.emit(r, at, !kept_[r]);
    }
    for (Reg r : pass.targets) {
      if (!defines(kernel_.program[r])) writer_.emit_store(kernel_.program[r], at);
    }
    for (Reg r : pass.reduces) {
      writer_.line("{}", Reduction(kernel_.program[r]).take(fmt::format("a{}", r), writer_.reg(kernel_.program[r].a), "e"));
    }
  }

  void emit_pass(const Pass& pass) {
    for (Reg r : pass.reduces) writer_.line("{}", Reduction(kernel_.program[r]).declare(fmt::format("a{}", r)));
    if (length_ > kReduceBlock && !pass.reduces.empty()) return emit_blocks(pass);
    if (keeps_) {
      writer_.line("#pragma unroll");
      writer_.open("for (int u = 0; u < {}; ++u)", units());
      writer_.line("const Index e = lane + 32 * u;");
      if (length_ % kReduceLanes != 0) writer_.open("if (e < {})", writer_.size(length_));
      emit_element(pass);
      if (length_ % kReduceLanes != 0) writer_.close();
      writer_.close();
    } else {
      writer_.open("for (Index e = lane; e < {}; e += 32)", writer_.size(length_));
      emit_element(pass);
      writer_.close();
    }
    for (Reg r : pass.reduces) finish_reduce(r, fmt::format("a{}", r));
  }

  void finish_reduce(Reg r, const std::string& name) {
    const Instr& instr = kernel_.program[r];
    const Reduction reduction(instr);
    const std::string result = length_ == 0 ? reduction.identity() : reduction.result(reduction.fold(name));
    writer_.line("const {} r{} = {};", type_of(instr.dtype), r, result);
  }

  /// A long row: lane b % 32 takes the result of block b.
  void emit_blocks(const Pass& pass) {
    for (Reg r : pass.reduces) {
      const Reduction reduction(kernel_.program[r]);
      if (!reduction.finds_place()) writer_.line("{}", reduction.declare(fmt::format("s{}", r)));
    }
    writer_.open("for (Index block = 0; block * {} < {}; ++block)", kReduceBlock, writer_.size(length_));
    for (Reg r : pass.reduces) {
      const Reduction reduction(kernel_.program[r]);
      if (!reduction.finds_place()) writer_.line("{{ {} a{} = fresh; }}", reduction.declare("fresh"), r);
    }
    writer_.line("const Index left = {0} - block * {1}, end = block * {1} + (left < {1} ? left : {1});", writer_.size(length_), kReduceBlock);
    writer_.open("for (Index e = block * {} + lane; e < end; e += 32)", kReduceBlock);
    emit_element(pass);
    writer_.close();
    for (Reg r : pass.reduces) {
      const Reduction reduction(kernel_.program[r]);
      if (reduction.finds_place()) continue;
      writer_.line("const auto f{0} = {1};", r, reduction.fold(fmt::format("a{}", r)));
      writer_.line("if (lane == block % 32) {}", reduction.take(fmt::format("s{}", r), fmt::format("f{}", r), "block"));
    }
    writer_.close();
    for (Reg r : pass.reduces) {
      finish_reduce(r, fmt::format("{}{}", Reduction(kernel_.program[r]).finds_place() ? "a" : "s", r));
    }
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  StageWriter writer_;
  int64_t rows_, length_;
  std::vector<Pass> passes_;
  std::vector<bool> kept_, emitted_;
  bool keeps_ = false;
  Position row_;
};

}  // namespace

KernelProgram generate_rows(const Kernel& kernel, const graph::Plan& plan) { return RowsWriter(kernel, plan).write(); }

}  // namespace tsl::cuda
