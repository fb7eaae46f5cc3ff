// A thread that runs tiles: where it is, and what it does for each step.
#pragma once

#include "backend/cpu/run_state.h"
#include "backend/cpu/tiles/tile_plan.h"

namespace tsl::cpu {

/// Positions [start, start + count) of a walk.
struct Range {
  Walk walk;
  int64_t start = 0;
  int64_t count = 0;
};

class TileWorker {
 public:
  /// Where a worker is in a long row, and the memory of results that later phases read.
  struct LongRow {
    int64_t begun_row = -1;   // whose phase has begun
    int64_t block_start = 0;  // in the row
    int64_t blocks = 0;       // of a row
    std::byte* kept = nullptr;
    int64_t kept_elements = 0;  // for each result
    int64_t kept_from = 0;      // the position of the first of them
  };

  /// `thread` is its number: it uses that thread's scratch memory.
  TileWorker(const TilePlan& tiles, const KernelTable& table, RunState& state, int thread);

  void execute(const Step& step);
  /// Finds the destination of a step's result: its output if that is contiguous, memory of kept results or partial
  /// ones, or the register's slot. It becomes the register's value.
  std::byte* result(const Step& step);
  /// Makes the elements of a load the value of step `to`.
  void read(const Load& load, const Step& to);

  /// Returns the start of a reduction's partial results, which is aligned for any type. Those of long rows are
  /// [reduction][row][block].
  std::byte* partials_of(const Reduce& reduce, int64_t blocks) const {
    return partials + reduce.offset_in_row * tiles_.loops.rows * blocks;
  }
  /// Returns the start of the best elements of blocks, which follow their places.
  std::byte* best_of(const Reduce& reduce, int64_t blocks) const {
    return partials_of(reduce, blocks) + tiles_.loops.rows * blocks * static_cast<int64_t>(sizeof(int64_t));
  }

  const void*& value(uint32_t reg) const { return reinterpret_cast<const void**>(memory_)[reg]; }
  const Range& range(graph::Level level) const;
  /// Returns the address of element 0 in an access; a fixed offset is not included, but one of the run is.
  std::byte* address(const Elements& elements, uint32_t size) const {
    std::byte* base = state_.buffers[elements.buffer];
    const Symbol* offset = elements.access.symbolic_offset;
    return offset ? base + state_.symbols[offset->id].integer * size : base;
  }
  std::byte* at(Slot slot) const { return memory_ + slot.at; }
  const TilePlan& tiles() const { return tiles_; }
  const KernelTable& table() const { return table_; }
  RunState& state() const { return state_; }
  int thread() const { return thread_; }

  Range full, row;
  std::byte* partials = nullptr;
  LongRow long_row;
  bool is_first_tile = true;  // of those that the worker runs

 private:
  void fill_numbers();
  void run(const Step& step, const Load& load);
  void run(const Step& step, const Map& map);
  void run(const Step& step, const Reduce& reduce);
  void run(const Step& step, const Spread& spread);
  void run(const Step& step, const Gather& gather);
  void run(const Step& step, const Generate& generate);
  void run(const Step& step, const Store& store);
  void find_best(const Reduce& reduce, std::byte* out, size_t rows, size_t length);
  Scalar number(Scalar constant, const Symbol* symbol) const { return symbol ? state_.symbols[symbol->id] : constant; }

  const TilePlan& tiles_;
  const KernelTable& table_;
  RunState& state_;
  const int thread_;
  std::byte* const memory_;  // registers' addresses, then their slots
};

/// Runs a choice on a tile (choose.cpp).
void run_choice(TileWorker& worker, const Step& step, const Choose& choose);
/// Runs a chain on a tile (chain.cpp).
void run_chain(TileWorker& worker, const Chain& chain);

}  // namespace tsl::cpu
