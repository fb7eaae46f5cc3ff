// Reductions that read every element once (logsumexp over columns: twice): over rows by a warp each, over columns by threads
// that own some each, and over few long rows in blocks, whose partial results further stages bring together. The order is that
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

// With this many rows, a warp for each keeps the machine busy; with this many blocks of threads, each has one to do.
constexpr int64_t kManyRows = 4096, kManyBlocks = 128;

/// How a block of threads takes columns: `across` threads side by side, each with `width` neighbours, and `down` threads that
/// share the lanes of a block of the law.
struct ColumnForm {
  int across = 32, width = 1, down = 32;
  int columns() const { return across * width; }
};
constexpr ColumnForm kFewColumns{8, 1, 128}, kWideColumns{32, 4, 16};

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

  /// `wide`: whether neighbours may be read at a time.
  KernelProgram write(bool columns, bool wide) {
    if (columns) choose_columns(wide);
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

  /// What `name` is of one of a thread's columns.
  std::string of_column(const std::string& name) const { return form_.width > 1 ? name + "[v]" : name; }
  std::string accumulator(Reg r) const { return of_column(fmt::format("a{}", r)); }
  int kept_loop() const { return kernel_.kept.rank() - 1; }
  bool is_wide(const Instr& instr) const { return form_.width > 1 && lies_along(kernel_, instr, kept_loop()); }

  /// An element of each of a thread's columns.
  void emit_elements(StageWriter& writer, const Position& row, const std::string& element, Taken taken) {
    if (form_.width == 1) return emit_element(writer, row, element, taken);
    Position first = row;
    const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "w");
    std::copy(inner.begin(), inner.end(), first.index.begin() + kernel_.kept.rank());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!defines(instr) || !is_wide(instr)) continue;
      writer.line("{} wide{}[{}];", type_of(instr.dtype), r, form_.width);
      writer.line("load_wide(wide{}, {} + {});", r, writer.buffer(instr.buffer), writer.place(instr.map, first));
    }
    Position at = row;
    at.index[static_cast<size_t>(kept_loop())] = fmt::format("({} + v)", at.index[static_cast<size_t>(kept_loop())]);
    at.linear = fmt::format("({} + v)", row.linear);
    writer.line("#pragma unroll");
    writer.open("for (int v = 0; v < {}; ++v)", form_.width);
    emit_element(writer, at, element, taken);
    writer.close();
  }

  /// Full-level instructions at one element; reductions take their values.
  void emit_element(StageWriter& writer, const Position& row, const std::string& element, Taken taken) {
    Position at = row;
    const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "c");
    std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
    at.linear = fmt::format("((long long){} * {} + {})", row.linear, writer.size(length_), element);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level != Level::full || !defines(instr) || instr.kind == Instr::Kind::scalar) continue;
      if (is_wide(instr)) writer.line("const {} r{} = wide{}[v];", type_of(instr.dtype), r, r);
      else writer.emit(r, at, true);
    }
    for (const Instr& instr : kernel_.program) {
      if (instr.level == Level::full && !defines(instr) && taken != Taken::greatest) writer.emit_store(instr, at);
    }
    for (Reg r : reduces_) {
      const std::string value = writer.reg(kernel_.program[r].a);
      if (taken == Taken::all || (taken == Taken::powers && !holds(r))) {
        writer.line("{}", Reduction(kernel_.program[r]).take(accumulator(r), value, element, "step"));
      } else if (taken == Taken::powers) {
        writer.line("{}", part(r, Op::sum).take(accumulator(r), fmt::format("shifted_exp({}, shift{})", value, r), element, "step"));
      } else if (holds(r)) {
        writer.line("{}", part(r, Op::max).take(fmt::format("g{}", r), value, element, "step"));
      }
    }
  }

  /// The elements of a block, from `first` to `end`, that thread `lane` of `threads` takes.
  void emit_block(StageWriter& writer, const Position& row, int threads, Taken taken) {
    const int64_t steps = kReduceLanes / threads;
    writer.line("Index turn = first;");
    writer.line("#pragma unroll {}", (form_.width > 1 ? 8 : 16) / steps);
    writer.open("for (; turn + {0} <= end; turn += {0})", kReduceLanes);
    emit_turn(writer, row, threads, "", taken);
    writer.close();
    writer.open("if (turn < end)");
    emit_turn(writer, row, threads, "if (e < end) ", taken);
    writer.close();
  }

  void emit_turn(StageWriter& writer, const Position& row, int threads, const char* condition, Taken taken) {
    writer.line("#pragma unroll");
    writer.open("for (int step = 0; step < {}; ++step)", kReduceLanes / threads);
    writer.line("const Index e = turn + step * {} + lane;", threads);
    writer.open("{}", condition);
    emit_elements(writer, row, "e", taken);
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
    const LaneForm form = holds_ ? kBlockForm : LaneForm{};
    const int blocks_at_once = kRowThreads / form.threads;
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % {};", form.threads);
    writer.line("const long long item = (long long)block_x * {} + threadIdx.x / {};", blocks_at_once, form.threads);
    writer.line("if (item >= {}) return;", writer.size(rows_ * blocks_));
    writer.line("const Index row = item / {0}, block = item % {0};", writer.size(blocks_));
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    for (Reg r : reduces_) writer.line("{}", Reduction(kernel_.program[r]).declare(accumulator(r), form));
    writer.line("const Index first = block * {1}, left = {0} - first, end = first + (left < {1} ? left : {1});", writer.size(length_), kReduceBlock);
    if (holds_) emit_held_block(writer, row, form);
    else emit_block(writer, row, form.threads, Taken::all);
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Reduction reduction(kernel_.program[reduces_[j]]);
      const std::string shared = declare_shared(writer, reduction, j, form);
      writer.line("const auto f{} = {};", j, reduction.fold(accumulator(reduces_[j]), form, shared));
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
    writer.otherwise();
    turns("if (e < end) ");
    writer.close();
  }

  // ---- Columns -----------------------------------------------------------------------------------------

  int64_t columns() const { return kernel_.kept[kept_loop()].hint(); }

  void choose_columns(bool wide) {
    if (ceil_div(columns(), form_.columns()) * (rows_ / columns()) * blocks_ < kManyBlocks) form_ = kFewColumns;
    else if (wide && may_be_wide()) form_ = kWideColumns;
  }

  /// Several columns a thread: of what is only to be summed, in several blocks.
  bool may_be_wide() const {
    constexpr int kWidth = kWideColumns.width;
    if (holds_ || blocks_ == 1 || columns() % kWidth != 0 || !allows_wide(kernel_, kept_loop(), kWidth)) return false;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (is_row_input(r) || (instr.level == Level::full && (!defines(instr) || instr.kind == Instr::Kind::gather))) return false;
    }
    return true;
  }

  /// Each thread takes every `down`-th element of a block of its columns.
  Stage column_stage(const TotalOperands& totals) {
    const int64_t chunks = ceil_div(columns(), form_.columns());
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.y;");
    writer.line("const Index column = ((Index)(block_x % {0}) * {1} + threadIdx.x) * {2}, block = blockIdx.y;", writer.size(chunks),
                form_.across, form_.width);
    writer.line("const bool inside = column < {};", writer.size(columns()));
    writer.line("const Index row = (Index)(block_x / {}) * {} + (inside ? column : 0);", writer.size(chunks), writer.size(columns()));
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    writer.line("const Index first = block * {1}, left = {0} - first, count = left < {1} ? left : {1};", writer.size(length_), kReduceBlock);
    writer.line("const Index end = inside ? first + count : 0;");
    declare_shared_lanes(writer);
    emit_shifts(writer, row);
    for (Reg r : reduces_) declare_columns(writer, own_part(r), fmt::format("a{}", r));
    emit_block(writer, row, form_.down, Taken::powers);
    for (Reg r : reduces_) emit_column_fold(writer, own_part(r), fmt::format("a{}", r));
    writer.line("if (!inside || lane != 0) return;");
    for (size_t j = 0; j < reduces_.size(); ++j) emit_column_result(writer, j);
    if (blocks_ == 1) emit_ends(writer, totals, row);
    const std::string suffix = fmt::format("columns{}x{}", form_.columns(), form_.down);
    Stage stage = writer.finish(suffix, chunks * (rows_ / columns()), blocks_, form_.across, form_.down);
    if (form_.width > 1) stage.wide = wide_accesses(kernel_, plan_, kept_loop(), form_.width);
    return stage;
  }

  /// What a column accumulates: of a logsumexp, the sum.
  Reduction own_part(Reg r) const { return holds(r) ? part(r, Op::sum) : Reduction(kernel_.program[r]); }

  void declare_columns(StageWriter& writer, const Reduction& reduction, const std::string& name) {
    writer.line("{}", reduction.declare(name + (form_.width > 1 ? fmt::format("[{}]", form_.width) : ""), {form_.down, 1}));
  }

  /// Where the threads that share columns bring their lanes together, one reduction after the other.
  void declare_shared_lanes(StageWriter& writer) {
    size_t bytes = 0;
    for (Reg r : reduces_) bytes = std::max<size_t>(bytes, size_of(Reduction(kernel_.program[r]).partial_dtype()));
    writer.line("__shared__ alignas(8) char shared[{}];", bytes * static_cast<size_t>(form_.down * (form_.columns() + 1)));
  }

  /// What the elements of a block are shifted by for logsumexp.
  void emit_shifts(StageWriter& writer, const Position& row) {
    if (!holds_) return;
    std::vector<Reg> held;
    std::copy_if(reduces_.begin(), reduces_.end(), std::back_inserter(held), [this](Reg r) { return holds(r); });
    for (Reg r : held) declare_columns(writer, part(r, Op::max), fmt::format("g{}", r));
    writer.open("");
    emit_block(writer, row, form_.down, Taken::greatest);
    writer.close();
    for (Reg r : held) {
      const std::string name = fmt::format("g{}", r);
      emit_column_fold(writer, part(r, Op::max), name);
      writer.line("const auto shift{} = shift_of(lanes_{}[0][threadIdx.x]);", r, name);
      writer.line("__syncthreads();");
    }
  }

  /// The results f_<name> of a thread's columns: in lane 0, and in shared memory.
  void emit_column_fold(StageWriter& writer, const Reduction& reduction, const std::string& name) {
    const char* type = type_of(reduction.partial_dtype());
    const std::string own = of_column(name);
    writer.line("const auto lanes_{} = reinterpret_cast<{} (*)[{}]>(shared);", name, type, form_.columns() + 1);
    writer.line("{} f_{}[{}];", type, name, form_.width);
    each_column(writer, [&] {
      writer.line("{}.fold_steps();", own);
      writer.line("lanes_{0}[lane][{1}] = f_{0}[v] = {2}.held[0];", name, own_column(), own);
    });
    writer.line("__syncthreads();");
    writer.open("for (int half = {}; half >= 1; half /= 2)", form_.down / 2);
    each_column(writer, [&] {
      writer.line("if (lane < half) lanes_{0}[lane][{1}] = f_{0}[v] = {2};", name, own_column(),
                  reduction.combine(fmt::format("f_{}[v]", name), fmt::format("lanes_{}[lane + half][{}]", name, own_column())));
    });
    writer.line("__syncthreads();");
    writer.close();
  }

  std::string own_column() const { return form_.width > 1 ? fmt::format("threadIdx.x * {} + v", form_.width) : "threadIdx.x"; }

  template <class Emit>
  void each_column(StageWriter& writer, Emit emit) {
    writer.line("#pragma unroll");
    writer.open("for (int v = 0; v < {}; ++v)", form_.width);
    emit();
    writer.close();
  }

  void emit_column_result(StageWriter& writer, size_t j) {
    const Reg r = reduces_[j];
    const Reduction reduction(kernel_.program[r]);
    const auto folded = [&](const char* column) {
      const std::string own = fmt::format("f_a{}[{}]", r, column);
      return holds(r) ? fmt::format("shifted_log({}, shift{})", own, r) : own;
    };
    if (blocks_ == 1) {
      writer.line("const {} r{} = {};", type_of(kernel_.program[r].dtype), r, reduction.result(folded("0")));
      return;
    }
    each_column(writer, [&] {
      writer.line("{}[(row + v) * {} + block] = {};", writer.scratch(at_[j], reduction.partial_dtype()), writer.size(blocks_), folded("v"));
    });
  }

  /// Brings the blocks together and does what depends on the results.
  Stage finish_stage(const TotalOperands& totals, int64_t count) {
    const LaneForm form = array_form(kernel_, reduces_, count);
    const int threads = std::max(kRowThreads, form.threads), rows_per_block = threads / form.threads;
    StageWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % {};", form.threads);
    writer.line("const long long row = (long long)block_x * {} + threadIdx.x / {};", rows_per_block, form.threads);
    writer.line("if (row >= {}) return;", writer.size(rows_));
    const Position row = row_position(writer);
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Instr& instr = kernel_.program[reduces_[j]];
      const Reduction reduction(instr);
      const std::string from = fmt::format("{} + row * {}", writer.scratch(at_[j], reduction.partial_dtype()), writer.size(count));
      const std::string folded = over_array(writer, reduction, j, from, writer.size(count), form);
      writer.line("const {} r{} = {};", type_of(instr.dtype), reduces_[j], reduction.result(folded));
    }
    emit_ends(writer, totals, row);
    return writer.finish("finish", ceil_div(rows_, rows_per_block), 1, threads, 1);
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
  ColumnForm form_;
};

}  // namespace

KernelProgram generate_reduce(const Kernel& kernel, const graph::Plan& plan, bool wide) {
  const int64_t rows = count_of(kernel.kept), length = count_of(kernel.reduced);
  if (rows == 0 || length == 0 || has_place_reduction(kernel)) return generate_rows(kernel, plan, wide);
  ReduceWriter writer(kernel, plan);
  if (writer.prefers_columns()) return writer.write(true, wide);
  if (length <= kReduceBlock || rows >= kManyRows) return generate_rows(kernel, plan, wide);
  return writer.write(false, wide);
}

}  // namespace tsl::cuda
