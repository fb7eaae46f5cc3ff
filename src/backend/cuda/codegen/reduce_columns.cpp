// Columns: neighbouring threads read neighbouring columns, and each thread takes some lanes of the blocks of its
// columns.
#include <algorithm>
#include <iterator>

#include "backend/cuda/codegen/reduce_shape.h"
#include "backend/cuda/codegen/reduce_writer.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Reg;

namespace {

/// The neighbouring columns that a thread takes where they are many and long.
constexpr int kColumnWidth = 4;
/// The most columns that a thread takes because they share what their elements compute.
constexpr int64_t kMostSharing = 4;
/// The bytes that a thread with several columns accumulates and loads at once. Where two turns or more fit,
/// LaunchParameters::resident_threads share a multiprocessor, so that loads are in flight while other threads compute.
constexpr int64_t kColumnBytes = 384;

class ColumnsWriter : ReduceWriter {
 public:
  ColumnsWriter(const Kernel& kernel, const graph::Plan& plan, const LaunchParameters& parameters)
      : ReduceWriter(kernel, plan), parameters_(parameters) {}

  GeneratedKernels write(bool vectorized) {
    choose_columns(vectorized);
    totals_ = reserve_totals(kernel_, generated_);
    if (blocks_ > 1) reserve_levels();
    generated_.kernels.push_back(column_kernel());
    append_totals(kernel_, plan_, totals_, generated_);
    return std::move(generated_);
  }

 private:
  int64_t teams() const { return ceil_div(rows_, form_.columns()); }

  void choose_columns(bool vectorized) {
    const bool by_vectors = vectorized && may_vectorize(kept_loop(), kColumnWidth);
    form_ = column_form(shape_of(kernel_), by_vectors ? kColumnWidth : sharing_columns());
    if (form_.width > 1) take_neighbours(kept_loop(), form_.width, by_vectors);
  }

  /// Returns how many columns a thread takes since most of what their elements compute is the same: those of a short
  /// innermost loop, such as the coordinates of pairs of points.
  int sharing_columns() const {
    const int64_t inside = kernel_.kept[kept_loop()].hint();
    if (inside < 2 || inside > kMostSharing || stores_elements() || !may_take_neighbours()) return 1;
    const std::vector<bool> same = same_along(kept_loop(), static_cast<int>(inside));
    int shared = 0, own = 0;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level == graph::Level::full && instr.kind == Instr::Kind::map) ++(same[r] ? shared : own);
    }
    return shared > own ? static_cast<int>(inside) : 1;
  }

  /// Reduces columns: each thread takes every `down`-th element of a block of the reduction order, of its columns.
  CudaKernel column_kernel() {
    KernelWriter writer(kernel_, plan_);
    if (width_ > 1 && turns_at_once() > 1) writer.set_residents(parameters_.resident_threads / form_.threads());
    writer.line("const int lane = threadIdx.y;");
    writer.line("const Index team = block_x % {0}, block = block_x / {0}, first_block = block;", writer.size(teams()));
    writer.line("const Index first_row = team * {}, own_row = first_row + threadIdx.x * {};", form_.columns(),
                form_.width);
    writer.line("const bool inside = own_row < {};", writer.size(rows_));
    writer.line("const Index row = inside ? own_row : first_row;");
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    writer.line("const Index first = block * {1}, left = {0} - first, count = left < {1} ? left : {1};",
                writer.size(length_), kReduceBlock);
    writer.line("const Index end = inside ? first + count : 0;");
    declare_shared_lanes(writer);
    if (is_one_turn()) {
      writer.line("const Index turn = first;");
      emit_loads_ahead(writer, row, "if (e < end) ");
    }
    emit_shifts(writer, row);
    for (Reg r : reduces_) declare_columns(writer, own_part(r), fmt::format("a{}", r));
    emit_column_block(writer, row, Taken::powers);
    for (Reg r : reduces_) emit_column_fold(writer, own_part(r), fmt::format("a{}", r));
    writer.open("if (inside && lane == 0)");
    emit_column_results(writer, row);
    writer.close();
    if (blocks_ > 1) {
      const std::string left = fmt::format("{} - first_row", writer.size(rows_));
      const std::string rows = fmt::format("({0} < {1} ? {0} : {1})", left, form_.columns());
      const std::string thread = fmt::format("(threadIdx.y * {} + threadIdx.x)", form_.across);
      bring_together(writer, {rows, thread, teams(), form_.threads()});
    }
    const std::string suffix = fmt::format("columns{}x{}", form_.columns(), form_.down);
    CudaKernel cuda_kernel = writer.finish(suffix, teams() * blocks_, form_.across, form_.down);
    if (by_vectors_) cuda_kernel.vector_accesses = vector_accesses();
    return cuda_kernel;
  }

  /// Whether a thread takes each of its lanes once. Then elements stay in registers, also for a second pass.
  bool is_one_turn() const { return length_ <= form_.lanes && form_.width == 1; }

  /// Emits the elements from `first` to `end` that thread `lane` of a column takes.
  void emit_column_block(KernelWriter& writer, const Position& row, Taken taken) {
    if (is_one_turn()) return emit_column_turn(writer, row, "if (e < end) ", taken);
    writer.line("Index turn = first;");
    // The compiler moves no load past a store, so that turns whose loads are in flight at once are emitted as one.
    const int64_t together = width_ > 1 && stores_elements() ? turns_at_once() : 1;
    if (together > 1) emit_turns(writer, row, together, taken);
    else writer.line("#pragma unroll {}", turns_at_once());
    emit_turns(writer, row, 1, taken);
    writer.open("if (turn < end)");
    if (form_.width == 1) emit_loads_ahead(writer, row, "if (e < end) ");
    emit_column_turn(writer, row, "if (e < end) ", taken);
    writer.close();
  }

  /// Emits the loop over whole turns, `together` at a time.
  void emit_turns(KernelWriter& writer, const Position& row, int64_t together, Taken taken) {
    writer.open("for (; turn + {0} <= end; turn += {0})", form_.lanes * together);
    if (stores_elements()) emit_loads_ahead(writer, row, "", together);
    emit_column_turn(writer, row, "", taken, together);
    writer.close();
  }

  bool stores_elements() const {
    return std::any_of(kernel_.program.begin(), kernel_.program.end(), [](const Instr& instr) {
      return instr.level == graph::Level::full && instr.kind == Instr::Kind::store;
    });
  }

  /// Emits the loads of a turn before what computes, which may branch, or stores, which a load may not pass.
  void emit_loads_ahead(KernelWriter& writer, const Position& row, const char* condition, int64_t turns = 1) {
    ahead_.assign(kernel_.program.size(), false);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!defines(instr) || instr.level != graph::Level::full) continue;
      if (width_ > 1 ? !is_vectorized(instr) : !is_plain_load(instr)) continue;
      ahead_[r] = true;
      const std::string neighbours = width_ > 1 ? fmt::format("[{}]", width_) : "";
      writer.line("{} ahead{}[{}]{};", type_of(instr.dtype), r, turns * steps(), neighbours);
    }
    open_steps(writer, condition, turns);
    if (width_ > 1) {
      emit_vector_loads_ahead(writer, first_neighbour(writer, row, "e"));
    } else {
      emit_element_loads_ahead(writer, element_position(writer, row, "e"));
    }
    writer.close();
    writer.close();
  }

  void emit_element_loads_ahead(KernelWriter& writer, const Position& at) {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      if (!ahead_[r]) continue;
      const Instr& instr = kernel_.program[r];
      writer.line("ahead{}[at] = {}[{}];", r, writer.buffer(instr.buffer), writer.index_expr(instr.map, at));
    }
  }

  int64_t steps() const { return form_.lanes / form_.down; }
  /// Opens the loop over the elements that a thread takes of some turns: `step` is the number of its lane.
  void open_steps(KernelWriter& writer, const char* condition, int64_t turns) {
    writer.line("#pragma unroll");
    writer.open("for (int at = 0; at < {}; ++at)", turns * steps());
    writer.line("const int step = at % {};", steps());
    writer.line("const Index e = turn + at * {} + lane;", form_.down);
    writer.open("{}", condition);
  }

  /// Returns the turns whose loads are in flight at once, while the lanes that a thread accumulates stay in registers.
  int64_t turns_at_once() const {
    if (width_ == 1) return std::max<int64_t>(16 / steps(), 1);
    int64_t loaded = 0, accumulated = 0;  // bytes per lane and column
    for (const Instr& instr : kernel_.program)
      loaded += is_vectorized(instr) ? static_cast<int64_t>(size_of(instr.dtype)) : 0;
    for (Reg r : reduces_) accumulated += Reduction(kernel_.program[r]).partial_bytes();
    const int64_t turns =
        (kColumnBytes - accumulated * steps() * width_) / std::max<int64_t>(loaded * steps() * width_, 1);
    return turns < 2 ? 1 : turns < 8 ? 2 : 4;
  }

  void emit_column_turn(KernelWriter& writer, const Position& row, const char* condition, Taken taken,
                        int64_t turns = 1) {
    open_steps(writer, condition, turns);
    emit_elements(writer, row, "e", taken);
    writer.close();
    writer.close();
    if (!is_one_turn()) ahead_.clear();
  }

  /// Returns what a column accumulates: for a logsumexp, the sum.
  Reduction own_part(Reg r) const { return holds(r) ? part(r, Op::sum) : Reduction(kernel_.program[r]); }

  void declare_columns(KernelWriter& writer, const Reduction& reduction, const std::string& name) {
    const std::string columns = form_.width > 1 ? fmt::format("[{}]", form_.width) : "";
    writer.line("{}", reduction.declare(name + columns, {form_.down, 1, form_.lanes}));
  }

  /// Declares the shared memory in which a column's threads combine their lanes, one reduction after the other.
  void declare_shared_lanes(KernelWriter& writer) {
    int64_t bytes = 0;
    for (Reg r : reduces_) bytes = std::max(bytes, Reduction(kernel_.program[r]).partial_bytes());
    writer.line("__shared__ alignas(8) char shared[{}];", bytes * form_.down * (form_.columns() + 1));
  }

  /// Emits the values that logsumexp subtracts from the elements of a block: their maxima.
  void emit_shifts(KernelWriter& writer, const Position& row) {
    if (!is_two_pass_) return;
    std::vector<Reg> held;
    std::copy_if(reduces_.begin(), reduces_.end(), std::back_inserter(held), [this](Reg r) { return holds(r); });
    for (Reg r : held) declare_columns(writer, part(r, Op::max), fmt::format("g{}", r));
    writer.open("");
    emit_column_block(writer, row, Taken::greatest);
    writer.close();
    for (Reg r : held) {
      const std::string name = fmt::format("g{}", r);
      emit_column_fold(writer, part(r, Op::max), name);
      writer.line("const auto shift{} = shift_of(lanes_{}[0][threadIdx.x]);", r, name);
      writer.line("__syncthreads();");
    }
  }

  /// Emits the results f_<name> of a thread's columns: in lane 0, and in shared memory.
  void emit_column_fold(KernelWriter& writer, const Reduction& reduction, const std::string& name) {
    const std::string type = reduction.partial_type();
    const std::string own = of_column(name);
    writer.line("const auto lanes_{} = reinterpret_cast<{} (*)[{}]>(shared);", name, type, form_.columns() + 1);
    writer.line("{} f_{}[{}];", type, name, form_.width);
    each_column(writer, [&] {
      if (!reduction.is_arg_reduction()) writer.line("{}.fold_steps();", own);
      writer.line("lanes_{0}[lane][{1}] = f_{0}[v] = {2}{3};", name, own_column(), own,
                  reduction.is_arg_reduction() ? "" : ".held[0]");
    });
    writer.line("__syncthreads();");
    writer.open("for (int half = {}; half >= 1; half /= 2)", form_.down / 2);
    each_column(writer, [&] {
      writer.line("if (lane < half) lanes_{0}[lane][{1}] = f_{0}[v] = {2};", name, own_column(),
                  reduction.combine(fmt::format("f_{}[v]", name),
                                    fmt::format("lanes_{}[lane + half][{}]", name, own_column())));
    });
    writer.line("__syncthreads();");
    writer.close();
  }

  std::string own_column() const {
    return form_.width > 1 ? fmt::format("threadIdx.x * {} + v", form_.width) : "threadIdx.x";
  }

  template <class Emit> void each_column(KernelWriter& writer, Emit emit) {
    writer.line("#pragma unroll");
    writer.open("for (int v = 0; v < {}; ++v)", form_.width);
    emit();
    writer.close();
  }

  /// Emits the results of a thread's columns, and what depends on them; or stores those of the columns' block.
  void emit_column_results(KernelWriter& writer, const Position& row) {
    if (blocks_ == 1 && form_.width == 1) {
      for (Reg r : reduces_) emit_result(writer, r, "0");
      return emit_ends(writer, row);
    }
    each_column(writer, [&] {
      if (blocks_ > 1) {
        for (size_t j = 0; j < reduces_.size(); ++j)
          writer.line("{}[(row + v) * {} + block] = {};", partial_results(writer, 0, j), writer.size(blocks_),
                      folded(reduces_[j], "v"));
        return;
      }
      writer.line("const Index row = own_row + v;");
      for (Reg r : reduces_) emit_result(writer, r, "v");
      emit_ends(writer, row_position(writer));
    });
  }
  void emit_result(KernelWriter& writer, Reg r, const char* column) {
    const Instr& instr = kernel_.program[r];
    writer.line("const {} r{} = {};", type_of(instr.dtype), r, Reduction(instr).result(folded(r, column)));
  }
  std::string folded(Reg r, const char* column) const {
    const std::string own = fmt::format("f_a{}[{}]", r, column);
    return holds(r) ? fmt::format("shifted_log({}, shift{})", own, r) : own;
  }

  const LaunchParameters& parameters_;
  ColumnForm form_;
};

}  // namespace

GeneratedKernels generate_columns(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                  const LaunchParameters& parameters) {
  return ColumnsWriter(kernel, plan, parameters).write(vectorized);
}

}  // namespace tsl::cuda
