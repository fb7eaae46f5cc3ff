// What both forms of one-launch reductions share (reduce_blocks.cpp, reduce_columns.cpp): elements, partial results,
// and what depends on reductions.
#pragma once

#include "backend/cuda/codegen/kernel_templates.h"
#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

class ReduceWriter {
 protected:
  ReduceWriter(const graph::Kernel& kernel, const graph::Plan& plan)
      : kernel_(kernel),
        plan_(plan),
        reduces_(reduces(kernel, graph::Level::row)),
        rows_(count_of(kernel.kept)),
        length_(count_of(kernel.reduced)),
        blocks_(ceil_div(length_, kReduceBlock)),
        is_two_pass_(any_two_pass(kernel, reduces_)) {}

  /// What a pass over a block accumulates. A column's thread has too many elements to keep in registers, so for
  /// logsumexp it reads the block twice: for the maximum, then for the sum of exponentials.
  enum class Taken : uint8_t { all, greatest, powers };

  /// A team: the blocks of threads that reduce the same rows. The emitted code declares `team` (its number),
  /// `first_row` (its first row) and `first_block` (the index in a row of this block's first partial result).
  struct Team {
    std::string rows, thread;   // expressions: the number of rows, and the thread's number in its block
    int64_t count = 0;          // number of teams
    int threads = 0;            // per block
    int64_t results = 1;        // partial results that one block of threads computes per row
    bool share_memory = false;  // whether all threads of a block may share a row
  };

  bool holds(graph::Reg r) const { return Reduction(kernel_.program[r]).is_two_pass(); }
  /// Returns one half of a logsumexp as a reduction: its max, or its sum.
  Reduction part(graph::Reg r, Op op) const;

  /// Returns `name` for the current column, where a thread has several.
  std::string of_column(const std::string& name) const {
    return width_ > 1 && vector_loop_ == kept_loop() ? name + "[v]" : name;
  }
  std::string accumulator(graph::Reg r) const { return of_column(fmt::format("a{}", r)); }
  int kept_loop() const { return kernel_.kept.rank() - 1; }
  int inner_loop() const { return kernel_.kept.rank() + kernel_.reduced.rank() - 1; }

  /// Whether a thread can take several neighbours: in plain reductions, whose elements depend on nothing but loads.
  bool may_take_neighbours() const;
  /// Whether a thread can, and access operands along `loop` by vectors: only where rows have several blocks.
  bool may_vectorize(int loop, int width) const;
  /// Makes each thread take `width` neighbours along a loop. `by_vectors`: it reads them by vectors where they are
  /// contiguous, otherwise one at a time.
  void take_neighbours(int loop, int width, bool by_vectors);
  bool is_vectorized(const graph::Instr& instr) const {
    return by_vectors_ && instr.level == graph::Level::full &&
           (is_contiguous_along(kernel_, instr, vector_loop_) || is_guarded_vector(instr));
  }
  std::vector<VectorAccess> vector_accesses() const;
  /// Returns by register whether a value is the same for `width` neighbours along a kept loop.
  std::vector<bool> same_along(int loop, int width) const;

  /// Returns the loads by vectors.
  std::vector<graph::Reg> vector_loads() const;
  /// Returns the place of the first of a thread's neighbours.
  Position first_neighbour(KernelWriter& writer, const Position& row, const std::string& element) const;
  /// Emits all loads by vectors of neighbours, into ahead<r>[at], before any of them is used.
  void emit_vector_loads_ahead(KernelWriter& writer, const Position& first);
  /// Emits one element for each of a thread's columns, or several neighbours of a row.
  void emit_elements(KernelWriter& writer, const Position& row, const std::string& element, Taken taken);
  Position row_position(KernelWriter& writer) const;
  /// Declares the coordinates of an element of a row.
  Position element_position(KernelWriter& writer, const Position& row, const std::string& element) const;
  /// Emits what elements depend on: host numbers, and row-level inputs.
  void emit_before_elements(KernelWriter& writer, const Position& row);

  void reserve_levels();
  /// Returns the address of the partial results of reduction number `j` at a level.
  const std::string& partial_results(KernelWriter& writer, size_t level, size_t j) const;
  /// Combines partial results. The last block of threads to arrive for a part (kReduceBlock results of a row) reduces
  /// it to one result, level by level; at the last level it emits the row's results and what depends on them.
  void bring_together(KernelWriter& writer, Team team);
  void emit_ends(KernelWriter& writer, const Position& row);

  const graph::Kernel& kernel_;
  const graph::Plan& plan_;
  std::vector<graph::Reg> reduces_;
  GeneratedKernels generated_;
  TotalOperands totals_;
  int64_t rows_, length_, blocks_;
  bool is_two_pass_;
  int64_t least_array_ = 0;  // partial results are combined as if there were so many
  int vector_loop_ = -1, width_ = 1;
  bool by_vectors_ = false;
  std::vector<bool> ahead_;  // by register: whether ahead<r>[at] holds what a load gives

 private:
  /// Partial results in scratch memory, several per row: those of the reduction order's blocks, or of blocks of such
  /// results.
  struct Results {
    int64_t count = 0;         // per row
    std::vector<uint64_t> at;  // per reduction: offset in the scratch memory
  };

  /// Whether it is a load of neighbours that are all in a part, or none.
  bool is_guarded_vector(const graph::Instr& instr) const;
  bool is_full_store(const graph::Instr& instr) const {
    return instr.level == graph::Level::full && instr.kind == graph::Instr::Kind::store;
  }
  /// Whether it is a row-level value that full-level instructions read and that depends on no reduction of this kernel.
  bool is_row_input(graph::Reg r) const;
  std::string vector_of(graph::Reg r) const;
  /// Emits the loads by vectors that depend on a part, or those that do not.
  void emit_vector_loads(KernelWriter& writer, const Position& first, bool guarded);
  /// Returns an element's number in row-major order, by which errors are ordered.
  std::string linear_place(KernelWriter& writer, const Position& row, const std::string& element) const;
  /// Emits the full-level values of one element: those that a thread's columns share, or the others.
  void emit_values(KernelWriter& writer, const Position& at, bool shared);
  /// Emits the full-level instructions for one element, and adds their values to the reductions.
  void emit_element(KernelWriter& writer, const Position& row, const std::string& element, Taken taken);
  void emit_team_rows(KernelWriter& writer, const Team& team, LaneForm form, size_t level);
  /// Emits the reduction of one part of `row`.
  void emit_result(KernelWriter& writer, LaneForm form, size_t level, size_t j, FoldMemory& memory);

  std::vector<Results> levels_;
  std::vector<bool> is_shared_;  // by register: whether a thread computes the value once for its columns
};

/// Generates the reduction of long rows, whose blocks are spread over many blocks of threads. `is_joined`: as in
/// LaunchParameters.
GeneratedKernels generate_blocks(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized, bool is_joined);
/// Generates a reduction in which neighbouring threads read neighbouring columns.
GeneratedKernels generate_columns(const graph::Kernel& kernel, const graph::Plan& plan, bool vectorized,
                                  const LaunchParameters& parameters);

}  // namespace tsl::cuda
