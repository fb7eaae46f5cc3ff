// Reductions that read every element once (logsumexp over columns: twice), in one launch. Few long rows: threads share
// each block of the reduction order. Columns: each thread owns some columns. Partial results are stored in scratch
// memory, and the block of threads that arrives last combines them. The result is in the reduction order of
// templates.cuh, whatever the form and the order of arrival.
#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

using graph::Instr;
using graph::Kernel;
using graph::Level;
using graph::Reg;

namespace {

// With kManyRows rows, a warp per row keeps the GPU busy; with kManyBlocks blocks of threads, every multiprocessor has
// one.
constexpr int64_t kManyRows = 4096, kManyBlocks = 128;
/// About how many blocks of threads run at the same time.
constexpr int64_t kFullMachine = 2048;

/// How a block of threads reads columns: `across` threads side by side with `width` neighbouring columns each, and
/// `down` threads that share the lanes of a block of the reduction order.
struct ColumnForm {
  int across = 32, width = 1, down = 32;
  int columns() const { return across * width; }
};
constexpr ColumnForm kFewColumns{8, 1, 128}, kVectorColumns{32, 4, 16};
/// The registers of a thread (in bytes) that allow LaunchParameters::resident_threads to share a multiprocessor if each
/// takes several columns. Loads of one turn are then in flight while other threads compute.
constexpr int64_t kColumnBytes = 256;
/// Returns how many neighbouring elements of a row a thread reads at a time: 8 bytes for the usual dtypes. Two warps
/// per block with all its loads in flight are faster than one warp with 16-byte loads.
constexpr int vector_width(size_t element_bytes) { return element_bytes >= 4 ? 2 : 4; }
constexpr int64_t kTurns = kReduceBlock / kReduceLanes;

/// Partial results in scratch memory, several per row: those of the reduction order's blocks, or of blocks of such
/// results.
struct Results {
  int64_t count = 0;         // per row
  std::vector<uint64_t> at;  // per reduction: offset in the scratch memory
};

/// A team: the blocks of threads that reduce the same rows. The emitted code declares `team` (its number), `first_row`
/// (its first row) and `first_block` (the index in a row of this block's first partial result).
struct Team {
  std::string rows, thread;   // expressions: the number of rows, and the thread's number in its block
  int64_t count = 0;          // number of teams
  int threads = 0;            // per block
  int64_t results = 1;        // partial results that one block of threads computes per row
  bool share_memory = false;  // whether all threads of a block may share a row
};

class ReduceWriter {
 public:
  ReduceWriter(const Kernel& kernel, const graph::Plan& plan, const LaunchParameters& parameters)
      : kernel_(kernel),
        plan_(plan),
        parameters_(parameters),
        reduces_(reduces(kernel, Level::row)),
        rows_(count_of(kernel.kept)),
        length_(count_of(kernel.reduced)),
        blocks_(ceil_div(length_, kReduceBlock)),
        is_two_pass_(any_two_pass(kernel, reduces_)) {}

  /// Whether neighbouring threads should read neighbouring columns: true if most operands are contiguous along columns.
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

  /// Writes the kernels. `vectorized`: neighbouring elements may be read at a time.
  GeneratedKernels write(bool columns, bool vectorized) {
    if (columns) choose_columns(vectorized);
    else if (const int width = vector_width(most_bytes()); vectorized && may_vectorize(inner_loop(), width))
      take_neighbours(inner_loop(), width);
    totals_ = reserve_totals(kernel_, generated_);
    if (!columns || blocks_ > 1) reserve_levels();
    generated_.kernels.push_back(columns ? column_kernel() : block_kernel());
    append_totals(kernel_, plan_, totals_, generated_);
    return std::move(generated_);
  }

 private:
  /// What a pass over a block accumulates. A column's thread has too many elements to keep in registers, so for
  /// logsumexp it reads the block twice: for the maximum, then for the sum of exponentials.
  enum class Taken : uint8_t { all, greatest, powers };

  bool holds(Reg r) const { return Reduction(kernel_.program[r]).is_two_pass(); }
  /// Returns one half of a logsumexp as a reduction: its max, or its sum.
  Reduction part(Reg r, Op op) const {
    Instr instr = kernel_.program[r];
    instr.op = op;
    return Reduction(instr);
  }

  /// Returns `name` for the current column, where a thread has several.
  std::string of_column(const std::string& name) const { return form_.width > 1 ? name + "[v]" : name; }
  std::string accumulator(Reg r) const { return of_column(fmt::format("a{}", r)); }
  int kept_loop() const { return kernel_.kept.rank() - 1; }
  int inner_loop() const { return kernel_.kept.rank() + kernel_.reduced.rank() - 1; }

  // ---- Vectorized loads ------------------------------------------------------------------------------------

  /// Whether operands along `loop` can be read by vectors: only for plain reductions over several blocks.
  bool may_vectorize(int loop, int width) const {
    const Dim extent = loop == kept_loop() ? kernel_.kept[loop] : kernel_.reduced[loop - kernel_.kept.rank()];
    if (is_two_pass_ || blocks_ == 1 || extent.hint() % width != 0 || !allows_vectors(kernel_, loop, width))
      return false;
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (is_row_input(r) || (instr.level == Level::full && (!defines(instr) || instr.kind == Instr::Kind::gather)))
        return false;
    }
    return true;
  }
  void take_neighbours(int loop, int width) {
    vector_loop_ = loop;
    width_ = width;
  }
  /// Returns the largest element size of operands that are contiguous along the rows.
  size_t most_bytes() const {
    size_t bytes = 0;
    for (const Instr& instr : kernel_.program) {
      if (instr.level == Level::full && is_contiguous_along(kernel_, instr, inner_loop()))
        bytes = std::max<size_t>(bytes, size_of(instr.dtype));
    }
    return bytes;
  }
  bool is_vectorized(const Instr& instr) const {
    return width_ > 1 && instr.level == Level::full && is_contiguous_along(kernel_, instr, vector_loop_);
  }

  /// Emits one element for each of a thread's columns, or several neighbours of a row.
  void emit_elements(KernelWriter& writer, const Position& row, const std::string& element, Taken taken) {
    if (width_ == 1) return emit_element(writer, row, element, taken);
    Position first = row;
    const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "w");
    std::copy(inner.begin(), inner.end(), first.index.begin() + kernel_.kept.rank());
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (!defines(instr) || !is_vectorized(instr)) continue;
      writer.line("{} wide{}[{}];", type_of(instr.dtype), r, width_);
      writer.line("load_vector(wide{}, {} + {});", r, writer.buffer(instr.buffer), writer.index_expr(instr.map, first));
    }
    writer.line("#pragma unroll");
    writer.open("for (int v = 0; v < {}; ++v)", width_);
    if (vector_loop_ == kept_loop()) {
      Position at = row;
      at.index[static_cast<size_t>(kept_loop())] = fmt::format("({} + v)", at.index[static_cast<size_t>(kept_loop())]);
      at.linear = fmt::format("({} + v)", row.linear);
      emit_element(writer, at, element, taken);
    } else {
      emit_element(writer, row, fmt::format("({} + v)", element), taken);
    }
    writer.close();
  }

  /// Emits the full-level instructions for one element, and adds their values to the reductions.
  void emit_element(KernelWriter& writer, const Position& row, const std::string& element, Taken taken) {
    Position at = row;
    const std::vector<std::string> inner = writer.coordinates(element, extents_of(kernel_.reduced), "c");
    std::copy(inner.begin(), inner.end(), at.index.begin() + kernel_.kept.rank());
    at.linear = fmt::format("((long long){} * {} + {})", row.linear, writer.size(length_), element);
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level != Level::full || !defines(instr) || instr.kind == Instr::Kind::scalar) continue;
      if (is_vectorized(instr)) writer.line("const {} r{} = wide{}[v];", type_of(instr.dtype), r, r);
      else writer.emit(r, at, true);
    }
    for (const Instr& instr : kernel_.program) {
      if (instr.level == Level::full && !defines(instr) && taken != Taken::greatest) writer.emit_store(instr, at);
    }
    const char* const position = width_ > 1 && vector_loop_ != kept_loop() ? "v" : "0";
    for (Reg r : reduces_) {
      const std::string value = writer.reg(kernel_.program[r].a);
      if (taken == Taken::all || (taken == Taken::powers && !holds(r))) {
        writer.line("{}", Reduction(kernel_.program[r]).take(accumulator(r), value, element, "step", position));
      } else if (taken == Taken::powers) {
        writer.line(
            "{}",
            part(r, Op::sum).take(accumulator(r), fmt::format("shifted_exp({}, shift{})", value, r), element, "step"));
      } else if (holds(r)) {
        writer.line("{}", part(r, Op::max).take(fmt::format("g{}", r), value, element, "step"));
      }
    }
  }

  Position row_position(KernelWriter& writer) const {
    Position at;
    at.index = writer.coordinates("row", extents_of(kernel_.kept), "k");
    at.index.resize(static_cast<size_t>(kernel_.kept.rank() + kernel_.reduced.rank()), "0");
    at.linear = "row";
    return at;
  }

  /// Emits what elements depend on: host numbers, and row-level inputs.
  void emit_before_elements(KernelWriter& writer, const Position& row) {
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      const bool is_number = instr.kind == Instr::Kind::scalar && instr.level == Level::full;
      if (is_number || is_row_input(r)) writer.emit(r, row, true);
    }
  }

  /// Whether it is a row-level value that full-level instructions read and that depends on no reduction of this kernel.
  bool is_row_input(Reg r) const {
    if (kernel_.program[r].level != Level::row || !defines(kernel_.program[r])) return false;
    std::vector<Reg> targets;
    for (Reg t = 0; t < kernel_.program.size(); ++t) {
      if (kernel_.program[t].level == Level::full || kernel_.program[t].kind == Instr::Kind::reduce)
        targets.push_back(t);
    }
    std::erase_if(targets, [&](Reg t) { return kernel_.program[t].level == Level::total; });
    const std::vector<bool> needed = needed_for(kernel_, targets, std::vector<bool>(kernel_.program.size(), false));
    return needed[r] && kernel_.program[r].kind != Instr::Kind::reduce;
  }

  /// Reduces long rows. A group of threads takes all lanes of a block at a time. For two-pass reductions one group
  /// takes the blocks in turn, since they stay in registers; otherwise several groups take a block each.
  CudaKernel block_kernel() {
    const LaneForm form{static_cast<int>(kReduceLanes) / width_, width_};
    const int64_t results = blocks_a_member(form), members = ceil_div(blocks_, results);
    const int threads = is_two_pass_ ? form.threads : form.threads * static_cast<int>(results);
    KernelWriter writer(kernel_, plan_);
    writer.line("const int lane = threadIdx.x % {};", form.threads);
    writer.line("const Index team = block_x / {}, first_row = team, row = team;", writer.size(members));
    writer.line("const Index first_block = block_x % {} * {};", writer.size(members), results);
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    if (is_two_pass_) {
      writer.open("for (int taken = 0; taken < {} && first_block + taken < {}; ++taken)", results,
                  writer.size(blocks_));
    } else {
      writer.line("const int taken = threadIdx.x / {};", form.threads);
      writer.open("");
    }
    writer.line("const Index block = first_block + taken;");
    for (Reg r : reduces_) writer.line("{}", Reduction(kernel_.program[r]).declare(accumulator(r), form));
    writer.line("const Index first = block * {1}, left = {0} - first, end = first + (left < {1} ? left : {1});",
                writer.size(length_), kReduceBlock);
    emit_row_block(writer, row, form);
    emit_folds(writer, form, threads / form.threads);
    if (is_two_pass_) writer.line("__syncthreads();");
    writer.close();
    bring_together(writer, {"1", "threadIdx.x", rows_, threads, results, true});
    CudaKernel cuda_kernel =
        writer.finish(width_ > 1 ? fmt::format("blocks_x{}", width_) : "blocks", rows_ * members, threads);
    if (width_ > 1) cuda_kernel.vector_accesses = find_vector_accesses(kernel_, plan_, vector_loop_, width_);
    return cuda_kernel;
  }

  /// Returns how many blocks of a row one block of threads takes. Each arrival costs a microsecond, which matters if
  /// many blocks of threads do little; but blocks of threads that do much end at different times.
  int64_t blocks_a_member(LaneForm form) const {
    const int64_t least = kRowThreads / form.threads,
                  most = is_two_pass_ ? 8 : 4;  // at most 16 blocks: see kMaxSmallIndex
    const int64_t times = rows_ * blocks_ / (least * kFullMachine);
    return least * static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(times, 1, most))));
  }

  /// Emits all turns of a thread. A whole block needs no bounds checks, so its loads can come first: all of them, if
  /// there is nothing to compute.
  void emit_row_block(KernelWriter& writer, const Position& row, LaneForm form) {
    const bool only_loads = std::all_of(kernel_.program.begin(), kernel_.program.end(), [](const Instr& instr) {
      return instr.level != Level::full || instr.kind == Instr::Kind::load || instr.kind == Instr::Kind::reduce;
    });
    const auto emit_turns = [&](int64_t at_once, const char* condition) {
      writer.line("#pragma unroll {}", at_once);
      writer.open("for (int step = 0; step < {}; ++step)", kTurns);
      writer.line("const Index e = first + step * {} + lane * {};", kReduceLanes, form.width);
      writer.open("{}", condition);
      emit_elements(writer, row, "e", Taken::all);
      writer.close();
      writer.close();
    };
    writer.open("if (left >= {})", kReduceBlock);
    emit_turns(only_loads ? kTurns : kTurns / form.width, "");
    writer.otherwise();
    emit_turns(kTurns / form.width, "if (e < end) ");
    writer.close();
  }

  /// Emits the folds of the blocks that `groups` groups have read. The reductions fold one after the other, in the same
  /// shared memory.
  void emit_folds(KernelWriter& writer, LaneForm form, int groups) {
    FoldMemory memory(writer, form.threads > kWarp ? kMaxPartialBytes * kReduceLanes * groups : 0, "lanes");
    for (size_t j = 0; j < reduces_.size(); ++j) {
      const Reduction reduction(kernel_.program[reduces_[j]]);
      std::string shared = memory.take_all(reduction);
      if (form.threads > kWarp)
        shared += fmt::format(" + threadIdx.x / {} * {}", form.threads, reduction.shared_count(form));
      writer.line("const auto f{} = {};", j, reduction.fold(accumulator(reduces_[j]), form, shared));
      writer.line("if (lane == 0 && left > 0) {}[row * {} + block] = f{};", partial_results(writer, 0, j),
                  writer.size(blocks_), j);
    }
  }

  // ---- Columns -----------------------------------------------------------------------------------------

  int64_t columns() const { return kernel_.kept[kept_loop()].hint(); }
  int64_t chunks() const { return ceil_div(columns(), form_.columns()); }
  int64_t column_teams() const { return chunks() * (rows_ / columns()); }

  void choose_columns(bool vectorized) {
    if (column_teams() * blocks_ < kManyBlocks) {
      form_ = kFewColumns;
    } else if (vectorized && may_vectorize(kept_loop(), kVectorColumns.width)) {
      form_ = kVectorColumns;
      take_neighbours(kept_loop(), form_.width);
    }
  }

  /// Reduces columns: each thread takes every `down`-th element of a block of the reduction order, of its columns.
  CudaKernel column_kernel() {
    KernelWriter writer(kernel_, plan_);
    if (width_ > 1 && turns_at_once() > 1)
      writer.set_residents(parameters_.resident_threads / (form_.across * form_.down));
    writer.line("const int lane = threadIdx.y;");
    writer.line("const Index team = block_x % {0}, block = block_x / {0}, first_block = block;",
                writer.size(column_teams()));
    writer.line("const Index first_column = team % {} * {}, column = first_column + threadIdx.x * {};",
                writer.size(chunks()), form_.columns(), form_.width);
    writer.line("const bool inside = column < {};", writer.size(columns()));
    writer.line(
        "const Index first_row = team / {} * {} + first_column, row = inside ? first_row + threadIdx.x * {} : "
        "first_row;",
        writer.size(chunks()), writer.size(columns()), form_.width);
    const Position row = row_position(writer);
    emit_before_elements(writer, row);
    writer.line("const Index first = block * {1}, left = {0} - first, count = left < {1} ? left : {1};",
                writer.size(length_), kReduceBlock);
    writer.line("const Index end = inside ? first + count : 0;");
    declare_shared_lanes(writer);
    emit_shifts(writer, row);
    for (Reg r : reduces_) declare_columns(writer, own_part(r), fmt::format("a{}", r));
    emit_column_block(writer, row, Taken::powers);
    for (Reg r : reduces_) emit_column_fold(writer, own_part(r), fmt::format("a{}", r));
    writer.open("if (inside && lane == 0)");
    for (size_t j = 0; j < reduces_.size(); ++j) emit_column_result(writer, j);
    if (blocks_ == 1) emit_ends(writer, row);
    writer.close();
    if (blocks_ > 1) {
      const std::string left = fmt::format("{} - first_column", writer.size(columns()));
      const std::string rows = fmt::format("({0} < {1} ? {0} : {1})", left, form_.columns());
      bring_together(writer, {rows, fmt::format("(threadIdx.y * {} + threadIdx.x)", form_.across), column_teams(),
                              form_.across * form_.down});
    }
    const std::string suffix = fmt::format("columns{}x{}", form_.columns(), form_.down);
    CudaKernel cuda_kernel = writer.finish(suffix, column_teams() * blocks_, form_.across, form_.down);
    if (width_ > 1) cuda_kernel.vector_accesses = find_vector_accesses(kernel_, plan_, vector_loop_, width_);
    return cuda_kernel;
  }

  /// Emits the elements from `first` to `end` that thread `lane` of a column takes.
  void emit_column_block(KernelWriter& writer, const Position& row, Taken taken) {
    writer.line("Index turn = first;");
    writer.line("#pragma unroll {}", turns_at_once());
    writer.open("for (; turn + {0} <= end; turn += {0})", kReduceLanes);
    emit_column_turn(writer, row, "", taken);
    writer.close();
    writer.open("if (turn < end)");
    emit_column_turn(writer, row, "if (e < end) ", taken);
    writer.close();
  }

  int64_t turns_at_once() const {
    const int64_t steps = kReduceLanes / form_.down;
    if (width_ == 1) return 16 / steps;
    size_t bytes = 0;  // loaded and accumulated by a thread in a turn, per lane and column
    for (const Instr& instr : kernel_.program) bytes += is_vectorized(instr) ? size_of(instr.dtype) : 0;
    for (Reg r : reduces_) bytes += static_cast<size_t>(Reduction(kernel_.program[r]).partial_bytes());
    return static_cast<int64_t>(bytes) * steps * width_ <= kColumnBytes ? 2 : 1;
  }

  void emit_column_turn(KernelWriter& writer, const Position& row, const char* condition, Taken taken) {
    writer.line("#pragma unroll");
    writer.open("for (int step = 0; step < {}; ++step)", kReduceLanes / form_.down);
    writer.line("const Index e = turn + step * {} + lane;", form_.down);
    writer.open("{}", condition);
    emit_elements(writer, row, "e", taken);
    writer.close();
    writer.close();
  }

  /// Returns what a column accumulates: for a logsumexp, the sum.
  Reduction own_part(Reg r) const { return holds(r) ? part(r, Op::sum) : Reduction(kernel_.program[r]); }

  void declare_columns(KernelWriter& writer, const Reduction& reduction, const std::string& name) {
    writer.line("{}",
                reduction.declare(name + (form_.width > 1 ? fmt::format("[{}]", form_.width) : ""), {form_.down, 1}));
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

  void emit_column_result(KernelWriter& writer, size_t j) {
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
      writer.line("{}[(row + v) * {} + block] = {};", partial_results(writer, 0, j), writer.size(blocks_), folded("v"));
    });
  }

  // ---- Results of blocks -------------------------------------------------------------------------------

  void reserve_levels() {
    for (int64_t count = blocks_; levels_.empty() || levels_.back().count > kReduceBlock;
         count = ceil_div(count, kReduceBlock)) {
      Results& level = levels_.emplace_back();
      level.count = count;
      for (Reg r : reduces_)
        level.at.push_back(reserve_bytes(generated_, rows_ * count, Reduction(kernel_.program[r]).partial_bytes()));
    }
  }
  /// Returns the address of the partial results of reduction number `j` at a level.
  const std::string& partial_results(KernelWriter& writer, size_t level, size_t j) const {
    return writer.scratch(levels_[level].at[j], Reduction(kernel_.program[reduces_[j]]).partial_type());
  }

  /// Combines partial results. The last block of threads to arrive for a part (kReduceBlock results of a row) reduces
  /// it to one result, level by level; at the last level it emits the row's results and what depends on them.
  void bring_together(KernelWriter& writer, Team team) {
    std::string position = "first_block";
    int64_t results = team.results;  // partial results per arrival
    for (size_t level = 0; level < levels_.size(); ++level) {
      const int64_t count = levels_[level].count, parts = ceil_div(count, kReduceBlock);
      writer.line(
          "const Index part{0} = {1} / {2}, left{0} = {3} - part{0} * {2}, count{0} = left{0} < {2} ? left{0} : {2};",
          level, position, kReduceBlock, writer.size(count));
      if (count <= results) {
        writer.line("__syncthreads();");  // no other block of threads has results of this part
      } else {
        const std::string counters = writer.arrivals(
            std::exchange(generated_.arrivals, generated_.arrivals + static_cast<uint64_t>(team.count * parts)));
        writer.line("if (!is_last_block({0} + team * {1} + part{2}, (count{2} + {3}) / {4})) return;", counters,
                    writer.size(parts), level, results - 1, results);
      }
      if (team.share_memory && team.threads > kRowThreads) {  // kRowThreads suffice; more would only wait at barriers
        writer.line("if (threadIdx.x >= {}) return;", kRowThreads);
        team.threads = kRowThreads;
      }
      const LaneForm form = array_form(kernel_, reduces_, std::min(count, kReduceBlock));
      emit_team_rows(writer, team, team.share_memory || form.threads <= kWarp ? form : LaneForm{}, level);
      position = fmt::format("part{}", level);
      results = 1;
    }
  }

  void emit_team_rows(KernelWriter& writer, const Team& team, LaneForm form, size_t level) {
    writer.open("for (int own = {} / {}; own < {}; own += {})", team.thread, form.threads, team.rows,
                team.threads / form.threads);
    writer.line("const int lane = {} % {};", team.thread, form.threads);
    writer.line("const Index row = first_row + own;");
    FoldMemory memory = array_memory(writer, form);
    for (size_t j = 0; j < reduces_.size(); ++j) emit_result(writer, form, level, j, memory);
    if (level + 1 == levels_.size()) emit_ends(writer, row_position(writer));
    writer.close();
  }

  /// Emits the reduction of one part of `row`.
  void emit_result(KernelWriter& writer, LaneForm form, size_t level, size_t j, FoldMemory& memory) {
    const Instr& instr = kernel_.program[reduces_[j]];
    const Reduction reduction(instr);
    const std::string from = fmt::format("{} + row * {} + part{} * {}", partial_results(writer, level, j),
                                         writer.size(levels_[level].count), level, kReduceBlock);
    const std::string folded = over_array(memory, reduction, from, fmt::format("count{}", level), form);
    if (level + 1 == levels_.size()) {
      writer.line("const {} r{} = {};", type_of(instr.dtype), reduces_[j], reduction.result(folded));
    } else {
      writer.line("const auto p{} = {};", j, folded);
      writer.line("if (lane == 0) {}[row * {} + part{}] = p{};", partial_results(writer, level + 1, j),
                  writer.size(levels_[level + 1].count), level, j);
    }
  }

  void emit_ends(KernelWriter& writer, const Position& row) {
    const bool declared = blocks_ == 1;  // row inputs were declared before the elements, by the same kernel
    for (Reg r = 0; r < kernel_.program.size(); ++r) {
      const Instr& instr = kernel_.program[r];
      if (instr.level != Level::row || !defines(instr) || instr.kind == Instr::Kind::reduce) continue;
      if (!(declared && is_row_input(r))) writer.emit(r, row, true);
    }
    emit_row_ends(writer, totals_, row, "row");
  }

  const Kernel& kernel_;
  const graph::Plan& plan_;
  const LaunchParameters& parameters_;
  std::vector<Reg> reduces_;
  GeneratedKernels generated_;
  TotalOperands totals_;
  int64_t rows_, length_, blocks_;
  std::vector<Results> levels_;
  bool is_two_pass_;
  ColumnForm form_;
  int vector_loop_ = -1, width_ = 1;
};

}  // namespace

GeneratedKernels generate_reduce(const Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                 const LaunchParameters& parameters) {
  const int64_t rows = count_of(kernel.kept), length = count_of(kernel.reduced);
  if (rows == 0 || length == 0) return generate_rows(kernel, plan, vectorized, parameters);
  ReduceWriter writer(kernel, plan, parameters);
  if (writer.prefers_columns()) return writer.write(true, vectorized);
  if (length <= kReduceBlock || rows >= kManyRows) return generate_rows(kernel, plan, vectorized, parameters);
  return writer.write(false, vectorized);
}

}  // namespace tsl::cuda
