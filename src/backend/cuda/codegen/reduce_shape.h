// Decides how threads share a reduction, from its shape alone. No choice changes the reduction order, which is a
// function of the length.
#pragma once

#include <cstdint>

#include "backend/cuda/codegen/reduction.h"

namespace tsl::cuda {

/// The shape of a reduction. A row is what one result reduces; a column is a row whose elements are not neighbours.
struct ReduceShape {
  int64_t rows = 1, length = 1;  // number of rows, and elements of each
  int64_t inside = 1;            // rows along the innermost kept loop
  bool across = false;           // most operands are contiguous along that loop, and not along the reduced
                                 // ones, or rows are read across and stored along memory
  int64_t blocks() const { return ceil_div(length, kReduceBlock); }
};

/// Orders the kept loops by the strides of the operands that are contiguous along one of them, so that neighbouring
/// rows are neighbours in memory (a transposed tensor). The order of rows is free, except for totals and reports of
/// errors.
graph::Kernel in_memory_order(const graph::Kernel& kernel);
/// Returns the shape of a kernel's reductions. Stores count like loads.
ReduceShape shape_of(const graph::Kernel& kernel);

/// The ways to reduce rows: some threads a row; the blocks of few long rows over all multiprocessors; neighbouring
/// threads on neighbouring columns.
enum class ReduceForm : uint8_t { rows, blocks, columns };
/// Chooses the form of reductions that read every element once.
ReduceForm reduce_form(const ReduceShape& shape);

// ---- Rows --------------------------------------------------------------------------------------------------

/// What the registers of a row kernel hold.
struct RowDemand {
  int width = 1;            // neighbours that a thread accesses at a time
  int64_t kept_words = 0;   // 32-bit registers per element for values that a later pass needs
  int64_t kept_halves = 0;  // how many of these two neighbours share
  int64_t held_words = 0;   // the same for two-pass reductions, until they are folded
  int64_t read_bytes = 0;   // of one operand per element
  bool reads_once = false;
  bool are_arg_reductions = false;  // arg reductions alone, which are free of the reduction order
  bool stores = false;              // whether elements are stored
  bool clusters = false;            // whether blocks of threads may share a row
  /// Returns the registers for what is kept of so many elements of a thread.
  int64_t kept(int64_t elements) const { return kept_words * elements - kept_halves * elements / 2; }
};

/// The threads that work on a row: `groups` groups of `lanes.threads`. In a row of several blocks, the groups take the
/// blocks in turn, in `rounds` rounds.
struct RowForm {
  LaneForm lanes;
  int groups = 1;
  int cluster = 1;  // blocks of threads with as many groups each, which share the row
  int64_t rounds = 1;
  int64_t turns = 1;  // of a thread in each round; a turn takes `lanes.width` elements
  bool keeps = false;
  int threads() const { return lanes.threads * groups; }
  /// Returns the rows of a block of threads. Those of more than a warp have a block to themselves, as their threads
  /// meet at barriers.
  int rows_per_block() const {
    return lanes.across > 1 ? lanes.across : threads() <= kWarp ? kRowThreads / threads() : 1;
  }
};

// Registers (32 bits) per thread for values kept from pass to pass: up to kGoodKeptWords, enough threads run at a time
// to hide memory latency; above kMaxKeptWords, computing the values again is faster.
inline constexpr int64_t kGoodKeptWords = 32, kMaxKeptWords = 96;
/// The blocks of threads of a cluster: as many as every GPU with clusters runs. Together they keep kMaxClusterRow
/// words.
inline constexpr int kClusterBlocks = 8;
inline constexpr int64_t kMaxClusterRow = kClusterBlocks * kGoodKeptWords * 1024;
/// With fewer rows than this, each gets as many threads as it can use.
inline constexpr int64_t kFewRows = 2048;

/// Whether rows are so short that several share a warp: at most an element for each lane of the reduction order, and
/// registers for what is kept of those of a thread.
bool share_warps(const ReduceShape& shape, int64_t kept_words);
/// Chooses the threads of a row. `row_threads`: LaunchParameters::row_threads.
RowForm row_form(const ReduceShape& shape, const RowDemand& demand, int row_threads);

// ---- Columns -----------------------------------------------------------------------------------------------

/// How a block of threads reads columns: `across` threads side by side with `width` neighbouring columns each, and
/// `down` threads that share the `lanes` of a block of the reduction order.
struct ColumnForm {
  int across = 32, width = 1, down = 32;
  int lanes = static_cast<int>(kReduceLanes);
  int columns() const { return across * width; }
  int threads() const { return across * down; }
};
/// Chooses the form of columns. `width`: the columns that a thread can read at a time.
ColumnForm column_form(const ReduceShape& shape, int width);

}  // namespace tsl::cuda
