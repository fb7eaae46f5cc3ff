// Runs planned kernels: divides their loops into tiles, and distributes those over threads.
#pragma once

#include "backend/cpu/run_state.h"
#include "backend/cpu/tiles/tile_plan.h"
#include "backend/cpu/tiles/worker.h"

namespace tsl::cpu {

/// One run of a plan.
class TileRunner {
 public:
  TileRunner(const TilePlan& plan, const KernelTable& table, RunState& state)
      : plan_(plan), loops_(plan.loops), table_(table), state_(state) {}

  /// Runs the kernel on worker `thread` alone (in a multi-tensor launch, whose kernels are distributed over threads),
  /// or on all threads if it is -1.
  void run(int thread = -1) const;

 private:
  template <class Body> void for_each_tile(int64_t tiles, int64_t elements, Body&& body, int thread = -1) const;
  template <class Body> void run_tiles(int64_t first, int64_t end, Body&& body, int on) const;
  /// Whether the kernel moves each element to where it is: to a donor, or an alias.
  bool is_in_place() const { return plan_.move && state_.buffers[plan_.move->from] == state_.buffers[plan_.move->to]; }

  void store_number() const;
  void run_pointwise(int thread) const;
  void run_boxes(int thread) const;
  void run_tile(TileWorker& worker, int64_t tile) const;
  void run_rows() const;
  void execute_row_step(TileWorker& worker, const Step& step) const;
  void finish_totals() const;
  void run_row_blocks() const;
  void begin_phase(TileWorker& worker, int64_t row, uint32_t phase) const;
  void run_block(TileWorker& worker, int64_t block, uint32_t phase) const;
  void run_columns() const;
  void reduce_column_block(TileWorker& worker, int64_t item, int64_t blocks) const;
  void reduce_columns(TileWorker& worker, const Step& step, int64_t block, int64_t blocks, int64_t first_row) const;
  void finish_rows(int64_t blocks, std::byte* partials) const;
  void combine_results(TileWorker& worker, const Step& step, int64_t blocks) const;
  void combine(TileWorker& worker, const Step& step, int64_t blocks) const;
  std::byte* reserve_shared(int64_t blocks, int64_t kept_elements = 0) const;

  const TilePlan& plan_;
  const Loops& loops_;
  const KernelTable& table_;
  RunState& state_;
};

}  // namespace tsl::cpu
