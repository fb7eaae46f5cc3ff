// Reductions that read every element once (logsumexp over columns: twice): over rows by a warp each, over columns by threads
// that own one each, and over few long rows in blocks, whose partial results further stages bring together. The order is that
// of templates.cuh whatever the form.
#include <algorithm>
#include <iterator>

#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

namespace {

// With this many rows, a warp for each keeps the machine busy.
constexpr int64_t kManyRows = 4096;
constexpr int kColumns = 32;

/// The first stage: every element is read once, each reduction's result over a block goes to the scratch memory (or, of a
/// single block, straight on to the rows' ends).
class ReduceWriter {
 public:
  ReduceWriter(const Kernel& kernel, const graph::Plan& plan)
      : kernel_(kernel), plan_(plan), reduces_(reduces(kernel, Level::row)), rows_(count_of(kernel.kept)),
        length_(count_of(kernel.reduced)), blocks_(ceil_div(length_, kReduceBlock)), holds_(hold_block(kernel, reduces_)) {}

  /// Whether neighbouring threads should take neighbouring columns: that is how most operands lie.
  bool prefers_columns() const {
    const int kept = kernel_.kept.rank(), all = kept + kernel_.reduced.rank();
    if (kept == 0 || all == kept) return false;
    int for_columns = 0;
    for (const Instr& instr : kernel_.program) {
      if (instr.kind != Instr::Kind::load || instr.level != Level::full) continue;
      for_columns += instr.map.strides[kept - 1].hint() == 1 && instr.map.strides[all - 1].hint() != 1;
      for_columns -= instr.map.strides[all - 1].hint() == 1;
    }
    return for_columns > 0;
  }

  KernelProgram write(bool columns) {
    KernelProgram program;
    const TotalOperands totals = reserve_totals(kernel_, program);
    for (Reg r : reduces_) at_.push_back(reserve(program, rows_ * blocks_, Reduction(kernel_.program[r]).partial_dtype()));
    program.stages.push_back(columns ? column_stage(totals) : block_stage());
    if (!columns || blocks_ > 1) {
      int64_t count = blocks_;
      append_partial_stages(kernel_, plan_, reduces_, rows_, at_, count, program);
      program.stages.push_back(finish_stage(totals, count));
    }
    append_totals(kernel_, plan_, totals, program);
    return program;
  }

 private:
  /// What is taken of an element. A column's thread has more of them than it could hold: for logsumexp it reads a block twice,
  /// for the greatest and for the powers.
  enum class Taken : uint8_t { all, greatest, powers };

  bool holds(Reg r) const { return Reduction(kernel_.program[r]).holds_block(); }
  /// A part of a logsumexp.
  Reduction part(Reg r, Op op) const {
    Instr instr = kernel_.program[r];
    instr.op = op;
    return Reduction(instr);
  }

  /// Full-level instructions at one element; reductions take their values.
  void emit_element(StageWriter& writer, const Position& row, const std::string& element, Taken taken) {
    Position at = row;
    const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "c");
    std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
    at.linear = fmt::format("((long long)row * {} + {})", writer.size(length_), element);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level == Level::full && defines(instr) && instr.kind != Instr::Kind::scalar) writer.emit(r, at, true);
    }
    for (const Instr& instr : kernel_.program) {
      if (instr.level == Level::full && !defines(instr) && taken != Taken::greatest) writer.emit_store(instr, at);
    }
    for (Reg r : reduces_) {
      const std::string value = writer.reg(kernel_.program[r].a), name = fmt::format("a{}", r);
      if (taken == Taken::all || (taken == Taken::powers && !holds(r))) {
        writer.line("{}", Reduction(kernel_.program[r]).take(name, value, element, "step"));
      } else if (taken == Taken::powers) {
        writer.line("{}", part(r, Op::sum).take(name, fmt::format("shifted_exp({}, shift{})", value, r), element, "step"));
      } else if (holds(r)) {
        writer.line("{}", part(r, Op::max).take(fmt::format("g{}", r), value, element, "step"));
      }
    }
  }

  /// The elements of a block, from `first` to `end`, that thread `lane` takes.
  void emit_block(StageWriter& writer, const Position& row, Taken taken) {
    writer.line("Index turn = first;");
    writer.line("#pragma unroll 4");
    writer.open("for (; turn + {0} <= end; turn += {0})", kReduceLanes);
    emit_turn(writer, row, "", taken);
    writer.close();
    writer.open("if (turn < end)");
    emit_turn(writer, row, "if (e < end) ", taken);
    writer.close();
  }

  void emit_turn(StageWriter& writer, const Position& row, const char* condition, Taken taken) {
    writer.line("#pragma unroll");
    writer.open("for (int step = 0; step < {}; ++step)", kReduceLanes / kWarp);
    writer.line("const Index e = turn + step * {} + lane;", kWarp);
    writer.open("{}", condition);
    emit_element(writer, row, "e", taken);
    writer.close();
    writer.close();
  }

  Position row_position(StageWriter& writer) const {
    Position at;
    at.index = writer.coordinates("row", extents_of(kernel_.kept), "k");
    at.index.resize(static_cast<size_t>(kernel_.kept.rank() + kernel_.reduced.rank()), "0");
    at.linear = "row";
    return at;
  }

  /// Numbers of the host, and what rows have ready.
  void emit_before_elements(StageWriter& writer, const Position& row) {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      const bool is_number = instr.kind == Instr::Kind::scalar && instr.level == Level::full;
      if (is_number || is_row_input(r)) writer.emit(r, row, true);
    }
  }

  /// Row-level values that full-level ones read: they depend on no reduction here.
  bool is_row_input(Reg r) const {
    if (kernel_.program[r].level != Level::row || !defines(kernel_.program[r])) return false;
    std::vector<Reg> targets;
    for (Reg t = 0; t < kernel_.program.size(); ++t) {
      if (kernel_.program[t].level == Level::full || kernel_.program[t].kind == Instr::Kind::reduce) targets.push_back(t);
    }
    std::erase_if(targets, [&](Reg t) { return kernel_.program[t].level == Level::total; });
    const std::vector<bool> needed = needed_for(kernel_, targets, std::vector<bool>(kernel_.program.size(), false));
    return needed[r] && kernel_.program[r].kind != Instr::Kind::reduce;
  }

  /// A warp a block of a row; of threads that hold a block, as many as there are lanes.
  Stage block_stage() {
    const LaneForm form{holds_ ? static_cast<int>(kReduceLanes) : kWarp, 1};
    const int blocks_at_once = kRowThreads / form.threads;
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % {};", form.threads);
    writer.line("const long long item = (long long)block_x * {} + threadIdx.x / {};", blocks_at_once, form.threads);
    writer.line("if (item >= {}) return;", writer.size(rows_ * blocks_));
    writer.line("const Index row = item / {0}, block = item % {0};", writer.size(blocks_));
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    for (Reg r : reduces_) writer.line("{}", Reduction(kernel_.program[r]).declare(fmt::format("a{}", r), form));
    writer.line("const Index first = block * {1}, left = {0} - first, end = first + (left < {1} ? left : {1});", writer.size(length_), kReduceBlock);
    if (holds_) emit_held_block(writer, row, form);
    else emit_block(writer, row, Taken::all);
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Reduction reduction(kernel_.program[reduces_[j]]);
      std::string shared = "nullptr";
      if (form.threads > kWarp) {
        shared = fmt::format("shared{}", j);
        writer.line("__shared__ {} {}[{}];", reduction.shared_type(), shared, reduction.shared_count(form));
      }
      writer.line("const auto f{} = {};", j, reduction.fold(fmt::format("a{}", reduces_[j]), form, shared));
      writer.line("if (lane == 0) {}[item] = f{};", writer.scratch(at_[j], reduction.partial_dtype()), j);
    }
    return writer.finish("blocks", ceil_div(rows_ * blocks_, blocks_at_once), 1, kRowThreads, 1);
  }

  /// All turns of a thread, counted at compile time. A whole block asks of no element whether it is there, so that all loads
  /// come first.
  void emit_held_block(StageWriter& writer, const Position& row, LaneForm form) {
    const auto turns = [&](const char* condition) {
      writer.line("#pragma unroll");
      writer.open("for (int step = 0; step < {}; ++step)", kReduceBlock / form.threads);
      writer.line("const Index e = first + step * {} + lane;", form.threads);
      writer.open("{}", condition);
      emit_element(writer, row, "e", Taken::all);
      writer.close();
      writer.close();
    };
    writer.open("if (left >= {})", kReduceBlock);
    turns("");
    writer.close(" else {");
    writer.indent();
    turns("if (e < end) ");
    writer.close();
  }

  /// 32 columns by 32 threads; each thread takes every 32nd element of a block of its column.
  Stage column_stage(const TotalOperands& totals) {
    const int64_t columns = kernel_.kept[kernel_.kept.rank() - 1].hint(), chunks = ceil_div(columns, kColumns);
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.y;");
    writer.line("const Index column = (Index)(block_x % {0}) * {1} + threadIdx.x, block = blockIdx.y;", writer.size(chunks), kColumns);
    writer.line("const bool inside = column < {};", writer.size(columns));
    writer.line("const Index row = (Index)(block_x / {}) * {} + (inside ? column : 0);", writer.size(chunks), writer.size(columns));
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    writer.line("const Index first = block * {1}, left = {0} - first, count = left < {1} ? left : {1};", writer.size(length_), kReduceBlock);
    writer.line("const Index end = inside ? first + count : 0;");
    writer.line("__shared__ long long shared[{}][{}];", kWarp, kColumns + 1);
    emit_shifts(writer, row);
    for (Reg r : reduces_) writer.line("{}", (holds(r) ? part(r, Op::sum) : Reduction(kernel_.program[r])).declare(fmt::format("a{}", r)));
    emit_block(writer, row, Taken::powers);
    std::vector<std::string> folded;
    for (Reg r : reduces_) {
      const std::string name = fmt::format("a{}", r);
      if (holds(r)) folded.push_back(fmt::format("shifted_log({}, shift{})", emit_column_fold(writer, part(r, Op::sum), name), r));
      else folded.push_back(emit_column_fold(writer, Reduction(kernel_.program[r]), name));
    }
    writer.line("if (!inside || lane != 0) return;");
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Reg r = reduces_[j];
      const Reduction reduction(kernel_.program[r]);
      if (blocks_ > 1) writer.line("{}[row * {} + block] = {};", writer.scratch(at_[j], reduction.partial_dtype()), writer.size(blocks_), folded[j]);
      else writer.line("const {} r{} = {};", type_of(kernel_.program[r].dtype), r, reduction.result(folded[j]));
    }
    if (blocks_ == 1) emit_ends(writer, totals, row);
    return writer.finish("columns", chunks * (rows_ / columns), blocks_, kColumns, kWarp);
  }

  /// What the elements of a block are shifted by for logsumexp.
  void emit_shifts(StageWriter& writer, const Position& row) {
    if (!holds_) return;
    std::vector<Reg> held;
    std::copy_if(reduces_.begin(), reduces_.end(), std::back_inserter(held), [this](Reg r) { return holds(r); });
    for (Reg r : held) writer.line("{}", part(r, Op::max).declare(fmt::format("g{}", r)));
    writer.open("");
    emit_block(writer, row, Taken::greatest);
    writer.close();
    for (Reg r : held) {
      const std::string name = fmt::format("g{}", r);
      emit_column_fold(writer, part(r, Op::max), name);
      writer.line("const auto shift{} = shift_of(lanes_{}[0][threadIdx.x]);", r, name);
      writer.line("__syncthreads();");
    }
  }

  /// The result of accumulator `name`, in lane 0 of a column and in shared memory, which all reductions use in turn; gives the
  /// result's name.
  std::string emit_column_fold(StageWriter& writer, const Reduction& reduction, const std::string& name) {
    const char* type = type_of(reduction.partial_dtype());
    const std::string folded = "f_" + name, lanes = "lanes_" + name;
    writer.line("const auto {} = reinterpret_cast<{} (*)[{}]>(shared);", lanes, type, kColumns + 1);
    writer.line("{}.fold_steps();", name);
    writer.line("{} {} = {}.held[0];", type, folded, name);
    writer.line("{}[lane][threadIdx.x] = {};", lanes, folded);
    writer.line("__syncthreads();");
    writer.open("for (int half = {}; half >= 1; half /= 2)", kWarp / 2);
    writer.line("if (lane < half) {0}[lane][threadIdx.x] = {1} = {2};", lanes, folded,
                reduction.combine(folded, fmt::format("{}[lane + half][threadIdx.x]", lanes)));
    writer.line("__syncthreads();");
    writer.close();
    return folded;
  }

  /// A warp a row: brings the blocks together and does what depends on the results.
  Stage finish_stage(const TotalOperands& totals, int64_t count) {
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % 32;");
    writer.line("const long long row = (long long)block_x * {} + threadIdx.x / 32;", kRowsPerBlock);
    writer.line("if (row >= {}) return;", writer.size(rows_));
    const Position row = row_position(writer);
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Instr& instr = kernel_.program[reduces_[j]];
      const Reduction reduction(instr);
      const std::string from = fmt::format("{} + row * {}", writer.scratch(at_[j], reduction.partial_dtype()), writer.size(count));
      writer.line("const {} r{} = {};", type_of(instr.dtype), reduces_[j],
                  reduction.result(reduction.over_array(from, writer.size(count))));
    }
    emit_ends(writer, totals, row);
    return writer.finish("finish", ceil_div(rows_, kRowsPerBlock), 1, kRowThreads, 1);
  }

  void emit_ends(StageWriter& writer, const TotalOperands& totals, const Position& row) {
    const bool declared = blocks_ == 1;  // by the same stage, before its elements
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level != Level::row || !defines(instr) || instr.kind == Instr::Kind::reduce) continue;
      if (!(declared && is_row_input(r))) writer.emit(r, row, true);
    }
    emit_row_ends(writer, totals, row, "row");
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  std::vector<Reg> reduces_;
  std::vector<uint64_t> at_;
  int64_t rows_, length_, blocks_;
  bool holds_;
};

}  // namespace

KernelProgram generate_reduce(const Kernel& kernel, const graph::Plan& plan, bool wide) {
  const int64_t rows = count_of(kernel.kept), length = count_of(kernel.reduced);
  if (rows == 0 || length == 0 || has_place_reduction(kernel)) return generate_rows(kernel, plan, wide);
  ReduceWriter writer(kernel, plan);
  if (writer.prefers_columns()) return writer.write(true);
  if (length <= kReduceBlock || rows >= kManyRows) return generate_rows(kernel, plan, wide);
  return writer.write(false);
}

}  // namespace tsl::cuda
